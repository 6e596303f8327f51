/* Poisson-distributed numbers of all generators.
 *
 * XORWOW, Philox and MRG32k3a: for lambda below 64, by multiplying uniform numbers (Knuth, "The Art of Computer
 * Programming", 3.4.1); above 4000, by rounding a normal number; between them, by transformed rejection (Hörmann, "The
 * transformed rejection method for generating Poisson random variables", 1993, PTRS). In the first two ranges the
 * numbers are cuRAND's, from the same words; cuRAND's approximation for the third is not published. The others, which
 * use one word for each number: by the inverse of the distribution, and from 1000 on of a normal one. */
#ifndef MOONWARP_RANDOM_POISSON_H
#define MOONWARP_RANDOM_POISSON_H

#include "moonwarp/random/discrete.h"

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
/* For lambda of 10 and more. A point that is certainly inside is accepted first (squeeze). */
template <class S> __mw_device_template unsigned int __mw_poisson_rejection(S *state, double lambda) {
  double b = 0.931 + 2.53 * sqrt(lambda), a = -0.059 + 0.02483 * b, inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  double limit = 0.9277 - 3.6224 / (b - 2.0), log_lambda = log(lambda);
  while (true) {
    double u = curand_uniform(state) - 0.5, v = curand_uniform(state), edge = 0.5 - fabs(u);
    double k = floor((2.0 * a / edge + b) * u + lambda + 0.43);
    if (edge >= 0.07 && v <= limit) return (unsigned int)k;
    if (k < 0.0 || (edge < 0.013 && v > edge)) continue;
    if (log(v * inverse_alpha / (a / (edge * edge) + b)) <= k * log_lambda - lambda - lgamma(k + 1.0))
      return (unsigned int)k;
  }
}

template <class S> __mw_device_template unsigned int __mw_poisson(S *state, double lambda) {
  if (lambda < 64.0) return __mw_poisson_product(state, (float)lambda);
  if (lambda > 4000.0) return __mw_rounded_normal(curand_normal_double(state), lambda, sqrt(lambda));
  return __mw_poisson_rejection(state, lambda);
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
