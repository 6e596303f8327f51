/* Tiles in shared memory that are read where they came from: what tiles.c, which finds them, affine.c, which knows what
 * addresses are made of, and tiles_rewrite.c, which makes the other code, share; and with rows.c, which does the same for
 * lines. */
#ifndef UNSTAGE_H
#define UNSTAGE_H

#include "mwcc/analysis/simt.h"

enum { MOST_VALUES = 20000 /* looked at, some several times */ };
enum { MOST_TILES = 2, MOST_OPERANDS = 4 /* of what an address is made of */, X = 0, Y = 1, AXES = 2, NEITHER = -1 };

typedef struct tile {
  LLVMValueRef array, store, load; /* the variable; what a thread puts there, and where that is from */
  int axes[2];                     /* by dimension: which id is the index */
  LLVMValueRef read;               /* the one of the inner loop; `counted` is the id for which it has k */
  int counted;
} tile;

typedef struct tile_loop {
  program *p;
  LLVMValueRef function;
  int *patience; /* how many values may still be looked at: what takes more is left as it is */
  LLVMBasicBlockRef before, head, inner, latch, behind;
  LLVMValueRef barrier;                                 /* one of the loop's */
  LLVMValueRef counter, counter_first, counter_next, k; /* of tiles, and in one */
  int64_t step, rounds;                                 /* of the counter, and of k */
  bool from_zero; /* both count from 0 on, and what they count together is a positive number of 32 bits */
  tile tiles[MOST_TILES];
  int tile_count;
  LLVMValueRef outer_sum, inner_sum, sum_next; /* phis, and what a round of the inner loop makes */
} tile_loop;

static inline bool is_in_loop(const tile_loop *t, LLVMValueRef instruction) {
  LLVMBasicBlockRef at = LLVMGetInstructionParent(instruction);
  return at == t->head || at == t->inner || at == t->latch;
}

/* What a phi of two is from the block, or from elsewhere. */
LLVMValueRef incoming_value(LLVMValueRef phi, LLVMBasicBlockRef block, bool from_there);
/* The value that the latch hands on, behind the phi with one incoming value that it may go through. */
LLVMValueRef through_latch(const tile_loop *t, LLVMValueRef value);
/* Whether nobody but that read needs the address of a tile's element. */
bool is_place_of_read(const tile_loop *t, LLVMValueRef address);

/* Whether all threads take the same way from the kernel's start to the block, and on from there. */
bool all_come(const tile_loop *t, LLVMBasicBlockRef block);
/* Whether a way leads from the block to the loop. */
bool reaches_loop(const tile_loop *t, LLVMBasicBlockRef from);
/* Whether an instruction outside of the loop has nothing to do with what happens in it: stores are all behind it. */
bool is_apart(const tile_loop *t, LLVMValueRef i);
LLVMValueRef shared_variable(LLVMValueRef address);  /* that it is the address of; or NULL */
bool mentions_shared(LLVMValueRef value, int depth); /* whether a constant is, or is made of, a shared variable */
bool is_plain(LLVMValueRef access);                  /* neither volatile nor atomic */
bool is_plain_barrier(LLVMValueRef i);               /* __syncthreads() itself */

/* ---- rows.c ---- */

/* Where there is such a loop it notes that (p->few_pays) and, for grids of few blocks, changes it. Whether it did. */
bool read_lines_in_place(program *p, kernel *k);

/* ---- affine.c ---- */

bool is_operation(LLVMValueRef value, LLVMOpcode opcode);
bool is_addition(LLVMValueRef value); /* or what is one, as no bit is set in both numbers */
LLVMValueRef unextended(LLVMValueRef value);
int axis_of(LLVMValueRef value); /* of which threadIdx it is, perhaps extended; or NEITHER */

/* Whether all threads have the same, of a block or of all blocks: what is made of parameters, constants and registers. */
bool is_common(const tile_loop *t, LLVMValueRef value);
bool is_common_to_grid(const tile_loop *t, LLVMValueRef value);

/* Whether the value is so much more for the thread to the right. */
bool grows_along_x(const tile_loop *t, LLVMValueRef value, uint64_t by);
/* Whether as many more of the id as there are rounds count as one more step of the counter: so the value is the same where the
   counter is what it was at first and the id counts on, in arithmetic that wraps, too. */
bool follows_on(const tile_loop *t, LLVMValueRef value, int axis);
/* The same of the value and of all that is extended in it. */
bool all_follow_on(const tile_loop *t, LLVMValueRef value, int axis);

/* ---- tiles_rewrite.c ---- */

void make_one_loop(tile_loop *t); /* of both, and behind it a barrier */

#endif
