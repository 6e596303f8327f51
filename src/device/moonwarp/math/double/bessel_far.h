/* Bessel functions for GPUs; the CPU device calls the C library instead: orders 0 and 1 above 8, and any other order.
 *
 * Above 8 a function is the wave sqrt(2 / (pi x)) (P cos(x - a) - Q sin(x - a)), where P and Q x / 8 are polynomials in
 * (8 / x)^2 that interpolate at Chebyshev nodes (Abramowitz and Stegun 9.2). Higher orders are computed by recurrence:
 * upward where that is stable, otherwise downward from a sufficiently high order (9.12). */
#ifndef MOONWARP_BESSEL_FAR_H
#define MOONWARP_BESSEL_FAR_H

#include "moonwarp/math/double/bessel_near.h"
#include "moonwarp/math/double/double_trigonometry.h"
#include "moonwarp/math/polynomial.h"

/* The functions of orders 0 and 1, of the first and second kind, for x >= 8. */
struct __mw_waves {
  double j0, y0, j1, y1;
};
__mw_both __mw_waves __mw_bessel_waves(double x) {
  double w = 8 / x, t = fma(w, w, -0.5), sine = sin(x), cosine = cos(x);
  double sum = sine + cosine, difference = sine - cosine, size = 0x1.20dd750429b6dp-1 / sqrt(x);
  double p0 =
      __mw_polynomial(t, 0x1.ffb8dd328503dp-1, -0x1.193600c1deb24p-10, 0x1.9be00160e823fp-16, -0x1.b8d2d6f7a2846p-20,
                      0x1.b7ef11d50d123p-23, -0x1.4d2f3066d9562p-25, 0x1.54df0ce0b3c60p-27, -0x1.b5cc0a14f8f46p-29,
                      0x1.4ff43f3a3b25ap-30, -0x1.29370e92590fbp-31, 0x1.27eb5ec560053p-32, -0x1.4ec56f0f7c419p-33,
                      0x1.9542d15c8023cp-34, -0x1.69ea19bd0e0e3p-35, 0x1.bb7a2aca593bbp-36, -0x1.047589f7053ddp-34,
                      0x1.a7b9694769842p-35);
  double q0 =
      __mw_polynomial(t, -0x1.fdb5c0b2f3d5bp-7, 0x1.1e9a6138fee31p-13, -0x1.8c843528481acp-18, 0x1.3135a89eebfdap-21,
                      -0x1.858d1bcf49674p-24, 0x1.61a55a4aaf387p-26, -0x1.a082b466b6417p-28, 0x1.2ba66646ad2b4p-29,
                      -0x1.f959b428143a8p-31, 0x1.e40448b526ea4p-32, -0x1.02195f96eb8c4p-32, 0x1.396711df98b30p-33,
                      -0x1.918aa79791369p-34, 0x1.53b0007c589dap-35, -0x1.a54b1f431f225p-36, 0x1.341aa1f924f65p-34,
                      -0x1.04119eee234ffp-34) *
      w;
  double p1 =
      __mw_polynomial(t, 0x1.003b716033732p+0, 0x1.d73b8ea3c1238p-10, -0x1.0b1541bfc38b8p-15, 0x1.07762641dd462p-19,
                      -0x1.f96170eb105dcp-23, 0x1.75eaf634be6f0p-25, -0x1.78ba263317e77p-27, 0x1.dea34d76e5748p-29,
                      -0x1.6c57ffed6724ep-30, 0x1.4054ae55a302ep-31, -0x1.3d5916359e25ap-32, 0x1.655ef6af8df4dp-33,
                      -0x1.af1550a2ce418p-34, 0x1.81a25fde03778p-35, -0x1.d7e736208fd1dp-36, 0x1.125263266053fp-34,
                      -0x1.bd6fe4fb1ba12p-35);
  double q1 =
      __mw_polynomial(t, 0x1.7f323705062fbp-5, -0x1.938da0a0a6987p-13, 0x1.e8e009ca8e3bbp-18, -0x1.64231279797ffp-21,
                      0x1.b9302aab3c597p-24, -0x1.8922dc2c5d2bap-26, 0x1.c92daed1f73cfp-28, -0x1.45e3c75494ae2p-29,
                      0x1.10e20dd7cde29p-30, -0x1.03ef97a13df2fp-31, 0x1.13fd1cba4b5bfp-32, -0x1.4daeed69db9abp-33,
                      0x1.aa21f269a17dep-34, -0x1.69a148a1eb30ap-35, 0x1.c032856bf2889p-36, -0x1.43fb24ad224abp-34,
                      0x1.10fea9704b4bfp-34) *
      w;
  return {size * (p0 * sum - q0 * difference), size * (p0 * difference + q0 * sum), size * (p1 * difference + q1 * sum),
          size * (q1 * difference - p1 * sum)};
}

