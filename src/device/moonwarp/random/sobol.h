/* Sobol sequences of 32 and 64 bits, plain and scrambled. (Joe and Kuo, "Constructing Sobol sequences with better
 * two-dimensional projections", 2008)
 *
 * Element n is the exclusive or of the direction vectors at the bits of n's Gray code, so the next one differs by one
 * vector. A scrambled sequence starts at its scramble constant instead of 0, and its direction vectors are
 * scrambled. */
#ifndef MOONWARP_RANDOM_SOBOL_H
#define MOONWARP_RANDOM_SOBOL_H

#include "moonwarp_device.h"

typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];

struct curandStateSobol32 {
  unsigned int i, x, c;
  unsigned int direction_vectors[32];
};
struct curandStateScrambledSobol32 {
  unsigned int i, x, c;
  unsigned int direction_vectors[32];
};
struct curandStateSobol64 {
  unsigned long long i, x, c;
  unsigned long long direction_vectors[64];
};
struct curandStateScrambledSobol64 {
  unsigned long long i, x, c;
  unsigned long long direction_vectors[64];
};
typedef struct curandStateSobol32 curandStateSobol32_t;
typedef struct curandStateScrambledSobol32 curandStateScrambledSobol32_t;
typedef struct curandStateSobol64 curandStateSobol64_t;
typedef struct curandStateScrambledSobol64 curandStateScrambledSobol64_t;

/* The index of the lowest bit that is 0; of the highest bit if all are 1. */
__mw_device_template int __mw_lowest_zero(unsigned int x) { return (__ffs((int)~x) - 1) & 31; }
__mw_device_template int __mw_lowest_zero(unsigned long long x) { return (__ffsll((long long)~x) - 1) & 63; }

/* Skip n elements: the difference of the Gray codes selects the vectors. */
template <class S, class W> __mw_device_template void __mw_sobol_jump(W n, S *state) {
  W after = state->i + n, gray = (state->i ^ state->i >> 1) ^ (after ^ after >> 1);
#pragma unroll 1
  for (int bit = 0; gray != 0; bit++, gray >>= 1)
    if (gray & 1) state->x ^= state->direction_vectors[bit];
  state->i = after;
}
template <class S, class W> __mw_device_template void __mw_sobol_init(const W *vectors, W begin, W offset, S *state) {
  for (int bit = 0; bit < (int)sizeof(W) * 8; bit++) state->direction_vectors[bit] = vectors[bit];
  state->i = 0;
  state->c = begin;
  state->x = begin;
  __mw_sobol_jump(offset, state);
}
template <class W, class S> __mw_device_template W __mw_sobol_draw(S *state) {
  W x = state->x;
  state->x ^= state->direction_vectors[__mw_lowest_zero(state->i)];
  state->i++;
  return x;
}

/* The functions of all four kinds, by the type of their words. */
#define __mw_sobol_plain(state_type, W)                                                                                \
  __mw_device_template void curand_init(const W *direction_vectors, W offset, state_type *state) {                     \
    __mw_sobol_init(direction_vectors, (W)0, offset, state);                                                           \
  }                                                                                                                    \
  __mw_sobol_common(state_type, W)
#define __mw_sobol_scrambled(state_type, W)                                                                            \
  __mw_device_template void curand_init(const W *direction_vectors, W scramble_c, W offset, state_type *state) {       \
    __mw_sobol_init(direction_vectors, scramble_c, offset, state);                                                     \
  }                                                                                                                    \
  __mw_sobol_common(state_type, W)
#define __mw_sobol_common(state_type, W)                                                                               \
  __mw_device_template void skipahead(W n, state_type *state) { __mw_sobol_jump(n, state); }                           \
  __mw_device_template W curand(state_type *state) { return __mw_sobol_draw<W>(state); }
__mw_sobol_plain(curandStateSobol32_t, unsigned int);
__mw_sobol_plain(curandStateSobol64_t, unsigned long long);
__mw_sobol_scrambled(curandStateScrambledSobol32_t, unsigned int);
__mw_sobol_scrambled(curandStateScrambledSobol64_t, unsigned long long);
#undef __mw_sobol_plain
#undef __mw_sobol_scrambled
#undef __mw_sobol_common

#endif
