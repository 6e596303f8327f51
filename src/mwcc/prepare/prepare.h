/* Passes that bring kernels into normal form, and decisions about whole kernels.
 *
 *   helper_cse.c, cold_helpers.c        before inlining: equal calls of helpers; helpers that stay out of line
 *   retarget.c                          from the device target to the host's
 *   launch_specialization.c             --launch: one kernel, for one block size (function specialisation)
 *   canonicalize.c                      the normal form that the analyses need (analysis/simt.h)
 *   barrier_loop_unroll.c               which loops with barriers are unrolled
 *   nested_division.c                   quotients by products from quotients by factors
 *   contraction.c                       fused multiply-adds
 *   tier_selection.c                    how each kernel's threads run
 *   block_merge.c                       two adjacent blocks as one (thread-block merge)
 *   scalar_promotion.c                  accumulators in memory become registers (LICM)
 *   boolean_phis.c                      flags of threads become conditions
 *   addresses/                          addresses.h: alias analysis, wider indices, merged loads of bytes
 *
 * Instrumentation:
 *
 *   bounds_check.c                      --check-memory (AddressSanitizer)
 *   race_screen.c                       --checks: which kernels are screened for races
 *   values/                             --checks: uninitialised values (MemorySanitizer)
 *   observe/
 *     watch_markers.c, watch_sites.c    --observe: calls at accesses, barriers and branches (SASSI, NVBit)
 *     predication.c                     --observe: short branches, which nvcc predicates
 *     step_markers.c                    --observe=step: calls at source lines
 *
 * Before: clang's code, as it was read. After: normal form. */
#ifndef MWCC_PREPARE_PREPARE_H
#define MWCC_PREPARE_PREPARE_H

#include "mwcc/mwcc.h"
#include "mwcc/prepare/addresses/addresses.h"

void retarget(program *p);
/* Define the functions that vtables name for pure virtual ones: they trap. */
void define_pure_virtual(program *p);
void mark_pure_helpers(program *p); /* before anything is inlined; helper_cse.c */
/* cold_helpers.c: before anything is inlined, and after widening. */
void mark_cold_helpers(program *p);
void inline_cold(program *p);
bool merge_pure_calls(program *p); /* after all other calls are inlined; true: values have been promoted to registers */
void nest_divisions(program *p);   /* nested_division.c */
void contract(program *p);         /* contraction.c */
void yield_in_polls(program *p);   /* poll_loops.c */
void choose_tiers(program *p);
void keep_launched(program *p); /* removes all kernels but the one to launch */
void fix_block(program *p);     /* makes blockDim a constant; for grids of one block all ids but threadIdx */
void merge_blocks(program *p);  /* block_merge.c: two adjacent blocks of a row as one, if that pays */
bool is_grid_index(const program *p, LLVMValueRef i); /* blockIdx.x * blockDim.x + threadIdx.x (block_merge.c) */
/* Whether adjacent blocks of a row may run as one: they are independent, and know of their ids only that sum. */
bool is_blind_to_blocks(const program *p, const kernel *k);
void drop_scalar_code(program *p); /* deletes the kernel's code for single threads, which no launch runs */
void check_memory(program *p);
void check_members(program *p); /* before LLVM simplifies indices */
/* "syncscope(\"block\")" of an atomic: LLVM's C interface has no name of a scope. */
bool is_block_scope(LLVMValueRef atomic);
/* race_screen.c: decides which kernels are screened, and the arrays whose accesses they note; whether an access is
   noted. */
void choose_screened(program *p);
bool is_noted(const program *p, LLVMValueRef access, const accessed *o);
bool are_reads_noted(const program *p, LLVMValueRef access, const accessed *o); /* so stores note what they read */
bool is_event_of_values(LLVMValueRef call);                                     /* MW_CHECK_UNWRITTEN */
void mark_watched(program *p);                                                  /* watch_markers.c */
void mark_steps(program *p);                                                    /* step_markers.c */
void keep_calls(program *p);
void check_values(program *p);    /* value_check.c */
void promote_scalars(program *p); /* scalar_promotion.c */
void narrow_flags(program *p);    /* boolean_phis.c */

#endif
