/* Functions on the parts of floating-point numbers: logb, ilogb, frexp, modf, ldexp, scalbn, scalbln, nextafter, fdim,
 * lround and llround, in single and double precision, by operations on bits, which vectorise. */
#ifndef MOONWARP_NUMBER_PARTS_H
#define MOONWARP_NUMBER_PARTS_H

#include "moonwarp/math/double/double_exponential.h"
#include "moonwarp/math/float_exponential.h"

/* x = m 2^exponent with 1/2 <= |m| < 1, for x finite and not 0 */
__mw_both double __mw_mantissa(double x, int *exponent) {
  bool tiny = fabs(x) < 0x1p-1022;
  unsigned long long bits = (unsigned long long)__mw_bits(tiny ? x * 0x1p+54 : x);
  *exponent = (int)(bits >> 52 & 0x7ff) - (tiny ? 1076 : 1022);
  return __mw_double((long long)((bits & 0x800fffffffffffff) | 0x3fe0000000000000));
}
__mw_both float __mw_mantissa(float x, int *exponent) {
  bool tiny = fabsf(x) < 0x1p-126f;
  unsigned bits = (unsigned)__mw_bits(tiny ? x * 0x1p+24f : x);
  *exponent = (int)(bits >> 23 & 0xff) - (tiny ? 150 : 126);
  return __mw_float((int)((bits & 0x807fffffu) | 0x3f000000u));
}

/* Zeros, infinities and NaN are their own mantissas. */
#define __mw_take_apart(type, f, infinity)                                                                             \
  __mw_both type frexp##f(type x, int *exponent) {                                                                     \
    int e;                                                                                                             \
    type m = __mw_mantissa(x, &e);                                                                                     \
    bool plain = x != 0 && fabs##f(x) < infinity;                                                                      \
    *exponent = plain ? e : 0;                                                                                         \
    return plain ? m : x;                                                                                              \
  }                                                                                                                    \
  __mw_both type logb##f(type x) {                                                                                     \
    int e;                                                                                                             \
    __mw_mantissa(x, &e);                                                                                              \
    type a = fabs##f(x), y = (type)(e - 1);                                                                            \
    y = a < infinity ? y : a;                                                                                          \
    return a == 0 ? -infinity : y;                                                                                     \
  }                                                                                                                    \
  __mw_both int ilogb##f(type x) {                                                                                     \
    int e;                                                                                                             \
    __mw_mantissa(x, &e);                                                                                              \
    int y = fabs##f(x) < infinity ? e - 1 : 0x7fffffff;                                                                \
    return x == 0 || x != x ? -0x7fffffff - 1 : y;                                                                     \
  }                                                                                                                    \
  __mw_both type modf##f(type x, type *integral) {                                                                     \
    type whole = trunc##f(x);                                                                                          \
    *integral = whole;                                                                                                 \
    return copysign##f(fabs##f(x) == infinity ? 0 : x - whole, x);                                                     \
  }                                                                                                                    \
  __mw_both type fdim##f(type x, type y) { return x <= y ? 0 : x - y; }                                                \
  __mw_both long lround##f(type x) { return (long)round##f(x); }                                                       \
  __mw_both long long llround##f(type x) { return (long long)round##f(x); }

__mw_take_apart(double, , __builtin_inf());
__mw_take_apart(float, f, __builtin_inff());
#undef __mw_take_apart

/* Scales by at most 2^1023 at a time; downwards, only the last product may be rounded to a subnormal. */
__mw_both double ldexp(double x, int exponent) {
  int n = exponent;
  for (int i = 0; i < 2; ++i) {
    bool high = n > 1023, low = n < -1022;
    x *= high ? 0x1p+1023 : low ? 0x1p-969 : 1.0;
    n -= high ? 1023 : low ? -969 : 0;
  }
  n = n > 1023 ? 1023 : n;
  n = n < -1022 ? -1022 : n;
  return x * __mw_power_of_2((long long)n);
}
/* Every double that is a float times a power of two in this range is exact. */
__mw_both float ldexpf(float x, int exponent) {
  int n = exponent > 400 ? 400 : exponent;
  n = n < -400 ? -400 : n;
  return (float)(x * __mw_power_of_2((long long)n));
}
__mw_both double scalbn(double x, int exponent) { return ldexp(x, exponent); }
__mw_both float scalbnf(float x, int exponent) { return ldexpf(x, exponent); }
__mw_both int __mw_exponent(long exponent) {
  long n = exponent > 3000 ? 3000 : exponent;
  return (int)(n < -3000 ? -3000 : n);
}
__mw_both double scalbln(double x, long exponent) { return ldexp(x, __mw_exponent(exponent)); }
__mw_both float scalblnf(float x, long exponent) { return ldexpf(x, __mw_exponent(exponent)); }

/* The bits of numbers, as integers, have the numbers' order. The step from 0 is to the smallest number of y's sign. */
__mw_both double nextafter(double x, double y) {
  long long bits = __mw_bits(x), step = (x < y) == (x > 0) ? 1 : -1;
  double next = x == 0 ? __builtin_copysign(0x1p-1074, y) : __mw_double(bits + step);
  next = x == y ? y : next;
  return x != x || y != y ? x + y : next;
}
__mw_both float nextafterf(float x, float y) {
  int bits = __mw_bits(x), step = (x < y) == (x > 0) ? 1 : -1;
  float next = x == 0 ? copysignf(0x1p-149f, y) : __mw_float(bits + step);
  next = x == y ? y : next;
  return x != x || y != y ? x + y : next;
}

#endif
