/* The kernels of MT19937's host stream. On the CPU device a thread is a state, and blocks have 32 threads; on GPUs a
 * warp has four (mt19937_warps.h). MW_MT_BEGIN or MW_MT_FILL(what) after this header is a module's text. */
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
#define MW_MT_BOUNDS

/* Eight numbers that stand together, of each lane; where they are aligned, two floats are stored at a time: a scatter
 * costs as many stores as it has elements. */
template <class Draw, class Out>
__device__ inline void emit_eight(const unsigned *state, int row, double a, double b, Out *to) {
  if constexpr (sizeof(Out) == 4) {
    if (((ull)(to - 8 * (int)threadIdx.x) & 7) == 0) {
#pragma unroll
      for (int place = 0; place < 8; place += 2) {
        Out x = Draw::make(__mw_mt_tempered(state[__mw_mt_place(row, place) * __mw_mt_tile]), a, b);
        Out y = Draw::make(__mw_mt_tempered(state[__mw_mt_place(row, place + 1) * __mw_mt_tile]), a, b);
        *(ull *)(to + place) = (ull) __builtin_bit_cast(unsigned, y) << 32 | __builtin_bit_cast(unsigned, x);
      }
      return;
    }
  }
#pragma unroll
  for (int place = 0; place < 8; place++)
    to[place] = Draw::make(__mw_mt_tempered(state[__mw_mt_place(row, place) * __mw_mt_tile]), a, b);
}

/* Numbers `from` up to `end` of those that begin with the states' turn, which is number `turn` of them. */
template <class Draw, class Out>
__device__ inline void emit_turn(const unsigned *state, int s, int turn, long long from, long long end, double a,
                                 double b, Out *out) {
  for (int row = 0; row < 78; row++) {
    long long start = (long long)(turn * 78 + row) * __mw_mt_row, i = start + 8 * s;
    if (start + __mw_mt_row <= from || start >= end) continue;
    if (start >= from && start + __mw_mt_row <= end) {
      emit_eight<Draw>(state, row, a, b, out + (i - from));
    } else {
      for (int place = 0; place < 8; place++)
        if (i + place >= from && i + place < end)
          out[i - from + place] = Draw::make(__mw_mt_tempered(state[__mw_mt_place(row, place) * __mw_mt_tile]), a, b);
    }
  }
}

/* `advances` turns are left out, and then `turns` drawn from, the first of which is that of the states as they are. */
template <class Draw, class Out>
__device__ inline void fill_rows(unsigned *words, int advances, int turns, long long from, long long end, double a,
                                 double b, Out *out) {
  int s = blockIdx.x * __mw_mt_tile + threadIdx.x; /* a block has a tile: lanes are neighbours in memory */
  unsigned *state = words + blockIdx.x * (__mw_mt_words * __mw_mt_tile) + threadIdx.x;
  for (int i = 0; i < advances; i++) __mw_mt_advance(state);
  for (int turn = 0; turn < turns; turn++) {
    if (turn > 0) __mw_mt_advance(state);
    emit_turn<Draw>(state, s, turn, from, end, a, b, out);
  }
}

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
      __mw_mt_jump(starts, places, __mw_mt_state(words, i - by), __mw_mt_state(words, i), stretch);                    \
  }
#define MW_MT_FILL(what)                                                                                               \
  extern "C" __global__ void MW_MT_BOUNDS what(unsigned *words, int advances, int turns, long long from,               \
                                               long long end, double a, double b,                                      \
                                               decltype(draw_rows_##what::make(0u, 0., 0.)) *out) {                    \
    fill_rows<draw_rows_##what>(words, advances, turns, from, end, a, b, out);                                         \
  }

#endif
