/* Powers and the hypotenuse in double precision: pow to 1 ulp, hypot to 2 ulp.
 *
 * pow is exp(y log x). The absolute error of the exponential's argument is the relative error of the result, so the
 * logarithm needs more bits than a double has, by the argument's magnitude. It is carried in two doubles, to a relative
 * 2^-64. */
#ifndef MOONWARP_DOUBLE_POWER_H
#define MOONWARP_DOUBLE_POWER_H

#include "moonwarp/math/double/double_exponential.h"

/* log2(a) = the result + low, for a > 0 and finite: a = 2^k m, and with s = (m - 1) / (m + 1), z = s^2 the logarithm of
   m is 2 s (1 + z/3 + z^2 p(z)). */
__mw_both double __mw_log2_pair(double a, double *low) {
  __mw_exactly;
  const long long root_half = 0x3fe6a09e667f3bcd;
  bool tiny = a < 0x1p-1022;
  long long bits = __mw_bits(tiny ? a * 0x1p+54 : a) - root_half;
  double k = (double)(int)(bits >> 52) - (tiny ? 54.0 : 0.0);
  double m = __mw_double((bits & 0xfffffffffffff) + root_half);
  double f = m - 1.0, d = m + 1.0, d_low = m - (d - 1.0), r = 1.0 / d;
  double s = f * r, s_low = (fma(-s, d, f) - s * d_low) * r;
  double z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
  double p = __mw_polynomial(z, 0x1.999999999999ap-3, 0x1.2492492492163p-3, 0x1.c71c71c80a61dp-4, 0x1.745d1649540fbp-4,
                             0x1.3b14425ad394ep-4, 0x1.10e011e2669e4p-4, 0x1.f5e0cdd53830bp-5, -0x1.7b242f5dba96bp-6,
                             0x1.557a48185033dp+0, -0x1.24bcb0bd29092p+3);
  const double third = 0x1.5555555555555p-2, third_low = 0x1.5555555555555p-56;
  double h = z * third, h_low = fma(z, third, -h) + fma(z, third_low, fma(z_low, third, z * z * p));
  double part = h + h_low, part_low = (h - part) + h_low;
  double g = 1.0 + part, g_low = ((1.0 - g) + part) + part_low;
  double log = s * g, log_low = fma(s, g, -log) + fma(s, g_low, s_low * g);
  const double base = 0x1.71547652b82fep+1, base_low = 0x1.777d0ffda0d24p-55; /* 2 / ln 2 */
  double q = log * base, q_low = fma(log, base, -q) + fma(log, base_low, log_low * base);
  double sum = k + q;
  *low = ((k - sum) + q) + q_low;
  return sum;
}

/* The most frequent powers, if the exponent is a compile-time constant. */
#define __mw_is_short_power(y)                                                                                         \
  (__builtin_constant_p(y) && (y == 1 || y == 2 || y == 3 || y == -1 || y == (decltype(y))0.5))
__mw_both double __mw_short_power(double x, double y) {
  __mw_exactly;
  if (y == 0.5) return x == -__builtin_inf() ? -x : sqrt(x) + 0.0; /* the result for -0 is +0 */
  return y == 1 ? x : y == 2 ? x * x : y == 3 ? x * x * x : 1.0 / x;
}

__mw_both double pow(double x, double y) {
  __mw_exactly;
  if (__mw_is_short_power(y)) return __mw_short_power(x, y);
  double a = fabs(x), low, log = __mw_log2_pair(a, &low);
  log = a == 0.0 ? -__builtin_inf() : log;
  log = a < __builtin_inf() ? log : __builtin_inf();
  double t = y * log, t_low = fma(y, log, -t) + y * low;
  t_low = fabs(t) < 1100.0 ? t_low : 0.0;
  t = t > 1100.0 ? 1100.0 : t;
  t = t < -1100.0 ? -1100.0 : t;
  double shifted = t + __mw_double_shifter, r = t - (shifted - __mw_double_shifter);
  const double ln2 = 0x1.62e42fefa39efp-1, ln2_low = 0x1.abc9e3b39803fp-56;
  double s = r * ln2, tail = __mw_exp_tail(s, fma(r, ln2_low, fma(r, ln2, -s)));
  tail = fma(t_low * ln2, 1.0 + (s + tail), tail); /* the exponential's derivative is itself */
  double p = __mw_times_power(1.0 + (s + tail), __mw_shifted(shifted));
  /* A negative base: negative with an odd exponent, NaN with one that is not an integer. From 2^53 on all are even. */
  double half = 0.5 * y;
  bool integral = rint(y) == y, odd = integral && rint(half) != half && fabs(y) < 0x1p+53;
  p = __mw_bits(x) < 0 && odd ? -p : p;
  p = x < 0.0 && !integral && a < __builtin_inf() ? __builtin_nan("") : p;
  p = x != x || y != y ? x + y : p;
  p = a == 1.0 && fabs(y) == __builtin_inf() ? 1.0 : p;
  return x == 1.0 || y == 0.0 ? 1.0 : p;
}

/* Scaled by powers of two so that squares neither overflow nor underflow. */
__mw_both double hypot(double x, double y) {
  double a = fabs(x), b = fabs(y), large = a < b ? b : a, small = a < b ? a : b;
  bool huge = large > 0x1p+500, tiny = large < 0x1p-500;
  double scale = huge ? 0x1p-600 : tiny ? 0x1p+600 : 1.0, back = huge ? 0x1p+600 : tiny ? 0x1p-600 : 1.0;
  large *= scale, small *= scale;
  double h = sqrt(fma(large, large, small * small)) * back;
  return a == __builtin_inf() || b == __builtin_inf() ? __builtin_inf() : h;
}

#endif
