/* MRG32k3a: two recurrences modulo primes below 2^32, and their difference. (L'Ecuyer, "Good parameters and
 * implementations for combined multiple recursive random number generators", 1999)
 *
 * A subsequence is 2^76 steps, a sequence 2^127. Jumps are polynomials (mrg32k3a_jumps.h). */
#ifndef MOONWARP_RANDOM_MRG32K3A_H
#define MOONWARP_RANDOM_MRG32K3A_H

#include "moonwarp_device.h"
#include "moonwarp/random/mrg32k3a_jumps.h"

struct curandStateMRG32k3a {
  unsigned int s1[3];
  unsigned int s2[3];
  int boxmuller_flag;
  int boxmuller_flag_double;
  float boxmuller_extra;
  double boxmuller_extra_double;
};
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

#define __mw_mrg_m1 4294967087u
#define __mw_mrg_m2 4294944443u

/* x mod m for m = 2^32 - k, since 2^32 = k mod m: three folds leave less than 2 m for any x, two folds for x < 2^55. */
__mw_device_template unsigned int __mw_mrg_rest(unsigned long long x, unsigned int m) {
  unsigned int k = 0u - m;
  x = (x & 0xffffffffu) + (x >> 32) * k;
  x = (x & 0xffffffffu) + (x >> 32) * k;
  return (unsigned int)(x >= m ? x - m : x);
}
__mw_device_template unsigned int __mw_mrg_product(unsigned int x, unsigned int y, unsigned int m) {
  unsigned long long product = (unsigned long long)x * y;
  return __mw_mrg_rest((product & 0xffffffffu) + (product >> 32) * (0u - m), m);
}

/* The next elements of the two recurrences; negative terms are made positive by adding their factor times m. */
__mw_device_template unsigned int __mw_mrg_next1(const unsigned int *s) {
  return __mw_mrg_rest(1403580ull * s[1] + 810728ull * (__mw_mrg_m1 - s[0]), __mw_mrg_m1);
}
__mw_device_template unsigned int __mw_mrg_next2(const unsigned int *s) {
  return __mw_mrg_rest(527612ull * s[2] + 1370589ull * (__mw_mrg_m2 - s[0]), __mw_mrg_m2);
}

/* One step; the result is from 1 to m1. */
__mw_device_template unsigned int __mw_mrg_draw(curandStateMRG32k3a_t *state) {
  unsigned int x = __mw_mrg_next1(state->s1), y = __mw_mrg_next2(state->s2);
  state->s1[0] = state->s1[1];
  state->s1[1] = state->s1[2];
  state->s1[2] = x;
  state->s2[0] = state->s2[1];
  state->s2[1] = state->s2[2];
  state->s2[2] = y;
  return x > y ? x - y : x - y + __mw_mrg_m1;
}

/* c0 s + c1 A s + c2 A^2 s, for the five elements that these states have. */
__mw_device_template void __mw_mrg_combine(const unsigned int *c, const unsigned int *e, unsigned int m,
                                           unsigned int *s) {
  for (int i = 0; i < 3; i++) {
    unsigned long long sum = (unsigned long long)__mw_mrg_product(c[0], e[i], m) + __mw_mrg_product(c[1], e[i + 1], m) +
                             __mw_mrg_product(c[2], e[i + 2], m);
    s[i] = __mw_mrg_rest(sum, m);
  }
}
__mw_device_template void __mw_mrg_apply(const unsigned int (*polynomials)[3], curandStateMRG32k3a_t *state) {
  unsigned int x[5] = {state->s1[0], state->s1[1], state->s1[2]}, y[5] = {state->s2[0], state->s2[1], state->s2[2]};
  x[3] = __mw_mrg_next1(x);
  x[4] = __mw_mrg_next1(x + 1);
  y[3] = __mw_mrg_next2(y);
  y[4] = __mw_mrg_next2(y + 1);
  __mw_mrg_combine(polynomials[0], x, __mw_mrg_m1, state->s1);
  __mw_mrg_combine(polynomials[1], y, __mw_mrg_m2, state->s2);
}

/* Jump by n, by its digits to the base 4. */
__mw_device_template void __mw_mrg_jump(const unsigned int (*digits)[3][2][3], unsigned long long n,
                                        curandStateMRG32k3a_t *state) {
#pragma unroll 1
  for (; n != 0; n >>= 2, digits++) {
    unsigned int digit = (unsigned int)n & 3u;
    if (digit != 0) __mw_mrg_apply((*digits)[digit - 1], state);
  }
}
__mw_device_template void skipahead(unsigned long long n, curandStateMRG32k3a_t *state) {
  __mw_mrg_jump(__mw_mrg_steps, n, state);
}
__mw_device_template void skipahead_subsequence(unsigned long long n, curandStateMRG32k3a_t *state) {
  __mw_mrg_jump(__mw_mrg_subsequences, n, state);
}
__mw_device_template void skipahead_sequence(unsigned long long n, curandStateMRG32k3a_t *state) {
  __mw_mrg_jump(__mw_mrg_sequences, n, state);
}

__mw_device_template void curand_init(unsigned long long seed, unsigned long long subsequence,
                                      unsigned long long offset, curandStateMRG32k3a_t *state) {
  unsigned int low = (unsigned int)seed ^ 0x55555555u, high = (unsigned int)(seed >> 32) ^ 0xaaaaaaaau;
  if (seed == 0) low = high = 1; /* cuRAND's choice */
  state->s1[0] = state->s1[2] = __mw_mrg_product(low, 12345u, __mw_mrg_m1);
  state->s1[1] = __mw_mrg_product(high, 12345u, __mw_mrg_m1);
  state->s2[0] = state->s2[2] = __mw_mrg_product(high, 12345u, __mw_mrg_m2);
  state->s2[1] = __mw_mrg_product(low, 12345u, __mw_mrg_m2);
  skipahead_subsequence(subsequence, state);
  skipahead(offset, state);
  state->boxmuller_flag = 0;
  state->boxmuller_flag_double = 0;
  state->boxmuller_extra = 0;
  state->boxmuller_extra_double = 0;
}

/* Scales 1 to m1 to 32 bits: the product in double precision, truncated. */
__mw_device_template unsigned int curand(curandStateMRG32k3a_t *state) {
  return (unsigned int)(__mw_mrg_draw(state) * 1.000000048662);
}

#endif
