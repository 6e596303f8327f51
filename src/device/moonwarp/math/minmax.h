/* abs, min and max for every number type, as CUDA has them. */
#ifndef MOONWARP_MINMAX_H
#define MOONWARP_MINMAX_H

#include "moonwarp/math/libm.h"

__mw_both long abs(long x) { return labs(x); }
__mw_both long long abs(long long x) { return llabs(x); }
__mw_both float abs(float x) { return fabsf(x); }
__mw_both double abs(double x) { return fabs(x); }

/* clang-format off */
/* An unsigned argument makes the comparison unsigned; of a number and a NaN min and max return
   the number. */
#define __mw_minmax(result, T, U)                                                                                      \
  __mw_both constexpr result min(T a, U b) { return (result)a < (result)b ? (result)a : (result)b; }                   \
  __mw_both constexpr result max(T a, U b) { return (result)a < (result)b ? (result)b : (result)a; }
#define __mw_minmax_signs(S, U)                                                                                        \
  __mw_minmax(S, S, S) __mw_minmax(U, U, U) __mw_minmax(U, S, U) __mw_minmax(U, U, S)
__mw_minmax_signs(int, unsigned int)
__mw_minmax_signs(long, unsigned long)
__mw_minmax_signs(long long, unsigned long long);
#undef __mw_minmax_signs
#undef __mw_minmax
/* clang-format on */

__mw_both float min(float a, float b) { return fminf(a, b); }
__mw_both float max(float a, float b) { return fmaxf(a, b); }
__mw_both double min(double a, double b) { return fmin(a, b); }
__mw_both double max(double a, double b) { return fmax(a, b); }
__mw_both double min(float a, double b) { return fmin(a, b); }
__mw_both double max(float a, double b) { return fmax(a, b); }
__mw_both double min(double a, float b) { return fmin(a, b); }
__mw_both double max(double a, float b) { return fmax(a, b); }

/* The same under the names that say their type. */
__mw_both unsigned int umin(unsigned int a, unsigned int b) { return min(a, b); }
__mw_both unsigned int umax(unsigned int a, unsigned int b) { return max(a, b); }
__mw_both long long llmin(long long a, long long b) { return min(a, b); }
__mw_both long long llmax(long long a, long long b) { return max(a, b); }
__mw_both unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__mw_both unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }

#endif
