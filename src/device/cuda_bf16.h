/* bfloat16: __nv_bfloat16 (a float's upper half), __nv_bfloat162, their conversions, operators and functions. */
#pragma once

#include "moonwarp/arithmetic/narrow_float.h"

struct __nv_bfloat16_raw {
  unsigned short x;
};
struct __align__(4) __nv_bfloat162_raw {
  unsigned short x, y;
};

struct __align__(2) __nv_bfloat16 {
  unsigned short __x;

  __nv_bfloat16() = default;
  __mw_member __nv_bfloat16(float x) : __x(__mw_bits_of(x)) {}
  __mw_member __nv_bfloat16(double x) : __x(__mw_bits_of(__mw_float_to_odd(x))) {}
  __mw_member __nv_bfloat16(int x) : __nv_bfloat16((double)x) {}
  __mw_member __nv_bfloat16(unsigned x) : __nv_bfloat16((double)x) {}
  __mw_member __nv_bfloat16(short x) : __nv_bfloat16((float)x) {}
  __mw_member __nv_bfloat16(unsigned short x) : __nv_bfloat16((float)x) {}
  __mw_member __nv_bfloat16(long x) : __nv_bfloat16(__mw_odd(x)) {}
  __mw_member __nv_bfloat16(unsigned long x) : __nv_bfloat16(__mw_odd(x)) {}
  __mw_member __nv_bfloat16(long long x) : __nv_bfloat16(__mw_odd(x)) {}
  __mw_member __nv_bfloat16(unsigned long long x) : __nv_bfloat16(__mw_odd(x)) {}
  __mw_member __nv_bfloat16(__nv_bfloat16_raw raw) : __x(raw.x) {}
  __mw_member operator float() const { return __builtin_bit_cast(float, (unsigned)__x << 16); }
  __mw_member operator __nv_bfloat16_raw() const { return {__x}; }
  /* Copies to and from volatile memory, of the bits. */
  __mw_member operator __nv_bfloat16_raw() const volatile { return {__x}; }
  __mw_member __nv_bfloat16 &operator=(const __nv_bfloat16_raw &raw) {
    __x = raw.x;
    return *this;
  }
  __mw_member volatile __nv_bfloat16 &operator=(const __nv_bfloat16_raw &raw) volatile {
    __x = raw.x;
    return *this;
  }

  static __mw_member __nv_bfloat16 __mw_of_bits(unsigned short bits) {
    __nv_bfloat16 made;
    made.__x = bits;
    return made;
  }
  /* Rounded to the nearest, ties to even; a carry into the exponent is correct. NaN is 0x7fff. */
  static __mw_member unsigned short __mw_bits_of(float x) {
    unsigned bits = __builtin_bit_cast(unsigned, x);
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return (unsigned short)(x == x ? bits : 0x7fffu);
  }
  /* A 64-bit integer rounded to odd in double, so that rounding it again gives the same as rounding the integer. */
  template <typename T> static __mw_member double __mw_odd(T x) {
    bool fits = x >> 53 == 0 || x >> 53 == (T)-1;
    return fits ? (double)x : (double)(x >> 11 | ((x & 2047) != 0 ? 1 : 0)) * 2048.0;
  }
};

struct __align__(4) __nv_bfloat162 {
  __nv_bfloat16 x, y;

  __nv_bfloat162() = default;
  __mw_member __nv_bfloat162(__nv_bfloat16 x_, __nv_bfloat16 y_) : x(x_), y(y_) {}
  __mw_member __nv_bfloat162(__nv_bfloat162_raw raw)
      : x(__nv_bfloat16::__mw_of_bits(raw.x)), y(__nv_bfloat16::__mw_of_bits(raw.y)) {}
  __mw_member operator __nv_bfloat162_raw() const { return {x.__x, y.__x}; }
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

template <> struct __mw_narrow_traits<__nv_bfloat16> {
  typedef __nv_bfloat16 number;
  /* The product is exact in double, and in its range. */
  static __mw_member __nv_bfloat16 fma(float x, float y, float z) {
    return __nv_bfloat16(__mw_sum_to_odd((double)x * y, (double)z));
  }
};
template <typename T> struct __mw_narrow_argument<T, typename __mw_derived<__is_base_of(__nv_bfloat16_raw, T)>::yes> {
  typedef __nv_bfloat16 number;
};
template <> struct __mw_narrow_pair_traits<__nv_bfloat162> {
  typedef __nv_bfloat162 pair;
};

/* clang-format off */
__mw_both __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
__mw_both __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
__mw_both __nv_bfloat16 __float2bfloat16_rz(float x) { return __mw_narrow_rz<__nv_bfloat16>(x); }
__mw_both __nv_bfloat16 __float2bfloat16_ru(float x) { return __mw_narrow_ru<__nv_bfloat16>(x); }
__mw_both __nv_bfloat16 __float2bfloat16_rd(float x) { return __mw_narrow_rd<__nv_bfloat16>(x); }
__mw_both __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
__mw_both float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
__mw_both __nv_bfloat162 __float2bfloat162_rn(float x) { return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(x)); }
__mw_both __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
  return __nv_bfloat162(__nv_bfloat16(x), __nv_bfloat16(y));
}
__mw_both __nv_bfloat162 __float22bfloat162_rn(float2 v) {
  return __nv_bfloat162(__nv_bfloat16(v.x), __nv_bfloat16(v.y));
}
__mw_both float2 __bfloat1622float2(__nv_bfloat162 v) { return float2{(float)v.x, (float)v.y}; }
__mw_both float __low2float(__nv_bfloat162 v) { return (float)v.x; }
__mw_both float __high2float(__nv_bfloat162 v) { return (float)v.y; }
__mw_both __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
__mw_both __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
__mw_both __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.x, v.x); }
__mw_both __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.y); }
__mw_both __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
__mw_both __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
__mw_both __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.x); }
__mw_both __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return __nv_bfloat162(x, x); }
__mw_both __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__mw_both __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return __nv_bfloat162(x, y); }
__mw_both short __bfloat16_as_short(__nv_bfloat16 x) { return (short)x.__x; }
__mw_both unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
__mw_both __nv_bfloat16 __short_as_bfloat16(short x) { return __nv_bfloat16::__mw_of_bits((unsigned short)x); }
__mw_both __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16::__mw_of_bits(x); }

