/* The Box-Muller transform: from a uniform number u and an angle, the point at the distance sqrt(-2 log u) in that
 * direction.
 *
 * cuRAND rounds differently on hosts and on GPUs, where it uses fast sines. Here, GPUs agree with cuRAND's GPU code and
 * the CPU device with its host code, to 2 ulp of the larger coordinate; for that, 95 % of the logarithms, sines and
 * cosines are correctly rounded. The functions support only the arguments that occur: u in (0, 1], and angles of up to
 * one turn. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_POLAR_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_POLAR_H

#include "moonwarp_device.h"

#define __mw_two_pi 6.2831855f

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define __mw_polar_of_gpus
#endif

#ifdef __mw_polar_of_gpus

/* A product and a sum with one rounding. */
__mw_device_template float __mw_scale_and_add(float x, float factor, float term) { return fmaf(x, factor, term); }
__mw_device_template double __mw_scale_and_add(double x, double factor, double term) { return fma(x, factor, term); }

__mw_device_template float2 __mw_polar(float u, float angle) {
  float sine, cosine, distance = sqrtf(-2.0f * logf(u));
  __sincosf(angle, &sine, &cosine);
  return make_float2(sine * distance, cosine * distance);
}
#ifdef __MW_NVRTC__

__mw_device_template double2 __mw_polar_double(double u, double turns) {
  double sine, cosine, distance = sqrt(-2.0 * log(u));
  sincospi(2 * turns, &sine, &cosine);
  return make_double2(sine * distance, cosine * distance);
}

#else

/* With a logarithm, a sine and a cosine for these arguments alone, to some units in the last place of the distance: log u
 * is k ln 2 + log(1 + f), and log(1 + f) is f - s (f - r(s^2)) with s = f / (2 + f). The angle is n + t quarters of a
 * turn. */
