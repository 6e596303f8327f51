/* Passes for what this processor and this LLVM do badly. */
#ifndef MWCC_MACHINE_MACHINE_H
#define MWCC_MACHINE_MACHINE_H

#include "mwcc/mwcc.h"

void name_powers(program *p); /* x86_scalef.c */
void hide_bits(program *p);   /* llvm_fpclass_workaround.c: what makes numbers of floats' bits, from instcombine */
void show_bits(program *p);
void leave_constants(program *p); /* constant_rematerialization.c: where they are used, for code generation */
void reach_singly(program *p); /* gather_scalarization.c: gathers and scatters, where the processor has no quick ones */
void order_lanes(program *p);  /* shuffle_lane_order.c: in registers of two halves */
void widen_masks(program *p);  /* mask_legalization.c: to whole lanes, where a processor has no registers for them */
void shorten_sums(program *p); /* llvm_known_bits_workaround.c: as instruction selection sees them */
void estimate_roots(program *p);     /* x86_rsqrt.c: 1 / sqrt(x) that need not be exact */
void multiply_by_powers(program *p); /* x86_scalef.c: of two, in one instruction */

#endif
