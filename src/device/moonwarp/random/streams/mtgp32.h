/* Kernels of MTGP32's host stream: each state has a set of parameters, and the states draw 256 words in turn. A block
 * processes a state; its threads, 256 or fewer, share a turn's words, which do not depend on each other. A module's
 * source is MW_MTGP_BEGIN or MW_MTGP_FILL(what) after this header. */
#ifndef MOONWARP_RANDOM_STREAMS_MTGP32_H
#define MOONWARP_RANDOM_STREAMS_MTGP32_H

#include <curand_kernel.h>
#include <moonwarp/random/distributions/draws.h>
#include <moonwarp/random/mtgp32_init.h>

typedef unsigned long long ull;

/* An entry of a table from its entries 1, 2, 4 and 8, whose exclusive or it is: lanes need no gathers. */
struct mtgp_table {
  unsigned one, two, four, eight;
  __device__ mtgp_table(const unsigned *entries)
      : one(entries[1]), two(entries[2]), four(entries[4]), eight(entries[8]) {}
  __device__ unsigned operator[](unsigned i) const {
    return (i & 1 ? one : 0) ^ (i & 2 ? two : 0) ^ (i & 4 ? four : 0) ^ (i & 8 ? eight : 0);
  }
};

/* `rounds` turns of all states. Elements below `from` and from `end` on do not belong to the call. If the last turn is
 * `partial`, the states are not advanced by it: the next call repeats it. `end` is below 2^31, and `from` within the
 * first turn, so that a block's part of a turn is from `low` to `high` of it.
 *
 * A state's ring has the last MTGPDC_N words before word `offset + MTGPDC_N`. Here they move along a line of 8 turns,
 * so that neighbours read neighbours and no index wraps; at its end the last ones move to its begin. */
template <class Draw, class Out>
__device__ inline void fill_turns(curandStateMtgp32_t *states, mtgp32_kernel_params_t *k, int rounds, int partial,
                                  long long from, long long end, double a, double b, Out *out) {
  const int length = 8 * 256;
  __shared__ unsigned line[length + MTGPDC_N];
  curandStateMtgp32_t *state = &states[blockIdx.x];
  int t = threadIdx.x, threads = blockDim.x, set = state->pIdx;
  int pos = k->pos_tbl[set], sh1 = k->sh1_tbl[set], sh2 = k->sh2_tbl[set];
  unsigned mask = k->mask[0], at = state->offset;
  const mtgp_table recursion(k->param_tbl[set]), temper(k->temper_tbl[set]);
  for (int i = t; i < MTGPDC_N; i += threads) line[i] = state->s[at + i & 1023];
  __syncthreads();
  int base = 0, low = (int)from - (int)blockIdx.x * 256, high = (int)end - (int)blockIdx.x * 256;
  for (int round = 0; round < rounds; round++) {
    for (int j = t; j < 256; j += threads) {
      const unsigned *here = line + base + j;
      unsigned x = (here[0] & mask) ^ here[1];
      x ^= x << sh1;
      unsigned y = x ^ here[pos] >> sh2, word = y ^ recursion[y];
      line[base + j + MTGPDC_N] = word;
      word ^= temper[__mw_mtgp_entry(here[pos - 1])];
      if (j >= low && j < high) out[j - low] = Draw::make(word, a, b);
    }
    low -= 256 * gridDim.x;
    high -= 256 * gridDim.x;
    __syncthreads();
    if (round + 1 < rounds || !partial) base += 256;
    if (base == length) {
      for (int i = t; i < MTGPDC_N; i += threads) line[i] = line[length + i];
      __syncthreads();
      base = 0;
    }
  }
  at += 256u * (rounds - partial);
  for (int i = t; i < MTGPDC_N; i += threads) state->s[at + i & 1023] = line[base + i];
  if (t == 0) state->offset = at & 1023;
}

/* As in cuRAND's host generator, these doubles have float precision; log-normal ones have more. */
struct draw_turns_normal_double {
  static __device__ double make(unsigned x, double a, double b) {
    return __mw_scale_and_add((double)_curand_normal_icdf(x), b, a);
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
