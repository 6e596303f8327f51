/* Inverse trigonometry in double precision: asin, acos, atan, atan2, within two units in the last place.
 *
 * Each is a multiple of pi/4, in two doubles, and a polynomial near zero, added with the sum's rounding error. */
#ifndef MOONWARP_DOUBLE_INVERSE_TRIGONOMETRY_H
#define MOONWARP_DOUBLE_INVERSE_TRIGONOMETRY_H

#include "moonwarp/math/double/double_exponential.h"

#define __mw_half_pi     0x1.921fb54442d18p+0
#define __mw_half_pi_low 0x1.1a62633145c07p-54

/* base + v + tail, |v| below the base where that is not 0 */
__mw_both double __mw_add_arc(double base, double v, double tail) {
  __mw_exactly;
  double sum = base + v;
  return sum + (((base - sum) + v) + tail);
}

/* (asin(v) - v) / v^3, of v^2 up to 1/4 */
__mw_both double __mw_asin_tail(double z) {
  return __mw_polynomial(z, 0x1.5555555555556p-3, 0x1.3333333332d9ep-4, 0x1.6db6db6e48dffp-5, 0x1.f1c71c1187eddp-6,
                         0x1.6e8bb383c0ebbp-6, 0x1.1c4d0fc1b6fbbp-6, 0x1.c9d336dfa2933p-7, 0x1.77ff42ac1dfb4p-7,
                         0x1.53365248bd332p-7, 0x1.5dc12cf8ad297p-8, 0x1.224dcb11ab156p-6, -0x1.f6744b4ca8339p-7,
                         0x1.dc690516bc887p-6);
}
/* Beyond 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2)) */
__mw_both double asin(double x) {
  __mw_exactly;
  double a = fabs(x);
  bool large = a > 0.5;
  double z = large ? fma(a, -0.5, 0.5) : a * a, v = large ? -2.0 * sqrt(z) : a;
  double tail = v * z * __mw_asin_tail(z);
  double y = __mw_add_arc(large ? __mw_half_pi : 0.0, v, large ? tail + __mw_half_pi_low : tail);
  return __builtin_copysign(y, x);
}
__mw_both double acos(double x) {
  __mw_exactly;
  double a = fabs(x);
  bool large = a > 0.5;
  double z = large ? fma(a, -0.5, 0.5) : a * a, v = large ? __builtin_copysign(2.0 * sqrt(z), x) : -x;
  double base = large ? (x < 0.0 ? 2.0 * __mw_half_pi : 0.0) : __mw_half_pi;
  double base_low = large ? (x < 0.0 ? 2.0 * __mw_half_pi_low : 0.0) : __mw_half_pi_low;
  return __mw_add_arc(base, v, fma(v * z, __mw_asin_tail(z), base_low));
}

/* Of (num + num_low) / (den + den_low), from -0.4143 to 0.4143, plus `quarters` of pi/4 */
__mw_both double __mw_atan_ratio(double num, double num_low, double den, double den_low, double quarters) {
  __mw_exactly;
  double r = 1.0 / den, t = num * r, low = (fma(-t, den, num) - fma(t, den_low, -num_low)) * r, s = t * t;
  double p = __mw_polynomial(s, -0x1.5555555555555p-2, 0x1.9999999999804p-3, -0x1.24924924806a7p-3,
                             0x1.c71c71bb689f9p-4, -0x1.745d151f84691p-4, 0x1.3b137297286dep-4, -0x1.110c646bd8d8fp-4,
                             0x1.e16934cdf5ad6p-5, -0x1.ab0042b9f9d22p-5, 0x1.6d392c1f063abp-5, -0x1.01ec39f2cd84bp-5,
                             0x1.54618edf8162cp-7, 0x1.448901b7670fep-8);
  const double quarter = 0.5 * __mw_half_pi, quarter_low = 0.5 * __mw_half_pi_low;
  double base = quarters * quarter, base_low = fma(quarters, quarter_low, fma(quarters, quarter, -base));
  return __mw_add_arc(base, t, fma(t * s, p, base_low + low));
}
__mw_both double atan(double x) {
  __mw_exactly;
  double a = fabs(x);
  a = a > 0x1p+60 ? 0x1p+60 : a;
  bool middle = a > 0.4142, far = a > 2.4142;
  double less = a - 1.0, more = a + 1.0;
  double num = far ? -1.0 : middle ? less : a, num_low = middle && !far ? a - (less + 1.0) : 0.0;
  double den = far ? a : middle ? more : 1.0, den_low = middle && !far ? a - (more - 1.0) : 0.0;
  return __builtin_copysign(__mw_atan_ratio(num, num_low, den, den_low, far ? 2.0 : middle ? 1.0 : 0.0), x);
}
/* x + y = the result + low */
__mw_both double __mw_sum(double x, double y, double *low) {
  __mw_exactly;
  double sum = x + y, other = sum - x;
  *low = (x - (sum - other)) + (y - other);
  return sum;
}
__mw_both double atan2(double y, double x) {
  __mw_exactly;
  double a = fabs(y), b = fabs(x), large = a < b ? b : a;
  double scale = large > 0x1p+900 ? 0x1p-200 : large < 0x1p-800 ? 0x1p+200 : 1.0;
  /* An infinity is replaced by 1 and a finite number next to it by 0; if both are zeros, x is replaced by 1. */
  bool endless = large == __builtin_inf();
  a = endless ? (a == large ? 1.0 : 0.0) : a * scale;
  b = endless ? (b == large ? 1.0 : 0.0) : large == 0.0 ? 1.0 : b * scale;
  bool middle = a > 0.4142 * b, far = a > 2.4142 * b;
  double less_low, more_low, less = __mw_sum(a, -b, &less_low), more = __mw_sum(a, b, &more_low);
  double num = far ? -b : middle ? less : a, num_low = middle && !far ? less_low : 0.0;
  double den = far ? a : middle ? more : b, den_low = middle && !far ? more_low : 0.0;
  double quarters = far ? 2.0 : middle ? 1.0 : 0.0;
  /* for negative x: pi minus the angle */
  bool behind = __mw_bits(x) < 0;
  num = behind ? -num : num;
  num_low = behind ? -num_low : num_low;
  double angle = __mw_atan_ratio(num, num_low, den, den_low, behind ? 4.0 - quarters : quarters);
  return __builtin_copysign(x != x || y != y ? __builtin_nan("") : angle, y);
}

#undef __mw_half_pi
#undef __mw_half_pi_low

#endif
