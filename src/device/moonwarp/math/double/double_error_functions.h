/* The error functions in double precision: erf, erfc, erfcx, normcdf.
 *
 * erfc is exp(-x^2), of the square in two doubles, times Shepherd and Laframboise's polynomial for (1 + 2x) exp(x^2)
 * erfc(x) in (x - 4) / (x + 4) (Mathematics of Computation 36, 1981); erf is a polynomial near zero and 1 - erfc
 * beyond. */
#ifndef MOONWARP_DOUBLE_ERROR_FUNCTIONS_H
#define MOONWARP_DOUBLE_ERROR_FUNCTIONS_H

#include "moonwarp/math/double/double_exponential.h"

/* exp(a^2) erfc(a), for a >= 0 and finite */
__mw_both double __mw_erfcx_near(double a) {
  __mw_exactly;
  double r = 1.0 / (a + 4.0), u = (a - 4.0) * r;
  u = fma(r, fma(-u, a, fma(-4.0, u + 1.0, a)), u); /* corrects u, whose error the polynomial magnifies near -1 */
  double p = __mw_polynomial(
      u, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a287p-3, 0x1.f7f5df66fcbaep-7, 0x1.16ecefcfa4d86p-4, -0x1.9ddb23c3e5d87p-4,
      0x1.7fee004e1e36ep-4, -0x1.0fb06dfe7b9d6p-4, 0x1.3079edf529133p-5, -0x1.0962387e38fbap-6, 0x1.49c672de1d10cp-8,
      -0x1.8d4a9e6ea47e5p-11, -0x1.a1df5cbf61645p-13, 0x1.3be07997a0009p-13, -0x1.995399c17d133p-16,
      -0x1.788c7b8bc23b9p-17, 0x1.7ef73feb48b94p-18, 0x1.3ab3ca558c75ep-22, -0x1.b8d710afd3fdp-21, 0x1.47ea0d28fa3ap-24,
      0x1.c8d37cf7c2e38p-24, -0x1.54dd3eab4ddd3p-26, -0x1.a89368885382p-27, 0x1.8ef3bba4e1ccfp-29,
      0x1.007049c2e21b9p-30, -0x1.e943e3c581a8p-33);
  return 0.5 * p / (0.5 + a);
}
/* exp(x + low) = the result times 2^n */
__mw_both double __mw_exp_part(double x, double low, long long *n) {
  __mw_exactly;
  double r_low, r = __mw_split_exp(x, n, &r_low), tail = __mw_exp_tail(r, r_low);
  tail = fma(low, 1.0 + (r + tail), tail); /* the exponential's derivative is itself */
  return 1.0 + (r + tail);
}
/* erfc(a + low) 2^-halvings, for 0 <= a < 30; low, whose effect exp(-a^2) magnifies, enters by the derivative */
__mw_both double __mw_erfc_near(double a, double low, int halvings) {
  __mw_exactly;
  long long n;
  double square = a * a, part = __mw_exp_part(-square, -fma(a, a, -square), &n);
  return __mw_times_power(part * fma(low, -0x1.20dd750429b6dp+0, __mw_erfcx_near(a)), n - halvings);
}

__mw_both double erfc(double x) {
  double a = fabs(x), y = __mw_erfc_near(a > 28.0 ? 28.0 : a, 0.0, 0);
  return x < 0.0 ? 2.0 - y : y;
}
__mw_both double erf(double x) {
  __mw_exactly;
  double a = fabs(x), s = x * x;
  double tail =
      __mw_polynomial(s, 0x1.1c0a2041ee1cp-56, -0x1.812746b0379e7p-2, 0x1.ce2f21a042c0ap-4, -0x1.b82ce31289667p-6,
                      0x1.565bcd0e8496ep-8, -0x1.c02db404f1fe4p-11, 0x1.f9a32782fe035p-14, -0x1.f4d2667c76421p-17,
                      0x1.b9e747248dcf3p-20, -0x1.5f779ae1dea43p-23, 0x1.fcd168a0eac83p-27, -0x1.50ecd19e6ffb3p-30,
                      0x1.8cb70efd5902ep-34, -0x1.4a5e6b222d0c4p-38);
  double near = fma(a, 0x1.20dd750429b6dp+0, a * tail);
  double far = 1.0 - __mw_erfc_near(a > 6.0 ? 6.0 : a, 0.0, 0);
  return __builtin_copysign(a < 1.0 ? near : far, x);
}

__mw_both double erfcx(double x) {
  __mw_exactly;
  double a = fabs(x), y = __mw_erfcx_near(a);
  double b = a > 27.0 ? 27.0 : a, square = b * b;
  long long n;
  double part = __mw_exp_part(square, fma(b, b, -square), &n);
  double rest = __mw_times_power(part, n + 1) - y;
  y = x < 0.0 ? rest : y;
  return a < __builtin_inf() ? y : x > 0.0 ? 0.0 : a;
}

/* Phi(x) = erfc(-x / sqrt 2) / 2 */
__mw_both double normcdf(double x) {
  __mw_exactly;
  const double root_half = 0x1.6a09e667f3bcdp-1, root_half_low = -0x1.bdd3413b26456p-55;
  double a = fabs(x);
  a = a > 40.0 ? 40.0 : a;
  double z = a * root_half, low = fma(a, root_half, -z) + a * root_half_low, y = __mw_erfc_near(z, low, 1);
  return x > 0.0 ? 1.0 - y : y;
}

#endif
