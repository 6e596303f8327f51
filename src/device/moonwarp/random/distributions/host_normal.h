/* Normal doubles from one word each, as cuRAND's host library makes them by the inverse of the distribution: equal to
 * its numbers but for the last bit of some logarithms. The CPU device's host streams draw them; kernels draw the more
 * accurate ones of normal.h.
 *
 * For the probability q outside of [-|z|, |z|] and x = 1 - q, z is sqrt(2) times the inverse of the error function at
 * x. Three rational functions approximate it. (Blair, Edwards and Johnson, "Rational Chebyshev approximations for the
 * inverse of the error function", 1976: table 17 for x up to 0.75, 37 up to 0.9375 and 59 beyond) Each product and sum
 * is rounded: these roundings are most of the difference from an accurate number. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_HOST_NORMAL_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_HOST_NORMAL_H

#include "moonwarp_device.h"

/* A word as a uniform number between -1 and 1, the middle of one of 2^32 or 2^53 intervals: x with the sign of z. It is
 * exact, and so is 1 - |x|. */
__mw_device_template double __mw_centred_uniform(unsigned int word) {
  return (int)(word - 0x80000000u) * 0x1p-31 + 0x1p-32;
}
__mw_device_template double __mw_centred_uniform(unsigned long long word) {
  return ((long long)(word >> 11) - (1ll << 52)) * 0x1p-52 + 0x1p-53;
}

/* Whether the number is in the tails: one in 16. The function for the tails takes three times as long as the other. */
__mw_device_template bool __mw_is_rare(double x) { return fabs(x) >= 0.9375; }

/* The number that is not rare; of a rare one, any. Both rational functions have the same form, if the shorter one
 * begins with zeros, which change no rounding: so lanes select coefficients instead of results. */
__mw_device_template double __mw_common_normal(double x) {
  __mw_exactly;
  bool central = fabs(x) < 0.75;
  double t = x * x - (central ? 0.5625 : 0.87890625);
  double p = (0.21489185007307063 * t - 6.420007150720945) * t + 29.631331505876307;
  p = central ? -23.886240104308754 : p;
  p = p * t + (central ? 455.6020427268913 : -47.644367129787184);
  p = p * t + (central ? -2297.7467176607147 : 34.8100577493575);
  p = p * t + (central ? 4663.143353343433 : -12.95419898064677);
  p = p * t + (central ? -4379.965230838693 : 2.5349389220714893);
  p = p * t + (central ? 1900.7153590528135 : -0.24758242362823354);
  p = p * t + (central ? -307.86872642313693 : 0.009489736280868109);
  double r = central ? 1.0 : t - 12.831383833953227;
  r = r * t + (central ? -83.28832790193657 : 41.40999177842889);
  r = r * t + (central ? 927.4131916093531 : -53.715373448862145);
  r = r * t + (central ? -3508.8976383877266 : 33.88017677959514);
  r = r * t + (central ? 5903.934813484367 : -11.315360624238055);
  r = r * t + (central ? -4848.163543004887 : 2.036929504721635);
  r = r * t + (central ? 1899.7769186453058 : -0.18611650627372178);
  r = r * t + (central ? -283.86514725366624 : 0.006754451277885095);
  return 1.4142135623730951 * (x * (p / r));
}

/* -log q for 2^-64 <= q <= 1/16. Fewer than one in 10^4 is not correctly rounded, as in glibc: a different last bit
 * changes z by up to 5 units. log q is k ln 2 + 2 s + 2/3 s^3 + s^5 r(s^2), s = f / (2 + f), in two numbers but for the
 * last term. */
__mw_device_template double __mw_log_of_tails(double q) {
  __mw_exactly;
  long long bits = __mw_bits(q) - 0x3fe5555555555555; /* 2/3 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double d = 2.0 + f, d_low = f - (d - 2.0), by = 1.0 / d, s = f * by, s_low = (fma(-s, d, f) - s * d_low) * by;
  double z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
  double cube = z * s, cube_low = fma(z, s, -cube) + (z_low * s + z * s_low);
  const double two_thirds = 0x1.5555555555555p-1, two_thirds_low = 0x1.5555555555555p-55;
  double t = cube * two_thirds, t_low = fma(cube, two_thirds, -t) + (cube * two_thirds_low + cube_low * two_thirds);
  double whole = k * 0x1.62e42fefa38p-1, sum = whole + 2.0 * s,
         error = 2.0 * s - (sum - whole); /* the product is exact */
  double y = sum + t, rest = t - (y - sum);
  double r = __mw_polynomial(z, 0x1.999999999999ap-2, 0x1.2492492492492p-2, 0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3,
                             0x1.3b13b13b13b14p-3, 0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
                             0x1.8618618618618p-4, 0x1.642c8590b2164p-4);
  return -(y + (((error + rest) + (2.0 * s_low + t_low)) + fma(cube * z, r, k * 0x1.ef35793c7673p-45)));
}

__mw_device_template double __mw_rare_normal(double x) {
  __mw_exactly;
  double t = 1.0 / sqrt(__mw_log_of_tails(1.0 - fabs(x)));
  double p = 0.0027834010353747 * t + 0.8603009752628026;
  p = p * t + 2.1371214997265517;
  p = p * t + 3.159851960113209;
  p = p * t + 3.5780402569086;
  p = p * t + 1.533529752398989;
  p = p * t + 0.34839207139657524;
  p = p * t + 0.053644861147153645;
  p = p * t + 0.00438367098771261;
  p = p * t + 0.00013858518113496718;
  p = p * t + 1.1738352509991667e-06;
  double r = t + 2.2859981272422907;
  r = r * t + 4.385904525644955;
  r = r * t + 4.663296034873664;
  r = r * t + 3.9846608184671757;
  r = r * t + 1.6068377709719017;
  r = r * t + 0.35609087305900267;
  r = r * t + 0.05396355030320082;
  r = r * t + 0.004387342402270693;
  r = r * t + 0.00013858762165532245;
  r = r * t + 1.1738313872397778e-06;
  return copysign(1.4142135623730951, x) * (p / (r * t));
}

template <class W> __mw_device_template double __mw_host_normal_double(W word) {
  double x = __mw_centred_uniform(word);
  return __mw_is_rare(x) ? __mw_rare_normal(x) : __mw_common_normal(x);
}

#endif
