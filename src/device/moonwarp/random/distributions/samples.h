/* Gamma, beta and binomial numbers by rejection. How many draws one takes is not known before, so each number has a
 * stream of its own: Philox's, whose key is two words of the generator's. */
#ifndef MOONWARP_RANDOM_DISTRIBUTIONS_SAMPLES_H
#define MOONWARP_RANDOM_DISTRIBUTIONS_SAMPLES_H

#include <curand_kernel.h>

struct own_stream {
  uint2 key;
  unsigned int count;

  __device__ uint4 four() { return curand_Philox4x32_10(make_uint4(count++, 0, 0, 0), key); }
  __device__ double2 uniforms() {
    uint4 x = four();
    return make_double2(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w));
  }
  __device__ double normal() {
    double2 u = uniforms();
    return __mw_polar_double(u.x, u.y).x;
  }
};

/* The logarithm of a gamma number, which itself may be too small for a double. For a shape below 1, it is that of the
   shape plus 1, times a power of a uniform number. (Marsaglia and Tsang, "A simple method for generating gamma
   variables", 2000) */
__device__ inline double log_gamma_sample(own_stream *stream, double shape) {
  double lift = shape < 1 ? log(stream->uniforms().x) / shape : 0;
  double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
  while (true) {
    double x = stream->normal(), u = stream->uniforms().x, v = 1 + c * x;
    v = v * v * v;
    if (v <= 0) continue;
    double log_v = log(v);
    if (log(u) < 0.5 * x * x + d * (1 - v + log_v)) return log(d) + log_v + lift;
  }
}
__device__ inline double gamma_sample(own_stream *stream, double shape, double scale) {
  return scale * exp(log_gamma_sample(stream, shape));
}
__device__ inline double beta_sample(own_stream *stream, double a, double b) {
  double x = log_gamma_sample(stream, a), y = log_gamma_sample(stream, b);
  return 1 / (1 + exp(y - x));
}

/* For small means by the inverse of the distribution; else by points under a hat. (Hörmann, "The generation of binomial
 * random variates", 1993, BTRS) p is up to 1/2. */
__device__ inline double rarer_binomial_sample(own_stream *stream, double n, double p) {
  double mean = n * p;
  if (mean < 10) {
    double u = stream->uniforms().x, odds = p / (1 - p), share = exp(n * log1p(-p)), k = 0;
    while (u > share && k < n) {
      u -= share;
      k++;
      share *= odds * (n - k + 1) / k;
    }
    return k;
  }
  double deviation = sqrt(mean * (1 - p)), b = 1.15 + 2.53 * deviation, a = -0.0873 + 0.0248 * b + 0.01 * p;
  double limit = 0.92 - 4.2 / b, alpha = (2.83 + 5.1 / b) * deviation, mode = floor(mean + p);
  double log_odds = log(p / (1 - p)), at_mode = lgamma(mode + 1) + lgamma(n - mode + 1);
  while (true) {
    double2 w = stream->uniforms();
    double u = w.x - 0.5, v = w.y, edge = 0.5 - fabs(u), k = floor((2 * a / edge + b) * u + mean + 0.5);
    if (edge >= 0.07 && v <= limit) return k;
    if (k < 0 || k > n) continue;
    double at_k = lgamma(k + 1) + lgamma(n - k + 1);
    if (log(v * alpha / (a / (edge * edge) + b)) <= at_mode - at_k + (k - mode) * log_odds) return k;
  }
}

__device__ inline double binomial_sample(own_stream *stream, double n, double p) {
  double k = rarer_binomial_sample(stream, n, p > 0.5 ? 1 - p : p);
  return p > 0.5 ? n - k : k;
}

#define MW_SAMPLES(name, type, of_stream)                                                                              \
  extern "C" __global__ void name(int count, const unsigned *words, double a, double b, type *out) {                   \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (i >= count) return;                                                                                            \
    own_stream stream = {make_uint2(words[2 * i], words[2 * i + 1]), 0};                                               \
    out[i] = (type)of_stream;                                                                                          \
  }

#endif
