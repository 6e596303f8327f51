/* Log-normal numbers of all generators: exp of normal numbers with the given mean and standard deviation. They are made
 * in pairs like normal numbers; the second of a pair has the parameters of the call that made it. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_LOGNORMAL_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_LOGNORMAL_H

#include "moonwarp/random/distributions/normal.h"

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
__mw_device_template float __mw_exp_of_normal(float x) { return expf(x); }
#else
/* In double precision: normal numbers differ from cuRAND's by nearly 2 units, so no more may be lost here. */
__mw_device_template float __mw_exp_of_normal(float x) {
  double wide = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x; /* NaN passes */
  double shifted = fma(wide, 0x1.71547652b82fep+0, 0x1.8p+52), k = shifted - 0x1.8p+52;
  double r = fma(k, -0x1.62e42fefa39efp-1, wide);
  double y =
      __mw_polynomial_in_steps(r, 1.0, 1.0, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7,
                               0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16);
  return (float)__mw_double(__mw_bits(y) + (__mw_bits(shifted) << 52));
}
#endif

__mw_device_template float __mw_lognormal_of(float x, float mean, float stddev) {
  return __mw_exp_of_normal(__mw_scale_and_add(x, stddev, mean));
}
__mw_device_template double __mw_lognormal_of(double x, double mean, double stddev) {
  return exp(__mw_scale_and_add(x, stddev, mean));
}

template <class S> __mw_device_template float2 __mw_lognormal_pair(S *state, float mean, float stddev) {
  float2 pair = curand_box_muller(state);
  return make_float2(__mw_lognormal_of(pair.x, mean, stddev), __mw_lognormal_of(pair.y, mean, stddev));
}
template <class S> __mw_device_template double2 __mw_lognormal_pair_double(S *state, double mean, double stddev) {
  double2 pair = curand_box_muller_double(state);
  return make_double2(__mw_lognormal_of(pair.x, mean, stddev), __mw_lognormal_of(pair.y, mean, stddev));
}
template <class S> __mw_device_template float __mw_lognormal(S *state, float mean, float stddev) {
  if (state->boxmuller_flag == EXTRA_FLAG_LOG_NORMAL) {
    state->boxmuller_flag = 0;
    return state->boxmuller_extra;
  }
  float2 pair = __mw_lognormal_pair(state, mean, stddev);
  state->boxmuller_flag = EXTRA_FLAG_LOG_NORMAL;
  state->boxmuller_extra = pair.y;
  return pair.x;
}
template <class S> __mw_device_template double __mw_lognormal_double(S *state, double mean, double stddev) {
  if (state->boxmuller_flag_double == EXTRA_FLAG_LOG_NORMAL) {
    state->boxmuller_flag_double = 0;
    return state->boxmuller_extra_double;
  }
  double2 pair = __mw_lognormal_pair_double(state, mean, stddev);
  state->boxmuller_flag_double = EXTRA_FLAG_LOG_NORMAL;
  state->boxmuller_extra_double = pair.y;
  return pair.x;
}

#define __mw_lognormals_in_pairs(state_type)                                                                           \
  __mw_device_template float curand_log_normal(state_type *state, float mean, float stddev) {                          \
    return __mw_lognormal(state, mean, stddev);                                                                        \
  }                                                                                                                    \
  __mw_device_template double curand_log_normal_double(state_type *state, double mean, double stddev) {                \
    return __mw_lognormal_double(state, mean, stddev);                                                                 \
  }                                                                                                                    \
  __mw_device_template float2 curand_log_normal2(state_type *state, float mean, float stddev) {                        \
    return __mw_lognormal_pair(state, mean, stddev);                                                                   \
  }                                                                                                                    \
  __mw_device_template double2 curand_log_normal2_double(state_type *state, double mean, double stddev) {              \
    return __mw_lognormal_pair_double(state, mean, stddev);                                                            \
  }
__mw_lognormals_in_pairs(curandStateXORWOW_t);
__mw_lognormals_in_pairs(curandStatePhilox4_32_10_t);
__mw_lognormals_in_pairs(curandStateMRG32k3a_t);
#undef __mw_lognormals_in_pairs

#define __mw_lognormals_by_inverse(state_type)                                                                         \
  __mw_device_template float curand_log_normal(state_type *state, float mean, float stddev) {                          \
    return __mw_lognormal_of(curand_normal(state), mean, stddev);                                                      \
  }                                                                                                                    \
  __mw_device_template double curand_log_normal_double(state_type *state, double mean, double stddev) {                \
    return __mw_lognormal_of(curand_normal_double(state), mean, stddev);                                               \
  }
__mw_lognormals_by_inverse(curandStateMtgp32_t);
__mw_lognormals_by_inverse(curandStateSobol32_t);
__mw_lognormals_by_inverse(curandStateScrambledSobol32_t);
__mw_lognormals_by_inverse(curandStateSobol64_t);
__mw_lognormals_by_inverse(curandStateScrambledSobol64_t);
#undef __mw_lognormals_by_inverse

__mw_device_template float4 curand_log_normal4(curandStatePhilox4_32_10_t *state, float mean, float stddev) {
  float4 x = curand_normal4(state);
  return make_float4(__mw_lognormal_of(x.x, mean, stddev), __mw_lognormal_of(x.y, mean, stddev),
                     __mw_lognormal_of(x.z, mean, stddev), __mw_lognormal_of(x.w, mean, stddev));
}
__mw_device_template double4 curand_log_normal4_double(curandStatePhilox4_32_10_t *state, double mean, double stddev) {
  double4 x = curand_normal4_double(state);
  return make_double4(__mw_lognormal_of(x.x, mean, stddev), __mw_lognormal_of(x.y, mean, stddev),
                      __mw_lognormal_of(x.z, mean, stddev), __mw_lognormal_of(x.w, mean, stddev));
}

#endif
