/* Remainders of divisions, exact: fmod, remainder, remquo, in single and double precision.
 *
 * |x| is reduced below |y| by subtracting multiples of |y| 2^k, with k such that the quotient fits in a double. Each
 * iteration removes 50 bits of the quotient, so a second one is rarely needed. */
#ifndef MOONWARP_REMAINDERS_H
#define MOONWARP_REMAINDERS_H

#include "moonwarp/math/number_parts.h"

/* a - q b, 0 <= the result < b, for finite a >= 0 and b > 0; *quotient has q's last bits. */
__mw_both double __mw_modulo(double a, double b, unsigned *quotient) {
  __mw_exactly;
  unsigned q = 0;
  int e_b, e_a;
  __mw_mantissa(b, &e_b);
  while (a >= b) {
    __mw_mantissa(a, &e_a);
    int k = e_a - e_b - 50;
    k = k > 0 ? k : 0;
    k = k < 2000 ? k : 2000;
    long long half = k >> 1;
    double step = b * __mw_power_of_2(half) * __mw_power_of_2(k - half), whole = trunc(a / step);
    double rest = fma(-whole, step, a);
    /* the division may have been rounded up to the next integer */
    whole = rest < 0 ? whole - 1 : whole;
    a = rest < 0 ? rest + step : rest;
    unsigned bits = (unsigned)__mw_bits(whole + 0x1p+52);
    q += k < 32 ? bits << k : 0;
  }
  *quotient = q;
  return a;
}
/* C's special cases: x if |y| is infinite, NaN if x is infinite or y is 0. */
__mw_both bool __mw_divides(double a, double b) { return a < __builtin_inf() && b > 0 && b < __builtin_inf(); }
__mw_both double __mw_no_remainder(double x, double y, double a, double b) {
  return a < __builtin_inf() && b == __builtin_inf() ? x : x != x || y != y ? x + y : __builtin_nan("");
}

__mw_both double fmod(double x, double y) {
  double a = fabs(x), b = fabs(y);
  unsigned q;
  bool divides = __mw_divides(a, b);
  double r = __mw_modulo(divides ? a : 0.0, divides ? b : 1.0, &q);
  return divides ? __builtin_copysign(r, x) : __mw_no_remainder(x, y, a, b);
}
__mw_both double remquo(double x, double y, int *quotient) {
  __mw_exactly;
  double a = fabs(x), b = fabs(y);
  unsigned q;
  bool divides = __mw_divides(a, b);
  double r = __mw_modulo(divides ? a : 0.0, divides ? b : 1.0, &q), twice = r + r;
  bool up = twice > b || (twice == b && (q & 1)); /* to the nearest multiple, the even one of two */
  r = divides && up ? r - b : r;
  q = up ? q + 1 : q;
  int bits = divides ? (int)(q & 0x7fffffffu) : 0;
  *quotient = (__mw_bits(x) ^ __mw_bits(y)) < 0 ? -bits : bits;
  double signed_r = __mw_bits(x) < 0 ? -r : r;
  return divides ? signed_r : __mw_no_remainder(x, y, a, b);
}
__mw_both double remainder(double x, double y) {
  int quotient;
  return remquo(x, y, &quotient);
}

/* The remainder of floats is a float; in double precision, quotients up to 2^50 take one iteration. */
__mw_both float fmodf(float x, float y) { return (float)fmod((double)x, (double)y); }
__mw_both float remainderf(float x, float y) { return (float)remainder((double)x, (double)y); }
__mw_both float remquof(float x, float y, int *quotient) { return (float)remquo((double)x, (double)y, quotient); }

#endif
