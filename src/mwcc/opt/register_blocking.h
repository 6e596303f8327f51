/* Loops whose vectors take turns in the registers: what register_blocking.c, which makes them, and register_blocking_reroll.c, which finds out
 * whether several can be one loop, share. */
#ifndef TURNS_H
#define TURNS_H

#include "mwcc/analysis/simt.h"
#include "opt.h"

enum {
  MOST_CARRIED = 64,
  MOST_TURNS = 16,
  MOST_OPERANDS = 8,
  MOST_OUTSIDE = 64, /* values that are computed before the loop, in a turn */
  NONE = -1
};

/* One turn: the vectors of the set `carried` in a loop of their own. */
typedef struct turn {
  uint64_t carried;
  LLVMBasicBlockRef before, loop; /* vectors are brought from memory in `before`, and carried around `loop` */
  LLVMValueRef round;             /* of the stretch: 0, 1, … */
  LLVMValueRef *made;             /* by instruction of the old loop: what stands for it here */
} turn;

/* A value from before the loop in the second turn, and what each further turn has in its place. */
typedef struct outside {
  LLVMValueRef of[MOST_TURNS]; /* by turn, from the second on */
  bool differs;
  LLVMValueRef memory, now; /* of all of them; of the turn that runs */
} outside;

/* Turns from the second on that do the same with other values. */
typedef struct alike {
  bool all;
  int first, each; /* the first vector of the second turn, and how many each has */
  outside values[MOST_OUTSIDE];
  int count;
  LLVMValueRef vectors, which; /* memory of all vectors; the turn that runs, from 0 on */
} alike;

typedef struct turns {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  LLVMBasicBlockRef block, before, exit;
  LLVMValueRef *items; /* the loop's instructions, its phis first and its branch last */
  int count, phi_count;
  int carried[MOST_CARRIED], carried_count; /* the phis that are vectors */
  uint64_t *needed;                         /* by instruction: for which of them it is computed */
  LLVMValueRef memory[MOST_CARRIED];        /* where they are between turns */
  LLVMValueRef *begins, *goes_on;           /* by phi: a number at the beginning of a stretch, and behind its rounds */
  LLVMValueRef *buffers;                    /* by instruction; NULL: it is in none */
  turn list[MOST_TURNS];
  int turn_count;
  uint64_t stretch;
  alike alike;
} turns;

/* ---- register_blocking.c ---- */

int item_of(const turns *t, LLVMValueRef value); /* the value's place in the loop, or NONE */
int first_turn(const turns *t, int item);        /* that needs it */
LLVMValueRef next_of(const turns *t, int phi);   /* what a round leaves for the next one */
/* On the stack, where the builder stands: at its function's beginning. */
LLVMValueRef new_memory(const turns *t, LLVMTypeRef type);

/* ---- register_blocking_reroll.c ---- */

/* Whether all turns from the second on do the same with other values: they can be one loop over these. */
bool find_alike(turns *t);
/* The memory that turns find their values in: where the function begins, and where all of them are known. */
void make_alike_memory(turns *t);
void fill_alike_memory(turns *t);
/* In the block before such turns' rounds: their values are loaded. */
void bring_outside(turns *t);
/* What stands for a value from before the loop in the turn that runs. */
LLVMValueRef outside_now(const turns *t, LLVMValueRef value);

#endif
