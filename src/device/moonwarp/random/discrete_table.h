/* Kernels that make the table of a discrete distribution (discrete.h), Poisson's or the binomial one, and that look words up
 * in it. A table is one piece of memory: the structs, which point into it, and for each of `length` values that begin with
 * `shift` 24 bytes from byte MW_DISCRETE_HEAD on. MW_DISCRETE_TABLE or MW_DISCRETE_LOOK_UP(name, word) after this header is
 * a module's text. */
#ifndef MOONWARP_RANDOM_DISCRETE_TABLE_H
#define MOONWARP_RANDOM_DISCRETE_TABLE_H

#include <curand_kernel.h>

#define MW_DISCRETE_HEAD 256

struct __mw_discrete_memory {
  curandDiscreteDistribution_st distribution;
  curandDistributionM2Shift_st table;
  curandHistogramM2_st histogram;
};

/* The logarithm of a value's share, but for a constant: Poisson's of mean a, or the binomial one of a trials. */
__device__ inline double discrete_share(int binomial, double a, double b, double k) {
  if (!binomial) return k * log(a) - lgamma(k + 1);
  if (b <= 0 || b >= 1) return k == a * b ? 0 : -1e300;
  return k * log(b) + (a - k) * log1p(-b) - lgamma(k + 1) - lgamma(a - k + 1);
}

/* Marsaglia's squared histogram by Vose's method: columns of the average height, each of its own value up to V and of
 * another one, K, above it. One thread; lists of columns that are too low and too high grow from both ends of `list`. */
__device__ inline void discrete_table(int binomial, double a, double b, double mean, double stddev, int normal,
                                      unsigned shift, unsigned length, void *memory) {
  __mw_discrete_memory *m = (__mw_discrete_memory *)memory;
  double *V = (double *)((char *)memory + MW_DISCRETE_HEAD), *height = V + length;
  unsigned *K = (unsigned *)(height + length), *list = K + length;
  curandHistogramM2_st histogram = {V, V, K, K, 0};
  curandDistributionM2Shift_st table = {&m->histogram, &m->histogram, shift, length, 0};
  curandDiscreteDistribution_st distribution = {
      &m->distribution, &m->table, &m->table, stddev, mean, normal ? CURAND_DISCRETE_GAUSS : CURAND_M2, 0};
  m->histogram = histogram;
  m->table = table;
  m->distribution = distribution;
  if (normal) return;
  double middle = discrete_share(binomial, a, b, floor(mean)), total = 0;
  for (unsigned i = 0; i < length; i++) {
    height[i] = exp(discrete_share(binomial, a, b, shift + (double)i) - middle);
    total += height[i];
  }
  unsigned low = 0, high = length;
  for (unsigned i = 0; i < length; i++) {
    height[i] *= length / total;
    V[i] = (i + 1.0) / length;
    K[i] = i;
    if (height[i] < 1)
      list[low++] = i;
    else
      list[--high] = i;
  }
  while (low > 0 && high < length) {
    unsigned i = list[--low], giver = list[high];
    V[i] = (i + height[i]) / length;
    K[i] = giver;
    height[giver] -= 1 - height[i];
    if (height[giver] < 1) {
      high++;
      list[low++] = giver;
    }
  }
}

#define MW_DISCRETE_TABLE                                                                                              \
  extern "C" __global__ void make_table(int binomial, double a, double b, double mean, double stddev, int normal,      \
                                        unsigned shift, unsigned length, void *memory) {                               \
    discrete_table(binomial, a, b, mean, stddev, normal, shift, length, memory);                                       \
  }
/* A value for each word. */
#define MW_DISCRETE_LOOK_UP(name, word)                                                                                \
  extern "C" __global__ void name(const word *words, long long count, double most, void *memory, unsigned *out) {      \
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                                                    \
    if (i >= count) return;                                                                                            \
    curandDiscreteDistribution_t of = (curandDiscreteDistribution_t)memory;                                            \
    if (of->method == CURAND_M2) {                                                                                     \
      out[i] = _curand_M2_double(words[i], of->M2);                                                                    \
    } else {                                                                                                           \
      double x = floor(_curand_normal_icdf_double(words[i]) * of->stddev + of->mean + 0.5);                            \
      out[i] = (unsigned)(x < 0 ? 0 : x > most ? most : x);                                                            \
    }                                                                                                                  \
  }

#endif
