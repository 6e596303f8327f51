/* CUDA's complex numbers, cuFloatComplex and cuDoubleComplex, which are float2 and double2, and their arithmetic.
 *
 * Division scales by the divisor's larger component (Smith, 1962) and the absolute value is by hypot, so that neither
 * overflows if the result does not. */
#pragma once

#include "moonwarp/math/libm.h"
#include "moonwarp/make_vector.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* clang-format off */
#define __mw_complex(complex, real, make, creal, cimag, conj, add, sub, mul, div, cabs, cfma, abs_, hypot_)            \
  __mw_both real creal(complex x) { return x.x; }                                                                      \
  __mw_both real cimag(complex x) { return x.y; }                                                                      \
  __mw_both complex make(real re, real im) { return {re, im}; }                                                        \
  __mw_both complex conj(complex x) { return {x.x, -x.y}; }                                                            \
  __mw_both complex add(complex x, complex y) { return {x.x + y.x, x.y + y.y}; }                                       \
  __mw_both complex sub(complex x, complex y) { return {x.x - y.x, x.y - y.y}; }                                       \
  __mw_both complex mul(complex x, complex y) { return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x}; }               \
  __mw_both complex div(complex x, complex y) {                                                                        \
    if (abs_(y.x) >= abs_(y.y)) {                                                                                      \
      real ratio = y.y / y.x, divisor = y.x + y.y * ratio;                                                             \
      return {(x.x + x.y * ratio) / divisor, (x.y - x.x * ratio) / divisor};                                           \
    }                                                                                                                  \
    real ratio = y.x / y.y, divisor = y.x * ratio + y.y;                                                               \
    return {(x.x * ratio + x.y) / divisor, (x.y * ratio - x.x) / divisor};                                             \
  }                                                                                                                    \
  __mw_both real cabs(complex x) { return hypot_(x.x, x.y); }                                                          \
  __mw_both complex cfma(complex x, complex y, complex z) { return add(mul(x, y), z); }
__mw_complex(cuFloatComplex, float, make_cuFloatComplex, cuCrealf, cuCimagf, cuConjf, cuCaddf, cuCsubf, cuCmulf, cuCdivf,
             cuCabsf, cuCfmaf, fabsf, hypotf)
__mw_complex(cuDoubleComplex, double, make_cuDoubleComplex, cuCreal, cuCimag, cuConj, cuCadd, cuCsub, cuCmul, cuCdiv,
             cuCabs, cuCfma, fabs, hypot);
#undef __mw_complex
/* clang-format on */

__mw_both cuComplex make_cuComplex(float re, float im) { return {re, im}; }
__mw_both cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return {x.x, x.y}; }
__mw_both cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return {(float)x.x, (float)x.y}; }
