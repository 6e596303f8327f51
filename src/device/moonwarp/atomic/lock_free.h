/* Macros that the C++ library's headers for atomics test, and that compilers define for host targets only: all atomics
   are lock-free. */
#ifndef __GCC_ATOMIC_INT_LOCK_FREE
#define __GCC_ATOMIC_TEST_AND_SET_TRUEVAL 1
#define __GCC_ATOMIC_BOOL_LOCK_FREE       2
#define __GCC_ATOMIC_CHAR_LOCK_FREE       2
#define __GCC_ATOMIC_CHAR16_T_LOCK_FREE   2
#define __GCC_ATOMIC_CHAR32_T_LOCK_FREE   2
#define __GCC_ATOMIC_WCHAR_T_LOCK_FREE    2
#define __GCC_ATOMIC_SHORT_LOCK_FREE      2
#define __GCC_ATOMIC_INT_LOCK_FREE        2
#define __GCC_ATOMIC_LONG_LOCK_FREE       2
#define __GCC_ATOMIC_LLONG_LOCK_FREE      2
#define __GCC_ATOMIC_POINTER_LOCK_FREE    2
#endif
