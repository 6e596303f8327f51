/* Hyperbolic functions and their inverses in double precision: expm1, sinh, cosh, asinh, acosh, atanh (tanh is in
 * double_exponential.h).
 *
 * Straight-line arithmetic, as everything in double_*.h. In functions whose error bound in CUDA is one ulp, sums are
 * carried in two doubles; the inverses are logarithms of 1 + u, where u has its rounding error in a second double. */
#ifndef MOONWARP_DOUBLE_HYPERBOLIC_H
#define MOONWARP_DOUBLE_HYPERBOLIC_H

#include "moonwarp/math/double/double_logarithm.h"

/* 2^n (1 + r + tail) - 1, as expm1f */
__mw_both double expm1(double x) {
  __mw_exactly;
  long long n;
  double a = x > 710.0 ? 710.0 : x, low;
  a = a < -40.0 ? -40.0 : a;
  double r = __mw_split_exp(a, &n, &low), tail = __mw_exp_tail(r, low);
  double half_power = __mw_power_of_2(n - 1), whole = half_power - 0.5, part = half_power * r;
  double sum = whole + part, error = ((whole - sum) + part) + ((half_power - whole) - 0.5);
  double y = 2.0 * (sum + fma(half_power, tail, error));
  return fabs(x) < 0x1p-60 ? x : y; /* preserves the sign of zero and all bits of subnormals */
}

/* exp(a) / 2 = the result + low, for 0 <= a <= 711; infinite where cosh is. */
__mw_both double __mw_half_exp(double a, double *low) {
  __mw_exactly;
  long long n;
  double r = __mw_split_exp(a, &n, low), tail = __mw_exp_tail(r, *low);
  double part = r + tail, part_low = (r - part) + tail, whole = 1.0 + part, rest = ((1.0 - whole) + part) + part_low;
  long long half = n >> 1;
  double first = __mw_power_of_2(half), second = __mw_power_of_2(n - half - 1);
  *low = rest * first * second;
  return whole * first * second;
}
__mw_both double cosh(double x) {
  __mw_exactly;
  double a = fabs(x), low, e = __mw_half_exp(a > 711.0 ? 711.0 : a, &low), other = 0.25 / e;
  double sum = e + other, y = sum + (((e - sum) + other) + fma(-4.0 * other * other, low, low));
  return sum < __builtin_inf() ? y : sum;
}
__mw_both double sinh(double x) {
  __mw_exactly;
  double a = fabs(x), s = x * x, low, e = __mw_half_exp(a > 711.0 ? 711.0 : a, &low), other = 0.25 / e;
  double near =
      fma(a * s,
          __mw_polynomial(s, 0x1.5555555555555p-3, 0x1.11111111111d8p-7, 0x1.a01a019ff873p-13, 0x1.71de3a7d5d7eap-19,
                          0x1.ae6425aea7e8cp-26, 0x1.614455d1a5a8dp-33, 0x1.992f1051fce7ap-41, 0x1.d1a838540344p-47),
          a);
  double sum = e - other, far = sum + (((e - sum) - other) + fma(4.0 * other * other, low, low));
  far = sum < __builtin_inf() ? far : sum;
  return __builtin_copysign(a < 1.0 ? near : far, x);
}

#define __mw_ln2 0x1.62e42fefa39efp-1

/* Above 2^60, where the square might overflow, it is log(2 |x|). */
__mw_both double asinh(double x) {
  __mw_exactly;
  double a = fabs(x), s = a * a;
  double other = s / (1.0 + sqrt(s + 1.0)), u = a + other, low = (a - u) + other;
  bool large = a > 0x1p+60;
  double y = __mw_log1p_pair(large ? a : u, large ? 0.0 : low);
  y = large ? y + __mw_ln2 : y;
  return __builtin_copysign(a < __builtin_inf() ? y : a, x);
}
__mw_both double acosh(double x) {
  __mw_exactly;
  double t = x - 1.0, root = sqrt(fma(t, t, 2.0 * t)), u = root + t, low = (root - u) + t;
  bool large = x > 0x1p+60;
  double y = __mw_log1p_pair(large ? x : u, large ? 0.0 : low);
  y = large ? y + __mw_ln2 : y;
  y = x < __builtin_inf() ? y : x;
  return x < 1.0 ? __builtin_nan("") : y;
}
__mw_both double atanh(double x) {
  __mw_exactly;
  double a = fabs(x), d = 1.0 - a, d_low = (1.0 - d) - a, r = 1.0 / d, twice = 2.0 * a;
  double u = twice * r, low = (fma(-u, d, twice) - u * d_low) * r;
  double y = 0.5 * __mw_log1p_pair(u, low);
  y = a == 1.0 ? __builtin_inf() : y;
  y = a <= 1.0 ? y : __builtin_nan("");
  return __builtin_copysign(y, x);
}

#undef __mw_ln2

#endif
