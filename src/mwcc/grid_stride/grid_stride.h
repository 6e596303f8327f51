/* Grid-stride loops of kernels that are compiled for one block size:
 *
 *   int i = blockIdx.x * blockDim.x + threadIdx.x;
 *   if (i < end) do …; while ((i += gridDim.x * blockDim.x) < end);
 *
 * A block that runs its whole loop strides through memory by the size of the grid. This room makes the loop over
 * blocks the inner one, so that neighbouring blocks read neighbouring memory:
 *
 *   match.c                 recognises the loop
 *   interchange.c           loop interchange: the body becomes one iteration, if nothing is carried between iterations
 *   parallel_iterations.c   DOALL: iterations that are independent are shared out among workers like blocks
 *   reduction_state.c       strip-mining: the body becomes a few iterations, and what it carries is saved in between
 *   shared_privatization.c  of strip-mined loops: a copy of shared memory for each block of the strip
 *   atomic_privatization.c  of strip-mined loops: atomic sums of a strip's blocks, added once
 *
 * Here the body of the kernel is rewritten, as scalar code. The loops around it are made by
 * widen/flow/grid_stride_loop.c. */
#ifndef GRID_LOOP_H
#define GRID_LOOP_H

#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/footprint.h"
#include "mwcc/target/tuning.h"

/* The guard branches to `before`, the preheader, or to `after`, past the loop. The latch branches to the header or to
   `exit`; the loop has no other exit. */
typedef struct grid_loop {
  /* The instructions from here to the guard, in its block, may be computed again. NULL: so may all that precede the
     guard. */
  LLVMValueRef repeat_from;
  LLVMValueRef guard, count, first, next, end; /* count: phi of first and next; end: the bound it is compared with */
  LLVMBasicBlockRef before, header, latch, exit, after;
  LLVMBasicBlockRef *blocks; /* of the loop */
  size_t block_count;
  bool is_signed;
} grid_loop;

/* Find the kernel's grid-stride loop; only if what is computed right before it is cheap enough to be repeated for each
   iteration. */
bool find_grid_loop(const program *p, const kernel *k, grid_loop *out);
/* Match the same loop again, by its guard, after the function was changed. */
bool read_grid_loop(const program *p, const kernel *k, grid_loop *l);
bool is_in_grid_loop(const grid_loop *l, LLVMBasicBlockRef block);
/* Whether the block leads to the function's return without any other instruction. */
bool only_returns(LLVMBasicBlockRef block);
/* The target of the block's unconditional branch; else NULL. */
LLVMBasicBlockRef only_successor(LLVMBasicBlockRef block);

/* Whether the instruction may be computed again: arithmetic, and loads of parameters. */
bool is_repeatable(LLVMValueRef instruction);
/* A copy of the value and its operands in another function, where `parameter` supplies what stands for an argument. */
LLVMValueRef repeat_value(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef (*parameter)(void *, LLVMValueRef),
                          void *context);
/* The number of an instruction's operands, without the callee of a call. */
unsigned count_operands(LLVMValueRef instruction);
enum { MOST_OPERANDS = 16 /* of an instruction that is repeated */ };

/* ---- interchange.c ---- */

/* The number of elements (one for each thread of the grid and iteration) that earlier iterations have covered, in the
   count's type; and the number at the end of the iterations that this call of the body runs. */
LLVMValueRef elements_done(program *p, LLVMBuilderRef b, const grid_loop *l);
LLVMValueRef elements_limit(program *p, LLVMBuilderRef b, const grid_loop *l);
/* The thread's count in the first iteration that this call of the body runs. */
LLVMValueRef first_count(program *p, LLVMBuilderRef b, const grid_loop *l);
/* Erase the value if it is unused, and the operands that become unused by that. */
void erase_unused(LLVMValueRef v);

/* ---- parallel_iterations.c ---- */

/* Record the footprints of a kernel whose iterations may be independent; before the body becomes one iteration. */
void find_parallel_iterations(const program *p, kernel *k, const grid_loop *l);
/* Build the function that computes, at a launch, how many iterations there are; before the body is deleted. */
void build_iteration_count(program *p, kernel *k);

/* ---- reduction_state.c ---- */

enum { STRIP_ITERATIONS = TUNE_STRIP_ITERATIONS };
/* The number of blocks of a strip if each saves so many bytes. */
uint32_t blocks_per_strip(uint64_t bytes);
/* Make the body a strip of iterations, and save what it carries from one strip to the next. False: the loop does not
   allow it. */
bool strip_mine_reduction(program *p, kernel *k, grid_loop *l);

/* ---- atomic_privatization.c ---- */

/* In a strip-mined kernel: accumulate what its blocks add to the same addresses, to be added once for all of them. */
void privatize_atomics(program *p, kernel *k);

/* ---- shared_privatization.c ---- */

/* Run the code before the loop in a block's first strip only, for blocks each of which has its own shared memory.
   False: the kernel does not allow it. */
bool privatize_shared(program *p, kernel *k, const grid_loop *l);
/* The address in shared memory that the instruction loads, stores or updates; or NULL. */
LLVMValueRef shared_operand(LLVMValueRef instruction);
/* the number of copies of the block's shared memory that fit into the budget */
uint32_t private_shared_blocks(const kernel *k);

#endif
