/* The processor that code is for, and accesses under masks. */
#ifndef MWCC_TARGET_TARGET_H
#define MWCC_TARGET_TARGET_H

#include "mwcc/mwcc.h"

void choose_target(program *p);            /* target.c: triple, processor, features */
bool has_mask_registers(const program *p); /* a bit a lane; else a mask is a vector of whole lanes */
bool has_half_units(const program *p);     /* that work on registers of 512 bits in two steps */
bool gathers_singly(const program *p);     /* its gathers are slower than a load a lane */
int register_lanes(const program *p);      /* numbers of 32 bits in a vector register */
int vector_registers(const program *p);
void make_machine(program *p);                /* for the processor and the level asked for */
unsigned masked_alignment(LLVMValueRef call); /* of a gather or scatter */
LLVMValueRef masked_load(program *p, LLVMBuilderRef b, LLVMTypeRef wide, LLVMValueRef pointers, unsigned align,
                         LLVMValueRef mask);
void masked_store(program *p, LLVMBuilderRef b, LLVMValueRef lanes, LLVMValueRef pointers, unsigned align,
                  LLVMValueRef mask);
/* Whether the processor has instructions that load and store some elements, of so many bytes, of a vector; and such as are no
   slower than others. */
bool has_masked_access(const program *p, uint64_t bytes);
bool has_quick_masked_access(const program *p, uint64_t bytes);

#endif
