/* C's functions of long double, which device code takes for a double, as nvcc does. Libraries name all of them where they
 * bring C's functions into a namespace of their own. */
#ifndef MOONWARP_LONG_DOUBLE_H
#define MOONWARP_LONG_DOUBLE_H

#include "moonwarp/math/math_overloads.h"

#define __mw_long1(name)                                                                                               \
  __mw_both long double name##l(long double x) { return name((double)x); }
#define __mw_long2(name)                                                                                               \
  __mw_both long double name##l(long double x, long double y) { return name((double)x, (double)y); }
#define __mw_long_to(type, name)                                                                                       \
  __mw_both type name##l(long double x) { return name((double)x); }
/* clang-format off */
__mw_long1(acos) __mw_long1(acosh) __mw_long1(asin) __mw_long1(asinh) __mw_long1(atan) __mw_long1(atanh)
__mw_long1(cbrt) __mw_long1(ceil) __mw_long1(cos) __mw_long1(cosh) __mw_long1(erf) __mw_long1(erfc) __mw_long1(exp)
__mw_long1(exp2) __mw_long1(expm1) __mw_long1(fabs) __mw_long1(floor) __mw_long1(lgamma) __mw_long1(log)
__mw_long1(log10) __mw_long1(log1p) __mw_long1(log2) __mw_long1(logb) __mw_long1(nearbyint) __mw_long1(rint)
__mw_long1(round) __mw_long1(sin) __mw_long1(sinh) __mw_long1(sqrt) __mw_long1(tan) __mw_long1(tanh)
__mw_long1(tgamma) __mw_long1(trunc)
__mw_long2(atan2) __mw_long2(copysign) __mw_long2(fdim) __mw_long2(fmax) __mw_long2(fmin) __mw_long2(fmod)
__mw_long2(hypot) __mw_long2(nextafter) __mw_long2(pow) __mw_long2(remainder)
__mw_long_to(int, ilogb) __mw_long_to(long, lrint) __mw_long_to(long, lround) __mw_long_to(long long, llrint)
__mw_long_to(long long, llround)
/* clang-format on */
#undef __mw_long1
#undef __mw_long2
#undef __mw_long_to

                                    __mw_both long double fmal(long double x, long double y, long double z) {
  return fma((double)x, (double)y, (double)z);
}
__mw_both long double frexpl(long double x, int *exponent) { return frexp((double)x, exponent); }
__mw_both long double ldexpl(long double x, int exponent) { return ldexp((double)x, exponent); }
__mw_both long double modfl(long double x, long double *integral) {
  double whole, part = modf((double)x, &whole);
  *integral = whole;
  return part;
}
__mw_both long double nanl(const char *payload) { return nan(payload); }
__mw_both long double remquol(long double x, long double y, int *quotient) {
  return remquo((double)x, (double)y, quotient);
}
__mw_both long double scalblnl(long double x, long exponent) { return scalbln((double)x, exponent); }
__mw_both long double scalbnl(long double x, int exponent) { return scalbn((double)x, exponent); }

#endif
