/* The gamma function and its logarithm in single precision: tgammaf, lgammaf.
 *
 * Computed in double precision: Stirling's series after the recurrence has moved the argument up (Abramowitz and Stegun
 * 6.1.40), and the reflection formula below 1/2 (6.1.17). Around its zeros 1 and 2 the logarithm is (x - 1)(x - 2)
 * times a polynomial. In double precision, libm's functions are called. */
#ifndef MOONWARP_FLOAT_GAMMA_H
#define MOONWARP_FLOAT_GAMMA_H

#include "moonwarp/math/double/double_gamma.h"
#include "moonwarp/math/float_power.h"
#include "moonwarp/math/pi_trigonometry.h"

__mw_both double __mw_log_wide_double(double x) { return 0x1.62e42fefa39efp-1 * __mw_log2_wide(x); }

/* log(gamma(z)) for z >= 5, to 2^-32 */
__mw_both double __mw_stirling(double z) {
  double w = 1.0 / z;
  double series = w * __mw_polynomial(w * w, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                                      -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11);
  return fma(z - 0.5, __mw_log_wide_double(z), 0x1.d67f1c864beb5p-1 - z) + series;
}

__mw_both float tgammaf(float x) {
  double wide = x, held = wide > 40.0 ? 40.0 : wide < -50.0 ? -50.0 : wide;
  bool reflect = wide < 0.5;
  double y = reflect ? 1.0 - held : held;
  double gamma = __mw_exp2_wide(0x1.71547652b82fep+0 * __mw_stirling(y + 5.0));
  gamma = gamma / (y * (y + 1.0) * (y + 2.0) * (y + 3.0) * (y + 4.0));
  float result = (float)(reflect ? 0x1.921fb54442d18p+1 / (sinpi(wide) * gamma) : gamma);
  return x < 0.0f && rintf(x) == x ? __builtin_nanf("") : result;
}

__mw_both float lgammaf(float x) {
  double wide = x, a = wide < 0.0 ? 1.0 - wide : wide;
  bool small = a < 1.0;
  double u = small ? a + 1.0 : a, t = u - 2.0;
  double p =
      __mw_polynomial(t, 0x1.b0ee607b04e59p-2, -0x1.9ae650afabc65p-4, 0x1.0e0c828014a7ep-5, -0x1.95cdee28a631dp-7,
                      0x1.47a4d8269d0eap-8, -0x1.145dfef7732e0p-9, 0x1.dd7006c989082p-11, -0x1.a70f4a68b8851p-12,
                      0x1.9a1386d6eac9fp-13, -0x1.76599d5b390d1p-14, 0x1.57a111ae2356ap-16, -0x1.3761d8178a3f6p-17,
                      0x1.42a3c240b4151p-16, -0x1.2fff3371c3c79p-17);
  double near = (u - 1.0) * t * p;
  double far = __mw_stirling(u + 3.0) - __mw_log_wide_double(u * (u + 1.0) * (u + 2.0));
  double y = u < 3.0 ? near : far;
  double other = __mw_log_wide_double(wide < 0.0 ? 0x1.921fb54442d18p+1 / fabs(sinpi(wide)) : small ? a : 1.0);
  y = wide < 0.0 ? other - y : y - other;
  bool pole = x <= 0.0f && rintf(x) == x, endless = fabsf(x) == __builtin_inff();
  return pole || endless ? __builtin_inff() : (float)(y + 0.0); /* 0 is +0 */
}

#ifdef __MW_NVPTX__
__mw_both double tgamma(double x) { return __mw_whole_tgamma(x); }
__mw_both double lgamma(double x) { return __mw_whole_lgamma(x); }
#endif

#endif
