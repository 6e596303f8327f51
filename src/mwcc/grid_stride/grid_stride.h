/* Grid-stride loops, as interchange.c and reduction_state.c find them in a kernel:
 *
 *   int i = blockIdx.x * blockDim.x + threadIdx.x;
 *   if (i < end) do …; while ((i += gridDim.x * blockDim.x) < end);
 */
#ifndef GRID_LOOP_H
#define GRID_LOOP_H

#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/footprint.h"

/* guard: the branch to `before`, from which the loop is entered, or to `behind`. The latch goes round, or
   to `exit`; there is no other way out of the loop. */
typedef struct grid_loop {
  LLVMValueRef
      again_from; /* in the guard's block: from here on it is arithmetic, before there is more; NULL: there is not */
  LLVMValueRef guard, count, first, next, end; /* count: the phi, of first and next; end: what it has to stay below */
  LLVMBasicBlockRef before, header, latch, exit, behind;
  LLVMBasicBlockRef *blocks; /* of the loop */
  size_t block_count;
  bool is_signed;
} grid_loop;

/* The kernel's loop. What is computed right in front of it is little enough to be done again for each round. */
bool find_grid_loop(const program *p, const kernel *k, grid_loop *out);
/* The same loop again, after changes. */
bool read_grid_loop(const program *p, const kernel *k, grid_loop *l);
/* Whether the block is of the loop. */
bool is_in_grid_loop(const grid_loop *l, LLVMBasicBlockRef block);
/* Whether from there the thread returns and does nothing else. */
bool only_returns(LLVMBasicBlockRef block);
/* Where the block's branch goes that has no condition; else NULL. */
LLVMBasicBlockRef only_successor(LLVMBasicBlockRef block);

/* Whether it can be computed once more: arithmetic, and what of parameters is in memory. */
bool is_repeatable(LLVMValueRef instruction);
/* The same once more, in another function, where its parameters are what `parameter` makes of them. */
LLVMValueRef repeat_value(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef (*parameter)(void *, LLVMValueRef),
                          void *context);
/* An instruction's operands; a call's arguments. */
unsigned count_operands(LLVMValueRef instruction);
enum { MOST_OPERANDS = 16 /* of one that `end` is made of */ };

/* ---- interchange.c ---- */

/* How many threads' worth of elements the rounds before have done, and where those to do now end: in the count's type. */
LLVMValueRef elements_done(program *p, LLVMBuilderRef b, const grid_loop *l);
LLVMValueRef elements_now(program *p, LLVMBuilderRef b, const grid_loop *l);
/* What the thread counts from in the first round to do. */
LLVMValueRef count_from(program *p, LLVMBuilderRef b, const grid_loop *l);
/* The value where nobody needs it, and what only it used. */
void erase_unused(LLVMValueRef v);

/* ---- parallel_iterations.c ---- */

/* Of a kernel that is to be one round: what its rounds reach, if they need nothing of each other. */
void find_free_rounds(const program *p, kernel *k, const grid_loop *l);
/* The function that tells at a launch how many rounds there are; before the body goes. */
void build_free_rounds(program *p, kernel *k);

/* ---- reduction_state.c ---- */

enum { ROUNDS_AT_ONCE = 8 };
/* How many blocks take turns, each of which keeps so many bytes. */
uint32_t blocks_to_keep(uint64_t bytes);
/* Make the kernel do a few rounds at a time, and keep what it carries from round to round. False: it cannot be. */
bool keep_sums(program *p, kernel *k, grid_loop *l);

/* ---- atomic_privatization.c ---- */

/* Of a kernel that does a few rounds at a time: what its blocks add to the same places is added for several of them. */
void keep_adds(program *p, kernel *k);

/* ---- shared_privatization.c ---- */

/* Make what stands before the loop happen before its first rounds alone, in blocks each of which has shared memory of its own.
   False: it cannot be. */
bool start_once(program *p, kernel *k, const grid_loop *l);
/* The address in shared memory that the instruction loads from, stores to or changes; or NULL. */
LLVMValueRef shared_place(LLVMValueRef instruction);
uint32_t blocks_beside(const kernel *k); /* how many blocks' shared memory there may be at a time */

#endif
