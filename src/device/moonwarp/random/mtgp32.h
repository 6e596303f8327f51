/* MTGP32: a Mersenne Twister of period 2^11213 - 1 whose recurrence a block's threads step together. (Saito and
 * Matsumoto, "Variants of Mersenne Twister suitable for graphic processors", 2013)
 *
 * The up to 256 threads of a block share one state, and all of them have to call together: curand() advances it by the
 * number of threads, curand_mtgp32_specific() by n, and takes the calling thread's `index` among those n. The host
 * prepares the states and the 200 sets of parameters (curandMakeMTGP32Constants, curandMakeMTGP32KernelState). */
#ifndef MOONWARP_RANDOM_MTGP32_H
#define MOONWARP_RANDOM_MTGP32_H

#include "moonwarp_device.h"

#define MTGPDC_MEXP              11213
#define MTGPDC_N                 351
#define MTGPDC_FLOOR_2P          256
#define MTGPDC_CEIL_2P           512
#define MTGP32_STATE_SIZE        1024
#define MTGP32_STATE_MASK        1023
#define CURAND_NUM_MTGP32_PARAMS 200
#define MEXP                     11213
#define THREAD_NUM               MTGPDC_FLOOR_2P
#define LARGE_SIZE               (THREAD_NUM * 3)
#define TBL_SIZE                 16

/* A set of parameters in the published form. */
struct mtgp32_params_fast {
  int mexp;
  int pos;
  int sh1;
  int sh2;
  unsigned int tbl[16];
  unsigned int tmp_tbl[16];
  unsigned int flt_tmp_tbl[16];
  unsigned int mask;
  unsigned char poly_sha1[21];
};
typedef struct mtgp32_params_fast mtgp32_params_fast_t;

/* All sets, as kernels read them. */
struct mtgp32_kernel_params {
  unsigned int pos_tbl[CURAND_NUM_MTGP32_PARAMS];
  unsigned int param_tbl[CURAND_NUM_MTGP32_PARAMS][TBL_SIZE];
  unsigned int temper_tbl[CURAND_NUM_MTGP32_PARAMS][TBL_SIZE];
  unsigned int single_temper_tbl[CURAND_NUM_MTGP32_PARAMS][TBL_SIZE];
  unsigned int sh1_tbl[CURAND_NUM_MTGP32_PARAMS];
  unsigned int sh2_tbl[CURAND_NUM_MTGP32_PARAMS];
  unsigned int mask[1];
};
typedef struct mtgp32_kernel_params mtgp32_kernel_params_t;

struct curandStateMtgp32 {
  unsigned int s[MTGP32_STATE_SIZE]; /* a ring buffer with MTGPDC_N valid words */
  int offset;
  int pIdx; /* the index of the set of parameters */
  mtgp32_kernel_params_t *k;
};
typedef struct curandStateMtgp32 curandStateMtgp32_t;

/* Word `thread` after those that were drawn, stored into the ring; *t is the word for tempering it. */
__mw_device_template unsigned int __mw_mtgp_step(curandStateMtgp32_t *state, unsigned int thread, unsigned int *t) {
  const mtgp32_kernel_params_t *k = state->k;
  int set = state->pIdx;
  unsigned int at = (unsigned int)state->offset + thread, pos = k->pos_tbl[set];
  unsigned int x = (state->s[at & MTGP32_STATE_MASK] & k->mask[0]) ^ state->s[(at + 1) & MTGP32_STATE_MASK];
  x ^= x << k->sh1_tbl[set];
  unsigned int y = x ^ state->s[(at + pos) & MTGP32_STATE_MASK] >> k->sh2_tbl[set];
  unsigned int word = y ^ k->param_tbl[set][y & 15u];
  state->s[(at + MTGPDC_N) & MTGP32_STATE_MASK] = word;
  *t = state->s[(at + pos - 1) & MTGP32_STATE_MASK];
  return word;
}
/* The index into a tempering table's 16 entries. */
__mw_device_template unsigned int __mw_mtgp_entry(unsigned int t) {
  t ^= t >> 16;
  t ^= t >> 8;
  return t & 15u;
}

/* Barriers: all threads have read the ring before the offset changes, and see the new offset before the next word. */
__mw_device_template void __mw_mtgp_advance(curandStateMtgp32_t *state, bool leads, unsigned int n) {
  __syncthreads();
  if (leads) state->offset = (state->offset + (int)n) & MTGP32_STATE_MASK;
  __syncthreads();
}
__mw_device_template unsigned int __mw_mtgp_threads() { return blockDim.x * blockDim.y * blockDim.z; }
__mw_device_template unsigned int __mw_mtgp_thread() {
  return (blockDim.y * threadIdx.z + threadIdx.y) * blockDim.x + threadIdx.x;
}

__mw_device_template unsigned int curand_mtgp32_specific(curandStateMtgp32_t *state, unsigned char index,
                                                         unsigned char n) {
  unsigned int t, word = __mw_mtgp_step(state, index, &t);
  word ^= state->k->temper_tbl[state->pIdx][__mw_mtgp_entry(t)];
  __mw_mtgp_advance(state, index == 0, n);
  return word;
}
__mw_device_template unsigned int curand(curandStateMtgp32_t *state) {
  unsigned int thread = __mw_mtgp_thread(), t, word = __mw_mtgp_step(state, thread, &t);
  word ^= state->k->temper_tbl[state->pIdx][__mw_mtgp_entry(t)];
  __mw_mtgp_advance(state, thread == 0, __mw_mtgp_threads());
  return word;
}

/* Floats from the word's bits: its upper 23 and a table give a number from 1 up to, but not, 2. NVIDIA's curand_mtgp32_single
 * draws the next thread's word and damages the state (CUDA 13.0, on an H100); here it is the thread's own. */
__mw_device_template float __mw_mtgp_single(const curandStateMtgp32_t *state, unsigned int word, unsigned int t) {
  return __int_as_float((int)(word >> 9 ^ state->k->single_temper_tbl[state->pIdx][__mw_mtgp_entry(t)]));
}
__mw_device_template float curand_mtgp32_single_specific(curandStateMtgp32_t *state, unsigned char index,
                                                         unsigned char n) {
  unsigned int t, word = __mw_mtgp_step(state, index, &t);
  float x = __mw_mtgp_single(state, word, t);
  __mw_mtgp_advance(state, index == 0, n);
  return x;
}
__mw_device_template float curand_mtgp32_single(curandStateMtgp32_t *state) {
  unsigned int thread = __mw_mtgp_thread(), t, word = __mw_mtgp_step(state, thread, &t);
  float x = __mw_mtgp_single(state, word, t);
  __mw_mtgp_advance(state, thread == 0, __mw_mtgp_threads());
  return x;
}

#endif
