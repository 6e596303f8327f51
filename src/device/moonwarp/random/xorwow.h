/* XORWOW, cuRAND's default generator: a shift register of five words and a Weyl sequence. (Marsaglia, "Xorshift RNGs",
 * 2003)
 *
 * A subsequence is 2^67 steps. Jumps of the register are polynomials (xorwow_jumps.h), those of the Weyl sequence are
 * products. */
#ifndef MOONWARP_RANDOM_XORWOW_H
#define MOONWARP_RANDOM_XORWOW_H

#include "moonwarp_device.h"
#include "moonwarp/random/xorwow_jumps.h"

struct curandStateXORWOW {
  unsigned int d, v[5];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;

#define __mw_xorwow_weyl 362437u

/* The word after five words, of which these are the first and the last. */
__mw_device_template unsigned int __mw_xorwow_word(unsigned int first, unsigned int last) {
  unsigned int t = first ^ first >> 2;
  return last ^ last << 4 ^ t ^ t << 1;
}

/* Evaluates `polynomial` at the register's step: the sum of the states whose coefficients are 1. Each iteration makes
 * five steps, after which the words have their old order; word k of the polynomial has the coefficients of the
 * iterations' step k. */
__mw_device_template void __mw_xorwow_apply(const unsigned int *polynomial, unsigned int *v) {
  unsigned int v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3], v4 = v[4];
  unsigned int p0 = polynomial[0], p1 = polynomial[1], p2 = polynomial[2], p3 = polynomial[3], p4 = polynomial[4];
  unsigned int s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0;
#define __mw_xorwow_step(p, a, b, c, d, e)                                                                             \
  {                                                                                                                    \
    unsigned int mask = 0u - (p & 1u);                                                                                 \
    p >>= 1;                                                                                                           \
    s0 ^= a & mask;                                                                                                    \
    s1 ^= b & mask;                                                                                                    \
    s2 ^= c & mask;                                                                                                    \
    s3 ^= d & mask;                                                                                                    \
    s4 ^= e & mask;                                                                                                    \
    a = __mw_xorwow_word(a, e);                                                                                        \
  }
#pragma unroll 1
  for (int round = 0; round < 32; round++) {
    __mw_xorwow_step(p0, v0, v1, v2, v3, v4);
    __mw_xorwow_step(p1, v1, v2, v3, v4, v0);
    __mw_xorwow_step(p2, v2, v3, v4, v0, v1);
    __mw_xorwow_step(p3, v3, v4, v0, v1, v2);
    __mw_xorwow_step(p4, v4, v0, v1, v2, v3);
  }
#undef __mw_xorwow_step
  v[0] = s0;
  v[1] = s1;
  v[2] = s2;
  v[3] = s3;
  v[4] = s4;
}

/* Jump by n, by its digits to the base 16. */
__mw_device_template void __mw_xorwow_jump(const unsigned int (*digits)[15][5], unsigned long long n, unsigned int *v) {
#pragma unroll 1
  for (; n != 0; n >>= 4, digits++) {
    unsigned int digit = (unsigned int)n & 15u;
    if (digit != 0) __mw_xorwow_apply((*digits)[digit - 1], v);
  }
}

__mw_device_template void skipahead(unsigned long long n, curandStateXORWOW_t *state) {
  __mw_xorwow_jump(__mw_xorwow_steps, n, state->v);
  state->d += __mw_xorwow_weyl * (unsigned int)n;
}

/* 2^67 steps do not change the Weyl sequence. */
__mw_device_template void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state) {
  __mw_xorwow_jump(__mw_xorwow_subsequences, n, state->v);
}

__mw_device_template void curand_init(unsigned long long seed, unsigned long long subsequence,
                                      unsigned long long offset, curandStateXORWOW_t *state) {
  unsigned int low = 1099087573u * ((unsigned int)seed ^ 0xaad26b49u);
  unsigned int high = 2591861531u * ((unsigned int)(seed >> 32) ^ 0xf7dcefddu);
  state->d = 6615241u + high + low;
  state->v[0] = 123456789u + low;
  state->v[1] = 362436069u ^ low;
  state->v[2] = 521288629u + high;
  state->v[3] = 88675123u ^ high;
  state->v[4] = 5783321u + low;
  skipahead_sequence(subsequence, state);
  skipahead(offset, state);
  state->boxmuller_flag = 0;
  state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}

__mw_device_template unsigned int curand(curandStateXORWOW_t *state) {
  unsigned int word = __mw_xorwow_word(state->v[0], state->v[4]);
  state->v[0] = state->v[1];
  state->v[1] = state->v[2];
  state->v[2] = state->v[3];
  state->v[3] = state->v[4];
  state->v[4] = word;
  state->d += __mw_xorwow_weyl;
  return word + state->d;
}

#endif
