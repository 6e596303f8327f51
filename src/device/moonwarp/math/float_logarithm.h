/* Logarithms and inverse hyperbolic functions in single precision: logf, log2f, log10f, log1pf, asinhf, acoshf, atanhf.
 *
 * x = 2^k (1 + f) with f in [-1/3, 1/3); log(1 + f) is a minimax polynomial. Near 1, k is 0 and the polynomial's
 * relative error is the result's; elsewhere the sum with k's part is carried in two floats. No tables, no branches. */
#ifndef MOONWARP_FLOAT_LOGARITHM_H
#define MOONWARP_FLOAT_LOGARITHM_H

#include "moonwarp/math/float_exponential.h"

/* For x > 0 and finite; subnormals are scaled up first. */
__mw_both float __mw_split_log(float x, float *k) {
  __mw_exactly;
  bool tiny = x < 0x1p-126f;
  int bits = __mw_bits(tiny ? x * 0x1p+23f : x) - 0x3f2aaaab; /* 2/3 */
  *k = (float)(bits >> 23) - (tiny ? 23.0f : 0.0f);
  return __mw_float((bits & 0x7fffff) + 0x3f2aaaab) - 1.0f;
}

/* The logarithm y, corrected for 0, infinity, negative numbers and NaN. */
__mw_both float __mw_log_limits(float x, float y) {
  y = x < __builtin_inff() ? y : x;
  y = x == 0.0f ? -__builtin_inff() : y;
  return x < 0.0f ? __builtin_nanf("") : y;
}

/* log(1 + f) - f over f^2 */
__mw_both float __mw_log_tail(float f) {
  return __mw_polynomialf(f, -0.5f, 0x1.5555p-2f, -0x1.ffff2p-3f, 0x1.99d28p-3f, -0x1.5595c6p-3f, 0x1.1eb686p-3f,
                          -0x1.f3e77cp-4f, 0x1.1ef47cp-3f, -0x1.0641cep-3f);
}
/* k ln 2 + log(1 + f + low) */
__mw_both float __mw_join_log(float k, float f, float low) {
  __mw_exactly;
  float whole = k * 0x1.62e4p-1f, sum = whole + f, error = (whole - sum) + f; /* the product is exact */
  float rest = fmaf(k, 0x1.7f7d1cp-20f, low);
  return sum + (error + fmaf(f * f, __mw_log_tail(f), rest));
}

__mw_both float __mw_accurate(logf)(float x) {
  float k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, __mw_join_log(k, f, 0.0f));
}

/* k + f c + f^2 tail, for logarithms to another base: c = high + low is the logarithm of e. */
__mw_both float __mw_join_log_base(float whole, float f, float high, float low, float tail) {
  __mw_exactly;
  float part = f * high, part_low = fmaf(f, low, fmaf(f, high, -part));
  float sum = whole + part, error = (whole - sum) + part;
  return sum + (error + fmaf(f * f, tail, part_low));
}
__mw_both float __mw_accurate(log2f)(float x) {
  float k, f = __mw_split_log(x, &k);
  float tail = __mw_polynomialf(f, -0x1.715478p-1f, 0x1.ec6ff4p-2f, -0x1.7152a4p-2f, 0x1.27a5c6p-2f, -0x1.ed101ep-3f,
                                0x1.9d13d2p-3f, -0x1.65c322p-3f, 0x1.a03eecp-3f, -0x1.8505cep-3f);
  return __mw_log_limits(x, __mw_join_log_base(k, f, 0x1.715476p+0f, 0x1.acc41p-26f, tail));
}
__mw_both float __mw_accurate(log10f)(float x) {
  __mw_exactly;
  float k, f = __mw_split_log(x, &k);
  float tail = __mw_polynomialf(f, -0x1.bcb7b2p-3f, 0x1.287a1p-3f, -0x1.bcb668p-4f, 0x1.63fec6p-4f, -0x1.28c1f8p-4f,
                                0x1.f1645p-5f, -0x1.b0d58cp-5f, 0x1.f5394ep-5f, -0x1.cce4c4p-5f);
  float y = __mw_join_log_base(k * 0x1.344p-2f, f, 0x1.bcb7b2p-2f, -0x1.209cd8p-27f, tail);
  return __mw_log_limits(x, fmaf(k, 0x1.3509f8p-18f, y));
}

