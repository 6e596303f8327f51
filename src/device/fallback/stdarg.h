/* C's stdarg.h, if clang's own headers are not installed. Headers of the C library include parts of it. */
#ifndef __GNUC_VA_LIST
#define __GNUC_VA_LIST 1
typedef __builtin_va_list __gnuc_va_list;
#endif

#ifdef __need___va_list
#undef __need___va_list
#elif !defined(MOONWARP_STDARG_H)
#define MOONWARP_STDARG_H
typedef __builtin_va_list va_list;
#define va_start(list, last) __builtin_va_start(list, last)
#define va_end(list)         __builtin_va_end(list)
#define va_arg(list, type)   __builtin_va_arg(list, type)
#define va_copy(to, from)    __builtin_va_copy(to, from)
#endif
