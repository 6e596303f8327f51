/* Powers and roots in single precision: powf, cbrtf, rcbrtf, hypotf.
 *
 * The logarithm for a power needs more bits than a float has, so powf computes in double precision, to half an ulp. */
#ifndef MOONWARP_FLOAT_POWER_H
#define MOONWARP_FLOAT_POWER_H

#include "moonwarp/math/double/double_power.h"
#include "moonwarp/math/float_logarithm.h"

/* 2^x in double, to 2^-34; x is clamped to 400, which is far outside of a float's range. */
__mw_both double __mw_exp2_wide(double x) {
  __mw_exactly;
  x = x > 400.0 ? 400.0 : x;
  x = x < -400.0 ? -400.0 : x;
  double t = x + 0x1.8p+52, r = x - (t - 0x1.8p+52);
  double p = __mw_polynomial(r, 1.0, 0x1.62e42ff192a0fp-1, 0x1.ebfbe07b3333cp-3, 0x1.c6b089b8b7889p-5,
                             0x1.3b29f0851b606p-7, 0x1.5d8b63b726b94p-10, 0x1.445ee47d9da7ep-13, 0x1.fd05cccdfe183p-17);
  long long n = (long long)(__builtin_bit_cast(unsigned long long, t) << 52);
  return __builtin_bit_cast(double, __builtin_bit_cast(long long, p) + n);
}

__mw_both float __mw_short_power(float x, float y) {
  __mw_exactly;
  if (y == 0.5f) return x == -__builtin_inff() ? -x : sqrtf(x) + 0.0f;
  return y == 1 ? x : y == 2 ? x * x : y == 3 ? x * x * x : 1.0f / x;
}

__mw_both float __mw_accurate(powf)(float x, float y) {
  __mw_exactly;
  if (__mw_is_short_power(y)) return __mw_short_power(x, y);
  float a = fabsf(x);
  double log = __mw_log2_wide((double)a);
  /* 0 and infinity: their logarithms are too large for any exponent but 0 */
  log = a == 0.0f ? -1e60 : log;
  log = a < __builtin_inff() ? log : 1e60;
  float p = (float)__mw_exp2_wide((double)y * log);
  /* A negative base: negative with an odd exponent, NaN with one that is not an integer. From 2^24 on all are even. */
  float half = 0.5f * y;
  bool integral = rintf(y) == y, odd = integral && rintf(half) != half && fabsf(y) < 0x1p+24f;
  p = __mw_bits(x) < 0 && odd ? -p : p;
  p = x < 0.0f && !integral && a < __builtin_inff() ? __builtin_nanf("") : p;
  p = x != x || y != y ? x + y : p;
  p = a == 1.0f && fabsf(y) == __builtin_inff() ? 1.0f : p;
  return x == 1.0f || y == 0.0f ? 1.0f : p;
}

/* x^(-1/3) for 0 < x: a guess from the exponent, then two steps of fourth order. */
__mw_both double __mw_reciprocal_cube_root(float x) {
  bool tiny = x < 0x1p-126f;
  float a = tiny ? x * 0x1p+24f : x;
  double third = fma((double)__mw_bits(a), -0x1.5555555555555p-2, 1419967116.0 + 0x1.8p+52); /* rounded to an integer */
  float guess = __mw_float((int)__builtin_bit_cast(long long, third));
  float rough = fmaf(-a * guess * guess, guess, 1.0f);
  guess = fmaf(guess * rough, fmaf(rough, fmaf(rough, 0x1.61f9aep-3f, 0x1.c71c72p-3f), 0x1.555556p-2f), guess);
  double z = guess, e = fma(-(double)a * z * z, z, 1.0);
  z = fma(z * e, fma(e, 0x1.c71c71c71c71cp-3, 0x1.5555555555555p-2), z);
  return tiny ? z * 256.0 : z;
}
__mw_both float cbrtf(float x) {
  float a = fabsf(x);
  double z = __mw_reciprocal_cube_root(a);
  float y = (float)(a * z * z);
  y = a < __builtin_inff() ? y : a;
  return copysignf(a == 0.0f ? a : y, x);
}
__mw_both float rcbrtf(float x) {
  float a = fabsf(x), y = (float)__mw_reciprocal_cube_root(a);
  y = a > 0.0f ? y : 1.0f / a;
  y = a == __builtin_inff() ? 0.0f : y;
  return copysignf(y, x);
}

__mw_both float hypotf(float x, float y) {
  double a = x, b = y;
  float h = (float)sqrt(fma(a, a, b * b));
  return fabsf(x) == __builtin_inff() || fabsf(y) == __builtin_inff() ? __builtin_inff() : h;
}

#endif
