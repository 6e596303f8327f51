/* Kernels that make the table of a discrete distribution (discrete.h), Poisson's or the binomial one, and that look
 * words up in it. A table is one piece of memory: the structs, which point into it, and for each of at most `capacity`
 * values 24 bytes from byte MW_DISCRETE_HEAD on. It has the values whose probability is not 0 in double precision. By
 * its method it is a squared histogram (CURAND_M2), the sums of probabilities (CURAND_BINARY_SEARCH), or nothing but
 * the mean and the standard deviation (CURAND_DISCRETE_GAUSS). A module's text is one of the macros below after this
 * header. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_DISCRETE_TABLE_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_DISCRETE_TABLE_H

#include <curand_kernel.h>

#define MW_DISCRETE_HEAD 256

struct __mw_discrete_memory {
  curandDiscreteDistribution_st distribution;
  curandDistributionM2Shift_st table;
  curandHistogramM2_st histogram;
  const unsigned long long *columns;
};

/* The logarithm of a value's probability: Poisson's of mean a, or the binomial one of a trials. */
__device__ inline double discrete_log_probability(int binomial, double a, double b, double k) {
  if (!binomial) return k * log(a) - a - lgamma(k + 1);
  if (b <= 0 || b >= 1) return k == a * b ? 0 : -1e300;
  return k * log(b) + (a - k) * log1p(-b) + lgamma(a + 1) - lgamma(k + 1) - lgamma(a - k + 1);
}

/* Columns of the average height, each of its own value up to V and of another one, K, above it. Columns that are too
 * low are filled from the last one that is too high and, when that is used up, from the one before it. This is repeated
 * from the first column to the last, since the others may become too low. Any order makes a table of the distribution;
 * this one makes cuRAND's. (Marsaglia, Tsang and Wang, "Fast generation of discrete random variables", 2004, method
 * 2) */
__device__ inline void square_histogram(unsigned length, double *height, double *V, unsigned *K) {
  int giver = (int)length - 1, changed = 1;
  for (unsigned i = 0; i < length; i++) {
    V[i] = (i + 1.0) / length;
    K[i] = length; /* not filled yet */
  }
  while (giver >= 0 && height[giver] <= 1) giver--;
  while (changed) {
    changed = 0;
    for (unsigned i = 0; i < length && giver >= 0; i++) {
      if (height[i] >= 1 || K[i] < length) continue;
      V[i] = (i + height[i]) / length;
      K[i] = (unsigned)giver;
      height[giver] -= 1 - height[i];
      changed = 1;
      while (giver >= 0 && height[giver] <= 1) giver--;
    }
  }
  for (unsigned i = 0; i < length; i++)
    if (K[i] == length) K[i] = i;
}

/* A column as a word: above, K; below, how many words of 32 bits are less than V. One load finds both. */
__device__ inline unsigned long long column_word(unsigned column, double V, unsigned K) {
  double words = ceil(V * 0x1p32);
  return words < 0x1p32 ? (unsigned long long)K << 32 | (unsigned)words
                        : (unsigned long long)column << 32 | 0xffffffffu;
}
__device__ inline unsigned column_value(unsigned word, const __mw_discrete_memory *m) {
  unsigned i = (unsigned)((unsigned long long)m->table.length * word >> 32);
  unsigned long long column = m->columns[i];
  return (word < (unsigned)column ? i : (unsigned)(column >> 32)) + m->table.shift;
}
__device__ inline unsigned column_value(unsigned long long word, const __mw_discrete_memory *m) {
  return _curand_M2_double(word, m->distribution.M2);
}

