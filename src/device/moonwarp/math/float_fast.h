/* Fast single-precision functions (__expf, __sinf, …) with the error bounds of CUDA's programming guide. With
 * -use_fast_math they replace the accurate ones.
 *
 * Their argument reduction has one part less, their polynomials have fewer terms, and there is no branch for large
 * angles. Zeros, infinities and NaN are treated as by the accurate functions. */
#ifndef MOONWARP_FLOAT_FAST_H
#define MOONWARP_FLOAT_FAST_H

#include "moonwarp/math/float_logarithm.h"
#include "moonwarp/math/float_power.h"
#include "moonwarp/math/float_trigonometry.h"

#ifdef __MW_NVPTX__
#include "../../nvptx/float_fast.h"
#else

/* 2^(x scale) for any x; the product is rounded after its integer part has been subtracted. */
__mw_both float __mw_fast_exp2(float x, float scale) {
  __mw_exactly;
  const float high = 129.0f / scale, low = -151.0f / scale;
  x = x > high ? high : x;
  x = x < low ? low : x;
  float t = fmaf(x, scale, __mw_shifter), r = fmaf(x, scale, __mw_shifter - t);
  float p = __mw_polynomialf(r, 1.0f, 0x1.62e426p-1f, 0x1.ebf9bp-3f, 0x1.c6b9cap-5f, 0x1.3cee5cp-7f, 0x1.5addc4p-10f);
  return __mw_times_power(p, __mw_shifted(t));
}
__mw_both float __expf(float x) { return __mw_fast_exp2(x, 0x1.715476p+0f); }
__mw_both float __exp10f(float x) { return __mw_fast_exp2(x, 0x1.a934fp+1f); }

/* log(1 + f) */
__mw_both float __mw_fast_log_near(float f) {
  float tail = __mw_polynomialf(f, -0x1.ffff42p-2f, 0x1.556226p-2f, -0x1.00323cp-2f, 0x1.951834p-3f, -0x1.4cb2eap-3f,
                                0x1.60a72cp-3f, -0x1.4b3e7cp-3f);
  return fmaf(f * f, tail, f);
}
__mw_both float __logf(float x) {
  float k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, fmaf(k, 0x1.62e43p-1f, __mw_fast_log_near(f)));
}
__mw_both float __log2f(float x) {
  float k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, fmaf(__mw_fast_log_near(f), 0x1.715476p+0f, k));
}
__mw_both float __log10f(float x) {
  float k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, fmaf(k, 0x1.344136p-2f, __mw_fast_log_near(f) * 0x1.bcb7b2p-2f));
}
/* By definition, a negative x gives NaN, even with exponents for which no logarithm is needed. */
__mw_both float __powf(float x, float y) {
  if (__mw_is_short_power(y)) return x < 0 ? __builtin_nanf("") : __mw_short_power(x, y);
  return __mw_fast_exp2(y * __log2f(x), 1.0f);
}

/* sin(x - k pi) for |k| up to 2^24; the difference is clamped to slightly more than a quarter turn */
__mw_both float __mw_fast_half_turn(float x, float k, int n) {
  __mw_exactly;
  float r = fmaf(k, 0x1.777a5cp-24f, fmaf(k, -0x1.921fb6p+1f, x)), limit = 0x1.94p+0f;
  r = r > limit ? limit : r;
  r = r < -limit ? -limit : r;
  float s = r * r;
  float y = fmaf(r * s, __mw_polynomialf(s, -0x1.555546p-3f, 0x1.110e16p-7f, -0x1.9f523ep-13f, 0x1.5c463cp-19f), r);
  return __mw_float(__mw_bits(y) ^ (int)((unsigned)n << 31));
}
__mw_both float __sinf(float x) {
  __mw_exactly;
  float a = fabsf(x), t = fmaf(a, 0x1.45f306p-2f, __mw_shifter);
  float y = __mw_fast_half_turn(a, t - __mw_shifter, __mw_shifted(t));
  return __mw_float(__mw_bits(y) ^ (__mw_bits(x) & (int)0x80000000)); /* preserves the sign of zero */
}
/* cos x = -sin(x - (k + 1/2) pi) for an even k */
__mw_both float __cosf(float x) {
  __mw_exactly;
  float t = fmaf(x, 0x1.45f306p-2f, -0.5f) + __mw_shifter;
  return __mw_fast_half_turn(x, t - __mw_shifter + 0.5f, __mw_shifted(t) + 1);
}
__mw_both void __sincosf(float x, float *sine, float *cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
__mw_both float __tanf(float x) { return __sinf(x) / __cosf(x); }
__mw_both float __tanhf(float x) { return tanhf(x); }

#endif

#ifdef __USE_FAST_MATH__
__mw_both float expf(float x) { return __expf(x); }
__mw_both float exp10f(float x) { return __exp10f(x); }
__mw_both float logf(float x) { return __logf(x); }
__mw_both float log2f(float x) { return __log2f(x); }
__mw_both float log10f(float x) { return __log10f(x); }
__mw_both float powf(float x, float y) { return __powf(x, y); }
__mw_both float sinf(float x) { return __sinf(x); }
__mw_both float cosf(float x) { return __cosf(x); }
__mw_both float tanf(float x) { return __tanf(x); }
__mw_both void sincosf(float x, float *sine, float *cosine) { __sincosf(x, sine, cosine); }
#endif
#undef __mw_accurate
#undef __mw_shifter

#endif
