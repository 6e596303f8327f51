/* The normal distribution's quantile on the CPU device and in mwcc's code for GPUs, for numbers that are made by the
 * inverse of the distribution.
 *
 * p is the probability above z, x = 1 - 2p and v = 1 - x^2 = 4 p (1 - p). z / x is a function of v that is analytic but
 * for 0 and negative v, so a quotient of two polynomials converges, and needs no logarithm: z = x (2 + N(v) / D(v)). It
 * interpolates at the squares of dn at equal distances (Zolotarev's points), to 2^-54 of z, or 2^-31 for floats. The
 * coefficients of D are positive, and those of N have the sign of the sum where they count, so that little cancels. It
 * covers 99.8 % of all numbers or more; beyond it z is sqrt(2) r plus a polynomial in r = sqrt(-log v). (Giles,
 * "Approximating the erfinv function", 2012) */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_QUANTILE_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_QUANTILE_H

#include "moonwarp_device.h"

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define __mw_quantile_of_gpus
#endif

#ifndef __MW_NVRTC__

/* log v for normal v up to 1, to 2^-53 and half a unit of itself: k ln 2 + log(1 + f); log(1 + f) = f - s (f - r(s^2)),
 * where s = f / (2 + f). */
__mw_device_template double __mw_short_log(double v) {
  long long bits = __mw_bits(v) - 0x3fe5555555555555; /* 2/3 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double s = f / (2.0 + f), z = s * s, z2 = z * z;
  double even = __mw_polynomial(z2, 0x1.5555555555555p-1, 0x1.24924924813f7p-2, 0x1.745d1613aed8bp-3,
                                0x1.11253b6d0edfcp-3, 0x1.f7db996be446fp-4);
  double odd =
      __mw_polynomial(z2, 0x1.9999999999b08p-2, 0x1.c71c71d228222p-3, 0x1.3b137bd0e96dbp-3, 0x1.dce4d17615995p-4);
  double r = z * fma(z, odd, even);
  return fma(k, 0x1.62e42fefa39efp-1, f - s * (f - r));
}

/* The number that a normal one exceeds with probability p, for 2^-54 <= p <= 1/2. */
__mw_device_template double __mw_upper_quantile(double p) {
  double q = 2.0 * p, x = 1.0 - q, v = q * (2.0 - q), v2 = v * v;
  if (v < 0x1p-8) {
    double r = sqrt(-__mw_short_log(v)), y = r - 4.0, y2 = y * y;
    double even =
        __mw_polynomial(y2, -0x1.d0094bf8691d1p-3, 0x1.d0bedd32b3393p-10, 0x1.b5deb23ccb196p-12, 0x1.fa56c568ee32cp-16,
                        0x1.bcc2e10120883p-21, -0x1.02fcd7d22f24ap-22, -0x1.49524efca0e1p-25, 0x1.f36680fdfda68p-30,
                        0x1.642e995427c9p-31, -0x1.4cff36d9b7e9cp-36, -0x1.08ee8e9188673p-37, 0x1.824f1fd459548p-44,
                        0x1.bae4f52c21044p-44, -0x1.c15af60b35f59p-48);
    double odd =
        __mw_polynomial(y2, 0x1.b800fba0d44d4p-7, -0x1.3c9e1a8d7f08bp-10, -0x1.f442819d713f8p-14,
                        -0x1.b29a8d9f3728fp-18, 0x1.dcaed30ef2a4ep-23, 0x1.fea9125dabe97p-24, 0x1.9984da63a9f7ap-28,
                        -0x1.dc8c18322a81ep-30, -0x1.da7a76fc8443fp-34, 0x1.4995c90492731p-36, 0x1.18499b7afb933p-39,
                        -0x1.771e08228a268p-42, 0x1.fefc922525eb7p-49, 0x1.d91cec19ea3bp-51);
    return fma(1.4142135623730951, r, fma(y, odd, even));
  }
  double numerator =
      fma(v,
          __mw_polynomial_in_steps(v2, 0x1.31f362ab2a1afp-51, 0x1.aac31b93597edp-32, 0x1.35b2c7cb5180bp-17,
                                   0x1.a34579b7906f5p-7, 0x1.20b02a4eb87a9p-3, -0x1.3a013a3a2bc14p+6,
                                   -0x1.40bb9451fa734p+8, -0x1.2ca2b4c40b295p+5),
          __mw_polynomial_in_steps(v2, 0x1.7de181e33327ap-64, 0x1.ab2ce837f97b2p-41, 0x1.737f361a8ccfcp-24,
                                   0x1.010fe29b0f121p-11, 0x1.26c3e5d5b3a8dp-3, -0x1.3fc97db27fcbep+3,
                                   -0x1.dcd77c98ae55p+7, -0x1.6e3054c9857b1p+7, -0x1.c7cda7687ef7fp+0));
  double denominator =
      fma(v,
          __mw_polynomial_in_steps(v2, 0x1.53e4fba4d7e97p-52, 0x1.58e7d97e7b985p-32, 0x1.7c422971344eep-17,
                                   0x1.f2c5b28dc6097p-6, 0x1.f102f63edb291p+2, 0x1.7c2ff3be8b108p+7,
                                   0x1.67ab179726d0bp+8, 0x1.9f402fb9ddb78p+4),
          __mw_polynomial_in_steps(v2, 0x1.49ca9e1bfca28p-65, 0x1.1f7e02149f826p-41, 0x1.6cb65fe10bc27p-24,
                                   0x1.a0d59bf7706fbp-11, 0x1.4c642b9adb40fp-1, 0x1.9ef055939af78p+5,
                                   0x1.719ec16c3121ep+8, 0x1.3c79a801538e1p+7, 0x1p+0));
  return x * (2.0 + numerator / denominator);
}

#ifdef __mw_quantile_of_gpus

/* The same in single precision, to 2^-22 of itself, for 2^-33 <= p <= 1/2. GPUs have an instruction for the logarithm,
 * and z / x is a polynomial in it. */
__mw_device_template float __mw_upper_quantile(float p) {
  float q = 2.0f * p, x = 1.0f - q, t = __log2f(q * (2.0f - q));
  if (t < -7.25f) {
    float r = sqrtf(-t) - 4.0f;
    return __mw_polynomialf(r, 0x1.1e6bc4p+2f, 0x1.2f499ap+0f, 0x1.0715d4p-8f, -0x1.d2ab36p-10f, 0x1.135068p-11f,
                            -0x1.03c456p-13f, 0x1.accfb6p-17f, 0x1.0d6f72p-17f, -0x1.930ed8p-19f);
  }
  return x * __mw_polynomialf(t + 3.5f, 0x1.0c7a16p+1f, -0x1.f058a4p-3f, -0x1.5aa116p-9f, 0x1.4558e8p-11f,
                              0x1.2d153p-14f, 0x1.995c04p-21f, -0x1.37a1f2p-21f, -0x1.a41bdcp-25f, 0x1.2dc55cp-29f,
                              0x1.f534c4p-32f);
}

#else

/* The same to 2^-31 of itself, for 2^-33 <= p <= 1/2. */
__mw_device_template double __mw_rough_upper_quantile(double p) {
  double q = 2.0 * p, x = 1.0 - q, v = q * (2.0 - q);
  if (v < 0x1p-9) {
    double r = sqrt(-__mw_short_log(v)), y = r - 3.5, y2 = y * y;
    double even = __mw_polynomial(y2, -0x1.dc81e33fa34a1p-3, 0x1.1fe35606b7774p-8, 0x1.c23ef7f546b46p-11,
                                  0x1.ad0c2d03e0ed9p-15, -0x1.dfc2313121e71p-18, -0x1.cc15813108244p-21);
    double odd = __mw_polynomial(y2, 0x1.57f46aaecad11p-7, -0x1.3eb5e808f2b82p-9, -0x1.00ec9727eeb26p-12,
                                 -0x1.c06057811aeep-22, 0x1.07781d0667b4ep-18, 0x1.990f4bcb6eac5p-26);
    return fma(1.4142135623730951, r, fma(y, odd, even));
  }
  double numerator = __mw_polynomial_in_steps(v, 0x1.bb5960ae9a328p-45, 0x1.b1b001a8881c7p-33, 0x1.2ff98fb0e3a5dp-23,
                                              0x1.df03d169032acp-16, 0x1.e01eb6efc4a1bp-10, 0x1.1875959e81034p-5,
                                              0x1.0735944a9707bp-6, -0x1.4b240ab838509p+1, -0x1.5441fc3ed4defp+3,
                                              -0x1.3f168a76fdef2p+3, -0x1.a950c27769496p+0);
  double denominator =
      __mw_polynomial_in_steps(v, 0x1.8cf6f41d3abd8p-46, 0x1.040e1d7e347f2p-33, 0x1.d69603dd73d6p-24,
                               0x1.eedc3d316f57dp-16, 0x1.6d37306238ee1p-9, 0x1.99e9da3efc221p-4, 0x1.66f0c48fd855bp+0,
                               0x1.e2bdc8059396bp+2, 0x1.d258c4109fe3fp+3, 0x1.12fccc1df90cp+3, 0x1p+0);
  return x * (2.0 + numerator / denominator);
}

#endif

#endif

#endif