#define __mw_bfloat_from_long(name, T)                                                                                 \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rn(T x) { return __nv_bfloat16(x); }                                     \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rz(T x) {                                                                \
    return __mw_narrow_rz<__nv_bfloat16>(__nv_bfloat16::__mw_odd(x));                                                  \
  }                                                                                                                    \
  __mw_both __nv_bfloat16 __##name##2bfloat16_ru(T x) {                                                                \
    return __mw_narrow_ru<__nv_bfloat16>(__nv_bfloat16::__mw_odd(x));                                                  \
  }                                                                                                                    \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rd(T x) {                                                                \
    return __mw_narrow_rd<__nv_bfloat16>(__nv_bfloat16::__mw_odd(x));                                                  \
  }
__mw_bfloat_from_long(ll, long long) __mw_bfloat_from_long(ull, unsigned long long);
#undef __mw_bfloat_from_long
#define __mw_bfloat_from(name, T)                                                                                      \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rn(T x) { return __nv_bfloat16(x); }                                     \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rz(T x) { return __mw_narrow_rz<__nv_bfloat16>((double)x); }             \
  __mw_both __nv_bfloat16 __##name##2bfloat16_ru(T x) { return __mw_narrow_ru<__nv_bfloat16>((double)x); }             \
  __mw_both __nv_bfloat16 __##name##2bfloat16_rd(T x) { return __mw_narrow_rd<__nv_bfloat16>((double)x); }
__mw_bfloat_from(int, int) __mw_bfloat_from(uint, unsigned) __mw_bfloat_from(short, short)
__mw_bfloat_from(ushort, unsigned short);
#undef __mw_bfloat_from
#define __mw_bfloat_to(name, T)                                                                                        \
  __mw_both T __bfloat162##name##_rn(__nv_bfloat16 x) { return (T)rintf((float)x); }                                   \
  __mw_both T __bfloat162##name##_rz(__nv_bfloat16 x) { return (T)(float)x; }                                          \
  __mw_both T __bfloat162##name##_ru(__nv_bfloat16 x) { return (T)ceilf((float)x); }                                   \
  __mw_both T __bfloat162##name##_rd(__nv_bfloat16 x) { return (T)floorf((float)x); }
__mw_bfloat_to(int, int) __mw_bfloat_to(uint, unsigned) __mw_bfloat_to(ll, long long)
__mw_bfloat_to(ull, unsigned long long);
#undef __mw_bfloat_to
/* For 8 and 16 bits a number out of range is clamped first. */
#define __mw_bfloat_to_small(name, T, low, high, rounding, round)                                                      \
  __mw_both T __bfloat162##name##_##rounding(__nv_bfloat16 x) {                                                        \
    return (T)(int)fminf(fmaxf(round((float)x), low), high);                                                           \
  }
#define __mw_bfloat_to_16(name, T, low, high)                                                                          \
  __mw_bfloat_to_small(name, T, low, high, rn, rintf) __mw_bfloat_to_small(name, T, low, high, rz, truncf)             \
  __mw_bfloat_to_small(name, T, low, high, ru, ceilf) __mw_bfloat_to_small(name, T, low, high, rd, floorf)
__mw_bfloat_to_16(short, short, -32768.0f, 32767.0f)
__mw_bfloat_to_16(ushort, unsigned short, 0.0f, 65535.0f)
__mw_bfloat_to_small(char, signed char, -128.0f, 127.0f, rz, truncf)
__mw_bfloat_to_small(uchar, unsigned char, 0.0f, 255.0f, rz, truncf);
#undef __mw_bfloat_to_16
#undef __mw_bfloat_to_small
/* clang-format on */
