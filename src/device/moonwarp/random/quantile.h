/* The normal distribution's quantile on the CPU device, for numbers that are made by the inverse of the distribution.
 *
 * z = x P(w), where p is the probability above z, x = 1 - 2p and w = -log(4 p (1 - p)) (Giles, "Approximating the erfinv
 * function", 2012); P is a polynomial that was fitted in Chebyshev's basis, to 2^-54 of itself (2^-34 for floats). Polynomials are summed in two or
 * three parts, as one part's operations would wait for each other. P covers w < 5, 99.7 % of all numbers. */
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

/* log v to 2^-35, for the same v. */
__mw_device_template double __mw_rough_log(double v) {
  long long bits = __mw_bits(v) - 0x3fe5555555555555; /* 2/3 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double f2 = f * f;
  double even =
      __mw_polynomial(f2, -0x1.777337de64386p-39, -0x1.ffffffd7e2df7p-2, -0x1.00001655d32eap-2, -0x1.554c0b140e37fp-3,
                      -0x1.00e9e553a8d18p-3, -0x1.824ef8148012dp-4, -0x1.e37a85b750192p-4);
  double odd = __mw_polynomial(f2, 0x1.fffffffa69162p-1, 0x1.5555603bb3a41p-2, 0x1.99938cb6262d5p-3,
                               0x1.254953a292ea0p-3, 0x1.b25a2476e869dp-4, 0x1.002cadd66a795p-3);
  return fma(k, 0x1.62e42fefa39efp-1, fma(f, odd, even));
}

/* __mw_upper_quantile to 2^-33 of itself, for 2^-33 <= p <= 1/2; beyond w = 5 as a polynomial in the root of w. */
__mw_device_template double __mw_rough_upper_quantile(double p) {
  double x = 1.0 - 2.0 * p, w = -__mw_rough_log(4.0 * p * (1.0 - p));
  if (w >= 5.0)
    return __mw_polynomial(sqrt(w) - 0x1.b8a4f428864d3p+1, 0x1.28a77387cb51ep+2, 0x1.6c9719937e734p+0,
                           0x1.3c81c239149dcp-8, -0x1.59ae7838a20a2p-9, 0x1.e87c03addb01dp-11, -0x1.12dc087af2366p-12,
                           0x1.a77055deb0ccdp-15, 0x1.2cd5fd4aed471p-19, -0x1.2a2de1828cdc2p-17, 0x1.7606908e8e5e1p-18,
                           -0x1.818ce6bc925efp-20, -0x1.bc7584d77ed2cp-22, 0x1.1114d75a630f6p-22);
  double t = w - 2.5, t2 = t * t;
  double even =
      __mw_polynomial(t2, 0x1.0fc8bc560d808p+1, -0x1.832969f199b5ap-8, 0x1.43a593e5cc428p-12, -0x1.445545dff46ecp-18,
                      0x1.4ecff575b74aap-26, 0x1.3ec924f2c1436p-30, -0x1.fec63de6db194p-36);
  double odd = __mw_polynomial(t2, 0x1.652c5b9f84749p-2, -0x1.d069d954f44a1p-10, -0x1.da2350c9bb36fp-18,
                               0x1.6b6764d21bd13p-21, -0x1.07ae77eaf473dp-26, 0x1.7e55097c3eb98p-33);
  return x * fma(t, odd, even);
}

#endif

#endif
