/* The gamma function and its logarithm in double precision, for GPUs; the CPU device calls the C library instead.
 *
 * Up to 12: gamma(1 + f), for f between 0 and 1, is a polynomial that interpolates at Chebyshev nodes, and is
 * multiplied by the factors of the recurrence, in two doubles. Above: Stirling's formula (Abramowitz and Stegun
 * 6.1.37). For negative numbers: the reflection formula (6.1.17). The logarithm has polynomials of its own around its
 * zeros 1 and 2. */
#ifndef MOONWARP_DOUBLE_GAMMA_H
#define MOONWARP_DOUBLE_GAMMA_H

#include "moonwarp/math/double/double_logarithm.h"
#include "moonwarp/math/double/double_power.h"
#include "moonwarp/math/pi_trigonometry.h"

/* gamma(1 + f) */
__mw_both double __mw_gamma_step(double f) {
  return __mw_polynomial(f - 0.5, 0x1.c5bf891b4ef6bp-1, 0x1.08ea88ee561b0p-5, 0x1.a8c4dba620c08p-2,
                         -0x1.b77ac1ca2e82ap-4, 0x1.283bd37505389p-3, -0x1.3d88cfe528c43p-4, 0x1.e022b72a04033p-5,
                         -0x1.374fd5bbb581fp-5, 0x1.a752ccf6d9af4p-6, -0x1.1a2c2dab649e5p-6, 0x1.7990f5370f825p-7,
                         -0x1.f7fb20be2bce9p-8, 0x1.50637fe2d2087p-8, -0x1.c0bdf0153ac91p-9, 0x1.29fe79163794cp-9,
                         -0x1.8d6653728eceap-10, 0x1.15139c02edd48p-10, -0x1.71759e5b83295p-11, 0x1.5c3859742eb2bp-12,
                         -0x1.d04ef72b50b52p-13, 0x1.8dfdff69832dap-12, -0x1.09546451e99c8p-12);
}

/* The series of Stirling's formula, in w = 1 / x, for x >= 12. */
__mw_both double __mw_stirling_series(double w) {
  return w * __mw_polynomial(w * w, 0x1.5555555555555p-4, -0x1.6c16c16c16c17p-9, 0x1.a01a01a01a01ap-11,
                             -0x1.3813813813814p-11, 0x1.b951e2b18ff23p-11, -0x1.f6ab0d9993c7dp-10,
                             0x1.a41a41a41a41ap-8);
}

/* gamma(x) for x > 0, as the product of two numbers, neither of which overflows below x = 300. */
__mw_both double __mw_gamma_factors(double x, double *other) {
  __mw_exactly;
  if (x >= 12) {
    double root = pow(x, fma(0.5, x, -0.25));
    *other = root;
    return 0x1.40d931ff62706p+1 * root * (exp(-x) * exp(__mw_stirling_series(1 / x)));
  }
  *other = 1;
  if (x < 1) return __mw_gamma_step(x) / x;
  double steps = floor(x) - 1, f = x - 1 - steps, high = 1, low = 0;
  for (double k = 1; k <= steps; k++) { /* times f + k, which is exact: an integer step below x */
    double by = x - k, product = high * by;
    low = fma(low, by, fma(high, by, -product));
    high = product;
  }
  double y = __mw_gamma_step(f);
  return fma(y, high, y * low);
}

__mw_both double __mw_whole_tgamma(double x) {
  double other, a = fabs(x);
  if (x != x) return x;
  if (a < 0x1p-60) return 1 / x;
  if (x > 0) return x > 172 ? __builtin_inf() : __mw_gamma_factors(x, &other) * other;
  if (floor(x) == x) return __builtin_nan(""); /* also for -infinity */
  double sine = sinpi(a);
  if (a > 190) return 0;
  double factor = __mw_gamma_factors(a, &other);
  return -0x1.921fb54442d18p+1 / (a * sine * factor) / other;
}

/* log(gamma(x)) for x > 0 */
__mw_both double __mw_log_gamma(double x) {
  __mw_exactly;
  double other;
  if (x < 2) {
    double f = x < 1 ? x : x - 1; /* log(gamma(1 + f)) */
    double y =
        f * (f - 1) *
        __mw_polynomial(f - 0.5, 0x1.eeb95b094c191p-2, -0x1.2aed059bd6085p-3, 0x1.01af62a2929e1p-4,
                        -0x1.007aa83cef9abp-5, 0x1.133423527ae27p-6, -0x1.34dbda128eee5p-7, 0x1.64f0664fb6518p-8,
                        -0x1.a5035375acabep-9, 0x1.f814b951d538bp-10, -0x1.313e5323120b7p-10, 0x1.750aa27fe4301p-11,
                        -0x1.cb502b140a127p-12, 0x1.1c7b46046a59cp-12, -0x1.61854b057e6e9p-13, 0x1.ba26ce28a34b0p-14,
                        -0x1.1cf3272629995p-14, 0x1.672b94917149fp-15, -0x1.6880fac68f031p-16, 0x1.c7d009a4fae3ap-17,
                        -0x1.36d84fee907ffp-16, 0x1.8ca55ab6b8718p-17);
    return x < 1 ? y - log(x) : y;
  }
  if (x < 3)
    return (x - 1) * (x - 2) *
           __mw_polynomial(x - 2.5, 0x1.84afe00cddfdfp-2, -0x1.31d26e9323010p-4, 0x1.462044b0af9dcp-6,
                           -0x1.8a722dfc5dd32p-8, 0x1.feef08b013722p-10, -0x1.595120000a053p-11, 0x1.e05c3d59c366dp-13,
                           -0x1.5501abd8a8808p-14, 0x1.eb8ee8a05e504p-16, -0x1.667015ab27ae6p-17, 0x1.07d9e2af53b04p-18,
                           -0x1.873aeb522d5b2p-20, 0x1.210c79bba49bbp-21, -0x1.b15b9a85d7940p-23, 0x1.7cf41d9a811e3p-24,
                           -0x1.2030cbd99fa28p-25);
  if (x < 12) return log(__mw_gamma_factors(x, &other));
  if (x > 0x1p57) return x * (log(x) - 1);
  double l = log(x), main = (x - 0.5) * (l - 1); /* (x - 1/2) log(x) - x + log(2 pi) / 2 */
  return main + (0x1.acfe390c97d69p-2 + __mw_stirling_series(1 / x));
}

__mw_both double __mw_whole_lgamma(double x) {
  double a = fabs(x);
  if (x != x) return x;
  if (a == __builtin_inf()) return a;
  if (a < 0x1p-60) return -log(a);
  if (x > 0) return __mw_log_gamma(x);
  if (floor(x) == x) return __builtin_inf();
  return log(0x1.921fb54442d18p+1 / (a * fabs(sinpi(a)))) - __mw_log_gamma(a);
}

#endif
