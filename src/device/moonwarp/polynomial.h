/* c0 + c1 x + c2 x^2 + …, the highest power first. */
#ifndef MOONWARP_POLYNOMIAL_H
#define MOONWARP_POLYNOMIAL_H

#include "moonwarp/libm.h"

__mw_both double __mw_polynomial(double, double c) { return c; }
template <typename... T> __mw_both_template double __mw_polynomial(double x, double c, T... higher) {
  return fma(x, __mw_polynomial(x, higher...), c);
}

__mw_both float __mw_polynomialf(float, float c) { return c; }
template <typename... T> __mw_both_template float __mw_polynomialf(float x, float c, T... higher) {
  return fmaf(x, __mw_polynomialf(x, higher...), c);
}

#endif
