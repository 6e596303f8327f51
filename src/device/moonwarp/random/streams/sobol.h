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
#include <moonwarp/random/streams/rare_numbers.h>

typedef unsigned long long ull;

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define MW_SOBOL_OF_GPUS
#endif

/* Elements `first` to `first + count` of each dimension (blockIdx.y). */
#ifndef MW_SOBOL_OF_GPUS
/* A block makes `each` of them, by 128 threads. */
template <class Draw, class word, class Out>
__device__ inline void fill_points(const word *vectors, const word *begins, int each, word first, int count, double a,
                                   double b, Out *out) {
  const int bits = sizeof(word) * 8, k = 7, stride = 1 << k;
  const word *v = vectors + blockIdx.y * bits;
  int before = blockIdx.x * each;
  Out *to = out + ((ull)blockIdx.y * count + before);
  first += before;
  count = min(each, count - before);
  word base = first >> k >> 2 << 2 << k, at = base + threadIdx.x;
  word gray = at ^ at >> 1, x = begins[blockIdx.y];
  for (int bit = 0; bit < bits; bit++) x ^= gray >> bit & 1 ? v[bit] : 0;
  int lead = (int)(first - base), fours = (int)(((long long)lead + count + 4 * stride - 1) >> k >> 2);
  word four_at = base >> k >> 2, by = v[k - 1], by_low = by ^ v[k], by_high = by ^ v[k + 1];
  int i = (int)threadIdx.x - lead;
  for (int four = 0; four < fours;) {
    warp_numbers<Draw> numbers;
    int begin = i - (threadIdx.x & 31), of_block = i - (int)threadIdx.x;
    bool whole = of_block >= 0 && of_block + 64 * stride <= count; /* all of these elements belong to the call */
    for (int j = 0; j < 64 && four < fours; four++) {
#pragma unroll 1 /* of normal numbers, the code would be long */
      for (int element = 0; element < 4; element++, j++, i += stride) {
        if (whole)
          numbers.put(j, true, x, a, b, to + i);
        else
          numbers.put(j, i >= 0 && i < count, x, a, b, to + i);
        if (element < 3) x ^= element == 1 ? by_high : by_low;
      }
      x ^= by ^ v[min(k + 2 + __mw_lowest_zero(four_at), bits - 1)];
      four_at++;
    }
    numbers.finish(a, b, to + begin, 64, stride, 0);
  }
}
#else
/* 2^log_each elements from x on, the first of which is number i. They are stored together if they all belong to the
 * call: then they are aligned. */
template <class Draw, int log_each, class word, class Out>
__device__ inline void put_points(word x, word v0, word v1, int i, int count, double a, double b, Out *to) {
  if constexpr (log_each == 0) {
    if (i >= 0 && i < count) to[i] = Draw::make(x, a, b);
  } else {
    const int each = 1 << log_each;
    struct alignas(16) several {
      Out values[each];
    } made;
    if (i <= -each || i >= count) return;
#pragma unroll
    for (int e = 0; e < each; e++) {
      made.values[e] = Draw::make(x, a, b);
      x ^= e & 1 ? v1 : v0;
    }
    if (i >= 0 && i + each <= count) {
      __stcs((uint4 *)(to + i), *(const uint4 *)&made);
      return;
    }
#pragma unroll
    for (int e = 0; e < each; e++)
      if (i + e >= 0 && i + e < count) to[i + e] = made.values[e];
  }
}
/* A thread makes 2^log_each neighbours at a time; such groups of a thread are at distances of 2^k. */
template <class Draw, int log_each, class word, class Out>
__device__ inline void fill_groups(const word *v, word x, int k, word first, int count, double a, double b, Out *to) {
  const int bits = sizeof(word) * 8;
  int thread = (blockIdx.x * blockDim.x + threadIdx.x) << log_each, stride = 1 << k;
  word base = first >> k >> 2 << 2 << k, at = base + thread;
  word gray = at ^ at >> 1;
  for (int bit = 0; gray != 0; bit++, gray >>= 1) x ^= gray & 1 ? v[bit] : 0;
  int lead = (int)(first - base), fours = (int)(((long long)lead + count + 4ll * stride - 1) >> k >> 2);
  word four_at = base >> k >> 2, by = v[k - 1], by_low = by ^ v[k], by_high = by ^ v[k + 1 & bits - 1];
  word v0 = v[0], v1 = v[1];
  int i = thread - lead;
  for (int four = 0; four < fours; four++) {
    word next = by ^ v[min(k + 2 + __mw_lowest_zero(four_at), bits - 1)];
    four_at++;
#pragma unroll
    for (int group = 0; group < 4; group++, i += stride) {
      put_points<Draw, log_each>(x, v0, v1, i, count, a, b, to);
      x ^= group == 3 ? next : group == 1 ? by_high : by_low;
    }
  }
}
/* There are 2^k threads, 0 < k < 31. A group is 16 bytes, if groups are aligned. */
template <class Draw, class word, class Out>
__device__ inline void fill_points(const word *vectors, const word *begins, int k, word first, int count, double a,
                                   double b, Out *out) {
  const int log_each = sizeof(Out) == 8 ? 1 : 2;
  const word *v = vectors + blockIdx.y * (int)(sizeof(word) * 8);
  Out *to = out + (ull)blockIdx.y * count;
  word x = begins[blockIdx.y];
  if (((ull)to / sizeof(Out) - (ull)first & (1 << log_each) - 1) == 0) {
    fill_groups<Draw, log_each>(v, x, k + log_each, first, count, a, b, to);
  } else {
    fill_groups<Draw, 0>(v, x, k, first, count, a, b, to);
  }
}
#endif

/* `spread` is k on GPUs, and `each` on the CPU device. */
#define MW_SOBOL_FILL(word, what)                                                                                      \
  extern "C" __global__ void what(const word *vectors, const word *begins, int spread, word first, int count,          \
                                  double a, double b, decltype(draw_##what::make((word)0, 0., 0.)) *out) {             \
    fill_points<draw_##what>(vectors, begins, spread, first, count, a, b, out);                                        \
  }

#endif
