/* Questions about instructions, functions and blocks. */
#ifndef MWCC_ANALYSIS_ANALYSIS_H
#define MWCC_ANALYSIS_ANALYSIS_H

#include "mwcc/mwcc.h"

const warp_call *find_warp_call(const char *name); /* or NULL */
/* Whether the built-in tells, or depends on, which threads form a warp. */
bool is_warp_call(const char *name);
/* A load or store that lanes may count on to come one after the other: of volatile shared memory. */
bool is_warp_access(LLVMValueRef instruction);
/* Whether threads that get to the instruction have to wait for others of their warp. */
bool waits_for_warp(LLVMValueRef instruction);
/* What threads call that wait for others of their block in a loop (cuda::barrier): until word & mask is not the value. */
bool is_turn(const char *name);
/* A barrier for so many of a block's threads, waiting or not. */
bool is_named_barrier(const char *name);
/* A wait for a phase of a cuda::barrier; and what is left of them, as loops (barrier_wait.c). */
bool is_block_wait(LLVMValueRef instruction);
bool takes_vectors(LLVMValueRef f); /* a function that such calls became */
bool is_cold_helper(LLVMValueRef function);
bool is_cold_call(LLVMValueRef call); /* a call of one: arithmetic of its arguments */
bool meets_other_blocks(
    LLVMValueRef instruction); /* block_independence.c: a block may learn there how far others are */
/* Whether a call through a pointer may reach the function. */
bool has_address_taken(LLVMValueRef function);
/* Whether it is to be run one thread after the other and does little but gather. */
bool is_sparse_loop(const program *p, const kernel *k);
bool is_variant(const kernel *k, LLVMValueRef function); /* one of its SIMD ones, or what such a one calls */
unsigned block_size(const program *p, char axis);        /* of all launches, by 'x', 'y' or 'z'; 0: not known */
/* How a block of that size is cut into gangs of up to so many vectors. */
cut cut_block(const unsigned block[3], int lanes, int together);
/* Whether the function's first parameters are the frame and the worker, rather than the thread. */
bool is_entry(const program *p, LLVMValueRef function);

#endif
