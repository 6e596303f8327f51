/* Double-precision operations rounded toward zero, up and down: __dadd_rz … __fma_rd.
 *
 * No wider format holds their results, so they are computed in integers, with mantissas of 128 bits and a sticky bit
 * for what does not fit. Rounding down and up differ only if the result is inexact. */
#ifndef MOONWARP_ARITHMETIC_DOUBLE_H
#define MOONWARP_ARITHMETIC_DOUBLE_H

#ifndef __MW_NVPTX__ /* nvptx/arithmetic.h has them */

#include "moonwarp/arithmetic/bits.h"
#include "moonwarp/arithmetic/conversions.h"

#define __mw_slow template <int = 0> static __inline__ __attribute__((host, device, nodebug))

enum __mw_rounding { __mw_to_zero, __mw_upward, __mw_downward };

typedef unsigned __int128 __mw_wide;

/* mantissa * 2^exponent with a 53-bit mantissa, for any finite number but 0. */
struct __mw_parts {
  unsigned long long mantissa;
  int exponent;
};

__mw_slow __mw_parts __mw_take_apart(double x) {
  unsigned long long bits = (unsigned long long)__double_as_longlong(x);
  unsigned long long mantissa = bits & 0xfffffffffffffull;
  int exponent = (int)(bits >> 52 & 0x7ff);
  if (exponent) return {mantissa | 1ull << 52, exponent - 1075};
  int shift = __clzll((long long)mantissa) - 11;
  return {mantissa << shift, -1074 - shift};
}

/* The double for (mantissa + rest) * 2^exponent, where rest is 0 or somewhere between 0 and 1; mantissa is not 0. */
__mw_slow double __mw_put_together(bool negative, __mw_wide mantissa, int exponent, bool rest, __mw_rounding rounding) {
  unsigned long long high = (unsigned long long)(mantissa >> 64);
  int zeros = high ? __clzll((long long)high) : 64 + __clzll((long long)(unsigned long long)mantissa);
  mantissa <<= zeros;
  int biased = exponent - zeros + 127 + 1023;
  int kept = biased >= 1 ? 53 : 52 + biased; /* bits of the result's mantissa */
  unsigned long long bits;
  if (biased >= 2047) {
    bits = 0x7fefffffffffffffull;
    rest = true;
  } else if (kept <= 0) {
    bits = 0;
    rest = true;
  } else {
    bits = (unsigned long long)(mantissa >> (128 - kept));
    if (biased >= 1) bits += (unsigned long long)(biased - 1) << 52;
    rest |= mantissa << kept != 0;
  }
  if (rest && rounding == (negative ? __mw_downward : __mw_upward)) ++bits;
  return __longlong_as_double((long long)(bits | (unsigned long long)negative << 63));
}

__mw_slow bool __mw_negative(double x) { return __double_as_longlong(x) < 0; }
__mw_slow bool __mw_finite(double x) { return (__double_as_longlong(x) >> 52 & 0x7ff) != 0x7ff; }

__mw_slow double __mw_fma(double x, double y, double z, __mw_rounding rounding) {
  if (!__mw_finite(x) || !__mw_finite(y) || !__mw_finite(z)) return fma(x, y, z);
  bool product_negative = __mw_negative(x) != __mw_negative(y), negative = __mw_negative(z);
  if (x == 0 || y == 0) {
    if (z != 0 || product_negative == negative) return z;
    return rounding == __mw_downward ? -0.0 : 0.0;
  }
  __mw_parts a = __mw_take_apart(x), b = __mw_take_apart(y);
  __mw_wide product = (__mw_wide)a.mantissa * b.mantissa;
  int exponent = a.exponent + b.exponent;
  if (z == 0) return __mw_put_together(product_negative, product, exponent, false, rounding);

  /* Both are shifted so that their highest bit is 125 (a product's may be 124), then the smaller one to the larger
     one's exponent. Bits are lost only if it is smaller by so much that cancellation cannot bring them into the
     result. */
  __mw_parts c = __mw_take_apart(z);
  __mw_wide large = product << 20, small = (__mw_wide)c.mantissa << 73;
  exponent -= 20;
  int distance = exponent - (c.exponent - 73);
  bool large_negative = product_negative, small_negative = negative;
  if (distance < 0) {
    __mw_wide other = large;
    large = small;
    small = other;
    exponent = c.exponent - 73;
    distance = -distance;
    large_negative = negative;
    small_negative = product_negative;
  }
  bool rest = distance >= 128 ? true : distance > 0 && small << (128 - distance) != 0;
  small = distance >= 128 ? 0 : small >> distance;
  if (large_negative == small_negative)
    return __mw_put_together(large_negative, large + small, exponent, rest, rounding);
  if (large == small && !rest) return rounding == __mw_downward ? -0.0 : 0.0;
  if (large < small) return __mw_put_together(small_negative, small - large, exponent, false, rounding);
  /* large - (small + rest) = (large - small - 1) + (1 - rest) */
  return __mw_put_together(large_negative, large - small - (rest ? 1 : 0), exponent, rest, rounding);
}

