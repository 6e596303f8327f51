/* MTGP32's parameters and states, initialised in kernels like curandMakeMTGP32Constants and curandMakeMTGP32KernelState
 * do on the host. cuRAND's host generator has 192 states (64 in legacy order), state i with set i, which draw 256 words
 * in turn. */
#ifndef MOONWARP_RANDOM_MTGP32_INIT_H
#define MOONWARP_RANDOM_MTGP32_INIT_H

#include "moonwarp/random/mtgp32.h"
#include "moonwarp/random/mtgp32_sets.h"

/* The exclusive or of the entries at the bits of i. */
__mw_device_template unsigned int __mw_mtgp_sum(const unsigned int *powers, unsigned int i) {
  return (i & 1u ? powers[0] : 0u) ^ (i & 2u ? powers[1] : 0u) ^ (i & 4u ? powers[2] : 0u) ^ (i & 8u ? powers[3] : 0u);
}

/* Expand set `set` of the parameters; one thread for each. The thread of set 0 writes the mask, which all share. */
__mw_device_template void __mw_mtgp_parameters(int set, mtgp32_kernel_params_t *k) {
  const unsigned int *numbers = __mw_mtgp_sets[set];
  k->pos_tbl[set] = numbers[0];
  k->sh1_tbl[set] = numbers[1];
  k->sh2_tbl[set] = numbers[2];
  for (unsigned int i = 0; i < TBL_SIZE; i++) {
    unsigned int temper = __mw_mtgp_sum(numbers + 7, i);
    k->param_tbl[set][i] = __mw_mtgp_sum(numbers + 3, i);
    k->temper_tbl[set][i] = temper;
    k->single_temper_tbl[set][i] = temper >> 9 | 0x3f800000u;
  }
  if (set == 0) k->mask[0] = 0xfff80000u;
}

/* Initialise state `set` from `seed`; one thread for each. Each word is a hash of the one before, combined with a
 * pattern of the set, so that neighbouring seeds give unrelated states. */
__mw_device_template void __mw_mtgp_begin(unsigned long long seed, int set, mtgp32_kernel_params_t *k,
                                          curandStateMtgp32_t *state) {
  unsigned int hidden = k->param_tbl[set][4] ^ k->param_tbl[set][8] << 16;
  unsigned int pattern = hidden + (hidden >> 16);
  pattern = ((pattern + (pattern >> 8)) & 0xffu) * 0x01010101u;
  unsigned int word = (unsigned int)(seed ^ seed >> 32) + (unsigned int)set + 1u;
  state->s[0] = word;
  for (unsigned int i = 1; i < MTGPDC_N; i++) {
    word = (i == 1 ? hidden : pattern) ^ (1812433253u * (word ^ word >> 30) + i);
    state->s[i] = word;
  }
  for (unsigned int i = MTGPDC_N; i < MTGP32_STATE_SIZE; i++) state->s[i] = 0;
  state->offset = 0;
  state->pIdx = set;
  state->k = k;
}

#endif
