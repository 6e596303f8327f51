/* C's math.h: libm.h and the overloads, for device code and for host code in the same source. */
#pragma once
#include "moonwarp/math/math_overloads.h"

typedef float float_t;
typedef double double_t;
#define MATH_ERRNO       1
#define MATH_ERREXCEPT   2
#define math_errhandling 0
#define FP_ILOGB0        (-2147483647 - 1)
#define FP_ILOGBNAN      (-2147483647 - 1)
#define FP_NAN           0
#define FP_INFINITE      1
#define FP_ZERO          2
#define FP_SUBNORMAL     3
#define FP_NORMAL        4

/* Functions, not C's macros: C++ libraries have names of their own in their namespaces. */
__mw_both int fpclassify(float x) {
  return __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x);
}
__mw_both int fpclassify(double x) {
  return __builtin_fpclassify(FP_NAN, FP_INFINITE, FP_NORMAL, FP_SUBNORMAL, FP_ZERO, x);
}
template <typename T> __mw_both_template int fpclassify(T x) { return fpclassify((typename __mw_promote<T>::type)x); }
