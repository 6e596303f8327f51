/* Trigonometry in single precision: sinf, cosf, sincosf, tanf, sinpif, cospif, sincospif, asinf, acosf, atanf, atan2f.
 *
 * x = k pi/2 + r with |r| <= pi/4, sine and cosine of r by polynomials, exchanged and negated by k's last bits. Up to
 * 2^17 k is exact in float and pi/2 in three parts suffices. Beyond, a branch that gangs rarely take multiplies by the
 * bits of 2/pi that matter (Payne and Hanek, 1983). */
#ifndef MOONWARP_FLOAT_TRIGONOMETRY_H
#define MOONWARP_FLOAT_TRIGONOMETRY_H

#include "moonwarp/math/float_exponential.h"

struct __mw_angle { /* quarters * pi/2 + rest */
  float rest;
  int quarters;
};

/* For finite a >= 2^17. Bits of 2/pi that contribute multiples of 4 to a 2/pi are left out and 96 are used: those of
 * four words from `first` on, where the first word's first bit has the weight 2^31. The words are selected from
 * constants rather than looked up, which would be a gather, and have 32 bits until they are multiplied: every sine
 * contains this code. */
__mw_both __mw_cold __mw_angle __mw_reduce_large(float a) {
  int bits = __mw_bits(a), first = (bits >> 23) - 120, shift = first & 31; /* first is 24 to 134 */
  bool by_1 = (first & 32) != 0, by_2 = (first & 64) != 0, by_4 = (first & 128) != 0;
  unsigned t0 = by_2 ? 0x4e441529u : 0, t1 = by_2 ? 0xfc2757d1u : 0xa2f9836eu, t2 = by_2 ? 0xf534ddc0u : 0x4e441529u,
           t3 = by_2 ? 0xdb629599u : 0xfc2757d1u, t4 = by_2 ? 0x3c439041u : 0xf534ddc0u;
  unsigned w0 = by_4   ? 0xf534ddc0u
                : by_1 ? t1
                       : t0,
           w1 = by_4   ? 0xdb629599u
                : by_1 ? t2
                       : t1,
           w2 = by_4   ? 0x3c439041u
                : by_1 ? t3
                       : t2,
           w3 = by_4   ? 0xfe5163abu
                : by_1 ? t4
                       : t3;
  int rest = shift ^ 31;
  unsigned v0 = w0 << shift | w1 >> 1 >> rest, v1 = w1 << shift | w2 >> 1 >> rest, v2 = w2 << shift | w3 >> 1 >> rest;
  unsigned m = (unsigned)(bits & 0x7fffff) | 0x800000u;
  /* in quadrants, with 2 integer bits */
  unsigned long long turns =
      ((unsigned long long)(m * v0) << 32) + (unsigned long long)m * v1 + ((unsigned long long)m * v2 >> 32);
  long long fraction = (long long)(turns << 2);
  return {(float)((double)fraction * 0x1.921fb54442d18p-64), (int)(turns >> 62) + (fraction < 0 ? 1 : 0)};
}

/* Reduces a = |x|; the rest is NaN for infinity and NaN. mwcc merges the calls for a sine and a cosine of one angle. */
__mw_both __mw_mergeable __mw_angle __mw_reduce(float a) {
  __mw_exactly;
  float t = fmaf(a, 0x1.45f306p-1f, __mw_shifter), k = t - __mw_shifter;
  float r = fmaf(k, 0x1.ee59dap-50f, fmaf(k, 0x1.777a5cp-25f, fmaf(k, -0x1.921fb6p+0f, a)));
  __mw_angle angle = {r, __mw_shifted(t)};
  if (a >= 0x1p+17f) {
    angle = __mw_reduce_large(a);
    angle.rest = a < __builtin_inff() ? angle.rest : __builtin_nanf("");
  }
  angle.rest = a == a ? angle.rest : a;
  return angle;
}

__mw_both float __mw_sin_near(float r, float s) {
  return fmaf(r * s, __mw_polynomialf(s, -0x1.555556p-3f, 0x1.111162p-7f, -0x1.a045f2p-13f, 0x1.772d18p-19f), r);
}
__mw_both float __mw_cos_near(float s) {
  return __mw_polynomialf(s, 1.0f, -0.5f, 0x1.555548p-5f, -0x1.6c0b16p-10f, 0x1.99a138p-16f);
}
/* y with its sign changed if bit 1 of n is set, and again if bit 31 of `sign` is */
__mw_both float __mw_turn(float y, int n, int sign) {
  return __mw_float(__mw_bits(y) ^ (int)(((unsigned)(n & 2) << 30) ^ ((unsigned)sign & 0x80000000u)));
}

/* Both polynomials are computed and one is selected: the lanes of a gang usually need both, and so do a sine and a
   cosine of one angle. */