/* The nearest double, in units of 2^exponent, and the sign of exact - nearest. */
__mw_slow double __mw_corrected(bool negative, double units, int exponent, double error, __mw_rounding rounding) {
  __mw_wide mantissa = (__mw_wide)(unsigned long long)units << 8;
  if (error < 0) --mantissa;
  return __mw_put_together(negative, mantissa, exponent - 8, error != 0, rounding);
}

__mw_slow double __mw_divide(double x, double y, __mw_rounding rounding) {
#pragma clang fp contract(off) reassociate(off) reciprocal(off)
  if (!__mw_finite(x) || !__mw_finite(y) || x == 0 || y == 0) return x / y;
  __mw_parts a = __mw_take_apart(x), b = __mw_take_apart(y);
  double dividend = (double)a.mantissa, divisor = (double)b.mantissa, quotient = dividend / divisor;
  double error = fma(-quotient, divisor, dividend);
  return __mw_corrected(__mw_negative(x) != __mw_negative(y), quotient * 0x1p53, a.exponent - b.exponent - 53, error,
                        rounding);
}

__mw_slow double __mw_root(double x, __mw_rounding rounding) {
#pragma clang fp contract(off) reassociate(off) reciprocal(off)
  if (!__mw_finite(x) || x <= 0) return sqrt(x);
  __mw_parts a = __mw_take_apart(x);
  bool odd = a.exponent & 1;
  double square = (double)(odd ? a.mantissa << 1 : a.mantissa), root = sqrt(square);
  double error = fma(-root, root, square);
  return __mw_corrected(false, root * 0x1p26, (a.exponent - odd) / 2 - 26, error, rounding);
}

/* A product of zero has the product's sign, hence a zero of that sign as the addend. */
__mw_slow double __mw_multiply(double x, double y, __mw_rounding rounding) {
  return __mw_fma(x, y, __mw_negative(x) != __mw_negative(y) ? -0.0 : 0.0, rounding);
}

/* clang-format off */
#define __mw_directed(suffix, rounding)                                                                                \
  __mw_slow double __dadd_##suffix(double x, double y) { return __mw_fma(x, 1.0, y, rounding); }                       \
  __mw_slow double __dsub_##suffix(double x, double y) { return __mw_fma(x, 1.0, -y, rounding); }                      \
  __mw_slow double __dmul_##suffix(double x, double y) { return __mw_multiply(x, y, rounding); }                       \
  __mw_slow double __fma_##suffix(double x, double y, double z) { return __mw_fma(x, y, z, rounding); }                \
  __mw_slow double __ddiv_##suffix(double x, double y) { return __mw_divide(x, y, rounding); }                         \
  __mw_slow double __drcp_##suffix(double x) { return __mw_divide(1.0, x, rounding); }                                 \
  __mw_slow double __dsqrt_##suffix(double x) { return __mw_root(x, rounding); }
__mw_directed(rz, __mw_to_zero)
__mw_directed(ru, __mw_upward)
__mw_directed(rd, __mw_downward);
#undef __mw_directed
/* clang-format on */

#undef __mw_slow

#endif

#endif
