/* Normal numbers of all generators, with mean 0 and standard deviation 1.
 *
 * XORWOW, Philox and MRG32k3a transform two uniform numbers into a pair, and save the second for the next call. (Box
 * and Muller, "A note on the generation of random normal deviates", 1958) The others transform each word by the inverse
 * of the distribution function: a generator whose elements belong to dimensions cannot combine two. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_NORMAL_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_NORMAL_H

#include "moonwarp/random/distributions/polar.h"
#include "moonwarp/random/distributions/quantile.h"
#include "moonwarp/random/distributions/uniform.h"

/* The kind of number that a state has saved, if any. */
#define EXTRA_FLAG_NORMAL     1
#define EXTRA_FLAG_LOG_NORMAL 2

__mw_device_template float2 _curand_box_muller(unsigned int x, unsigned int y) {
  const float unit = 0x1p-32f * __mw_two_pi;
  return __mw_polar(_curand_uniform(x), __mw_scale_and_add((float)y, unit, unit / 2));
}
__mw_device_template double2 _curand_box_muller_double(unsigned int x0, unsigned int x1, unsigned int y0,
                                                       unsigned int y1) {
  return __mw_polar_double(_curand_uniform_double_hq(x0, x1), _curand_uniform_double_hq(y0, y1));
}

/* The next pair of a generator. */
template <class S> __mw_device_template float2 curand_box_muller(S *state) {
  unsigned int x = curand(state), y = curand(state);
  return _curand_box_muller(x, y);
}
__mw_device_template float2 curand_box_muller(curandStateMRG32k3a_t *state) {
  float u = curand_uniform(state), v = curand_uniform(state);
  return __mw_polar(u, v * __mw_two_pi);
}
__mw_device_template double2 curand_box_muller_double(curandStatePhilox4_32_10_t *state) {
  uint4 x = curand4(state);
  return _curand_box_muller_double(x.x, x.y, x.z, x.w);
}
template <class S> __mw_device_template double2 curand_box_muller_double(S *state) {
  double u = curand_uniform_double(state), v = curand_uniform_double(state);
  return __mw_polar_double(u, v);
}

template <class S> __mw_device_template float __mw_normal(S *state) {
  if (state->boxmuller_flag == EXTRA_FLAG_NORMAL) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  float2 pair = curand_box_muller(state);
  state->boxmuller_flag = EXTRA_FLAG_NORMAL;
  state->boxmuller_extra = pair.y;
  return pair.x;
}
template <class S> __mw_device_template double __mw_normal_double(S *state) {
  if (state->boxmuller_flag_double == EXTRA_FLAG_NORMAL) {
    state->boxmuller_flag_double = 0;
    return state->boxmuller_extra_double;
  }
  double2 pair = curand_box_muller_double(state);
  state->boxmuller_flag_double = EXTRA_FLAG_NORMAL;
  state->boxmuller_extra_double = pair.y;
  return pair.x;
}

#ifdef __MW_NVRTC__
__mw_device_template float __mw_upper_quantile(float p) { return 1.4142135f * erfcinvf(2.0f * p); }
__mw_device_template double __mw_upper_quantile(double p) { return 1.4142135623730951 * erfcinv(2.0 * p); }
#elif !defined __mw_quantile_of_gpus
/* With the roundings of cuRAND, which multiplies the inverse of erfc by the root of 2. */
__mw_device_template float __mw_upper_quantile(float p) {
  return 1.4142135f * (float)(0.7071067811865476 * __mw_rough_upper_quantile(p));
}
#endif

/* The quantile for the probability (x + 1/2) / 2^n. Words of the upper half are mirrored, since floats are denser near
 * 0 than near 1. */
__mw_device_template float _curand_normal_icdf(unsigned int x) {
  bool upper = x > 0x80000000u;
  float z = __mw_upper_quantile(_curand_uniform(upper ? ~x : x));
  return upper ? z : -z;
}
__mw_device_template float _curand_normal_icdf(unsigned long long x) {
  return _curand_normal_icdf((unsigned int)(x >> 32));
}

#if !defined __MW_NVRTC__ && !defined __mw_quantile_of_gpus
/* The same to the bit of cuRAND's host library, for log-normal numbers: of those above, one in 5000 is a neighbouring
 * float. */
__mw_device_template float __mw_exact_normal(unsigned int x) {
  bool upper = x > 0x80000000u;
  double p = _curand_uniform(upper ? ~x : x);
  float z = 1.4142135f * (float)(0.7071067811865476 * __mw_upper_quantile(p));
  return upper ? z : -z;
}
__mw_device_template float __mw_exact_normal(unsigned long long x) {
  return __mw_exact_normal((unsigned int)(x >> 32));
}
#endif

__mw_device_template double _curand_normal_icdf_double(unsigned int x) {
  bool upper = x > 0x80000000u;
  double z = __mw_upper_quantile((upper ? ~x : x) * 0x1p-32 + 0x1p-33);
  return upper ? z : -z;
}
__mw_device_template double _curand_normal_icdf_double(unsigned long long x) {
  bool upper = x > 0x8000000000000000ull;
  double z = __mw_upper_quantile(_curand_uniform_double(upper ? ~x : x));
  return upper ? z : -z;
}

#define __mw_normals_in_pairs(state_type)                                                                              \
  __mw_device_template float curand_normal(state_type *state) { return __mw_normal(state); }                           \
  __mw_device_template double curand_normal_double(state_type *state) { return __mw_normal_double(state); }            \
  __mw_device_template float2 curand_normal2(state_type *state) { return curand_box_muller(state); }                   \
  __mw_device_template double2 curand_normal2_double(state_type *state) { return curand_box_muller_double(state); }
__mw_normals_in_pairs(curandStateXORWOW_t);
__mw_normals_in_pairs(curandStatePhilox4_32_10_t);
__mw_normals_in_pairs(curandStateMRG32k3a_t);
#undef __mw_normals_in_pairs

#define __mw_normals_by_inverse(state_type)                                                                            \
  __mw_device_template float curand_normal(state_type *state) { return _curand_normal_icdf(curand(state)); }           \
  __mw_device_template double curand_normal_double(state_type *state) {                                                \
    return _curand_normal_icdf_double(curand(state));                                                                  \
  }
__mw_normals_by_inverse(curandStateMtgp32_t);
__mw_normals_by_inverse(curandStateSobol32_t);
__mw_normals_by_inverse(curandStateScrambledSobol32_t);
__mw_normals_by_inverse(curandStateSobol64_t);
__mw_normals_by_inverse(curandStateScrambledSobol64_t);
#undef __mw_normals_by_inverse

__mw_device_template float4 curand_normal4(curandStatePhilox4_32_10_t *state) {
  uint4 x = curand4(state);
  float2 first = _curand_box_muller(x.x, x.y), second = _curand_box_muller(x.z, x.w);
  return make_float4(first.x, first.y, second.x, second.y);
}
__mw_device_template double4 curand_normal4_double(curandStatePhilox4_32_10_t *state) {
  uint4 x = curand4(state), y = curand4(state);
  double2 first = _curand_box_muller_double(x.x, x.y, x.z, x.w), second = _curand_box_muller_double(y.x, y.y, y.z, y.w);
  return make_double4(first.x, first.y, second.x, second.y);
}

#endif
