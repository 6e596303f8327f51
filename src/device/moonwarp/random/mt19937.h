/* MT19937, the Mersenne Twister. (Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed
 * uniform pseudo-random number generator", 1998)
 *
 * cuRAND has it in host generators only: 8192 states, 2^2048 steps apart, whose words come in rows. A row has 8 words
 * of each state in turn; 78 rows are the 624 words of a turn. On the CPU device, where a thread is a state, states
 * stand 32 together, word after word, so that lanes reach memory in order and a tile stays in a cache; on GPUs they
 * follow each other. */
#ifndef MOONWARP_RANDOM_MT19937_H
#define MOONWARP_RANDOM_MT19937_H

#include "moonwarp_device.h"
#include "moonwarp/random/mt19937_jumps.h"

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define __mw_mt_of_gpus
#endif

#define __mw_mt_words  624
#define __mw_mt_states 8192
#ifdef __mw_mt_of_gpus
#define __mw_mt_tile 1
#else
#define __mw_mt_tile 32
#endif
#define __mw_mt_row (8 * __mw_mt_states)

/* Word 0 of a state; word i is __mw_mt_tile * i further. */
__mw_device_template unsigned int *__mw_mt_state(unsigned int *words, int state) {
  return words + state / __mw_mt_tile * (__mw_mt_words * __mw_mt_tile) + state % __mw_mt_tile;
}

/* A state's first words, by the seed's lower half. */
__mw_device_template void __mw_mt_begin(unsigned int seed, unsigned int *state) {
  unsigned int word = seed;
  for (unsigned int i = 0; i < __mw_mt_words; i++) {
    if (i > 0) word = 1812433253u * (word ^ word >> 30) + i;
    state[i * __mw_mt_tile] = word;
  }
}

/* The word 624 after `word`, which `next` follows; `middle` is 397 after it. */
__mw_device_template unsigned int __mw_mt_next(unsigned int word, unsigned int next, unsigned int middle) {
  unsigned int y = (word & 0x80000000u) | (next & 0x7fffffffu);
  return middle ^ y >> 1 ^ (0u - (y & 1u) & 0x9908b0dfu);
}
__mw_device_template unsigned int __mw_mt_tempered(unsigned int x) {
  x ^= x >> 11;
  x ^= x << 7 & 0x9d2c5680u;
  x ^= x << 15 & 0xefc60000u;
  return x ^ x >> 18;
}

/* The next 624 words in place. */
__mw_device_template void __mw_mt_advance(unsigned int *state) {
  unsigned int word = state[0];
  for (int i = 0; i < 227; i++) {
    unsigned int next = state[(i + 1) * __mw_mt_tile];
    state[i * __mw_mt_tile] = __mw_mt_next(word, next, state[(i + 397) * __mw_mt_tile]);
    word = next;
  }
  for (int i = 227; i < 623; i++) {
    unsigned int next = state[(i + 1) * __mw_mt_tile];
    state[i * __mw_mt_tile] = __mw_mt_next(word, next, state[(i - 227) * __mw_mt_tile]);
    word = next;
  }
  state[623 * __mw_mt_tile] = __mw_mt_next(word, state[0], state[396 * __mw_mt_tile]);
}

/* Which of a turn's words is number `place`, 0 to 7, of row `row`: words come in blocks of 8 times 7, of which each row
 * takes every seventh, and the first row takes the eight words between blocks. */
__mw_device_template int __mw_mt_place(int row, int place) {
  const int blocks[11] = {1, 57, 114, 171, 227, 284, 341, 398, 454, 511, 568};
  const int between[8] = {0, 113, 170, 283, 340, 397, 510, 567};
  return row == 0 ? between[place] : blocks[(row - 1) / 7] + (row - 1) % 7 + 7 * place;
}

/* ---- the states that are 2^2048 steps apart ---- */

#define __mw_mt_bytes   ((__mw_mt_degree + 7) / 8)
#define __mw_mt_stretch (__mw_mt_degree + __mw_mt_words + 7)
#define __mw_mt_sums    (__mw_mt_words + 8)

/* A polynomial's bytes, by their values: those of value v are at places[starts[v]] up to places[starts[v + 1]]. */
__mw_device_template void __mw_mt_sort(const unsigned int *polynomial, int *starts, int *places) {
  for (int v = 0; v <= 256; v++) starts[v] = 0;
  for (int i = 0; i < __mw_mt_bytes; i++) starts[(polynomial[i >> 2] >> 8 * (i & 3) & 255u) + 1]++;
  for (int v = 0; v < 256; v++) starts[v + 1] += starts[v];
  for (int i = 0; i < __mw_mt_bytes; i++) places[starts[polynomial[i >> 2] >> 8 * (i & 3) & 255u]++] = 8 * i;
  for (int v = 256; v > 0; v--) starts[v] = starts[v - 1];
  starts[0] = 0;
}

/* The polynomial in the step, of `state`, stored to `target`, by a block of no less than __mw_mt_sums threads;
 * `stretch` is memory for __mw_mt_stretch words of the sequence. Words at places whose bytes are equal are summed
 * first. */
__mw_device_template void __mw_mt_jump(const int *starts, const int *places, const unsigned int *state,
                                       unsigned int *target, unsigned int *stretch) {
  __shared__ unsigned int sums[8][__mw_mt_sums];
  int t = threadIdx.x;
  if (t < __mw_mt_words) stretch[t] = state[t * __mw_mt_tile];
  for (int i = __mw_mt_words; i < __mw_mt_stretch; i += 227) {
    __syncthreads();
    int at = i - __mw_mt_words + t;
    if (t < 227 && i + t < __mw_mt_stretch)
      stretch[i + t] = __mw_mt_next(stretch[at], stretch[at + 1], stretch[at + 397]);
  }
  __syncthreads();
  if (t < __mw_mt_sums) {
    unsigned int s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (unsigned int v = 1; v < 256; v++) {
      unsigned int sum = 0;
      for (int k = starts[v]; k < starts[v + 1]; k++) sum ^= stretch[places[k] + t];
      s0 ^= v & 1u ? sum : 0;
      s1 ^= v & 2u ? sum : 0;
      s2 ^= v & 4u ? sum : 0;
      s3 ^= v & 8u ? sum : 0;
      s4 ^= v & 16u ? sum : 0;
      s5 ^= v & 32u ? sum : 0;
      s6 ^= v & 64u ? sum : 0;
      s7 ^= v & 128u ? sum : 0;
    }
    sums[0][t] = s0, sums[1][t] = s1, sums[2][t] = s2, sums[3][t] = s3;
    sums[4][t] = s4, sums[5][t] = s5, sums[6][t] = s6, sums[7][t] = s7;
  }
  __syncthreads();
  if (t < __mw_mt_words) {
    unsigned int word = 0;
    for (int bit = 0; bit < 8; bit++) word ^= sums[bit][t + bit];
    target[t * __mw_mt_tile] = word;
  }
  __syncthreads();
}

#endif
