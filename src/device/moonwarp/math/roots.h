/* Reciprocal roots and Euclidean norms: rsqrt, rcbrt, rhypot, norm3d, rnorm3d, norm4d, rnorm4d, norm, rnorm.
 *
 * Single precision is computed in double, which needs no scaling, except for rsqrtf, which has to be fast. Double
 * precision has the sum of squares in two doubles and corrects the root by one Newton step. */
#ifndef MOONWARP_ROOTS_H
#define MOONWARP_ROOTS_H

#include "moonwarp/math/double/double_roots.h"
#include "moonwarp/math/float_power.h"

#ifdef __MW_NVPTX__
__mw_both float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); } /* within 2 ulp */
#else
/* With AVX-512, mwcc uses the processor's estimate (src/mwcc/machine/x86_rsqrt.c). */
__mw_both float rsqrtf(float x) { _Pragma("clang fp reciprocal(on)") return 1.0f / sqrtf(x); }
#endif

/* high + low, |low| below half a unit of high's last place. */
struct __mw_pair {
  double high, low;
};

/* 1 / sqrt(s), for s > 0 within the square range of a scaled sum. */
__mw_both double __mw_reciprocal_root(__mw_pair s) {
  __mw_exactly;
  double y = 1.0 / sqrt(s.high), p = s.high * y;
  double p_low = fma(s.high, y, -p) + s.low * y;
  double error = fma(-p, y, 1.0) - p_low * y; /* 1 - s y^2 */
  return fma(0.5 * error, y, y);
}
__mw_both double __mw_root_of(__mw_pair s) {
  __mw_exactly;
  double root = sqrt(s.high);
  return s.high == 0 ? root : root + (fma(-root, root, s.high) + s.low) / (2 * root);
}
__mw_both __mw_pair __mw_add_square(__mw_pair s, double x) {
  __mw_exactly;
  double square = x * x, square_low = fma(x, x, -square);
  double sum = s.high + square, other = sum - s.high;
  double low = (s.high - (sum - other)) + (square - other) + (s.low + square_low);
  double high = sum + low;
  return {high, low - (high - sum)};
}

__mw_both double rsqrt(double x) {
  if (!(x > 0 && x < __builtin_inf())) return 1.0 / sqrt(x);
  return __mw_reciprocal_root({x, 0});
}

/* A power of two by which numbers up to `largest` are scaled so that their squares neither overflow nor underflow. */
__mw_both double __mw_norm_scale(double largest) {
  return largest > 0x1p500 ? 0x1p-600 : largest < 0x1p-500 ? 0x1p600 : 1.0;
}

/* An infinite component makes the norm infinite, whatever the others are. */
template <typename... T> __mw_both_template double __mw_largest(double x, T... rest) {
  if constexpr (sizeof...(rest) == 0)
    return fabs(x);
  else
    return fmax(fabs(x), __mw_largest(rest...));
}
template <typename... T> __mw_both_template __mw_pair __mw_squares(double scale, T... x) {
  __mw_pair sum = {0, 0};
  ((sum = __mw_add_square(sum, x * scale)), ...);
  return sum;
}
template <typename... T> __mw_both_template double __mw_norm(T... x) {
  double largest = __mw_largest(x...), scale = __mw_norm_scale(largest);
  if (largest == __builtin_inf()) return largest;
  return __mw_root_of(__mw_squares(scale, x...)) / scale;
}
template <typename... T> __mw_both_template double __mw_reciprocal_norm(T... x) {
  double largest = __mw_largest(x...), scale = __mw_norm_scale(largest);
  if (largest == __builtin_inf()) return 0;
  __mw_pair sum = __mw_squares(scale, x...);
  return sum.high > 0 ? __mw_reciprocal_root(sum) * scale : 1.0 / sqrt(sum.high);
}

__mw_both double rhypot(double x, double y) { return __mw_reciprocal_norm(x, y); }
__mw_both double norm3d(double x, double y, double z) { return __mw_norm(x, y, z); }
__mw_both double rnorm3d(double x, double y, double z) { return __mw_reciprocal_norm(x, y, z); }
__mw_both double norm4d(double x, double y, double z, double w) { return __mw_norm(x, y, z, w); }
__mw_both double rnorm4d(double x, double y, double z, double w) { return __mw_reciprocal_norm(x, y, z, w); }

/* Squares of floats are exact in double and far from its limits. */
template <typename... T> __mw_both_template double __mw_float_norm(T... x) {
  double largest = __mw_largest(x...);
  return largest == __builtin_inf() ? largest : sqrt((((double)x * x) + ...));
}
__mw_both float rhypotf(float x, float y) { return (float)(1.0 / __mw_float_norm(x, y)); }
__mw_both float norm3df(float x, float y, float z) { return (float)__mw_float_norm(x, y, z); }
__mw_both float rnorm3df(float x, float y, float z) { return (float)(1.0 / __mw_float_norm(x, y, z)); }
__mw_both float norm4df(float x, float y, float z, float w) { return (float)__mw_float_norm(x, y, z, w); }
__mw_both float rnorm4df(float x, float y, float z, float w) { return (float)(1.0 / __mw_float_norm(x, y, z, w)); }

/* The norm of the `dimensions` numbers at `x`. */
__mw_both double __mw_norm_of(int dimensions, const double *x, bool reciprocal) {
  double largest = 0;
  for (int i = 0; i < dimensions; ++i) largest = fmax(largest, fabs(x[i]));
  if (largest == __builtin_inf()) return reciprocal ? 0 : largest;
  double scale = __mw_norm_scale(largest);
  __mw_pair sum = {0, 0};
  for (int i = 0; i < dimensions; ++i) sum = __mw_add_square(sum, x[i] * scale);
  if (!reciprocal) return __mw_root_of(sum) / scale;
  return sum.high > 0 ? __mw_reciprocal_root(sum) * scale : 1.0 / sqrt(sum.high);
}
__mw_both double norm(int dimensions, const double *x) { return __mw_norm_of(dimensions, x, false); }
__mw_both double rnorm(int dimensions, const double *x) { return __mw_norm_of(dimensions, x, true); }
__mw_both float normf(int dimensions, const float *x) {
  double largest = 0, sum = 0;
  for (int i = 0; i < dimensions; ++i) {
    largest = fmax(largest, fabs((double)x[i]));
    sum += (double)x[i] * x[i];
  }
  return largest == __builtin_inf() ? __builtin_inff() : (float)sqrt(sum);
}
__mw_both float rnormf(int dimensions, const float *x) {
  double largest = 0, sum = 0;
  for (int i = 0; i < dimensions; ++i) {
    largest = fmax(largest, fabs((double)x[i]));
    sum += (double)x[i] * x[i];
  }
  return largest == __builtin_inf() ? 0 : (float)(1.0 / sqrt(sum));
}

__mw_both float rsqrt(float x) { return rsqrtf(x); }
__mw_both float rcbrt(float x) { return rcbrtf(x); }
__mw_both float rhypot(float x, float y) { return rhypotf(x, y); }

#endif