/* 1 + x = 2^k (1 + f + low), where low is the rounding error of 1 + x. */
__mw_both float log1pf(float x) {
  __mw_exactly;
  float u = 1.0f + x;
  int k = (__mw_bits(u) - 0x3f2aaaab) >> 23, half = k >> 1; /* up to 128: too much for one factor */
  float first = __mw_power_of_2(-half), second = __mw_power_of_2(half - k);
  float one = first * second - 1.0f, part = x * first * second;
  float f = one + part, other = f - one, low = (one - (f - other)) + (part - other);
  low = fmaf(low, f * (f - 1.0f), low); /* over 1 + f, nearly */
  float y = __mw_join_log((float)k, f, low);
  y = u < __builtin_inff() ? y : u;
  y = x == -1.0f ? -__builtin_inff() : y;
  y = x < -1.0f ? __builtin_nanf("") : y;
  return x == 0.0f ? x : y;
}

/* log2(x) for a float x > 0, in double: to 2^-35 of itself. */
__mw_both double __mw_log2_wide(double x) {
  long long bits = __builtin_bit_cast(long long, x) - 0x3fe5555555555555;
  double f = __builtin_bit_cast(double, (bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double k = (double)(int)(bits >> 52);
  double p = __mw_polynomial(f, 0x1.71547652bbe67p+0, -0x1.7154764b2ebe6p-1, 0x1.ec709d8feeab1p-2, -0x1.71548502c01ap-2,
                             0x1.2776e237541b7p-2, -0x1.ec687801c356bp-3, 0x1.a60b2382d857ep-3, -0x1.724ac7049ce55p-3,
                             0x1.4981c115a54cp-3, -0x1.1981ee213bd36p-3, 0x1.fa15a785caf54p-4, -0x1.543acb1dbbee2p-3,
                             0x1.42b159bf1f214p-3);
  return fma(f, p, k);
}
__mw_both float __mw_log_wide(double x) { return (float)(0x1.62e42fefa39efp-1 * __mw_log2_wide(x)); }

__mw_both float asinhf(float x) {
  __mw_exactly;
  float a = fabsf(x), s = x * x;
  float near = fmaf(a * s,
                    __mw_polynomialf(s, -0x1.555554p-3f, 0x1.33323ap-4f, -0x1.6d7ebap-5f, 0x1.ec11a8p-6f,
                                     -0x1.487c9ep-6f, 0x1.2f4d3cp-7f),
                    a);
  double wide = a;
  float far = __mw_log_wide(wide + sqrt(fma(wide, wide, 1.0)));
  far = a < __builtin_inff() ? far : a;
  return copysignf(a < 0.5f ? near : far, x);
}
__mw_both float acoshf(float x) {
  double wide = x, t = wide - 1.0;
  float y = __mw_log_wide(wide + sqrt(t * (wide + 1.0)));
  y = x < __builtin_inff() ? y : x;
  return x < 1.0f ? __builtin_nanf("") : y;
}
__mw_both float atanhf(float x) {
  __mw_exactly;
  float a = fabsf(x), s = x * x;
  float near = fmaf(a * s,
                    __mw_polynomialf(s, 0x1.55553ep-2f, 0x1.99a728p-3f, 0x1.2342bp-3f, 0x1.e49c42p-4f, 0x1.a2a704p-5f,
                                     0x1.6a8526p-3f),
                    a);
  double wide = a;
  float far = 0.5f * __mw_log_wide((1.0 + wide) / (1.0 - wide));
  far = a == 1.0f ? __builtin_inff() : far;
  far = a <= 1.0f ? far : __builtin_nanf("");
  return copysignf(a < 0.5f ? near : far, x);
}

#endif
