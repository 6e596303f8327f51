/* Staging elimination ("Grover", ICPP 2014): what a block copies to shared memory and reads back is read where it came
 * from. On a GPU shared memory saves bandwidth; on a CPU the caches do that, and the copies and barriers only cost
 * time.
 *
 *   tiles.c           matches the loop over tiles of a matrix product
 *   tiles_rewrite.c   makes it one loop that reads the matrices
 *   affine.c          the parts of addresses: uniform values, and slopes along ids and counters
 *   rows.c            matches and rewrites the loop over rows (rows.h)
 *   rows_elements.c   matches the elements of rows
 *
 * The rule of both: an element of shared memory holds what the thread with a known id has loaded, so a read of it
 * is that load with the id replaced. Each file states what else has to hold. Only for kernels compiled for one block
 * size. */
#ifndef MWCC_STAGING_H
#define MWCC_STAGING_H

#include "mwcc/analysis/simt.h"

enum { MOST_VALUES = 20000 /* visits of values in the search, a bound on its time */ };
enum { MOST_TILES = 2, MOST_OPERANDS = 4 /* of an instruction in an address */, X = 0, Y = 1, AXES = 2, NEITHER = -1 };

typedef struct tile {
  LLVMValueRef array, store, load; /* the variable; a thread's store to it, and the load that it stores */
  int axes[2];                     /* by dimension: which id is the index */
  LLVMValueRef read;               /* the load in the inner loop; `counted` is the id that k replaces in it */
  int counted;
} tile;

typedef struct tile_loop {
  program *p;
  LLVMValueRef function;
  int *visits_left; /* the number of values that may still be visited; below 0 the loop is left as it is */
  LLVMBasicBlockRef before, head, inner, latch, after;
  LLVMValueRef barrier;                                 /* one of the loop's */
  LLVMValueRef counter, counter_first, counter_next, k; /* counter: of tiles; k: in a tile */
  int64_t step, iterations;                             /* the counter's step, and k's trip count */
  bool from_zero; /* both count from 0, and their sum is a positive number of 32 bits */
  tile tiles[MOST_TILES];
  int tile_count;
  LLVMValueRef outer_sum, inner_sum, sum_next; /* phis, and the inner loop's next value */
} tile_loop;

static inline bool is_in_loop(const tile_loop *t, LLVMValueRef instruction) {
  LLVMBasicBlockRef at = LLVMGetInstructionParent(instruction);
  return at == t->head || at == t->inner || at == t->latch;
}

/* The value that a phi of two takes from the block, or (not from_there) from the other one. */
LLVMValueRef incoming_value(LLVMValueRef phi, LLVMBasicBlockRef block, bool from_there);
/* The value itself, or the only incoming value if it is a phi of the latch (LCSSA). */
LLVMValueRef through_latch(const tile_loop *t, LLVMValueRef value);
/* Whether this is the address of a tile's read, and has no other use. */
bool is_place_of_read(const tile_loop *t, LLVMValueRef address);

/* Whether all threads of the grid take the same path from the kernel's entry to the block, and the same branch at its
   end. */
bool is_uniform_to(const tile_loop *t, LLVMBasicBlockRef block);
/* Whether a path leads from the block to the loop. */
bool reaches_loop(const tile_loop *t, LLVMBasicBlockRef from);
/* Whether an instruction outside of the loop does not affect it: uses no shared variable, and stores only after the
   loop. */
bool is_unrelated(const tile_loop *t, LLVMValueRef i);
LLVMValueRef shared_variable(LLVMValueRef address); /* whose address this is; or NULL */
bool mentions_shared(LLVMValueRef value,
                     int depth);       /* whether a constant is or contains the address of a shared variable */
bool is_plain_barrier(LLVMValueRef i); /* __syncthreads() itself */

/* ---- rows.c ---- */

/* If the kernel has such a loop, sets p->few_pays and, for grids of few blocks, rewrites the loop. True if it was
   rewritten. */
bool eliminate_staged_rows(program *p, kernel *k);

/* ---- affine.c ---- */

bool is_operation(LLVMValueRef value, LLVMOpcode opcode);
bool is_addition(LLVMValueRef value); /* also a disjoint or */
LLVMValueRef unextended(LLVMValueRef value);
int axis_of(LLVMValueRef value); /* the axis if the value is threadIdx, perhaps extended; or NEITHER */

/* Whether the value is uniform in the block, or in the grid: made of parameters, constants and registers. */
bool is_common(const tile_loop *t, LLVMValueRef value);
bool is_common_to_grid(const tile_loop *t, LLVMValueRef value);

/* Whether the value grows by `by` from a thread to the next along x. */
bool grows_along_x(const tile_loop *t, LLVMValueRef value, uint64_t by);
/* Whether adding the trip count of k to the id has the same effect as one step of the counter. Then the value is the
   same if the counter keeps its first value and the id counts on, also in arithmetic that wraps. */
bool steps_match(const tile_loop *t, LLVMValueRef value, int axis);
/* The same for the value and for every extended value in it. */
bool all_steps_match(const tile_loop *t, LLVMValueRef value, int axis);

/* ---- tiles_rewrite.c ---- */

void make_one_loop(tile_loop *t); /* of the two, followed by a barrier */

#endif