__mw_both void __mw_accurate(sincosf)(float x, float *sine, float *cosine) {
  __mw_angle angle = __mw_reduce(fabsf(x));
  float r = angle.rest, s = r * r, sin_r = __mw_sin_near(r, s), cos_r = __mw_cos_near(s);
  int n = angle.quarters;
  *sine = __mw_turn(n & 1 ? cos_r : sin_r, n, __mw_bits(x));
  *cosine = __mw_turn(n & 1 ? sin_r : cos_r, n + 1, 0);
}
__mw_both float __mw_accurate(sinf)(float x) {
  float sine, cosine;
  __mw_accurate(sincosf)(x, &sine, &cosine);
  return sine;
}
__mw_both float __mw_accurate(cosf)(float x) {
  float sine, cosine;
  __mw_accurate(sincosf)(x, &sine, &cosine);
  return cosine;
}
__mw_both float __mw_accurate(tanf)(float x) {
  __mw_angle angle = __mw_reduce(fabsf(x));
  float r = angle.rest, s = r * r, sin_r = __mw_sin_near(r, s), cos_r = __mw_cos_near(s);
  float y = angle.quarters & 1 ? -cos_r / sin_r : sin_r / cos_r;
  return __mw_turn(y, 0, __mw_bits(x));
}

/* Sine and cosine of pi x: whole turns are subtracted exactly, and pi is represented by two floats. */
__mw_both float __mw_sinpi_near(float r, float s) {
  __mw_exactly;
  float tail = __mw_polynomialf(s, -0x1.4abbcep+2f, 0x1.466b78p+1f, -0x1.32adacp-1f, 0x1.443b98p-4f);
  return fmaf(r, 0x1.921fb6p+1f, r * fmaf(s, tail, -0x1.777a5cp-24f));
}
__mw_both float __mw_cospi_near(float s) {
  return __mw_polynomialf(s, 1.0f, -0x1.3bd3ccp+2f, 0x1.03c1b8p+2f, -0x1.55b7cep+0f, 0x1.d684b4p-3f);
}
/* x in turns of 2: k halves and a rest */
__mw_both float __mw_reduce_pi(float x, int *k) {
  float turn = x - 2.0f * rintf(0.5f * x), t = fmaf(2.0f, turn, __mw_shifter);
  *k = __mw_shifted(t);
  return fmaf(t - __mw_shifter, -0.5f, turn);
}
/* Zeros of sinpif have the argument's sign, zeros of cospif are +0. */
__mw_both float sinpif(float x) {
  int n;
  float r = __mw_reduce_pi(x, &n), s = r * r;
  float y = __mw_turn(n & 1 ? __mw_cospi_near(s) : __mw_sinpi_near(r, s), n, 0);
  return x == rintf(x) ? x * 0.0f : y;
}
__mw_both float cospif(float x) {
  int n;
  float r = __mw_reduce_pi(x, &n), s = r * r;
  return __mw_turn(n & 1 ? __mw_sinpi_near(r, s) : __mw_cospi_near(s), n + 1, 0) + 0.0f;
}
__mw_both void sincospif(float x, float *sine, float *cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}

/* The arctangent of t in [0, 1], by a polynomial in t^2. */
__mw_both float __mw_atan_near(float t) {
  __mw_exactly;
  float s = t * t;
  float tail = __mw_polynomialf(s, -0x1.55553ep-2f, 0x1.9991e8p-3f, -0x1.2420d6p-3f, 0x1.c090fap-4f, -0x1.581a94p-4f,
                                0x1.da723p-5f, -0x1.fe2526p-6f, 0x1.64f01cp-7f, -0x1.d4ee9ap-10f);
  return fmaf(t * s, tail, t);
}
__mw_both float atanf(float x) {
  float a = fabsf(x), y = __mw_atan_near(a > 1.0f ? 1.0f / a : a);
  return copysignf(a > 1.0f ? 0x1.921fb6p+0f - y : y, x);
}
__mw_both float atan2f(float y, float x) {
  float a = fabsf(x), b = fabsf(y), small = a < b ? a : b, large = a < b ? b : a;
  float t = small / large;
  t = small == large ? 1.0f : t; /* two infinities too */
  t = large == 0.0f ? 0.0f : t;
  float r = __mw_atan_near(t);
  r = a < b ? 0x1.921fb6p+0f - r : r;
  r = __mw_bits(x) < 0 ? 0x1.921fb6p+1f - (r + 0x1.777a5cp-24f) : r;
  return copysignf(x != x || y != y ? __builtin_nanf("") : r, y);
}

/* arcsine's x + x^3 p(x^2), up to 1/2 */
__mw_both float __mw_asin_near(float x, float s) {
  __mw_exactly;
  float tail = __mw_polynomialf(s, 0x1.55554cp-3f, 0x1.33389ep-4f, 0x1.6caabcp-5f, 0x1.04aedp-5f, 0x1.d79aa8p-7f,
                                0x1.33d094p-5f);
  return fmaf(x * s, tail, x);
}
/* Beyond 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2)) */
__mw_both float asinf(float x) {
  __mw_exactly;
  float a = fabsf(x), half = fmaf(a, -0.5f, 0.5f);
  float s = a > 0.5f ? half : a * a, y = __mw_asin_near(a > 0.5f ? sqrtf(half) : a, s);
  return copysignf(a > 0.5f ? fmaf(y, -2.0f, 0x1.921fb6p+0f) : y, x);
}
__mw_both float acosf(float x) {
  __mw_exactly;
  float a = fabsf(x), half = fmaf(a, -0.5f, 0.5f);
  float s = a > 0.5f ? half : a * a, y = __mw_asin_near(a > 0.5f ? sqrtf(half) : a, s);
  float large = x < 0.0f ? fmaf(y, -2.0f, 0x1.921fb6p+1f) : 2.0f * y;
  float small = 0x1.921fb6p+0f - (copysignf(y, x) + 0x1.777a5cp-25f);
  return a > 0.5f ? large : small;
}

#endif
