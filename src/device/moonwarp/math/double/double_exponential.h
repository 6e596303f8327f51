/* Exponential functions in double precision: exp, exp2, exp10, tanh, within one unit in the last place.
 *
 * As in float_exponential.h, the argument is reduced to n ln 2 and a small rest, whose exponential is a polynomial, in
 * straight-line arithmetic, which vectorises. The rest is carried in two doubles. */
#ifndef MOONWARP_DOUBLE_EXPONENTIAL_H
#define MOONWARP_DOUBLE_EXPONENTIAL_H

#include "moonwarp/math/libm.h"
#include "moonwarp/math/polynomial.h"

#define __mw_double_shifter 0x1.8p+52

__mw_both long long __mw_bits(double x) { return __builtin_bit_cast(long long, x); }
__mw_both double __mw_double(long long bits) { return __builtin_bit_cast(double, bits); }
__mw_both long long __mw_shifted(double t) { return __mw_bits(t) - __mw_bits(__mw_double_shifter); }

/* 2^n for -1022 <= n <= 1023 */
__mw_both double __mw_power_of_2(long long n) {
  return __mw_double((long long)((unsigned long long)n << 52) + 0x3ff0000000000000);
}
__mw_both double __mw_times_power(double y, long long n) {
  long long half = n >> 1;
  return y * __mw_power_of_2(half) * __mw_power_of_2(n - half);
}

/* exp(r + low) - 1 - r, for |r| <= ln(2) / 2 */
__mw_both double __mw_exp_tail(double r, double low) {
  double p = __mw_polynomial(r, 0x1p-1, 0x1.555555555555cp-3, 0x1.5555555555541p-5, 0x1.111111110e9f6p-7,
                             0x1.6c16c16c1fa78p-10, 0x1.a01a01b4483b2p-13, 0x1.a01a0177059cp-16, 0x1.71ddee66032eap-19,
                             0x1.27e5405dd761dp-22, 0x1.af6e9d1024e55p-26, 0x1.1eda67da19b42p-29);
  return fma(r * r, p, fma(r, low, low));
}
/* x = n ln 2 + the result + low */
__mw_both double __mw_split_exp(double x, long long *n, double *low) {
  __mw_exactly;
  double t = fma(x, 0x1.71547652b82fep+0, __mw_double_shifter), k = t - __mw_double_shifter;
  double high = fma(k, -0x1.62e42ffp-1, x), rest = k * -0x1.718432a1b0e26p-35, r = high - rest;
  *n = __mw_shifted(t);
  *low = (high - r) - rest;
  return r;
}

__mw_both double exp(double x) {
  __mw_exactly;
  long long n;
  double low;
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  double r = __mw_split_exp(x, &n, &low);
  return __mw_times_power(1.0 + (r + __mw_exp_tail(r, low)), n);
}

/* 2^n exp(r c), c = high + low the logarithm of the base */
__mw_both double __mw_exp_base(double r, double high, double low, long long n) {
  __mw_exactly;
  double s = r * high, s_low = fma(r, low, fma(r, high, -s));
  return __mw_times_power(1.0 + (s + __mw_exp_tail(s, s_low)), n);
}
__mw_both double exp2(double x) {
  __mw_exactly;
  x = x > 1025.0 ? 1025.0 : x;
  x = x < -1076.0 ? -1076.0 : x;
  double t = x + __mw_double_shifter;
  return __mw_exp_base(x - (t - __mw_double_shifter), 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, __mw_shifted(t));
}
__mw_both double exp10(double x) {
  __mw_exactly;
  x = x > 309.0 ? 309.0 : x;
  x = x < -325.0 ? -325.0 : x;
  double t = fma(x, 0x1.a934f0979a371p+1, __mw_double_shifter), k = t - __mw_double_shifter;
  double r = fma(k, 0x1.0c0219dc1da99p-39, fma(k, -0x1.3441350ap-2, x));
  return __mw_exp_base(r, 0x1.26bb1bbb55516p+1, -0x1.f48ad494ea3e9p-53, __mw_shifted(t));
}

/* A polynomial near zero; above 0.8, 1 - 2 / (exp(2 |x|) + 1), with the quotient in two doubles. */
__mw_both double tanh(double x) {
  __mw_exactly;
  double a = fabs(x), s = x * x, low;
  double p =
      __mw_polynomial(s, -0x1.5555555555555p-2, 0x1.11111111110b1p-3, -0x1.ba1ba1ba16a7cp-5, 0x1.664f4881ae844p-6,
                      -0x1.226e353a9f75p-7, 0x1.d6d3cabb1b05ap-9, -0x1.7da3067751bd3p-10, 0x1.35541ff833e62p-11,
                      -0x1.f53ce3a4b17fep-13, 0x1.94fcf95ef5c3ep-14, -0x1.42ce20109c5d5p-15, 0x1.ea00bb69e2622p-17,
                      -0x1.45a5012836326p-18, 0x1.429fbd40f0e15p-20, -0x1.53b6b27260f34p-23);
  double near = fma(a * s, p, a);
  long long n;
  double b = a > 20.0 ? 40.0 : 2.0 * a, r = __mw_split_exp(b, &n, &low), tail = __mw_exp_tail(r, low);
  double part = r + tail, part_low = (r - part) + tail, whole = 1.0 + part;
  double rest = ((1.0 - whole) + part) + part_low, power = __mw_power_of_2(n);
  double e = whole * power, e_low = rest * power, d = e + 1.0, d_low = ((e - d) + 1.0) + e_low;
  double q = 2.0 / d, q_low = (fma(-q, d, 2.0) - q * d_low) * (0.5 * q), far = 1.0 - q;
  far = far + (((1.0 - far) - q) - q_low);
  return __builtin_copysign(a < 0.8 ? near : far, x);
}

#endif
