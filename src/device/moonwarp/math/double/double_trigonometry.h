/* Sine, cosine and tangent in double precision: sin, cos, sincos, tan, within two units in the last place.
 *
 * x = k pi/2 + r + low, with pi/2 in parts whose products with k are exact up to |k| = 2^20. Larger angles, which are
 * rare, are reduced by libm, for each lane in turn, and on a GPU by angle_reduction.h. */
#ifndef MOONWARP_DOUBLE_TRIGONOMETRY_H
#define MOONWARP_DOUBLE_TRIGONOMETRY_H

#include "moonwarp/math/double/angle_reduction.h"
#include "moonwarp/math/double/double_exponential.h"

/* For a = |x| below the limit. */
#define __mw_angle_limit 0x1p+20

__mw_both double __mw_reduce(double a, long long *quadrant, double *low) {
  __mw_exactly;
  double t = fma(a, 0x1.45f306dc9c883p-1, __mw_double_shifter), k = t - __mw_double_shifter;
  *quadrant = __mw_shifted(t);
  double first = fma(k, -0x1.921fb544p+0, a), part = k * 0x1.0b4611a6p-34; /* both exact */
  double r = first - part, other = first - r, error = (first - (r + other)) + (other - part);
  error = fma(k, -0x1.3198a2e037073p-69, error);
  double high = r + error;
  *low = (r - high) + error;
  return high;
}
__mw_both double __mw_sin_near(double r, double low, double s) {
  double p =
      __mw_polynomial(s, -0x1.5555555555555p-3, 0x1.111111111108bp-7, -0x1.a01a01a006dbap-13, 0x1.71de3a40219fap-19,
                      -0x1.ae643d53aa3e9p-26, 0x1.6114b2ec6b76fp-33, -0x1.a5646903eef59p-41);
  return r + fma(r * s, p, low);
}
__mw_both double __mw_cos_near(double r, double low, double s) {
  __mw_exactly;
  double p = __mw_polynomial(s, 0x1.555555555554ap-5, -0x1.6c16c16c14e3cp-10, 0x1.a01a019c66475p-16,
                             -0x1.27e4f7d6c756bp-22, 0x1.1ee9cafcfe19fp-29, -0x1.8f9e5d8110847p-37);
  double half = 0.5 * s, whole = 1.0 - half, error = (1.0 - whole) - half;
  return whole + (error + fma(s * s, p, -(r * low)));
}
/* y with its sign changed if bit 1 of n is set */
__mw_both double __mw_turn(double y, long long n) {
  return __mw_double(__mw_bits(y) ^ (long long)((unsigned long long)(n & 2) << 62));
}

/* For angles of 2 and more, infinities and NaN. */
#define __mw_far template <int = 0> static __attribute__((device, noinline, nodebug)) double
__mw_far __mw_far_sin(double x) {
  __mw_exactly;
  long long n;
  if (!(fabs(x) < __builtin_inf())) return x - x;
  double low, r = __mw_reduce_far(fabs(x), &n, &low), s = r * r;
  double y = __mw_turn(n & 1 ? __mw_cos_near(r, low, s) : __mw_sin_near(r, low, s), n);
  return x < 0 ? -y : y;
}
__mw_far __mw_far_cos(double x) {
  __mw_exactly;
  long long n;
  if (!(fabs(x) < __builtin_inf())) return x - x;
  double low, r = __mw_reduce_far(fabs(x), &n, &low), s = r * r;
  return __mw_turn(n & 1 ? __mw_sin_near(r, low, s) : __mw_cos_near(r, low, s), n + 1);
}
__mw_far __mw_far_tan(double x) {
  __mw_exactly;
  long long n;
  if (!(fabs(x) < __builtin_inf())) return x - x;
  double low, r = __mw_reduce_far(fabs(x), &n, &low), s = r * r;
  double sine = __mw_sin_near(r, low, s), cosine = __mw_cos_near(r, low, s);
  double y = n & 1 ? -cosine / sine : sine / cosine;
  return x < 0 ? -y : y;
}
#undef __mw_far
#ifdef __MW_NVPTX__
#define __mw_libm_sin __mw_far_sin
#define __mw_libm_cos __mw_far_cos
#define __mw_libm_tan __mw_far_tan
#endif

__mw_both double sin(double x) {
  __mw_exactly;
  long long n;
  double low, a = fabs(x), r = __mw_reduce(a, &n, &low), s = r * r;
  double y = __mw_turn(n & 1 ? __mw_cos_near(r, low, s) : __mw_sin_near(r, low, s), n);
  y = __mw_double(__mw_bits(y) ^ (long long)((unsigned long long)__mw_bits(x) & 0x8000000000000000));
  if (!(a < __mw_angle_limit)) y = __mw_libm_sin(x);
  return y;
}
__mw_both double cos(double x) {
  __mw_exactly;
  long long n;
  double low, a = fabs(x), r = __mw_reduce(a, &n, &low), s = r * r;
  double y = __mw_turn(n & 1 ? __mw_sin_near(r, low, s) : __mw_cos_near(r, low, s), n + 1);
  if (!(a < __mw_angle_limit)) y = __mw_libm_cos(x);
  return y;
}
__mw_both double tan(double x) {
  __mw_exactly;
  long long n;
  double low, a = fabs(x), r = __mw_reduce(a, &n, &low), s = r * r;
  double sine = __mw_sin_near(r, low, s), cosine = __mw_cos_near(r, low, s);
  double y = n & 1 ? -cosine / sine : sine / cosine;
  y = __mw_double(__mw_bits(y) ^ (long long)((unsigned long long)__mw_bits(x) & 0x8000000000000000));
  if (!(a < __mw_angle_limit)) y = __mw_libm_tan(x);
  return y;
}
__mw_both void sincos(double x, double *sine, double *cosine) {
  *sine = sin(x);
  *cosine = cos(x);
}

#undef __mw_angle_limit

#endif
