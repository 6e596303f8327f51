/* Normal doubles from one word each, as cuRAND's host library makes them by the inverse of the distribution: equal to
 * its numbers. The CPU device's host streams draw them; kernels draw the more accurate ones of normal.h.
 *
 * For the probability q outside of [-|z|, |z|] and x = 1 - q, z is sqrt(2) times the inverse of the error function at
 * x. Three rational functions approximate it. (Blair, Edwards and Johnson, "Rational Chebyshev approximations for the
 * inverse of the error function", 1976: table 17 for x up to 0.75, 37 up to 0.9375 and 59 beyond) Each product and sum
 * is rounded: these roundings are most of the difference from an accurate number. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_HOST_NORMAL_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_HOST_NORMAL_H

#include "moonwarp/random/distributions/c_logarithm.h"

/* A word as a uniform number between -1 and 1, the middle of one of 2^32 or 2^53 intervals: x with the sign of z. It is
 * exact, and so is 1 - |x|. Of 2^53 intervals, cuRAND has 0 for the first one above 0. The upper and the lower half of
 * 64 bits are made doubles by exponents for which the last bit is worth 2^-31 and 2^-53. */
__mw_device_template double __mw_centred_uniform(unsigned int word) {
  return (int)(word - 0x80000000u) * 0x1p-31 + 0x1p-32;
}
__mw_device_template double __mw_centred_uniform(unsigned long long word) {
  __mw_exactly;
  double upper = __mw_double((long long)(word >> 32) | 0x4140000000000000),
         lower = __mw_double((long long)(word >> 10 & 0x3ffffe) | 0x3fe0000000000001);
  double x = (upper - 0x1.00000cp+21) + lower;
  return x == 0x1p-53 ? 0.0 : x;
}

/* The three parts of [-1, 1], each with a function of its own: the centre has 3/4 of all numbers, the middle 3/16, and
 * the tails, whose function takes three times as long as the others, 1/16. */
__mw_device_template bool __mw_is_central(double x) { return x * x < 0.5625; }
__mw_device_template bool __mw_is_in_tails(double x) { return x * x >= 0.87890625; }

/* y t^n + c[0] t^(n - 1) + …, by Horner's rule; in a loop, as in polynomial.h. Numbers of the centre are made without
 * one: several vectors of so short polynomials are under way anyhow, and all of it is in registers. */
template <int n> __mw_device_template double __mw_horner(double t, double y, const double (&c)[n]) {
  __mw_exactly;
#pragma unroll 1
  for (int i = 0; i < n; i++) y = y * t + c[i];
  return y;
}

__mw_device_template double __mw_central_normal(double x) {
  __mw_exactly;
  double t = x * x - 0.5625, p = -23.886240104308754, r = t - 83.28832790193657;
  p = p * t + 455.6020427268913;
  p = p * t - 2297.7467176607147;
  p = p * t + 4663.143353343433;
  p = p * t - 4379.965230838693;
  p = p * t + 1900.7153590528135;
  p = p * t - 307.86872642313693;
  r = r * t + 927.4131916093531;
  r = r * t - 3508.8976383877266;
  r = r * t + 5903.934813484367;
  r = r * t - 4848.163543004887;
  r = r * t + 1899.7769186453058;
  r = r * t - 283.86514725366624;
  return 1.4142135623730951 * (x * (p / r));
}

__mw_device_template double __mw_middle_normal(double x) {
  __mw_exactly;
  static const double above[] = {-6.420007150720945, 29.631331505876307, -47.644367129787184,  34.8100577493575,
                                 -12.95419898064677, 2.5349389220714893, -0.24758242362823354, 0.009489736280868109};
  static const double below[] = {41.40999177842889, -53.715373448862145,  33.88017677959514,   -11.315360624238055,
                                 2.036929504721635, -0.18611650627372178, 0.006754451277885095};
  double t = x * x - 0.87890625, p = __mw_horner(t, 0.21489185007307063, above),
         r = __mw_horner(t, t - 12.831383833953227, below);
  return 1.4142135623730951 * (x * (p / r));
}

/* |z| of -log q. */
__mw_device_template double __mw_tail_of_log(double log_q) {
  __mw_exactly;
  static const double above[] = {
      0.8603009752628026,  2.1371214997265517,   3.159851960113209,   3.5780402569086,        1.533529752398989,
      0.34839207139657524, 0.053644861147153645, 0.00438367098771261, 0.00013858518113496718, 1.1738352509991667e-06};
  static const double below[] = {4.385904525644955,    4.663296034873664,      3.9846608184671757,
                                 1.6068377709719017,   0.35609087305900267,    0.05396355030320082,
                                 0.004387342402270693, 0.00013858762165532245, 1.1738313872397778e-06};
  double t = 1.0 / sqrt(log_q), p = __mw_horner(t, 0.0027834010353747, above),
         r = __mw_horner(t, t + 2.2859981272422907, below);
  return 1.4142135623730951 * (p / (r * t));
}

__mw_device_template double __mw_tail_normal(double x) {
  return copysign(__mw_tail_of_log(-__mw_c_logarithm(1.0 - fabs(x))), x);
}

template <class W> __mw_device_template double __mw_host_normal_double(W word) {
  double x = __mw_centred_uniform(word);
  return __mw_is_central(x)    ? __mw_central_normal(x)
         : __mw_is_in_tails(x) ? __mw_tail_normal(x)
                               : __mw_middle_normal(x);
}

#endif
