/* Types of numbers in a byte or less, in pairs and in fours, for cuda_fp8.h, cuda_fp6.h and cuda_fp4.h. All conversions
 * are explicit, to numbers saturate, and go through half, which has all of these numbers. */
#ifndef MOONWARP_BYTE_FLOAT_H
#define MOONWARP_BYTE_FLOAT_H

/* of(x, F) is the code of a float or double, halfraw(code, F) the number. */
#define __mw_byte_float_from(type, of, F, T)                                                                           \
  explicit __mw_member type(T x) : __x(of((double)x, F)) {}
#define __mw_byte_float_to(T)                                                                                          \
  explicit __mw_member operator T() const { return (T)(float)*this; }
#define __mw_byte_float_to_small(T, low, high)                                                                         \
  explicit __mw_member operator T() const {                                                                            \
    float x = (float)*this;                                                                                            \
    return (T)(int)(x == x ? fminf(fmaxf(x, low), high) : 0.0f);                                                       \
  }
#define __mw_byte_float(name, of, halfraw, F)                                                                          \
  struct name {                                                                                                        \
    unsigned char __x;                                                                                                 \
    name() = default;                                                                                                  \
    explicit __mw_member name(__half x) : __x(of((float)x, F)) {}                                                      \
    explicit __mw_member name(__nv_bfloat16 x) : __x(of((float)x, F)) {}                                               \
    explicit __mw_member name(float x) : __x(of(x, F)) {}                                                              \
    __mw_byte_float_from(name, of, F, double) __mw_byte_float_from(name, of, F, short)                                 \
        __mw_byte_float_from(name, of, F, unsigned short) __mw_byte_float_from(name, of, F, int)                       \
            __mw_byte_float_from(name, of, F, unsigned) __mw_byte_float_from(name, of, F, long)                        \
                __mw_byte_float_from(name, of, F, unsigned long) __mw_byte_float_from(name, of, F, long long)          \
                    __mw_byte_float_from(name, of, F, unsigned long long) explicit __mw_member                         \
                    operator __half() const {                                                                          \
      return __half(halfraw(__x, F));                                                                                  \
    }                                                                                                                  \
    explicit __mw_member operator float() const { return __half2float(__half(halfraw(__x, F))); }                      \
    explicit __mw_member operator __nv_bfloat16() const { return __float2bfloat16_rz((float)*this); }                  \
    explicit __mw_member operator bool() const { return (float)*this != 0.0f; }                                        \
    __mw_byte_float_to(double) __mw_byte_float_to(int) __mw_byte_float_to(unsigned) __mw_byte_float_to(long)           \
        __mw_byte_float_to(unsigned long) __mw_byte_float_to(long long) __mw_byte_float_to(unsigned long long)         \
            __mw_byte_float_to_small(short, -32768.0f, 32767.0f)                                                       \
                __mw_byte_float_to_small(unsigned short, 0.0f, 65535.0f)                                               \
                    __mw_byte_float_to_small(signed char, -128.0f, 127.0f)                                             \
                        __mw_byte_float_to_small(char, -128.0f, 127.0f)                                                \
                            __mw_byte_float_to_small(unsigned char, 0.0f, 255.0f)                                      \
  }

/* Two of `one`, the first in the low bits of a word. */
#define __mw_byte_float_pair(name, one, word, bits)                                                                    \
  struct __align__(sizeof(word)) name {                                                                                \
    word __x;                                                                                                          \
    name() = default;                                                                                                  \
    static __mw_member word __mw_of(one low, one high) { return (word)(low.__x | high.__x << bits); }                  \
    explicit __mw_member name(__half2 x) : __x(__mw_of(one(x.x), one(x.y))) {}                                         \
    explicit __mw_member name(__nv_bfloat162 x) : __x(__mw_of(one(x.x), one(x.y))) {}                                  \
    explicit __mw_member name(float2 x) : __x(__mw_of(one(x.x), one(x.y))) {}                                          \
    explicit __mw_member name(double2 x) : __x(__mw_of(one(x.x), one(x.y))) {}                                         \
    explicit __mw_member operator __half2() const {                                                                    \
      one low, high;                                                                                                   \
      low.__x = (unsigned char)(__x & ((1 << bits) - 1)), high.__x = (unsigned char)(__x >> bits);                     \
      return __half2((__half)low, (__half)high);                                                                       \
    }                                                                                                                  \
    explicit __mw_member operator float2() const { return __half22float2((__half2) * this); }                          \
  }

/* Four, as two pairs of `bits` each. */
#define __mw_byte_float_four(name, pair, word, bits)                                                                   \
  struct __align__(sizeof(word)) name {                                                                                \
    word __x;                                                                                                          \
    name() = default;                                                                                                  \
    static __mw_member word __mw_of(pair low, pair high) { return (word)(low.__x | (unsigned)high.__x << bits); }      \
    explicit __mw_member name(__half2 low, __half2 high) : __x(__mw_of(pair(low), pair(high))) {}                      \
    explicit __mw_member name(__nv_bfloat162 low, __nv_bfloat162 high) : __x(__mw_of(pair(low), pair(high))) {}        \
    explicit __mw_member name(float4 x) : __x(__mw_of(pair(float2{x.x, x.y}), pair(float2{x.z, x.w}))) {}              \
    explicit __mw_member name(double4 x) : __x(__mw_of(pair(double2{x.x, x.y}), pair(double2{x.z, x.w}))) {}           \
    explicit __mw_member operator float4() const {                                                                     \
      pair low, high;                                                                                                  \
      low.__x = (decltype(low.__x))(__x & ((1u << bits) - 1)), high.__x = (decltype(low.__x))(__x >> bits);            \
      float2 a = (float2)low, b = (float2)high;                                                                        \
      return {a.x, a.y, b.x, b.y};                                                                                     \
    }                                                                                                                  \
  }