__mw_both double __mw_far_j0(double x) { return fabs(x) == __builtin_inf() ? 0 : __mw_bessel_waves(fabs(x)).j0; }
__mw_both double __mw_far_j1(double x) {
  return fabs(x) == __builtin_inf() ? 0 : __builtin_copysign(1.0, x) * __mw_bessel_waves(fabs(x)).j1;
}
/* For any x, including 0, negative numbers and NaN. */
__mw_both double __mw_far_y0(double x) {
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
  return x == __builtin_inf() ? 0 : __mw_bessel_waves(x).y0;
}
__mw_both double __mw_far_y1(double x) {
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
  return x == __builtin_inf() ? 0 : __mw_bessel_waves(x).y1;
}

__mw_both double __mw_whole_j0(double x) { return fabs(x) < 8 ? __mw_j0_near(fabs(x)) : __mw_far_j0(x); }
__mw_both double __mw_whole_j1(double x) {
  return fabs(x) < 8 ? __builtin_copysign(1.0, x) * __mw_j1_near(fabs(x)) : __mw_far_j1(x);
}
__mw_both double __mw_whole_y0(double x) { return x > 0 && x < 8 ? __mw_y0_near(x) : __mw_far_y0(x); }
__mw_both double __mw_whole_y1(double x) { return x > 0 && x < 8 ? __mw_y1_near(x) : __mw_far_y1(x); }

/* (x/2)^n / n! times the first terms of its series in q = x^2 / 4, for small x. */
__mw_both double __mw_small_jn(int n, double x) {
  double term = 1, q = 0.25 * x * x;
  for (int k = 1; k <= n && term != 0; k++) term *= 0.5 * x / k;
  double fourth = 1 - q / (4.0 * (n + 4)), third = 1 - q / (3.0 * (n + 3)) * fourth;
  return term * (1 - q / (n + 1.0) * (1 - q / (2.0 * (n + 2)) * third));
}
/* Downward recurrence from an order so high that the initial values do not matter; 1 = J0 + 2 (J2 + J4 + …) gives the
   scale. */
__mw_both double __mw_downward_jn(int n, double x) {
  int start = 2 * ((n + (int)sqrt(200.0 * n)) / 2 + 1);
  double above = 0, here = 1, sum = 0, found = 0, twice = 2 / x;
  for (int k = start; k > 0; k--) {
    double below = k * twice * here - above;
    above = here;
    here = below;
    if (fabs(here) > 0x1p100) {
      here *= 0x1p-100;
      above *= 0x1p-100;
      sum *= 0x1p-100;
      found *= 0x1p-100;
    }
    if (k % 2 != 0) sum += here; /* it is of order k - 1 */
    if (k == n) found = above;
  }
  return found / (2 * sum - here);
}
__mw_both double __mw_whole_jn(int n, double x) {
  if (n < 0 || x != x) return __builtin_nan("");
  if (n < 2) return n ? __mw_whole_j1(x) : __mw_whole_j0(x);
  double a = fabs(x), y;
  if (a == __builtin_inf()) return 0;
  if (a < 0.05) {
    y = __mw_small_jn(n, a);
  } else if (a > n) {
    double before = __mw_whole_j0(a);
    y = __mw_whole_j1(a);
    for (int k = 1; k < n; k++) {
      double next = 2 * k / a * y - before;
      before = y;
      y = next;
    }
  } else {
    y = __mw_downward_jn(n, a);
  }
  return x < 0 && n % 2 != 0 ? -y : y;
}
__mw_both double __mw_whole_yn(int n, double x) {
  if (n < 0 || !(x >= 0)) return __builtin_nan("");
  if (n < 2) return n ? __mw_whole_y1(x) : __mw_whole_y0(x);
  if (x == 0) return -__builtin_inf();
  if (x == __builtin_inf()) return 0;
  double before = __mw_whole_y0(x), y = __mw_whole_y1(x);
  for (int k = 1; k < n && y != -__builtin_inf(); k++) {
    double next = 2 * k / x * y - before;
    before = y;
    y = next;
  }
  return y;
}

#endif
