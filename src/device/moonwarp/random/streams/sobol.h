/* Kernels of the host streams of Sobol sequences, whose words are unsigned int or unsigned long long: n numbers of d
 * dimensions are n / d elements of the first, then those of the second, and so on.
 *
 * Element i is the exclusive or of the direction vectors at the bits of i's Gray code. A thread computes elements at
 * distances of 2^k, in fours: from one to the next, the Gray code changes at bit k - 1 and at one higher bit, which is
 * the same for all threads, and within a four is k or k + 1. A module's source is MW_SOBOL_FILL(word, what) after this
 * header. */
#ifndef MOONWARP_RANDOM_STREAMS_SOBOL_H
#define MOONWARP_RANDOM_STREAMS_SOBOL_H

#include <curand_kernel.h>
#include <moonwarp/random/distributions/draws.h>

typedef unsigned long long ull;

/* Elements `first` to `first + count` of each dimension (blockIdx.y); there are 2^k threads, 0 < k < 31. */
template <class Draw, class word, class Out>
__device__ inline void fill_points(const word *vectors, const word *begins, int k, word first, int count, double a,
                                   double b, Out *out) {
  const int bits = sizeof(word) * 8;
  int thread = blockIdx.x * blockDim.x + threadIdx.x, stride = 1 << k;
  const word *v = vectors + blockIdx.y * bits;
  Out *to = out + (ull)blockIdx.y * count;
  word base = first >> k >> 2 << 2 << k, at = base + thread;
  word gray = at ^ at >> 1, x = begins[blockIdx.y];
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
  for (int bit = 0; gray != 0; bit++, gray >>= 1) x ^= gray & 1 ? v[bit] : 0;
#else
  for (int bit = 0; bit < bits; bit++) x ^= gray >> bit & 1 ? v[bit] : 0;
#endif
  int lead = (int)(first - base), fours = (int)(((long long)lead + count + 4ll * stride - 1) >> k >> 2);
  word four_at = base >> k >> 2, by = v[k - 1], by_low = by ^ v[k], by_high = by ^ v[k + 1 & bits - 1];
  int i = thread - lead;
  for (int four = 0; four < fours; four++) {
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#pragma unroll
#else /* of which the code of normal numbers would be long */
#pragma unroll 1
#endif
    for (int element = 0; element < 4; element++, i += stride) {
      if (i >= 0 && i < count) to[i] = Draw::make(x, a, b);
      if (element < 3) x ^= element == 1 ? by_high : by_low;
    }
    x ^= by ^ v[(k + 2 + __mw_lowest_zero(four_at)) & (bits - 1)];
    four_at++;
  }
}

#define MW_SOBOL_FILL(word, what)                                                                                      \
  extern "C" __global__ void what(const word *vectors, const word *begins, int k, word first, int count, double a,     \
                                  double b, decltype(draw_##what::make((word)0, 0., 0.)) *out) {                       \
    fill_points<draw_##what>(vectors, begins, k, first, count, a, b, out);                                             \
  }

#endif
