/* Discrete distributions by tables that the host makes (curandCreatePoissonDistribution): one comparison and one
 * look-up, in a squared histogram. (Marsaglia, Tsang and Wang, "Fast generation of discrete random variables", 2004,
 * method 2) If the host chose an approximation by the normal distribution, a normal number is rounded. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_DISCRETE_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_DISCRETE_H

#include "moonwarp/random/distributions/normal.h"

enum curandMethod {
  CURAND_CHOOSE_BEST = 0,
  CURAND_ITR = 1,
  CURAND_KNUTH = 2,
  CURAND_HITR = 3,
  CURAND_M1 = 4,
  CURAND_M2 = 5,
  CURAND_BINARY_SEARCH = 6,
  CURAND_DISCRETE_GAUSS = 7,
  CURAND_REJECTION = 8,
  CURAND_DEVICE_API = 9,
  CURAND_FAST_REJECTION = 10,
  CURAND_3RD = 11,
  CURAND_DEFINITION = 12,
  CURAND_POISSON = 13
};
typedef enum curandMethod curandMethod_t;

typedef double curandDistribution_st;
typedef curandDistribution_st *curandDistribution_t;
typedef double curandHistogramM2V_st;
typedef curandHistogramM2V_st *curandHistogramM2V_t;
typedef unsigned int curandHistogramM2K_st;
typedef curandHistogramM2K_st *curandHistogramM2K_t;
typedef struct curandDistributionShift_st *curandDistributionShift_t;
typedef struct curandHistogramM2_st *curandHistogramM2_t;
typedef struct curandDistributionM2Shift_st *curandDistributionM2Shift_t;
typedef struct curandDiscreteDistribution_st *curandDiscreteDistribution_t;

/* For each pointer to device memory, the host has one of its own, host_…. */
struct curandDistributionShift_st {
  curandDistribution_t probability, host_probability;
  unsigned int shift, length, host_gen;
};
struct curandHistogramM2_st {
  curandHistogramM2V_t V, host_V; /* the bound of each column, between 0 and 1 */
  curandHistogramM2K_t K, host_K; /* the value above the bound */
  unsigned int host_gen;
};
struct curandDistributionM2Shift_st {
  curandHistogramM2_t histogram, host_histogram;
  unsigned int shift, length, host_gen;
};
struct curandDiscreteDistribution_st {
  curandDiscreteDistribution_t self_host_ptr;
  curandDistributionM2Shift_t M2, host_M2;
  double stddev, mean;
  curandMethod_t method;
  unsigned int host_gen;
};

/* in [0, 1) */
__mw_device_template double _curand_uniform_double_excluding_one(unsigned int x) { return x * 0x1p-32; }
__mw_device_template double _curand_uniform_double_excluding_one(unsigned long long x) {
  return (double)(long long)(x >> 11) * 0x1p-53;
}

template <class W>
__mw_device_template unsigned int _curand_M2_double(W word, curandDistributionM2Shift_t distribution) {
  double u = _curand_uniform_double_excluding_one(word);
  const curandHistogramM2_st *histogram = distribution->histogram;
  unsigned int column = (unsigned int)(distribution->length * u);
  unsigned int value = u < histogram->V[column] ? column : histogram->K[column];
  return value + distribution->shift;
}

/* A normal number rounded to the nearest integer. */
__mw_device_template unsigned int __mw_rounded_normal(double z, double mean, double stddev) {
  return (unsigned int)(z * stddev + mean + 0.5);
}

/* By the generator's next number; generators with pairs use one number of a pair. */
template <class S>
__mw_device_template unsigned int __mw_discrete(S *state, curandDiscreteDistribution_t distribution) {
  if (distribution->method == CURAND_M2) return _curand_M2_double(curand(state), distribution->M2);
  return __mw_rounded_normal(curand_normal_double(state), distribution->mean, distribution->stddev);
}

#define __mw_discrete_of(state_type)                                                                                   \
  __mw_device_template unsigned int curand_discrete(state_type *state, curandDiscreteDistribution_t distribution) {    \
    return __mw_discrete(state, distribution);                                                                         \
  }
__mw_discrete_of(curandStateXORWOW_t);
__mw_discrete_of(curandStatePhilox4_32_10_t);
__mw_discrete_of(curandStateMRG32k3a_t);
__mw_discrete_of(curandStateMtgp32_t);
__mw_discrete_of(curandStateSobol32_t);
__mw_discrete_of(curandStateScrambledSobol32_t);
__mw_discrete_of(curandStateSobol64_t);
__mw_discrete_of(curandStateScrambledSobol64_t);
#undef __mw_discrete_of

__mw_device_template uint4 curand_discrete4(curandStatePhilox4_32_10_t *state,
                                            curandDiscreteDistribution_t distribution) {
  if (distribution->method == CURAND_M2) {
    uint4 x = curand4(state);
    return make_uint4(_curand_M2_double(x.x, distribution->M2), _curand_M2_double(x.y, distribution->M2),
                      _curand_M2_double(x.z, distribution->M2), _curand_M2_double(x.w, distribution->M2));
  }
  double4 z = curand_normal4_double(state);
  double mean = distribution->mean, stddev = distribution->stddev;
  return make_uint4(__mw_rounded_normal(z.x, mean, stddev), __mw_rounded_normal(z.y, mean, stddev),
                    __mw_rounded_normal(z.z, mean, stddev), __mw_rounded_normal(z.w, mean, stddev));
}

#endif
