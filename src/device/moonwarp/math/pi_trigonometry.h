/* sinpi, cospi, sincospi: sine and cosine of pi x, exact in their argument.
 *
 * x is reduced exactly to [-1/4, 1/4] around a multiple of 1/2. There Taylor's series, with its first terms in two
 * doubles, is accurate to one ulp. */
#ifndef MOONWARP_PI_TRIGONOMETRY_H
#define MOONWARP_PI_TRIGONOMETRY_H

#include "moonwarp/math/float_trigonometry.h"

/* sin(pi r) and cos(pi r) for |r| <= 1/4 */
__mw_both double __mw_sinpi_near(double r) {
  __mw_exactly;
  double s = r * r;
  double p = __mw_polynomial(s, -5.16771278004997, 2.5501640398773455, -0.5992645293207921, 0.08214588661112823,
                             -0.0073704309457143504, 0.00046630280576761255, -2.1915353447830217e-05,
                             7.952054001475513e-07, -2.2948428997269873e-08);
  return fma(r, 3.141592653589793, r * fma(s, p, 1.2246467991473532e-16));
}
__mw_both double __mw_cospi_near(double r) {
#pragma clang fp contract(off) reassociate(off) reciprocal(off)
  const double c = -4.934802200544679, c_low = -3.1326477543698557e-16;
  double s = r * r, s_low = fma(r, r, -s);
  double head = fma(c, s, 1.0);
  double rest = fma(c, s, 1.0 - head) + fma(c, s_low, c_low * s);
  double tail =
      s * s *
      __mw_polynomial(s, 4.0587121264167685, -1.3352627688545895, 0.2353306303588932, -0.02580689139001406,
                      0.0019295743094039231, -0.0001046381049248457, 4.303069587032947e-06, -1.3878952462213771e-07);
  return head + (rest + tail);
}

/* Subtracts whole turns; the rest is quarter/2 + r half turns, with quarter from 0 to 3. */
__mw_both void __mw_reduce_turn(double x, int *quarter, double *r) {
  double turn = x - 2 * rint(x * 0.5);
  double halves = rint(2 * turn);
  *quarter = (int)halves & 3;
  *r = fma(halves, -0.5, turn);
}

/* Zeros of sinpi have the argument's sign, zeros of cospi are +0. */
__mw_both double sinpi(double x) {
  int quarter;
  double r;
  __mw_reduce_turn(x, &quarter, &r);
  if (x == rint(x)) return x * 0.0; /* NaN for infinities */
  double y = quarter & 1 ? __mw_cospi_near(r) : __mw_sinpi_near(r);
  return quarter & 2 ? -y : y;
}
__mw_both double cospi(double x) {
  int quarter;
  double r;
  __mw_reduce_turn(x, &quarter, &r);
  double y = quarter & 1 ? __mw_sinpi_near(r) : __mw_cospi_near(r);
  return (quarter + 1) & 2 ? 0 - y : y + 0.0;
}
__mw_both void sincospi(double x, double *sine, double *cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}

__mw_both float sinpi(float x) { return sinpif(x); }
__mw_both float cospi(float x) { return cospif(x); }
__mw_both void sincospi(float x, float *sine, float *cosine) { sincospif(x, sine, cosine); }

#endif
