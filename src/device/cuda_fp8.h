/* 8-bit floating-point numbers of CUDA's two formats, alone, in pairs and in fours, and their conversions.
 *
 *   format  exponent  fraction  largest  infinity  NaN
 *   e4m3    4 bits    3 bits    448      none      0x7f, 0xff
 *   e5m2    5 bits    2 bits    57344    0x7c      0x7d to 0x7f, and with a sign
 *
 * Conversions round to nearest, ties to even. Beyond the largest number __NV_SATFINITE gives the largest, and
 * __NV_NOSAT an infinity (e5m2) or NaN (e4m3); constructors saturate. NaN becomes 0x7f. Nothing is calculated with:
 * numbers are converted to half or float first. (CUDA Math API, "FP8 Intrinsics"; Micikevicius et al., "FP8 Formats for
 * Deep Learning", 2022) */
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

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
  /* Below the normal numbers: in units of the least number, as adding the number whose last bit is one unit makes them. */
  float unit = wide ? 128.0f : 16384.0f;
  if (size < (unsigned)(128 - bias) << 23) code = __float_as_uint(fabsf(x) + unit) - __float_as_uint(unit);
  if (code > most || size >= 0x7f800000) code = saturation == __NV_SATFINITE ? most : beyond;
  return (__nv_fp8_storage_t)(sign | code);
}
/* Rounding to odd first keeps what decides about the rounding after it. */
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

/* e5m2 is the upper half of half. The bits of e4m3, moved to half's place, are the number divided by 2^8, the difference
   of the biases. */
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

/* All conversions but those between the formats are explicit. Integers are cut to the range. */
#define __mw_fp8_from(type, F, T)                                                                                      \
  explicit __mw_member type(T x) : __x(__nv_cvt_double_to_fp8((double)x, __NV_SATFINITE, F)) {}
#define __mw_fp8_to(T)                                                                                                 \
  explicit __mw_member operator T() const { return (T)(float)*this; }
#define __mw_fp8_to_small(T, low, high)                                                                                \
  explicit __mw_member operator T() const {                                                                            \
    float x = (float)*this;                                                                                            \
    return (T)(int)(x == x ? fminf(fmaxf(x, low), high) : 0.0f);                                                       \
  }
#define __mw_fp8_type(name, F)                                                                                         \
  struct name {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                            \
    name() = default;                                                                                                  \
    explicit __mw_member name(__half x) : __x(__nv_cvt_halfraw_to_fp8((__half_raw)x, __NV_SATFINITE, F)) {}            \
    explicit __mw_member name(__nv_bfloat16 x)                                                                         \
        : __x(__nv_cvt_bfloat16raw_to_fp8((__nv_bfloat16_raw)x, __NV_SATFINITE, F)) {}                                 \
    explicit __mw_member name(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, F)) {}                           \
    __mw_fp8_from(name, F, double) __mw_fp8_from(name, F, short) __mw_fp8_from(name, F, unsigned short)                \
        __mw_fp8_from(name, F, int) __mw_fp8_from(name, F, unsigned) __mw_fp8_from(name, F, long)                      \
            __mw_fp8_from(name, F, unsigned long) __mw_fp8_from(name, F, long long)                                    \
                __mw_fp8_from(name, F, unsigned long long) explicit __mw_member                                        \
                operator __half() const {                                                                              \
      return __half(__nv_cvt_fp8_to_halfraw(__x, F));                                                                  \
    }                                                                                                                  \
    explicit __mw_member operator float() const { return __half2float(__half(__nv_cvt_fp8_to_halfraw(__x, F))); }      \
    explicit __mw_member operator __nv_bfloat16() const { return __float2bfloat16_rz((float)*this); }                  \
    explicit __mw_member operator bool() const { return (__x & 0x7f) != 0; }                                           \
    __mw_fp8_to(double) __mw_fp8_to(int) __mw_fp8_to(unsigned) __mw_fp8_to(long) __mw_fp8_to(unsigned long)            \
        __mw_fp8_to(long long) __mw_fp8_to(unsigned long long) __mw_fp8_to_small(short, -32768.0f, 32767.0f)           \
            __mw_fp8_to_small(unsigned short, 0.0f, 65535.0f) __mw_fp8_to_small(signed char, -128.0f, 127.0f)          \
                __mw_fp8_to_small(char, -128.0f, 127.0f) __mw_fp8_to_small(unsigned char, 0.0f, 255.0f)                \
  }
