/* The normal distribution's quantile on the CPU device, for numbers that are made by the inverse of the distribution.
 *
 * z = x P(w), where p is the probability above z, x = 1 - 2p and w = -log(4 p (1 - p)) (Giles, "Approximating the erfinv
 * function", 2012); P is a polynomial that was fitted in Chebyshev's basis, to 2^-54 of itself. Polynomials are summed in two or three parts,
 * as one part's operations would wait for each other. It covers w < 5, 99.7 % of
 * all numbers. */
#ifndef MOONWARP_RANDOM_QUANTILE_H
#define MOONWARP_RANDOM_QUANTILE_H

#include "moonwarp_device.h"

#if !defined __MW_NVPTX__ && !defined __MW_NVRTC__

/* log v for normal v up to 1, to 2^-53 and half a unit of itself: k ln 2 + log(1 + f); log(1 + f) = f - s (f - r(s^2)), where
 * s = f / (2 + f). */
__mw_device_template double __mw_short_log(double v) {
  long long bits = __mw_bits(v) - 0x3fe5555555555555; /* 2/3 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double s = f / (2.0 + f), z = s * s, z2 = z * z;
  double even = __mw_polynomial(z2, 0x1.5555555555555p-1, 0x1.24924924813f7p-2, 0x1.745d1613aed8bp-3,
                                0x1.11253b6d0edfcp-3, 0x1.f7db996be446fp-4);
  double odd =
      __mw_polynomial(z2, 0x1.9999999999b08p-2, 0x1.c71c71d228222p-3, 0x1.3b137bd0e96dbp-3, 0x1.dce4d17615995p-4);
  double r = z * fma(z, odd, even);
  return fma(k, 0x1.62e42fefa39efp-1, f - s * (f - r));
}

/* The number that a normal one exceeds with probability p, for 0 < p <= 1/2. */
__mw_device_template double __mw_upper_quantile(double p) {
  double x = 1.0 - 2.0 * p, w = -__mw_short_log(4.0 * p * (1.0 - p));
  if (w >= 5.0) { /* a Newton step reduces the error from 2.5 units to 1 */
    double y = erfcinv(2.0 * p);
    y += (erfc(y) - 2.0 * p) * (0.886226925452758 * exp(y * y));
    return 1.4142135623730951 * y;
  }
  double t = w - 2.5, t3 = t * t * t;
  double p0 =
      __mw_polynomial(t3, 0x1.0fc8bc55fe004p+1, -0x1.d069d456b3bd8p-10, -0x1.444233fe936c1p-18, -0x1.07e2282a00fap-26,
                      -0x1.82f7fe85d3c3cp-35, -0x1.e0ebad408800bp-44, -0x1.4ad9ee823bdb2p-53);
  double p1 =
      __mw_polynomial(t3, 0x1.652c5b9e4a459p-2, 0x1.43a5452e7041p-12, 0x1.6b78e1e90f1c6p-21, 0x1.60b4b89b02201p-30,
                      0x1.69ad3b9353eddp-40, -0x1.43a78f9311c24p-48, -0x1.1526161abb67dp-55);
  double p2 =
      __mw_polynomial(t3, -0x1.83296808f7078p-8, -0x1.da28c52d49736p-18, 0x1.45f96f8d856f9p-26, 0x1.73fe1dc8ef9c3p-33,
                      0x1.aba8863562b61p-41, 0x1.7293653b06797p-49, 0x1.091f32b98c8e7p-58);
  return x * fma(t, fma(t, p2, p1), p0);
}

#endif

#endif
