/* The error functions in single precision: erff, erfcf, erfcxf, normcdff.
 *
 * erff is a polynomial near zero and 1 - 2^-g(x) with a polynomial g elsewhere. The complement has to be accurate
 * relative to results as small as 1e-45, so it is computed in double precision. */
#ifndef MOONWARP_FLOAT_ERROR_FUNCTIONS_H
#define MOONWARP_FLOAT_ERROR_FUNCTIONS_H

#include "moonwarp/math/float_power.h"

__mw_both float erff(float x) {
  __mw_exactly;
  float a = fabsf(x), s = x * x;
  float tail = __mw_polynomialf(s, -0x1.fd2a88p-25f, -0x1.812742p-2f, 0x1.ce2dd4p-4f, -0x1.b809fcp-6f, 0x1.549b28p-8f,
                                -0x1.a8b0cep-11f, 0x1.57b1c6p-14f);
  float near = fmaf(x, 0x1.20dd76p+0f, x * tail);
  float b = a > 4.0f ? 4.0f : a;
  float g = __mw_polynomialf(b, -0x1.bce2b2p-12f, 0x1.a1642p+0f, 0x1.d2d49ap-1f, 0x1.44c93ep-3f, -0x1.373dc8p-5f,
                             0x1.bf3924p-8f, -0x1.bec82cp-11f, 0x1.126bc6p-14f, -0x1.364348p-19f);
  float t = __mw_shifter - g, r = (__mw_shifter - t) - g;
  float far = fmaf(-__mw_exp2_near(r), __mw_power_of_2(__mw_shifted(t)), 1.0f);
  return copysignf(a < 0.92f ? near : far, x);
}

/* exp(a^2) erfc(a) for a >= 0, to 2^-32: Shepherd and Laframboise's (1 + 2a) times it, in (a - 4) / (a + 4)
   (Mathematics of Computation 36, 1981). */
__mw_both double __mw_erfcx_wide(double a) {
  double u = (a - 4.0) / (a + 4.0);
  double p =
      __mw_polynomial(u, 0x1.3ba5916ebccbfp+0, -0x1.1df1acbb5bf95p-3, 0x1.f7f5d9cfd41bap-7, 0x1.16ecd4d7fa615p-4,
                      -0x1.9ddb18fe38db4p-4, 0x1.7fef2d9f9a358p-4, -0x1.0fb0a722fec31p-4, 0x1.306e3cf2051e6p-5,
                      -0x1.096067a015987p-6, 0x1.4ab7e92a043a2p-8, -0x1.8d57d39578aefp-11, -0x1.cc960a66b99d2p-13,
                      0x1.3a2cc03435ce2p-13, -0x1.2a650e959b48fp-17, -0x1.56ddc6687d54dp-17);
  return p / (1.0 + 2.0 * a);
}
/* exp(-x^2) times that function; for 11 and more the result is 0 in float. */
__mw_both double __mw_erfc_wide(double x) {
  double a = fabs(x), b = a < 12.0 ? a : 12.0;
  double y = __mw_exp2_wide(b * b * -0x1.71547652b82fep+0) * __mw_erfcx_wide(b);
  y = a == a ? y : a;
  return x < 0.0 ? 2.0 - y : y;
}
__mw_both float erfcf(float x) { return (float)__mw_erfc_wide(x); }
__mw_both float normcdff(float x) { return (float)(0.5 * __mw_erfc_wide(x * -0x1.6a09e667f3bcdp-1)); }
__mw_both float erfcxf(float x) {
  double a = fabs((double)x), y = __mw_erfcx_wide(a);
  double b = a < 11.0 ? a : 11.0, rest = 2.0 * __mw_exp2_wide(b * b * 0x1.71547652b82fep+0);
  float result = (float)(x < 0.0f ? rest - y : y);
  result = a < __builtin_inf() ? result : x > 0.0f ? 0.0f : a;
  return result;
}

#endif
