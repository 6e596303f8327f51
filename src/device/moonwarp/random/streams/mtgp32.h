/* Kernels of MTGP32's host stream: each state has a set of parameters, and the states draw 256 words in turn. A block
 * processes a state; its threads, 256 or fewer, share a turn's words, which do not depend on each other. A module's
 * source is MW_MTGP_BEGIN or MW_MTGP_FILL(what) after this header. */
#ifndef MOONWARP_RANDOM_STREAMS_MTGP32_H
#define MOONWARP_RANDOM_STREAMS_MTGP32_H

#include <curand_kernel.h>
#include <moonwarp/random/mtgp32_init.h>
#include <moonwarp/random/streams/rare_numbers.h>

typedef unsigned long long ull;

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define MW_MTGP_OF_GPUS
#endif

/* An entry of a table of 16. On GPUs the table is in shared memory; the CPU device makes the entry from entries 1, 2, 4
 * and 8, whose exclusive or it is, so that lanes need no gathers. */
#ifdef MW_MTGP_OF_GPUS
struct mtgp_table {
  const unsigned *entries;
  __device__ mtgp_table(const unsigned *shared) : entries(shared) {}
  __device__ unsigned operator[](unsigned i) const { return entries[i & 15]; }
};
#else
struct mtgp_table {
  unsigned one, two, four, eight;
  __device__ mtgp_table(const unsigned *entries)
      : one(entries[1]), two(entries[2]), four(entries[4]), eight(entries[8]) {}
  __device__ unsigned operator[](unsigned i) const {
    return (i & 1 ? one : 0) ^ (i & 2 ? two : 0) ^ (i & 4 ? four : 0) ^ (i & 8 ? eight : 0);
  }
};
#endif

/* What makes a state's words: its set of parameters. `here` is a word of the line that fill_turns describes. */
struct mtgp_set {
  int pos, sh1, sh2;
  unsigned mask;
  mtgp_table recursion, temper;
  /* The word MTGPDC_N after it. */
  __device__ unsigned next(const unsigned *here) const {
    unsigned x = (here[0] & mask) ^ here[1];
    x ^= x << sh1;
    unsigned y = x ^ here[pos] >> sh2;
    return y ^ recursion[y];
  }
  __device__ unsigned tempered(const unsigned *here, unsigned word) const {
    return word ^ temper[__mw_mtgp_entry(here[pos - 1])];
  }
};

const int mtgp_length = 8 * 256; /* words of a line, without those that precede the next ones */

/* The last words of a full line move to its begin. */
__device__ inline void begin_line(unsigned *line) {
  for (int i = threadIdx.x; i < MTGPDC_N; i += blockDim.x) line[i] = line[mtgp_length + i];
  __syncthreads();
}

/* The numbers of all turns: number i of the call's is out[i], if it is from low to high; `turn` are those of a turn.
 * The result is where in the line the next word's state begins. */
#ifdef MW_MTGP_OF_GPUS
/* Words wait for those before them, numbers do not: so the words of a line are made first. A thread makes one of each
 * turn. */
template <class Draw, class Out>
__device__ inline int make_turns(const mtgp_set &set, unsigned *line, int rounds, int partial, int low, int high,
                                 int turn, double a, double b, Out *out) {
  int t = threadIdx.x;
  for (int round = 0; round < rounds; round += 8) {
    int some = min(8, rounds - round);
    for (int r = 0; r < some; r++) {
      unsigned *here = line + 256 * r + t;
      here[MTGPDC_N] = set.next(here);
      __syncthreads();
    }
    bool whole = low <= 0 && high >= 8ll * turn;
    if (whole && some == 8) {
#pragma unroll 2
      for (int r = 0; r < 8; r++) {
        const unsigned *here = line + 256 * r + t;
        __stcs(out + (r * turn + t - low), Draw::make(set.tempered(here, here[MTGPDC_N]), a, b));
      }
    } else {
#pragma unroll 1
      for (int r = 0; r < some; r++) {
        const unsigned *here = line + 256 * r + t;
        int i = r * turn + t;
        if (i >= low && i < high) out[i - low] = Draw::make(set.tempered(here, here[MTGPDC_N]), a, b);
      }
    }
    low -= 8 * turn;
    high -= 8 * turn;
    __syncthreads();
    if (round + some == rounds && some - partial < 8) return 256 * (some - partial);
    begin_line(line);
  }
  return 0;
}
#else
template <class Draw, class Out>
__device__ inline int make_turns(const mtgp_set &set, unsigned *line, int rounds, int partial, int low, int high,
                                 int turn, double a, double b, Out *out) {
  int base = 0, near = 256 / blockDim.x, number = 0, begin = low;
  warp_numbers<Draw> numbers;
  for (int round = 0; round < rounds; round++) {
    for (int q = 0; q < near; q++) {
      int j = q * blockDim.x + threadIdx.x;
      unsigned *here = line + base + j, word = set.next(here);
      here[MTGPDC_N] = word;
      numbers.put(number + q, j >= low && j < high, set.tempered(here, word), a, b, out + (j - low));
    }
    low -= turn;
    high -= turn;
    number += near;
    if (number + near > 64 || round + 1 == rounds) {
      numbers.finish(a, b, out + ((int)(threadIdx.x & ~31) - begin), near, blockDim.x, turn);
      number = 0;
      begin = low;
    }
    __syncthreads();
    if (round + 1 < rounds || !partial) base += 256;
    if (base == mtgp_length) {
      begin_line(line);
      base = 0;
    }
  }
  return base;
}
#endif

