/* The kernels of MT19937's host stream. A warp has four states (mt19937_rows.h, on GPUs mt19937_warps.h). MW_MT_BEGIN
 * or MW_MT_FILL(what) after this header is a module's text. */
#ifndef MOONWARP_RANDOM_STREAMS_MT19937_H
#define MOONWARP_RANDOM_STREAMS_MT19937_H

#include <curand_kernel.h>
#include <moonwarp/random/distributions/draws.h>
#include <moonwarp/random/mt19937.h>

typedef unsigned long long ull;

/* cuRAND's uniform numbers are rounded once here, and are the middle of their interval in both precisions. */
struct draw_rows_uniform {
  static __device__ float make(unsigned x, double a, double b) {
#ifdef __mw_mt_of_gpus /* the halves of x are converted without loss, and their sum is rounded */
    float high = __uint_as_float(0x4b000000u | x >> 16) - 0x1p23f;
    float low = __uint_as_float(0x4b000000u | x & 0xffffu) - (0x1p23f - 0.5f);
    return fmaf(high, 0x1p-16f, low * 0x1p-32f);
#else
    return (float)(x * 0x1p-32 + 0x1p-33);
#endif
  }
};
struct draw_rows_uniform_double {
  static __device__ double make(unsigned x, double a, double b) { return x * 0x1p-32 + 0x1p-33; }
};
typedef draw_bits draw_rows_bits;
typedef draw_normal draw_rows_normal;
typedef draw_normal_double draw_rows_normal_double;
typedef draw_lognormal draw_rows_lognormal;
typedef draw_lognormal_double draw_rows_lognormal_double;
typedef draw_poisson draw_rows_poisson;

#ifdef __mw_mt_of_gpus
#include <moonwarp/random/streams/mt19937_warps.h>
#else
#include <moonwarp/random/streams/mt19937_rows.h>
#endif

/* The first state; the bytes of a polynomial, sorted; and the states from `first` on out of those that are `by`
   before. */
#define MW_MT_BEGIN                                                                                                    \
  extern "C" __global__ void begin(unsigned seed, unsigned *words) { __mw_mt_begin(seed, words); }                     \
  extern "C" __global__ void sort(int digit, int *starts, int *places) {                                               \
    __mw_mt_sort(__mw_mt_jumps[digit], starts, places);                                                                \
  }                                                                                                                    \
  extern "C" __global__ void jump(int *starts, int *places, int first, int count, int by, unsigned *words,             \
                                  unsigned *stretches) {                                                               \
    unsigned *stretch = stretches + blockIdx.x * __mw_mt_stretch;                                                      \
    for (int i = first + blockIdx.x; i < first + count; i += gridDim.x)                                                \
      __mw_mt_jump(starts, places, words, i - by, i, stretch);                                                         \
  }
#define MW_MT_FILL(what)                                                                                               \
  extern "C" __global__ void MW_MT_BOUNDS what(unsigned *words, int advances, int turns, long long from,               \
                                               long long end, double a, double b,                                      \
                                               decltype(draw_rows_##what::make(0u, 0., 0.)) *out) {                    \
    fill_rows<draw_rows_##what>(words, advances, turns, from, end, a, b, out);                                         \
  }

#endif
