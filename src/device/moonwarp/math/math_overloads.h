/* C++'s overloads of the mathematical functions: sin(float), pow(float, int), isnan, …; abs, min and max are in
 * minmax.h.
 *
 * As in C++11, a float argument selects single precision and an integer counts as a double. NVRTC has the overloads for
 * floats and doubles itself; with it, integers are ambiguous. */
#ifndef MOONWARP_MATH_OVERLOADS_H
#define MOONWARP_MATH_OVERLOADS_H

#ifndef __MW_NVRTC__
#include "moonwarp/math/double/bessel.h"
#include "moonwarp/math/double/double_inverse_trigonometry.h"
#include "moonwarp/math/double/double_error_functions.h"
#include "moonwarp/math/double/double_hyperbolic.h"
#include "moonwarp/math/double/double_logarithm.h"
#include "moonwarp/math/double/double_power.h"
#include "moonwarp/math/double/double_roots.h"
#include "moonwarp/math/double/double_trigonometry.h"
#include "moonwarp/math/float_error_functions.h"
#include "moonwarp/math/float_fast.h"
#include "moonwarp/math/float_gamma.h"
#include "moonwarp/math/libm.h"
#include "moonwarp/math/minmax.h"
#include "moonwarp/math/number_parts.h"
#include "moonwarp/math/remainders.h"
#define __mw_for_float(...) __VA_ARGS__
#else
#define __mw_for_float(...)
#endif

template <typename T> struct __mw_promote {};
/* clang-format off */
#define __mw_promotes(T, U) template <> struct __mw_promote<T> { typedef U type; };
__mw_promotes(float, float) __mw_promotes(double, double)
__mw_promotes(bool, double) __mw_promotes(char, double) __mw_promotes(signed char, double)
__mw_promotes(unsigned char, double) __mw_promotes(short, double) __mw_promotes(unsigned short, double)
__mw_promotes(int, double) __mw_promotes(unsigned int, double) __mw_promotes(long, double)
__mw_promotes(unsigned long, double) __mw_promotes(long long, double) __mw_promotes(unsigned long long, double)
__mw_promotes(long double, double); /* in host code only */
#undef __mw_promotes
/* clang-format on */

/* The arguments' common type after promotion: double unless all are floats. */
template <typename T, typename U> struct __mw_wider {
  typedef double type;
};
template <> struct __mw_wider<float, float> {
  typedef float type;
};
template <typename T, typename U>
using __mw_common = typename __mw_wider<typename __mw_promote<T>::type, typename __mw_promote<U>::type>::type;
template <typename T, typename U, typename V> using __mw_common3 = __mw_common<__mw_common<T, U>, V>;

/* The template is for arguments that are neither float nor double: for those, plain functions are a better match. */
#define __mw_math1(name)                                                                                               \
  __mw_for_float(__mw_both float name(float x) { return name##f(x); }) template <typename T>                           \
  __mw_both_template typename __mw_promote<T>::type name(T x) {                                                        \
    return name((typename __mw_promote<T>::type)x);                                                                    \
  }
#define __mw_round1(result, name)                                                                                      \
  __mw_for_float(__mw_both result name(float x) {                                                                      \
    return name##f(x);                                                                                                 \
  }) template <typename T, typename = typename __mw_promote<T>::type>                                                  \
  __mw_both_template result name(T x) {                                                                                \
    return name((double)x);                                                                                            \
  }
#define __mw_math2(name)                                                                                               \
  __mw_for_float(__mw_both float name(float x, float y) { return name##f(x, y); }) template <typename T, typename U>   \
  __mw_both_template __mw_common<T, U> name(T x, U y) {                                                                \
    return name((__mw_common<T, U>)x, (__mw_common<T, U>)y);                                                           \
  }
#define __mw_scale(name, exponent_type)                                                                                \
  __mw_for_float(__mw_both float name(float x, exponent_type exponent) { return name##f(x, exponent); })

/* clang-format off */
__mw_math1(acos) __mw_math1(asin) __mw_math1(atan) __mw_math1(cos) __mw_math1(sin) __mw_math1(tan)
__mw_math1(acosh) __mw_math1(asinh) __mw_math1(atanh) __mw_math1(cosh) __mw_math1(sinh) __mw_math1(tanh)
__mw_math1(exp) __mw_math1(exp2) __mw_math1(exp10) __mw_math1(expm1)
__mw_math1(log) __mw_math1(log2) __mw_math1(log10) __mw_math1(log1p) __mw_math1(logb)
__mw_math1(sqrt) __mw_math1(cbrt) __mw_math1(fabs)
__mw_math1(ceil) __mw_math1(floor) __mw_math1(trunc) __mw_math1(round) __mw_math1(rint) __mw_math1(nearbyint)
__mw_math1(erf) __mw_math1(erfc) __mw_math1(tgamma) __mw_math1(lgamma)
__mw_math1(j0) __mw_math1(j1) __mw_math1(y0) __mw_math1(y1)
__mw_math2(atan2) __mw_math2(pow) __mw_math2(hypot) __mw_math2(fmod) __mw_math2(remainder)
__mw_math2(fmin) __mw_math2(fmax) __mw_math2(fdim) __mw_math2(copysign) __mw_math2(nextafter)
__mw_round1(int, ilogb) __mw_round1(long, lround) __mw_round1(long, lrint)
__mw_round1(long long, llround) __mw_round1(long long, llrint)
__mw_scale(ldexp, int) __mw_scale(scalbn, int) __mw_scale(scalbln, long);
#undef __mw_math1
#undef __mw_math2
#undef __mw_round1
#undef __mw_scale
/* clang-format on */

__mw_for_float(__mw_both float fma(float x, float y, float z) {
  return fmaf(x, y, z);
}) template <typename T, typename U, typename V>
__mw_both_template __mw_common3<T, U, V> fma(T x, U y, V z) {
  return fma((__mw_common3<T, U, V>)x, (__mw_common3<T, U, V>)y, (__mw_common3<T, U, V>)z);
}
#ifndef __MW_NVRTC__
__mw_both float jn(int n, float x) { return jnf(n, x); }
__mw_both float yn(int n, float x) { return ynf(n, x); }
__mw_both float frexp(float x, int *exponent) { return frexpf(x, exponent); }
__mw_both float modf(float x, float *integral) { return modff(x, integral); }
__mw_both float remquo(float x, float y, int *quotient) { return remquof(x, y, quotient); }
__mw_both void sincos(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }
#endif
#undef __mw_for_float

#include "moonwarp/math/classification.h"

#endif