/* ---- formats of 6 and 4 bits: no infinity, no NaN, what is too large becomes the largest ---- */

/* `fraction` bits after the point, a sign above the code `most` of the largest number, and the exponent's bias. Rounds
   to nearest, ties to even, or toward zero; NaN becomes the largest number. */
__mw_both unsigned char __mw_small_float_of(double x, int fraction, int bias, unsigned most, bool nearest) {
  unsigned long long bits = (unsigned long long)__double_as_longlong(x);
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023, least = 1 - bias;
  if (x != x) return (unsigned char)most;
  if (exponent < least) exponent = least;
  unsigned sign = bits >> 63 ? most + 1 : 0, code = most;
  if (exponent <= least + 8) {
    double units = fabs(x) * __longlong_as_double((long long)(1023 + fraction - exponent) << 52);
    code = (unsigned)(nearest ? rint(units) : trunc(units)) + ((unsigned)(exponent - least) << fraction);
  }
  return (unsigned char)(sign | (code < most ? code : most));
}
__mw_both __half_raw __mw_small_float_to_half(unsigned code, int fraction, int bias, unsigned most) {
  unsigned size = code & most, exponent = size >> fraction;
  unsigned units = exponent ? (size & ((1u << fraction) - 1)) | 1u << fraction : size;
  float x = (float)units * __int_as_float((127 + (int)(exponent ? exponent : 1) - bias - fraction) << 23);
  return (__half_raw)__float2half_rn(code > most ? -x : x);
}

/* The conversions by CUDA's names; a pair holds its second number `bits` higher. */
#define __mw_small_float_functions(kind, formats, code_type, pair_type, bits)                                          \
  __mw_both code_type __nv_cvt_double_to_##kind(double x, formats format, cudaRoundMode rounding) {                    \
    return __mw_##kind##_of(x, format, rounding == cudaRoundNearest);                                                  \
  }                                                                                                                    \
  __mw_both code_type __nv_cvt_float_to_##kind(float x, formats format, cudaRoundMode rounding) {                      \
    return __nv_cvt_double_to_##kind((double)x, format, rounding);                                                     \
  }                                                                                                                    \
  __mw_both code_type __nv_cvt_halfraw_to_##kind(__half_raw x, formats format, cudaRoundMode rounding) {               \
    return __nv_cvt_double_to_##kind((double)__half2float(__half(x)), format, rounding);                               \
  }                                                                                                                    \
  __mw_both code_type __nv_cvt_bfloat16raw_to_##kind(__nv_bfloat16_raw x, formats format, cudaRoundMode rounding) {    \
    return __nv_cvt_double_to_##kind((double)__bfloat162float(__nv_bfloat16(x)), format, rounding);                    \
  }                                                                                                                    \
  __mw_both pair_type __nv_cvt_double2_to_##kind##x2(double2 x, formats format, cudaRoundMode rounding) {              \
    return (pair_type)(__nv_cvt_double_to_##kind(x.x, format, rounding) |                                              \
                       __nv_cvt_double_to_##kind(x.y, format, rounding) << bits);                                      \
  }                                                                                                                    \
  __mw_both pair_type __nv_cvt_float2_to_##kind##x2(float2 x, formats format, cudaRoundMode rounding) {                \
    return __nv_cvt_double2_to_##kind##x2(double2{x.x, x.y}, format, rounding);                                        \
  }                                                                                                                    \
  __mw_both pair_type __nv_cvt_halfraw2_to_##kind##x2(__half2_raw x, formats format, cudaRoundMode rounding) {         \
    return __nv_cvt_float2_to_##kind##x2(__half22float2(__half2(x)), format, rounding);                                \
  }                                                                                                                    \
  __mw_both pair_type __nv_cvt_bfloat16raw2_to_##kind##x2(__nv_bfloat162_raw x, formats format,                        \
                                                          cudaRoundMode rounding) {                                    \
    return __nv_cvt_float2_to_##kind##x2(__bfloat1622float2(__nv_bfloat162(x)), format, rounding);                     \
  }                                                                                                                    \
  __mw_both __half2_raw __nv_cvt_##kind##x2_to_halfraw2(pair_type x, formats format) {                                 \
    __half2_raw raw;                                                                                                   \
    raw.x = __nv_cvt_##kind##_to_halfraw((code_type)(x & ((1 << bits) - 1)), format).x;                                \
    raw.y = __nv_cvt_##kind##_to_halfraw((code_type)(x >> bits), format).x;                                            \
    return raw;                                                                                                        \
  }

#endif
