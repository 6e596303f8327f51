/* Logarithms in double precision: log, log2, log10, log1p, within one unit in the last place.
 *
 * x = 2^k (1 + f), f in [-1/3, 1/3). With s = f / (2 + f) log(1 + f) is f - f^2/2 + s (f^2/2 + R(s^2)), where only
 * small terms are rounded; sums with k's part are carried in two doubles. */
#ifndef MOONWARP_DOUBLE_LOGARITHM_H
#define MOONWARP_DOUBLE_LOGARITHM_H

#include "moonwarp/math/double/double_exponential.h"

__mw_both double __mw_split_log(double x, double *k) {
  __mw_exactly;
  bool tiny = x < 0x1p-1022;
  long long bits = __mw_bits(tiny ? x * 0x1p+54 : x) - 0x3fe5555555555555; /* 2/3 */
  *k = (double)(int)(bits >> 52) - (tiny ? 54.0 : 0.0);
  return __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
}
__mw_both double __mw_log_limits(double x, double y) {
  y = x < __builtin_inf() ? y : x;
  y = x == 0.0 ? -__builtin_inf() : y;
  return x < 0.0 ? __builtin_nan("") : y;
}

/* log(1 + f) - f */
__mw_both double __mw_log_tail(double f) {
  __mw_exactly;
  double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  double p = z * __mw_polynomial(z, 0x1.5555555555555p-1, 0x1.9999999999b08p-2, 0x1.24924924813f7p-2,
                                 0x1.c71c71d228222p-3, 0x1.745d1613aed8bp-3, 0x1.3b137bd0e96dbp-3, 0x1.11253b6d0edfcp-3,
                                 0x1.dce4d17615995p-4, 0x1.f7db996be446fp-4);
  return fma(s, half_square + p, -half_square);
}
/* k ln 2 + log(1 + f + low) */
__mw_both double __mw_join_log(double k, double f, double low) {
  __mw_exactly;
  double whole = k * 0x1.62e42ffp-1, sum = whole + f, error = (whole - sum) + f; /* the product is exact */
  return sum + (error + (__mw_log_tail(f) + fma(k, -0x1.718432a1b0e26p-35, low)));
}
__mw_both double log(double x) {
  double k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, __mw_join_log(k, f, 0.0));
}

/* whole + low + log(1 + f) c, c = c_high + c_low */
__mw_both double __mw_join_log_base(double whole, double low, double f, double c_high, double c_low) {
  __mw_exactly;
  double part = f * c_high, part_low = fma(f, c_low, fma(f, c_high, -part));
  double sum = whole + part, error = (whole - sum) + part;
  return sum + (error + fma(__mw_log_tail(f), c_high, part_low + low));
}
__mw_both double log2(double x) {
  double k, f = __mw_split_log(x, &k);
  return __mw_log_limits(x, __mw_join_log_base(k, 0.0, f, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56));
}
__mw_both double log10(double x) {
  __mw_exactly;
  double k, f = __mw_split_log(x, &k);
  double y = __mw_join_log_base(k * 0x1.3441350ap-2, k * -0x1.0c0219dc1da99p-39, f, 0x1.bcb7b1526e50ep-2,
                                0x1.95355baaafad3p-57);
  return __mw_log_limits(x, y);
}

/* log(1 + x + x_low); 1 + x = 2^k (1 + f + low), where low is the rounding error of 1 + x. */
__mw_both double __mw_log1p_pair(double x, double x_low) {
  __mw_exactly;
  double u = 1.0 + x;
  long long k = (__mw_bits(u) - 0x3fe5555555555555) >> 52, half = k >> 1; /* up to 1024: too much for one factor */
  double first = __mw_power_of_2(-half), second = __mw_power_of_2(half - k);
  double one = first * second - 1.0, part = x * first * second;
  double f = one + part, other = f - one, low = (one - (f - other)) + (part - other);
  low = low + x_low * first * second;
  low = fma(low, f * (f - 1.0), low); /* over 1 + f, nearly */
  return __mw_join_log((double)(int)k, f, low);
}
__mw_both double log1p(double x) {
  double y = __mw_log1p_pair(x, 0.0);
  y = x < __builtin_inf() ? y : x;
  y = x == -1.0 ? -__builtin_inf() : y;
  y = x < -1.0 ? __builtin_nan("") : y;
  return x == 0.0 ? x : y;
}

#endif
