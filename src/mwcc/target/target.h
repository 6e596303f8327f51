/* The target processor and its properties, and masked accesses.
 *
 *   target.c                   the processor, its features and registers
 *   masked_memory.c            masked loads, stores, gathers and scatters
 *   register_split.c           operations on vectors longer than a register
 *   tuning.h, tuning_nvptx.h   tuning constants: thresholds of profit */
#ifndef MWCC_TARGET_TARGET_H
#define MWCC_TARGET_TARGET_H

#include "mwcc/mwcc.h"

void choose_target(program *p);            /* target.c: triple, processor, features */
bool has_mask_registers(const program *p); /* masks of one bit per lane; otherwise a mask is a vector of whole lanes */
bool has_half_units(const program *p);     /* 512-bit operations are done as two of 256 bits */
bool has_fused_multiply_add(const program *p);
bool has_slow_gathers(const program *p);  /* gathers are slower than a scalar load for each lane */
bool has_quick_gathers(const program *p); /* gathers and scatters of a whole register are quick */
int register_lanes(const program *p);     /* 32-bit lanes of a vector register */
int vector_registers(const program *p);
void make_machine(program *p);                /* LLVM's target machine, for the processor and the optimisation level */
unsigned masked_alignment(LLVMValueRef call); /* of a gather or scatter */
/* A load or store under a mask; a gather or scatter if `pointers` is a vector. */
LLVMValueRef masked_load(program *p, LLVMBuilderRef b, LLVMTypeRef wide, LLVMValueRef pointers, unsigned align,
                         LLVMValueRef mask);
LLVMValueRef masked_store(program *p, LLVMBuilderRef b, LLVMValueRef lanes, LLVMValueRef pointers, unsigned align,
                          LLVMValueRef mask);
/* Whether the processor has masked loads and stores for elements of this size, */
bool has_masked_access(const program *p, uint64_t bytes);
/* and whether they are as fast as unmasked ones. */
bool has_quick_masked_access(const program *p, uint64_t bytes);

#endif
