/* 8-bit floating-point numbers of CUDA's two formats, alone, in pairs and in fours, and their conversions.
 *
 *   format  exponent  fraction  largest  infinity  NaN
 *   e4m3    4 bits    3 bits    448      none      0x7f, 0xff
 *   e5m2    5 bits    2 bits    57344    0x7c      0x7d to 0x7f, and with a sign
 *
 * Conversions round to nearest, ties to even. Beyond the largest number __NV_SATFINITE gives the largest, and
 * __NV_NOSAT an infinity (e5m2) or NaN (e4m3); constructors saturate. NaN becomes 0x7f. There is no arithmetic on them:
 * numbers are converted to half or float first. (CUDA Math API, "FP8 Intrinsics"; Micikevicius et al., "FP8 Formats for
 * Deep Learning", 2022) */
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "moonwarp/arithmetic/byte_float.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
typedef enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE } __nv_saturation_t;
typedef enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 } __nv_fp8_interpretation_t;

/* ---- to 8 bits ---- */

__mw_both __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                   __nv_fp8_interpretation_t format) {
  __mw_exactly;
  bool wide = format == __NV_E5M2;
  int fraction = wide ? 2 : 3, bias = wide ? 15 : 7;
  unsigned most = wide ? 0x7b : 0x7e, beyond = wide ? 0x7c : 0x7f;
  unsigned bits = __float_as_uint(x), sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return 0x7f;
  /* The lowest bits of the fraction are rounded off, and the exponent gets the format's bias. */
  unsigned cut = 23 - fraction, code = (size + ((1u << (cut - 1)) - 1) + (size >> cut & 1)) >> cut;
  code -= (unsigned)(127 - bias) << fraction;
  /* Below the normal numbers: in units of the least number, as adding the number whose last bit is one unit makes
     them. */
  float unit = wide ? 128.0f : 16384.0f;
  if (size < (unsigned)(128 - bias) << 23) code = __float_as_uint(fabsf(x) + unit) - __float_as_uint(unit);
  if (code > most || size >= 0x7f800000) code = saturation == __NV_SATFINITE ? most : beyond;
  return (__nv_fp8_storage_t)(sign | code);
}
/* Rounding to odd first makes the second rounding correct. */
__mw_both __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturation,
                                                    __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__mw_float_to_odd(x), saturation, format);
}
__mw_both __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__half2float(__half(x)), saturation, format);
}
__mw_both __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(__bfloat162float(__nv_bfloat16(x)), saturation, format);
}

__mw_both __nv_fp8x2_storage_t __mw_fp8_pair(__nv_fp8_storage_t low, __nv_fp8_storage_t high) {
  return (__nv_fp8x2_storage_t)(low | high << 8);
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                        __nv_fp8_interpretation_t format) {
  return __mw_fp8_pair(__nv_cvt_float_to_fp8(x.x, saturation, format), __nv_cvt_float_to_fp8(x.y, saturation, format));
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturation,
                                                         __nv_fp8_interpretation_t format) {
  return __mw_fp8_pair(__nv_cvt_double_to_fp8(x.x, saturation, format),
                       __nv_cvt_double_to_fp8(x.y, saturation, format));
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                          __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__half22float2(__half2(x)), saturation, format);
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                              __nv_fp8_interpretation_t format) {
  return __nv_cvt_float2_to_fp8x2(__bfloat1622float2(__nv_bfloat162(x)), saturation, format);
}

/* ---- from 8 bits: all numbers of both formats are numbers of half's ---- */

/* e5m2 is the upper half of half. The bits of e4m3, moved to half's place, are the number divided by 2^8, the
   difference of the biases. */
__mw_both __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t format) {
  __half_raw raw;
  bool wide = format == __NV_E5M2;
  unsigned size = x & 0x7fu;
  raw.x = (unsigned short)(wide ? x << 8 : (x & 0x80u) << 8 | size << 7);
  if (!wide) raw = (__half_raw)__float2half_rn(__half2float(__half(raw)) * 256.0f);
  if (wide ? size > 0x7c : size == 0x7f) raw.x = 0x7fff;
  return raw;
}
__mw_both __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t format) {
  __half2_raw raw;
  raw.x = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x & 0xff), format).x;
  raw.y = __nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)(x >> 8), format).x;
  return raw;
}

/* ---- types ---- */

__mw_both __nv_fp8_storage_t __mw_fp8_of(float x, __nv_fp8_interpretation_t format) {
  return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, format);
}
__mw_both __nv_fp8_storage_t __mw_fp8_of(double x, __nv_fp8_interpretation_t format) {
  return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, format);
}
/* clang-format off */
__mw_byte_float(__nv_fp8_e4m3, __mw_fp8_of, __nv_cvt_fp8_to_halfraw, __NV_E4M3);
__mw_byte_float(__nv_fp8_e5m2, __mw_fp8_of, __nv_cvt_fp8_to_halfraw, __NV_E5M2);
__mw_byte_float_pair(__nv_fp8x2_e4m3, __nv_fp8_e4m3, __nv_fp8x2_storage_t, 8);
__mw_byte_float_pair(__nv_fp8x2_e5m2, __nv_fp8_e5m2, __nv_fp8x2_storage_t, 8);
__mw_byte_float_four(__nv_fp8x4_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_storage_t, 16);
__mw_byte_float_four(__nv_fp8x4_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_storage_t, 16);
/* clang-format on */

