/* Passes for particular processors, and workarounds for LLVM. */
#ifndef MWCC_MACHINE_MACHINE_H
#define MWCC_MACHINE_MACHINE_H

#include "mwcc/mwcc.h"

void name_powers(program *p); /* x86_scalef.c, before widening: the headers' y * 2^n becomes llvm.ldexp */
void hide_bits(program *p);   /* llvm_fpclass_workaround.c: hide bit casts of floats from instcombine */
void show_bits(program *p);
void leave_constants(program *p);    /* constant_rematerialization.c: keep vector constants in memory */
void reach_singly(program *p);       /* gather_scalarization.c: for processors with slow gathers and scatters */
void order_lanes(program *p);        /* shuffle_lane_order.c: for AVX and AVX2 */
void widen_masks(program *p);        /* mask_legalization.c: for processors without mask registers */
void shorten_sums(program *p);       /* llvm_known_bits_workaround.c: limit known-bits analysis */
void estimate_roots(program *p);     /* x86_rsqrt.c: 1 / sqrt(x) that need not be exact */
void multiply_by_powers(program *p); /* x86_scalef.c: llvm.ldexp in one instruction */

#endif
