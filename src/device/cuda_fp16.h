/* Half precision: __half (IEEE binary16), __half2, their conversions, operators and functions. */
#pragma once

#include "moonwarp/arithmetic/narrow_float.h"

struct __half_raw {
  unsigned short x;
};
struct __align__(4) __half2_raw {
  unsigned short x, y;
};

struct __align__(2) __half {
  unsigned short __x;

  __half() = default;
  __mw_member __half(float x) : __x(__mw_bits_of(x)) {}
  __mw_member __half(double x) : __x(__mw_bits_of(__mw_float_to_odd(x))) {}
  __mw_member __half(int x) : __half((double)x) {}
  __mw_member __half(unsigned x) : __half((double)x) {}
  __mw_member __half(short x) : __half((float)x) {}
  __mw_member __half(unsigned short x) : __half((float)x) {}
  __mw_member __half(long x) : __half((double)x) {}
  __mw_member __half(unsigned long x) : __half((double)x) {}
  __mw_member __half(long long x) : __half((double)x) {}
  __mw_member __half(unsigned long long x) : __half((double)x) {}
  __mw_member __half(__half_raw raw) : __x(raw.x) {}
  __mw_member operator float() const { return (float)__builtin_bit_cast(_Float16, __x); }
  __mw_member operator __half_raw() const { return {__x}; }
  /* Copies to and from volatile memory, of the bits. */
  __mw_member operator __half_raw() const volatile { return {__x}; }
  __mw_member __half &operator=(const __half_raw &raw) {
    __x = raw.x;
    return *this;
  }
  __mw_member volatile __half &operator=(const __half_raw &raw) volatile {
    __x = raw.x;
    return *this;
  }

  static __mw_member __half __mw_of_bits(unsigned short bits) {
    __half made;
    made.__x = bits;
    return made;
  }
  /* Rounded to the nearest; NaN is 0x7fff, as on the hardware. */
  static __mw_member unsigned short __mw_bits_of(float x) {
    unsigned short bits = __builtin_bit_cast(unsigned short, (_Float16)x);
    return x == x ? bits : (unsigned short)0x7fff;
  }
};

struct __align__(4) __half2 {
  __half x, y;

  __half2() = default;
  __mw_member __half2(__half x_, __half y_) : x(x_), y(y_) {}
  __mw_member __half2(__half2_raw raw) : x(__half::__mw_of_bits(raw.x)), y(__half::__mw_of_bits(raw.y)) {}
  __mw_member operator __half2_raw() const { return {x.__x, y.__x}; }
};

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
typedef __half_raw __nv_half_raw;
typedef __half2_raw __nv_half2_raw;
typedef __half nv_half;
typedef __half2 nv_half2;

template <> struct __mw_narrow_traits<__half> {
  typedef __half number;
  /* The product is exact in single precision. */
  static __mw_member __half fma(float x, float y, float z) { return __half(__mw_sum_to_oddf(__fmul_rn(x, y), z)); }
};
template <typename T> struct __mw_narrow_argument<T, typename __mw_derived<__is_base_of(__half_raw, T)>::yes> {
  typedef __half number;
};
template <> struct __mw_narrow_pair_traits<__half2> {
  typedef __half2 pair;
};

/* clang-format off */
__mw_both __half __float2half(float x) { return __half(x); }
__mw_both __half __float2half_rn(float x) { return __half(x); }
__mw_both __half __float2half_rz(float x) { return __mw_narrow_rz<__half>(x); }
__mw_both __half __float2half_ru(float x) { return __mw_narrow_ru<__half>(x); }
__mw_both __half __float2half_rd(float x) { return __mw_narrow_rd<__half>(x); }
__mw_both __half __double2half(double x) { return __half(x); }
__mw_both float __half2float(__half x) { return (float)x; }
__mw_both __half2 __float2half2_rn(float x) { return __half2(__half(x), __half(x)); }
__mw_both __half2 __floats2half2_rn(float x, float y) { return __half2(__half(x), __half(y)); }
__mw_both __half2 __float22half2_rn(float2 v) { return __half2(__half(v.x), __half(v.y)); }
__mw_both float2 __half22float2(__half2 v) { return float2{(float)v.x, (float)v.y}; }
__mw_both float __low2float(__half2 v) { return (float)v.x; }
__mw_both float __high2float(__half2 v) { return (float)v.y; }
__mw_both __half __low2half(__half2 v) { return v.x; }
__mw_both __half __high2half(__half2 v) { return v.y; }
__mw_both __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
__mw_both __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
__mw_both __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
__mw_both __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
__mw_both __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }
__mw_both __half2 __half2half2(__half x) { return __half2(x, x); }
__mw_both __half2 __halves2half2(__half x, __half y) { return __half2(x, y); }
__mw_both __half2 make_half2(__half x, __half y) { return __half2(x, y); }
__mw_both short __half_as_short(__half x) { return (short)x.__x; }
__mw_both unsigned short __half_as_ushort(__half x) { return x.__x; }
__mw_both __half __short_as_half(short x) { return __half::__mw_of_bits((unsigned short)x); }
__mw_both __half __ushort_as_half(unsigned short x) { return __half::__mw_of_bits(x); }

/* From integers: a double holds all that are finite in half precision. */
#define __mw_half_from(name, T)                                                                                        \
  __mw_both __half __##name##2half_rn(T x) { return __half((double)x); }                                               \
  __mw_both __half __##name##2half_rz(T x) { return __mw_narrow_rz<__half>((double)x); }                               \
  __mw_both __half __##name##2half_ru(T x) { return __mw_narrow_ru<__half>((double)x); }                               \
  __mw_both __half __##name##2half_rd(T x) { return __mw_narrow_rd<__half>((double)x); }
__mw_half_from(int, int) __mw_half_from(uint, unsigned) __mw_half_from(short, short)
__mw_half_from(ushort, unsigned short) __mw_half_from(ll, long long) __mw_half_from(ull, unsigned long long);
#undef __mw_half_from
/* Conversions to 8 and 16 bits saturate. */
#define __mw_half_to(name, T, convert)                                                                                 \
  __mw_both T __half2##name##_rn(__half x) { return convert(rintf((float)x)); }                                        \
  __mw_both T __half2##name##_rz(__half x) { return convert(truncf((float)x)); }                                       \
  __mw_both T __half2##name##_ru(__half x) { return convert(ceilf((float)x)); }                                        \
  __mw_both T __half2##name##_rd(__half x) { return convert(floorf((float)x)); }
#define __mw_short_of(x)  ((short)(int)fminf(fmaxf(x, -32768.0f), 32767.0f))
#define __mw_ushort_of(x) ((unsigned short)(int)fminf(fmaxf(x, 0.0f), 65535.0f))
__mw_half_to(int, int, (int)) __mw_half_to(uint, unsigned, (unsigned)) __mw_half_to(ll, long long, (long long))
__mw_half_to(ull, unsigned long long, (unsigned long long)) __mw_half_to(short, short, __mw_short_of)
__mw_half_to(ushort, unsigned short, __mw_ushort_of);
#undef __mw_half_to
__mw_both signed char __half2char_rz(__half x) { return (signed char)fminf(fmaxf((float)x, -128.0f), 127.0f); }
__mw_both unsigned char __half2uchar_rz(__half x) { return (unsigned char)fminf(fmaxf((float)x, 0.0f), 255.0f); }
/* clang-format on */