/* One thread makes it. */
__device__ inline void discrete_table(int binomial, double a, double b, double mean, double stddev, int method,
                                      unsigned capacity, void *memory) {
  const double least = -745.1332191019412; /* log(2^-1075): what is below is rounded to 0 */
  __mw_discrete_memory *m = (__mw_discrete_memory *)memory;
  double *V = (double *)((char *)memory + MW_DISCRETE_HEAD), *height = V + capacity;
  unsigned *K = (unsigned *)(height + capacity), length = 0;
  double first = floor(mean);
  if (method != CURAND_DISCRETE_GAUSS) {
    double middle = discrete_log_probability(binomial, a, b, first), total = 0;
    while (first > 0 && discrete_log_probability(binomial, a, b, first - 1) > least) first--;
    for (double k = first; length < capacity; k++, length++) {
      double share = binomial && k > a ? -1e300 : discrete_log_probability(binomial, a, b, k);
      if (!(share > least) && k > mean) break;
      height[length] = exp(share - middle);
      total += height[length];
    }
    double sum = 0;
    for (unsigned i = 0; i < length; i++) {
      sum += height[i];
      V[i] = sum / total;
      height[i] *= length / total;
    }
    if (method == CURAND_M2) {
      square_histogram(length, height, V, K);
      for (unsigned i = 0; i < length; i++) ((unsigned long long *)height)[i] = column_word(i, V[i], K[i]);
    }
  }
  m->columns = (const unsigned long long *)height;
  curandHistogramM2_st histogram = {V, V, K, K, 0};
  curandDistributionM2Shift_st table = {&m->histogram, &m->histogram, (unsigned)first, length, 0};
  curandDiscreteDistribution_st distribution = {&m->distribution,       &m->table, &m->table, stddev, mean,
                                                (curandMethod_t)method, 0};
  m->histogram = histogram;
  m->table = table;
  m->distribution = distribution;
}

/* The least value with which the sum of probabilities is u or more. */
template <class W> __device__ inline unsigned discrete_search(W word, const curandDistributionM2Shift_st *table) {
  double u = _curand_uniform_double(word);
  const double *sums = table->histogram->V;
  unsigned below = 0, above = table->length - 1;
  while (below < above) {
    unsigned middle = below + above >> 1;
    if (sums[middle] >= u)
      above = middle;
    else
      below = middle + 1;
  }
  return below + table->shift;
}

#define MW_DISCRETE_TABLE                                                                                              \
  extern "C" __global__ void make_table(int binomial, double a, double b, double mean, double stddev, int method,      \
                                        unsigned capacity, void *memory) {                                             \
    discrete_table(binomial, a, b, mean, stddev, method, capacity, memory);                                            \
  }
/* A value for each word. */
#define MW_DISCRETE_LOOK_UP(name, word)                                                                                \
  extern "C" __global__ void name(const word *words, long long count, double most, void *memory, unsigned *out) {      \
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                                                    \
    if (i >= count) return;                                                                                            \
    const __mw_discrete_memory *m = (const __mw_discrete_memory *)memory;                                              \
    const curandDiscreteDistribution_st *of = &m->distribution;                                                        \
    if (of->method == CURAND_M2) {                                                                                     \
      out[i] = column_value(words[i], m);                                                                              \
    } else if (of->method == CURAND_BINARY_SEARCH) {                                                                   \
      out[i] = discrete_search(words[i], of->M2);                                                                      \
    } else {                                                                                                           \
      double x = floor(_curand_normal_icdf_double(words[i]) * of->stddev + of->mean + 0.5);                            \
      out[i] = (unsigned)(x < 0 ? 0 : x > most ? most : x);                                                            \
    }                                                                                                                  \
  }
/* A Poisson number of large mean for each normal one, in its place; or, as cuRAND's MT19937 does, in single
   precision. */
#define MW_DISCRETE_ROUND                                                                                              \
  extern "C" __global__ void round_normals(long long count, double mean, double stddev, int single, void *numbers) {   \
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;                                                    \
    if (i >= count) return;                                                                                            \
    float z = ((float *)numbers)[i];                                                                                   \
    ((unsigned *)numbers)[i] = single ? (unsigned)(__fadd_rn(__fmul_rn(z, (float)stddev), (float)mean) + 0.5f)         \
                                      : __mw_rounded_normal(z, mean, stddev);                                          \
  }

#endif
