/* Passes for particular processors, and workarounds for LLVM.
 *
 *   x86_scalef.c, x86_fixupimm.c,
 *   x86_rsqrt.c, x86_tensor.c                 idioms: products by powers of two, limits of logarithms, reciprocal square
 *                                             roots, dot products
 *   gather_scalarization.c                    masked gathers and scatters, lane by lane where they are slow
 *   constant_lanes.c                          gathers and scatters of constant lanes, one by one where that is faster
 *   mask_legalization.c                       masks as vectors of integers, without mask registers
 *   shuffle_lane_order.c                      shuffles for registers of two 128-bit halves
 *   shifted_products.c                        products by constants that are shifts of each other
 *   half_comparisons.c                        comparisons of vectors of half and bfloat16, in float
 *   wide_conversions.c                        vectors of 64-bit integers to double, by halves
 *   constant_rematerialization.c              vector constants used from memory
 *   llvm_fpclass_workaround.c,
 *   llvm_known_bits_workaround.c              code forms for which LLVM's analyses take too long
 *   llvm_mask_copy_workaround.c               masks whose clearing LLVM forgets where they are spilled
 *   llvm_wrapped_stride_workaround.c          indices that LLVM's loop vectoriser miscompiles
 *
 * They change no result but those that need not be exact (x86_rsqrt.c). */
#ifndef MWCC_MACHINE_MACHINE_H
#define MWCC_MACHINE_MACHINE_H

#include "mwcc/mwcc.h"

void form_ldexp(program *p); /* x86_scalef.c, before widening: the headers' y * 2^n becomes llvm.ldexp */
/* Delete the function's blocks, for another body. */
void empty_function(LLVMValueRef f);
void form_tensor_instructions(program *p); /* x86_tensor.c: instructions for helpers of tensor cores' products */
void hide_float_bits(program *p);          /* llvm_fpclass_workaround.c: hide bit casts of floats from instcombine */
void show_float_bits(program *p);
void forbid_wrapped_strides(program *p);    /* llvm_wrapped_stride_workaround.c: before LLVM's vectorisers */
void allow_wrapped_strides(program *p);     /* after them */
void rematerialise_constants(program *p);   /* constant_rematerialization.c: keep vector constants in memory */
void scalarise_gathers(program *p);         /* gather_scalarization.c: for processors with slow gathers and scatters */
void access_constant_lanes(program *p);     /* constant_lanes.c: gathers and scatters of few lanes, one by one */
void permute_shuffle_lanes(program *p);     /* shuffle_lane_order.c: for AVX and AVX2 */
void clear_masks_by_constants(program *p);  /* llvm_mask_copy_workaround.c: for processors with mask registers */
void legalise_masks(program *p);            /* mask_legalization.c: for processors without mask registers */
void freeze_shuffled_sums(program *p);      /* llvm_known_bits_workaround.c: limit known-bits analysis */
void estimate_reciprocal_roots(program *p); /* x86_rsqrt.c: 1 / sqrt(x) that need not be exact */
void compare_halves_in_float(program *p);   /* half_comparisons.c: not lane by lane */
void shift_products(program *p);            /* shifted_products.c: a shift instead of another product */
void convert_wide_integers(program *p);     /* wide_conversions.c: 64 bits to double, not lane by lane */
void form_scalef(program *p);               /* x86_scalef.c: llvm.ldexp in one instruction */
void form_fixupimm(program *p); /* x86_fixupimm.c: values of logarithms for infinity, 0 and negative numbers */

#endif