/* `rounds` turns of all states. Elements below `from` and from `end` on do not belong to the call. If the last turn is
 * `partial`, the states are not advanced by it: the next call repeats it. `end` is below 2^31, and `from` within the
 * first turn, so that a block's part of a turn is from `low` to `high` of it.
 *
 * A state's ring has the last MTGPDC_N words before word `offset + MTGPDC_N`. Here they move along a line of 8 turns,
 * so that neighbours read neighbours and no index wraps; at its end the last ones move to its begin. */
template <class Draw, class Out>
__device__ inline void fill_turns(curandStateMtgp32_t *states, mtgp32_kernel_params_t *k, int rounds, int partial,
                                  long long from, long long end, double a, double b, Out *out) {
  __shared__ unsigned line[mtgp_length + MTGPDC_N];
  curandStateMtgp32_t *state = &states[blockIdx.x];
  int t = threadIdx.x, threads = blockDim.x, p = state->pIdx;
  unsigned at = state->offset;
  const unsigned *recursion = k->param_tbl[p], *temper = k->temper_tbl[p];
#ifdef MW_MTGP_OF_GPUS
  __shared__ unsigned tables[32];
  if (t < 16) tables[t] = recursion[t], tables[t + 16] = temper[t];
  recursion = tables, temper = tables + 16;
#endif
  const mtgp_set set = {(int)k->pos_tbl[p], (int)k->sh1_tbl[p],    (int)k->sh2_tbl[p],
                        k->mask[0],         mtgp_table(recursion), mtgp_table(temper)};
  for (int i = t; i < MTGPDC_N; i += threads) line[i] = state->s[at + i & 1023];
  __syncthreads();
  int before = (int)blockIdx.x * 256;
  int base = make_turns<Draw>(set, line, rounds, partial, (int)from - before, (int)end - before, 256 * (int)gridDim.x,
                              a, b, out);
  at += 256u * (rounds - partial);
  for (int i = t; i < MTGPDC_N; i += threads) state->s[at + i & 1023] = line[base + i];
  if (t == 0) state->offset = at & 1023;
}

/* As in cuRAND's host generator, these doubles have float precision; log-normal ones have more. */
struct draw_turns_normal_double {
  static __device__ double make(unsigned x, double a, double b) {
#ifdef MW_MTGP_OF_GPUS
    double z = _curand_normal_icdf(x);
#else
    double z = __mw_exact_normal(x);
#endif
    return __mw_scale_and_add(z, b, a);
  }
};
typedef draw_bits draw_turns_bits;
typedef draw_uniform draw_turns_uniform;
typedef draw_uniform_double draw_turns_uniform_double;
typedef draw_normal draw_turns_normal;
typedef draw_lognormal draw_turns_lognormal;
typedef draw_lognormal_double draw_turns_lognormal_double;
typedef draw_poisson draw_turns_poisson;

/* The parameters of all sets, and `count` states, state i of set i. */
#define MW_MTGP_BEGIN                                                                                                  \
  extern "C" __global__ void begin_parameters(void *parameters) {                                                      \
    int set = blockIdx.x * blockDim.x + threadIdx.x;                                                                   \
    if (set < CURAND_NUM_MTGP32_PARAMS) __mw_mtgp_parameters(set, (mtgp32_kernel_params_t *)parameters);               \
  }                                                                                                                    \
  extern "C" __global__ void begin_states(unsigned low, unsigned high, int count, void *parameters, void *states) {    \
    int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                     \
    if (i >= count) return;                                                                                            \
    __mw_mtgp_begin((ull)high << 32 | low, i, (mtgp32_kernel_params_t *)parameters,                                    \
                    (curandStateMtgp32_t *)states + i);                                                                \
  }
#define MW_MTGP_FILL(what)                                                                                             \
  extern "C" __global__ void what(void *states, void *parameters, int rounds, int partial, long long from,             \
                                  long long end, double a, double b,                                                   \
                                  decltype(draw_turns_##what::make(0u, 0., 0.)) *out) {                                \
    fill_turns<draw_turns_##what>((curandStateMtgp32_t *)states, (mtgp32_kernel_params_t *)parameters, rounds,         \
                                  partial, from, end, a, b, out);                                                      \
  }

#endif
