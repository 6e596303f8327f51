/* Exponential functions in single precision: expf, exp2f, exp10f, expm1f, sinhf, coshf, tanhf.
 *
 * Straight-line arithmetic without tables, calls or branches, so that it vectorises. x is reduced to n ln 2 + r; the
 * result is 2^n times a minimax polynomial in the small rest r. Rounding errors of the rest are carried along in
 * functions whose error bound in CUDA is one ulp. Comparisons with NaN are false, so the limits below let NaN pass. */
#ifndef MOONWARP_FLOAT_EXPONENTIAL_H
#define MOONWARP_FLOAT_EXPONENTIAL_H

#include "moonwarp/math/libm.h"
#include "moonwarp/math/polynomial.h"

__mw_both int __mw_bits(float x) { return __builtin_bit_cast(int, x); }
__mw_both float __mw_float(int bits) { return __builtin_bit_cast(float, bits); }

/* As with nvcc, -use_fast_math replaces some functions by their intrinsics: float_fast.h. */
#ifdef __USE_FAST_MATH__
#define __mw_accurate(name) __mw_accurate_##name
#else
#define __mw_accurate(name) name
#endif

/* The magic number: adding it leaves the nearest integer in the sum's low mantissa bits, which is cheaper than a
   saturating conversion. */
#define __mw_shifter 0x1.8p+23f

__mw_both int __mw_shifted(float t) { return __mw_bits(t) - __mw_bits(__mw_shifter); }

/* 2^n for -126 <= n <= 127 */
__mw_both float __mw_power_of_2(int n) { return __mw_float((int)((unsigned)n << 23) + 0x3f800000); }

/* y 2^n, rounded once even if the result is subnormal, and infinite if n is 128 and y at least 1. */
__mw_both float __mw_times_power(float y, int n) {
  int half = n >> 1;
  return y * __mw_power_of_2(half) * __mw_power_of_2(n - half);
}

/* x = n ln 2 + r */
__mw_both float __mw_split_exp(float x, int *n) {
  __mw_exactly;
  float t = fmaf(x, 0x1.715476p+0f, __mw_shifter), k = t - __mw_shifter;
  *n = __mw_shifted(t);
  return fmaf(k, 0x1.05c61p-29f, fmaf(k, -0x1.62e43p-1f, x));
}
__mw_both float __mw_exp_near(float r) {
  return __mw_polynomialf(r, 1.0f, 1.0f, 0x1.fffff8p-2f, 0x1.555486p-3f, 0x1.555b7ep-5f, 0x1.1241cp-7f,
                          0x1.687b08p-10f);
}
__mw_both float __mw_exp2_near(float r) {
  return __mw_polynomialf(r, 1.0f, 0x1.62e43p-1f, 0x1.ebfbd8p-3f, 0x1.c6af6cp-5f, 0x1.3b309p-7f, 0x1.5f12bap-10f,
                          0x1.3fbecp-13f);
}

__mw_both float __mw_accurate(expf)(float x) {
  int n;
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  float r = __mw_split_exp(x, &n);
  return __mw_times_power(__mw_exp_near(r), n);
}

__mw_both float exp2f(float x) {
  __mw_exactly;
  x = x > 129.0f ? 129.0f : x;
  x = x < -151.0f ? -151.0f : x;
  float t = x + __mw_shifter;
  return __mw_times_power(__mw_exp2_near(x - (t - __mw_shifter)), __mw_shifted(t));
}

__mw_both float __mw_accurate(exp10f)(float x) {
  __mw_exactly;
  x = x > 39.0f ? 39.0f : x;
  x = x < -46.0f ? -46.0f : x;
  float t = fmaf(x, 0x1.a934fp+1f, __mw_shifter), k = t - __mw_shifter;
  float r = fmaf(k, -0x1.3509f8p-18f, fmaf(k, -0x1.344p-2f, x)); /* k times the first part of log10(2) is exact */
  float p = __mw_polynomialf(r, 1.0f, 0x1.26bb1cp+1f, 0x1.535248p+1f, 0x1.046f96p+1f, 0x1.2bdbdap+0f, 0x1.156ffep-1f,
                             0x1.a4a488p-3f);
  return __mw_times_power(p, __mw_shifted(t));
}

/* 2^n (1 + r + tail) - 1, with the rounding errors of the sums added back. Computed as half of that until the end, for
   n = 128. */
__mw_both float expm1f(float x) {
  __mw_exactly;
  float a = x > 89.0f ? 89.0f : x;
  a = a < -20.0f ? -20.0f : a;
  float t = fmaf(a, 0x1.715476p+0f, __mw_shifter), k = t - __mw_shifter;
  float high = fmaf(k, -0x1.62e4p-1f, a), low = k * 0x1.7f7d1cp-20f, r = high - low;
  float r_low = (high - r) - low;
  float tail =
      __mw_polynomialf(r, 0x1p-1f, 0x1.555554p-3f, 0x1.5554ecp-5f, 0x1.1112fep-7f, 0x1.6d495p-10f, 0x1.9e25ep-13f);
  tail = fmaf(r * r, tail, r_low);
  float half_power = __mw_power_of_2(__mw_shifted(t) - 1), whole = half_power - 0.5f, part = half_power * r;
  float sum = whole + part, error = (whole - sum) + part + ((half_power - whole) - 0.5f);
  float y = 2.0f * (sum + fmaf(half_power, tail, error));
  return fabsf(x) < 0x1p-60f ? x : y; /* preserves the sign of zero and all bits of subnormals */
}

/* exp(x) / 4, for 0 <= x <= 90: coshf and sinhf need values outside of expf's range */
__mw_both float __mw_quarter_exp(float x) {
  int n;
  float r = __mw_split_exp(x, &n);
  return __mw_exp_near(r) * __mw_power_of_2(n - 2);
}

__mw_both float coshf(float x) {
  float a = fabsf(x);
  a = a > 90.0f ? 90.0f : a;
  float e = __mw_quarter_exp(a);
  return 2.0f * e + 0.125f / e;
}

__mw_both float sinhf(float x) {
  __mw_exactly;
  float a = fabsf(x), s = x * x;
  float near = fmaf(a * s, __mw_polynomialf(s, 0x1.555556p-3f, 0x1.1110eap-7f, 0x1.a01c22p-13f, 0x1.76771ep-19f), a);
  float b = a > 90.0f ? 90.0f : a, e = __mw_quarter_exp(b);
  return copysignf(a < 1.0f ? near : 2.0f * e - 0.125f / e, x);
}

/* 1 - 2 / (exp(2 |x|) + 1) away from zero */
__mw_both float tanhf(float x) {
  __mw_exactly;
  float a = fabsf(x), s = x * x;
  float near = fmaf(
      a * s, __mw_polynomialf(s, -0x1.55553cp-2f, 0x1.110966p-3f, -0x1.b8909ap-5f, 0x1.5486a2p-6f, -0x1.8182f6p-8f), a);
  float b = a > 10.0f ? 10.0f : a;
  float far = 1.0f - 0.5f / (__mw_quarter_exp(2.0f * b) + 0.25f);
  return copysignf(a < 0.6f ? near : far, x);
}

#endif