#define __mw_fp8_pair_type(name, F)                                                                                    \
  struct __align__(2) name {                                                                                           \
    __nv_fp8x2_storage_t __x;                                                                                          \
    name() = default;                                                                                                  \
    explicit __mw_member name(__half2 x) : __x(__nv_cvt_halfraw2_to_fp8x2((__half2_raw)x, __NV_SATFINITE, F)) {}       \
    explicit __mw_member name(__nv_bfloat162 x)                                                                        \
        : __x(__nv_cvt_bfloat16raw2_to_fp8x2((__nv_bfloat162_raw)x, __NV_SATFINITE, F)) {}                             \
    explicit __mw_member name(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, F)) {}                       \
    explicit __mw_member name(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, F)) {}                     \
    explicit __mw_member operator __half2() const { return __half2(__nv_cvt_fp8x2_to_halfraw2(__x, F)); }              \
    explicit __mw_member operator float2() const {                                                                     \
      return __half22float2(__half2(__nv_cvt_fp8x2_to_halfraw2(__x, F)));                                              \
    }                                                                                                                  \
  }
#define __mw_fp8_four_type(name, pair, F)                                                                              \
  struct __align__(4) name {                                                                                           \
    __nv_fp8x4_storage_t __x;                                                                                          \
    name() = default;                                                                                                  \
    static __mw_member unsigned __mw_of(pair low, pair high) { return low.__x | (unsigned)high.__x << 16; }            \
    explicit __mw_member name(__half2 low, __half2 high) : __x(__mw_of(pair(low), pair(high))) {}                      \
    explicit __mw_member name(__nv_bfloat162 low, __nv_bfloat162 high) : __x(__mw_of(pair(low), pair(high))) {}        \
    explicit __mw_member name(float4 x) : __x(__mw_of(pair(float2{x.x, x.y}), pair(float2{x.z, x.w}))) {}              \
    explicit __mw_member name(double4 x) : __x(__mw_of(pair(double2{x.x, x.y}), pair(double2{x.z, x.w}))) {}           \
    explicit __mw_member operator float4() const {                                                                     \
      pair low, high;                                                                                                  \
      low.__x = (unsigned short)(__x & 0xffff), high.__x = (unsigned short)(__x >> 16);                                \
      float2 a = (float2)low, b = (float2)high;                                                                        \
      return {a.x, a.y, b.x, b.y};                                                                                     \
    }                                                                                                                  \
  }
/* clang-format off */
__mw_fp8_type(__nv_fp8_e4m3, __NV_E4M3);
__mw_fp8_type(__nv_fp8_e5m2, __NV_E5M2);
__mw_fp8_pair_type(__nv_fp8x2_e4m3, __NV_E4M3);
__mw_fp8_pair_type(__nv_fp8x2_e5m2, __NV_E5M2);
__mw_fp8_four_type(__nv_fp8x4_e4m3, __nv_fp8x2_e4m3, __NV_E4M3);
__mw_fp8_four_type(__nv_fp8x4_e5m2, __nv_fp8x2_e5m2, __NV_E5M2);
/* clang-format on */
#undef __mw_fp8_from
#undef __mw_fp8_to
#undef __mw_fp8_to_small
#undef __mw_fp8_type
#undef __mw_fp8_pair_type
#undef __mw_fp8_four_type

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
