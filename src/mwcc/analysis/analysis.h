/* Predicates of instructions, functions and blocks, for all later rooms. simt.h is the manual of the room and lists the
 * analyses.
 *
 *   ir_predicates.c, warp_builtins.c   what an instruction or a call does
 *   trip_count.c                       facts about loops
 *   block_independence.c               whether blocks may run in any order
 *   footprint.c                        the array elements that a kernel accesses
 *   gang_cut.c                         how a block is cut into gangs */
#ifndef MWCC_ANALYSIS_ANALYSIS_H
#define MWCC_ANALYSIS_ANALYSIS_H

#include "mwcc/mwcc.h"

const warp_call *find_warp_call(const char *name); /* or NULL */
/* Whether the built-in's result or effect depends on which threads form a warp. */
bool is_warp_call(const char *name);
/* A load or store of volatile shared memory, on whose order the lanes of a warp may rely. */
bool is_warp_access(LLVMValueRef instruction);
/* Whether threads wait for others of their warp at the instruction. */
bool waits_for_warp(LLVMValueRef instruction);
/* The built-in by which threads of a block wait for others in a loop (cuda::barrier): until word & mask differs from
   the value. */
bool is_word_wait(const char *name);
/* A barrier for a given number of a block's threads: to arrive at, or to wait at. */
bool is_named_barrier(const char *name);
/* A wait for a phase of a cuda::barrier. Those that are not treated as barriers become loops (barrier_wait.c). */
bool is_block_wait(LLVMValueRef instruction);
bool takes_vectors(LLVMValueRef f); /* the variant of a cold helper that takes vectors */
/* Whether it is code of a kernel in lanes, once that is marked by this attribute (codegen/lane_code.c). */
#define LANE_CODE "mw.lanes"
bool is_lane_code(const program *p, LLVMValueRef f);
bool is_cold_helper(LLVMValueRef function);
bool is_cold_call(LLVMValueRef call); /* a call of one */
/* Whether a block may observe the progress of others there: block_independence.c. */
bool observes_other_blocks(LLVMValueRef instruction);
/* Whether a call through a pointer may reach the function. */
bool has_address_taken(LLVMValueRef function);
/* Whether the kernel is run one thread after the other and consists mainly of gathers. */
bool is_sparse_loop(const program *p, const kernel *k);
bool is_variant(const kernel *k, LLVMValueRef function); /* a SIMD variant of it, or the fallback of one */
unsigned block_size(const program *p, char axis);        /* of all launches, by 'x', 'y' or 'z'; 0: not known */
/* How a block of that size is cut into gangs of up to `together` vectors. */
cut cut_block(const unsigned block[3], int lanes, int together);
/* Whether the function's first parameters are the frame and the worker, rather than the thread. */
bool is_entry(const program *p, LLVMValueRef function);

#endif
