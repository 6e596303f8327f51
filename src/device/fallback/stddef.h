/* C's stddef.h, if clang's own headers are not installed. */
#pragma once

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef struct {
  long long of_integers __attribute__((aligned(__alignof__(long long))));
  long double of_numbers __attribute__((aligned(__alignof__(long double))));
} max_align_t;
#ifdef __cplusplus
namespace std {
typedef decltype(nullptr) nullptr_t;
}
using std::nullptr_t;
#endif

#ifndef NULL
#define NULL __null
#endif
#define offsetof(type, member) __builtin_offsetof(type, member)