__mw_device_template double2 __mw_polar_double(double u, double turns) {
  long long bits = __mw_bits(u) - 0x3fe6a09e667f3bcd; /* the root of 1/2 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe6a09e667f3bcd) - 1.0;
  double s = f / (2.0 + f), z = s * s;
  double r =
      z * __mw_polynomial(z, 0x1.5555555555592p-1, 0x1.999999997fce7p-2, 0x1.24924941fd79dp-2, 0x1.c71c51feb1817p-3,
                          0x1.74664139d9d42p-3, 0x1.39a17bb035b1ep-3, 0x1.2f07fdf3d951bp-3);
  double distance = sqrt(-2.0 * fma(k, 0x1.62e42fefa39efp-1, fma(-s, f - r, f)));
  double shifted = fma(turns, 4.0, 0x1.8p+52), t = fma(turns, 4.0, 0x1.8p+52 - shifted);
  double a = fma(t, 0x1.921fb54442d18p+0, t * 0x1.1a62633145c07p-54), b = a * a;
  double sin_a = fma(a * b,
                     __mw_polynomial(b, -0x1.555555555553dp-3, 0x1.111111110eb1fp-7, -0x1.a01a019ab4b5cp-13,
                                     0x1.71de34756afd0p-19, -0x1.ae5db47d29453p-26, 0x1.5d64ca747c494p-33),
                     a);
  double cos_a = fma(b,
                     __mw_polynomial(b, -0.5, 0x1.555555555554cp-5, -0x1.6c16c16c15185p-10, 0x1.a01a019cb272bp-16,
                                     -0x1.27e4f80a78dd8p-22, 0x1.1ee9ec49567acp-29, -0x1.8faed0039f393p-37),
                     1.0);
  int n = (int)__mw_bits(shifted);
  double sine = n & 1 ? cos_a : sin_a, cosine = n & 1 ? sin_a : cos_a;
  return make_double2((n & 2 ? -sine : sine) * distance, (n + 1 & 2 ? -cosine : cosine) * distance);
}

#endif

#else

/* The same with two roundings. */
__mw_device_template float __mw_scale_and_add(float x, float factor, float term) {
  __mw_exactly;
  return x * factor + term;
}
__mw_device_template double __mw_scale_and_add(double x, double factor, double term) {
  __mw_exactly;
  return x * factor + term;
}

/* log u for 2^-126 <= u <= 1: k ln 2 + f - f^2/2 + f^3 q(f); all terms but the last are summed in two numbers. */
__mw_device_template float __mw_log_of_uniform(float u) {
  __mw_exactly;
  int bits = __mw_bits(u) - 0x3f2aaaab; /* 2/3 */
  float k = (float)(bits >> 23), f = __mw_float((bits & 0x7fffff) + 0x3f2aaaab) - 1.0f;
  float half = 0.5f * f, square = half * f, square_low = fmaf(half, f, -square);
  float whole = k * 0x1.62e4p-1f, sum = whole + f, error = (whole - sum) + f; /* the product is exact */
  float y = sum - square, lost = (sum - y) - square;
  float q = __mw_polynomialf(f, 0x1.5555p-2f, -0x1.ffff2p-3f, 0x1.99d28p-3f, -0x1.5595c6p-3f, 0x1.1eb686p-3f,
                             -0x1.f3e77cp-4f, 0x1.1ef47cp-3f, -0x1.0641cep-3f);
  return y + (((error + lost) - square_low) + fmaf(2.0f * square * f, q, k * 0x1.7f7d1cp-20f));
}

/* y with its sign changed if bit 1 of n is set. */
__mw_device_template float __mw_turned(float y, int n) {
  return __mw_float(__mw_bits(y) ^ (int)((unsigned)(n & 2) << 30));
}
__mw_device_template double __mw_turned(double y, long long n) {
  return __mw_double(__mw_bits(y) ^ (long long)((unsigned long long)(n & 2) << 62));
}

/* The angle is k pi/2 + r + low, 0 <= k <= 4. */
__mw_device_template float2 __mw_polar(float u, float angle) {
  __mw_exactly;
  float distance = sqrtf(-2.0f * __mw_log_of_uniform(u));
  float shifted = fmaf(angle, 0x1.45f306p-1f, 0x1.8p+23f), k = shifted - 0x1.8p+23f;
  int quarter = __mw_bits(shifted);
  float near = fmaf(k, -0x1.921fb6p+0f, angle), low = k * 0x1.777a5cp-25f; /* the first is exact */
  float r = near + low, s = r * r, rest = (near - r) + low;
  float sin_r =
      r + fmaf(r * s, __mw_polynomialf(s, -0x1.555556p-3f, 0x1.111162p-7f, -0x1.a045f2p-13f, 0x1.772d18p-19f), rest);
  float half = 0.5f * s, half_low = fmaf(0.5f * r, r, -half), whole = 1.0f - half, error = (1.0f - whole) - half;
  float cos_r =
      whole + ((error - half_low) +
               fmaf(s * s, __mw_polynomialf(s, 0x1.555548p-5f, -0x1.6c0b16p-10f, 0x1.99a138p-16f), -(r * rest)));
  float sine = __mw_turned(quarter & 1 ? cos_r : sin_r, quarter),
        cosine = __mw_turned(quarter & 1 ? sin_r : cos_r, quarter + 1);
  return make_float2(sine * distance, cosine * distance);
}

/* The same in double precision; log(1 + f) is f - f^2/2 + s (f^2/2 + p(s^2)) with s = f / (2 + f). */
__mw_device_template double __mw_log_of_uniform(double u) {
  __mw_exactly;
  long long bits = __mw_bits(u) - 0x3fe5555555555555; /* 2/3 */
  double k = (double)(int)(bits >> 52), f = __mw_double((bits & 0xfffffffffffff) + 0x3fe5555555555555) - 1.0;
  double half = 0.5 * f, square = half * f, square_low = fma(half, f, -square);
  double whole = k * 0x1.62e42ffp-1, sum = whole + f, error = (whole - sum) + f; /* the product is exact */
  double y = sum - square, lost = (sum - y) - square;
  double s = f / (2.0 + f), z = s * s;
  double p = z * __mw_polynomial_in_steps(z, 0x1.5555555555555p-1, 0x1.9999999999b08p-2, 0x1.24924924813f7p-2,
                                          0x1.c71c71d228222p-3, 0x1.745d1613aed8bp-3, 0x1.3b137bd0e96dbp-3,
                                          0x1.11253b6d0edfcp-3, 0x1.dce4d17615995p-4, 0x1.f7db996be446fp-4);
  return y + (((error + lost) - square_low) + fma(s, square + p, k * -0x1.718432a1b0e26p-35));
}
__mw_device_template double2 __mw_polar_double(double u, double turns) {
  __mw_exactly;
  double angle = turns * 6.2831853071795860, distance = sqrt(-2.0 * __mw_log_of_uniform(u));
  double shifted = fma(angle, 0x1.45f306dc9c883p-1, 0x1.8p+52), k = shifted - 0x1.8p+52;
  long long quarter = __mw_bits(shifted);
  double near = fma(k, -0x1.921fb54442d18p+0, angle), low = k * -0x1.1a62633145c07p-54; /* the first is exact */
  double r = near + low, s = r * r, rest = (near - r) + low;
  double sin_r = r + fma(r * s,
                         __mw_polynomial_in_steps(s, -0x1.5555555555555p-3, 0x1.111111111108bp-7,
                                                  -0x1.a01a01a006dbap-13, 0x1.71de3a40219fap-19, -0x1.ae643d53aa3e9p-26,
                                                  0x1.6114b2ec6b76fp-33, -0x1.a5646903eef59p-41),
                         rest);
  double half = 0.5 * s, half_low = fma(0.5 * r, r, -half), whole = 1.0 - half, error = (1.0 - whole) - half;
  double p = __mw_polynomial_in_steps(s, 0x1.555555555554ap-5, -0x1.6c16c16c14e3cp-10, 0x1.a01a019c66475p-16,
                                      -0x1.27e4f7d6c756bp-22, 0x1.1ee9cafcfe19fp-29, -0x1.8f9e5d8110847p-37);
  double cos_r = whole + ((error - half_low) + fma(s * s, p, -(r * rest)));
  double sine = __mw_turned(quarter & 1 ? cos_r : sin_r, quarter),
         cosine = __mw_turned(quarter & 1 ? sin_r : cos_r, quarter + 1);
  return make_double2(sine * distance, cosine * distance);
}

#endif

#endif
