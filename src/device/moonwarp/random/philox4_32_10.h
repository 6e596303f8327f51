/* cuRAND's generator Philox4_32_10: the key is the seed, and the upper half of the 128-bit counter starts as the
 * subsequence's number. Each counter yields four words, drawn in order; a subsequence has 2^66 words. */
#ifndef MOONWARP_RANDOM_PHILOX4_32_10_H
#define MOONWARP_RANDOM_PHILOX4_32_10_H

#include "moonwarp/random/philox.h"

struct curandStatePhilox4_32_10 {
  uint4 ctr;
  uint4 output;
  uint2 key;
  unsigned int STATE; /* how many words of `output` have been drawn: 0 to 3, or 4 until the counter is incremented */
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

__mw_device_template uint4 curand_Philox4x32_10(uint4 counter, uint2 key) {
  return moonwarp::philox4x32<10>(counter, key);
}

/* Add n to the upper half of the counter. */
__mw_device_template void __mw_philox_add_upper(uint4 *counter, unsigned long long n) {
  unsigned long long upper = ((unsigned long long)counter->w << 32 | counter->z) + n;
  counter->z = (unsigned int)upper;
  counter->w = (unsigned int)(upper >> 32);
}
__mw_device_template void __mw_philox_add(uint4 *counter, unsigned long long n) {
  unsigned long long lower = ((unsigned long long)counter->y << 32 | counter->x) + n;
  counter->x = (unsigned int)lower;
  counter->y = (unsigned int)(lower >> 32);
  if (lower < n) __mw_philox_add_upper(counter, 1);
}

__mw_device_template void skipahead(unsigned long long n, curandStatePhilox4_32_10_t *state) {
  unsigned int word = state->STATE + ((unsigned int)n & 3u);
  __mw_philox_add(&state->ctr, (n >> 2) + (word >> 2));
  state->STATE = word & 3u;
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}
__mw_device_template void skipahead_sequence(unsigned long long n, curandStatePhilox4_32_10_t *state) {
  __mw_philox_add_upper(&state->ctr, n);
  state->output = curand_Philox4x32_10(state->ctr, state->key);
}

__mw_device_template void curand_init(unsigned long long seed, unsigned long long subsequence,
                                      unsigned long long offset, curandStatePhilox4_32_10_t *state) {
  state->key = make_uint2((unsigned int)seed, (unsigned int)(seed >> 32));
  state->ctr = make_uint4(0, 0, (unsigned int)subsequence, (unsigned int)(subsequence >> 32));
  state->STATE = 0;
  skipahead(offset, state);
  state->boxmuller_flag = 0;
  state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}

__mw_device_template unsigned int curand(curandStatePhilox4_32_10_t *state) {
  unsigned int at = state->STATE;
  uint4 words = state->output;
  unsigned int word = at == 0 ? words.x : at == 1 ? words.y : at == 2 ? words.z : words.w;
  state->STATE = at + 1;
  if (at == 3) {
    __mw_philox_add(&state->ctr, 1);
    state->output = curand_Philox4x32_10(state->ctr, state->key);
    state->STATE = 0;
  }
  return word;
}

/* The next four words, from two counters if the current one is partly drawn. */
__mw_device_template uint4 curand4(curandStatePhilox4_32_10_t *state) {
  uint4 begun = state->output, next;
  __mw_philox_add(&state->ctr, 1);
  next = curand_Philox4x32_10(state->ctr, state->key);
  state->output = next;
  switch (state->STATE) {
  case 0: return begun;
  case 1: return make_uint4(begun.y, begun.z, begun.w, next.x);
  case 2: return make_uint4(begun.z, begun.w, next.x, next.y);
  default: return make_uint4(begun.w, next.x, next.y, next.z);
  }
}

#endif
