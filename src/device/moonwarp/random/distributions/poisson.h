/* Poisson-distributed numbers of all generators. The numbers are cuRAND's, from the same words.
 *
 * XORWOW, Philox and MRG32k3a: for lambda below 64, by multiplying uniform numbers (Knuth, "The Art of Computer
 * Programming", 3.4.1); above 4000, by rounding a normal number; between them, by rejection from a logistic
 * distribution (Atkinson, "The computer generation of Poisson random variables", 1979), here the square of one. The
 * others, which use one word for each number: by the inverse of the distribution, and from 1000 on of a normal one. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_POISSON_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_POISSON_H

#include "moonwarp/random/distributions/discrete.h"

/* The number of uniform numbers that are multiplied until e^lambda times their product is at most 1, minus 1. */
template <class S> __mw_device_template unsigned int __mw_poisson_product(S *state, float lambda) {
  float product = expf(lambda);
  unsigned int count = 0;
  while (true) {
    product *= curand_uniform(state);
    if (!(product > 1.0f)) return count;
    count++;
  }
}
/* A hat with the distribution function F(x) = (1 + exp(-z))^-2, where z = shift + slope (x - mean), whose inverse is
 * simple. A number k is accepted if a uniform number times 1.3 (F(k + 1) - F(k)) is below k's probability. From a mean of
 * about 900 on, 2 to 3 standard deviations below it, the hat is up to 15 % too low, as cuRAND's is. The form and the
 * constants of shift and slope were found from draws of cuRAND's; order and precision of the operations decide which
 * numbers are accepted, as the exponents are differences of large ones. The mean's logarithm is 1.5e-7 too small, as an
 * H100's is nearly. */
struct __mw_poisson_hat {
  float mean, log_mean, shift, slope;
  __device__ float below(float x) const {
    float root = 1.0f / (1.0f + expf(-fmaf(slope, x - mean, shift)));
    return root * root;
  }
  __device__ float inverse(float u) const { return mean - (shift + logf(1.0f / sqrtf(u) - 1.0f)) / slope; }
};
template <class S> __mw_device_template unsigned int __mw_poisson_rejection(S *state, float mean) {
  float t = 1.0f / sqrtf(mean);
  __mw_poisson_hat hat = {mean, (float)(log((double)mean) - 1.5e-7), (0.21004f * t * t + 0.2110248f) * t + 0.94201322f,
                          (0.08890646f * t * t + 1.4324804f) * t + 2.536025e-4f};
  while (true) {
    float x = floorf(hat.inverse(curand_uniform(state)));
    float height = 1.3f * (hat.below(x + 1.0f) - hat.below(x)) * curand_uniform(state);
    if (height < expf(fmaf(x, hat.log_mean, -mean) - lgammaf(x + 1.0f))) return (unsigned int)x;
  }
}

template <class S> __mw_device_template unsigned int __mw_poisson(S *state, double lambda) {
  if (lambda < 64.0) return __mw_poisson_product(state, (float)lambda);
  if (lambda > 4000.0) return __mw_rounded_normal(curand_normal_double(state), lambda, sqrt(lambda));
  return __mw_poisson_rejection(state, (float)lambda);
}

/* The least number whose cumulative probability exceeds u, for lambda below 1000. Weights and u are multiplied by e^500
 * if the first weight would underflow. */
__mw_device_template unsigned int __mw_poisson_inverse(double u, double lambda) {
  double lift = lambda > 500.0 ? 500.0 : 0.0, weight = exp(lift - lambda), goal = u * exp(lift), sum = weight;
  unsigned int k = 0;
  while (sum <= goal) {
    k++;
    weight *= lambda / k;
    if (sum + weight == sum && k > lambda) return k; /* the sum is complete except for rounding */
    sum += weight;
  }
  return k;
}
template <class W> __mw_device_template unsigned int _curand_poisson(W word, double lambda) {
  if (lambda < 1000.0) return __mw_poisson_inverse(_curand_uniform_double_excluding_one(word), lambda);
  return __mw_rounded_normal(_curand_normal_icdf_double(word), lambda, sqrt(lambda));
}

#define __mw_poisson_of(state_type, number)                                                                            \
  __mw_device_template unsigned int curand_poisson(state_type *state, double lambda) { return number; }
__mw_poisson_of(curandStateXORWOW_t, __mw_poisson(state, lambda));
__mw_poisson_of(curandStatePhilox4_32_10_t, __mw_poisson(state, lambda));
__mw_poisson_of(curandStateMRG32k3a_t, __mw_poisson(state, lambda));
__mw_poisson_of(curandStateMtgp32_t, _curand_poisson(curand(state), lambda));
__mw_poisson_of(curandStateSobol32_t, _curand_poisson(curand(state), lambda));
__mw_poisson_of(curandStateScrambledSobol32_t, _curand_poisson(curand(state), lambda));
__mw_poisson_of(curandStateSobol64_t, _curand_poisson(curand(state), lambda));
__mw_poisson_of(curandStateScrambledSobol64_t, _curand_poisson(curand(state), lambda));
#undef __mw_poisson_of

__mw_device_template uint4 curand_poisson4(curandStatePhilox4_32_10_t *state, double lambda) {
  if (lambda > 4000.0) {
    double4 z = curand_normal4_double(state);
    double stddev = sqrt(lambda);
    return make_uint4(__mw_rounded_normal(z.x, lambda, stddev), __mw_rounded_normal(z.y, lambda, stddev),
                      __mw_rounded_normal(z.z, lambda, stddev), __mw_rounded_normal(z.w, lambda, stddev));
  }
  unsigned int x = __mw_poisson(state, lambda), y = __mw_poisson(state, lambda), z = __mw_poisson(state, lambda),
               w = __mw_poisson(state, lambda);
  return make_uint4(x, y, z, w);
}

#endif
