/* Cube roots in double precision: cbrt and rcbrt, within one unit in the last place. */
#ifndef MOONWARP_DOUBLE_ROOTS_H
#define MOONWARP_DOUBLE_ROOTS_H

#include "moonwarp/math/double/double_exponential.h"

/* a^(-1/3) for a normal a: a guess from the exponent, then steps of fourth, fourth and second order. */
__mw_both double __mw_reciprocal_cube_root(double a) {
  double third = fma((double)(int)(__mw_bits(a) >> 32), -0x1.5555555555555p-2, 1430198571.0 + 0x1.8p+52);
  double z = __mw_double((long long)((unsigned long long)__mw_bits(third) << 32));
  for (int i = 0; i < 2; ++i) {
    double e = fma(-a * z * z, z, 1.0);
    z = fma(z * e, fma(e, fma(e, 0x1.61f9add3c0ca4p-3, 0x1.c71c71c71c71cp-3), 0x1.5555555555555p-2), z);
  }
  return fma(z * fma(-a * z * z, z, 1.0), 0x1.5555555555555p-2, z);
}

/* Very small and very large numbers are scaled first, so that no cube underflows or overflows. One Newton step with the
   cube in two doubles rounds the root. */
__mw_both double cbrt(double x) {
  __mw_exactly;
  bool small = fabs(x) < 0x1p-900, large = fabs(x) > 0x1p+900;
  double a = small ? x * 0x1p+300 : large ? x * 0x1p-300 : x, z = __mw_reciprocal_cube_root(fabs(a)), y = a * z * z;
  double square = y * y, square_low = fma(y, y, -square);
  double cube = square * y, cube_low = fma(square, y, -cube) + square_low * y;
  y = y + ((a - cube) - cube_low) / (3 * square);
  y = small ? y * 0x1p-100 : large ? y * 0x1p+100 : y;
  return x == 0 || !(fabs(x) < __builtin_inf()) ? x : y;
}

__mw_both double rcbrt(double x) {
  __mw_exactly;
  double y = 1.0 / cbrt(x), square = y * y, square_low = fma(y, y, -square), p = x * y, p_low = fma(x, y, -p);
  double error = fma(-p, square, 1.0) - (p * square_low + p_low * square); /* 1 - x y^3 */
  double better = fma(error * (1.0 / 3), y, y);
  return x == 0 || y == 0 || x != x ? y : better;
}

#endif