/* ---- powers of two ---- */

/* e8m0 has an exponent and nothing else: 2^-127 to 2^127, and NaN. Signs are dropped. */
__mw_both __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturation, cudaRoundMode rounding) {
  unsigned size = __float_as_uint(x) & 0x7fffffff, code = size >> 23, fraction = size & 0x7fffff;
  if (size > 0x7f800000) return 0xff;
  if (rounding == cudaRoundPosInf) code += fraction > (code == 0 ? 0x400000u : 0u);
  if (code > 0xfe || size == 0x7f800000) code = saturation == __NV_SATFINITE ? 0xfe : 0xff;
  return (__nv_fp8_storage_t)code;
}
__mw_both float __mw_e8m0_to_float(__nv_fp8_storage_t x) {
  return __uint_as_float(x == 0xff ? 0x7fffffffu : x == 0 ? 0x400000u : (unsigned)x << 23);
}
/* Rounding to odd first makes the second rounding correct. */
__mw_both __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturation, cudaRoundMode rounding) {
  bool finite = x - x == 0.0, beyond = finite && fabs(x) > 3.4028234663852886e38;
  float most = __uint_as_float(0x7f7fffffu); /* rounds up to more than e8m0 has, and down to its largest */
  return __nv_cvt_float_to_e8m0(beyond ? most : __mw_float_to_odd(x), saturation, rounding);
}
__mw_both __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t saturation,
                                                          cudaRoundMode rounding) {
  return __nv_cvt_float_to_e8m0(__bfloat162float(__nv_bfloat16(x)), saturation, rounding);
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_float2_to_e8m0x2(float2 x, __nv_saturation_t saturation,
                                                         cudaRoundMode rounding) {
  return __mw_fp8_pair(__nv_cvt_float_to_e8m0(x.x, saturation, rounding),
                       __nv_cvt_float_to_e8m0(x.y, saturation, rounding));
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_double2_to_e8m0x2(double2 x, __nv_saturation_t saturation,
                                                          cudaRoundMode rounding) {
  return __mw_fp8_pair(__nv_cvt_double_to_e8m0(x.x, saturation, rounding),
                       __nv_cvt_double_to_e8m0(x.y, saturation, rounding));
}
__mw_both __nv_fp8x2_storage_t __nv_cvt_bfloat162raw_to_e8m0x2(__nv_bfloat162_raw x, __nv_saturation_t saturation,
                                                               cudaRoundMode rounding) {
  return __nv_cvt_float2_to_e8m0x2(__bfloat1622float2(__nv_bfloat162(x)), saturation, rounding);
}
__mw_both __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  return (__nv_bfloat16_raw)__float2bfloat16(__mw_e8m0_to_float(x));
}
__mw_both __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  __nv_bfloat162_raw raw;
  raw.x = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x & 0xff)).x;
  raw.y = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)(x >> 8)).x;
  return raw;
}

struct __nv_fp8_e8m0 {
  __nv_fp8_storage_t __x;
  __nv_fp8_e8m0() = default;
  explicit __mw_member __nv_fp8_e8m0(float x) : __x(__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __mw_member __nv_fp8_e8m0(double x) : __nv_fp8_e8m0(__double2float_ru(fabs(x))) {}
  explicit __mw_member __nv_fp8_e8m0(int x) : __nv_fp8_e8m0((double)x) {}
  explicit __mw_member __nv_fp8_e8m0(__half x) : __nv_fp8_e8m0(__half2float(x)) {}
  explicit __mw_member __nv_fp8_e8m0(__nv_bfloat16 x) : __nv_fp8_e8m0(__bfloat162float(x)) {}
  explicit __mw_member operator float() const { return __mw_e8m0_to_float(__x); }
  explicit __mw_member operator double() const { return __mw_e8m0_to_float(__x); }
  explicit __mw_member operator __nv_bfloat16() const { return __float2bfloat16(__mw_e8m0_to_float(__x)); }
};
struct __align__(2) __nv_fp8x2_e8m0 {
  __nv_fp8x2_storage_t __x;
  __nv_fp8x2_e8m0() = default;
  explicit __mw_member __nv_fp8x2_e8m0(float2 x) : __x(__nv_cvt_float2_to_e8m0x2(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __mw_member __nv_fp8x2_e8m0(double2 x)
      : __x(__nv_cvt_double2_to_e8m0x2(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __mw_member __nv_fp8x2_e8m0(__half2 x) : __nv_fp8x2_e8m0(__half22float2(x)) {}
  explicit __mw_member __nv_fp8x2_e8m0(__nv_bfloat162 x) : __nv_fp8x2_e8m0(__bfloat1622float2(x)) {}
  explicit __mw_member operator __nv_bfloat162() const { return __nv_bfloat162(__nv_cvt_e8m0x2_to_bf162raw(__x)); }
  explicit __mw_member operator float2() const {
    return {__mw_e8m0_to_float((__nv_fp8_storage_t)(__x & 0xff)), __mw_e8m0_to_float((__nv_fp8_storage_t)(__x >> 8))};
  }
};
/* clang-format off */
__mw_byte_float_four(__nv_fp8x4_e8m0, __nv_fp8x2_e8m0, __nv_fp8x4_storage_t, 16);
/* clang-format on */
