/* MT19937, the Mersenne Twister. (Matsumoto and Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed
 * uniform pseudo-random number generator", 1998)
 *
 * cuRAND has it in host generators only: 8192 states, 2^2048 steps apart, whose words come in rows. A row has 8 words
 * of each state in turn; 78 rows are the 624 words of a turn. On the CPU device states stand four together, a tile, as
 * rows of 32 words in the order of the stream (streams/mt19937_rows.h); on GPUs they follow each other. */
#ifndef MOONWARP_RANDOM_MT19937_H
#define MOONWARP_RANDOM_MT19937_H

#include "moonwarp_device.h"
#include "moonwarp/random/mt19937_jumps.h"

#if defined __MW_NVPTX__ || defined __MW_NVRTC__
#define __mw_mt_of_gpus
#endif

#define __mw_mt_words  624
#define __mw_mt_states 8192
#define __mw_mt_row    (8 * __mw_mt_states)
#define __mw_mt_tile   (4 * __mw_mt_words)

/* Where word `i` of a state is. A turn's words are eight that go into the first row, and between them 11 blocks of
 * seven rows: block b has words 7 p to 7 p + 6 of each place p, 0 to 7, one for each of its rows. */
__mw_device_template int __mw_mt_index(int state, int i) {
#ifdef __mw_mt_of_gpus
  return state * __mw_mt_words + i;
#else
  int part = i / 227, block = (i - 227 * part) / 57, at = (i - 227 * part) % 57, row = 0, place;
  if (part == 0 && block == 0) at = at == 0 ? 56 : at - 1; /* the first word is before its block, others after */
  if (at == 56) {
    place = 3 * part + block;
  } else {
    row = 1 + 7 * (4 * part + block) + at % 7;
    place = at / 7;
  }
  return state / 4 * __mw_mt_tile + row * 32 + state % 4 * 8 + place;
#endif
}

/* A state's first words, by the seed's lower half. */
__mw_device_template void __mw_mt_begin(unsigned int seed, unsigned int *words) {
  unsigned int word = seed;
  for (unsigned int i = 0; i < __mw_mt_words; i++) {
    if (i > 0) word = 1812433253u * (word ^ word >> 30) + i;
    words[__mw_mt_index(0, i)] = word;
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

/* The polynomial in the step, of state `from`, stored to state `to`, by a block of no less than __mw_mt_sums threads;
 * `stretch` is memory for __mw_mt_stretch words of the sequence. Words at places whose bytes are equal are summed
 * first. */
__mw_device_template void __mw_mt_jump(const int *starts, const int *places, unsigned int *words, int from, int to,
                                       unsigned int *stretch) {
  __shared__ unsigned int sums[8][__mw_mt_sums];
  int t = threadIdx.x;
  if (t < __mw_mt_words) stretch[t] = words[__mw_mt_index(from, t)];
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
    words[__mw_mt_index(to, t)] = word;
  }
  __syncthreads();
}

#endif
