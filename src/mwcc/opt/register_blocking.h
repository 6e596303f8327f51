/* Register blocking, as its files share it: a loop whose accumulators are divided into groups that fit into registers.
 * register_blocking.c has the transformation, register_blocking_groups.c chooses the groups, and
 * register_blocking_reroll.c finds out whether the groups after the first can be one loop. */
#ifndef REGISTER_BLOCKING_H
#define REGISTER_BLOCKING_H

#include "mwcc/analysis/simt.h"
#include "opt.h"

enum {
  MOST_CARRIED = 64,
  MOST_GROUPS = 16,
  /* accumulators of a group: each needs a scalar of its own row, whose address takes a general register */
  MOST_ROWS = 8,
  MOST_OPERANDS = 8,
  MOST_LIVE_INS = 64, /* live-in values of a group */
  NONE = -1
};

/* One group: the accumulators of the set `carried`, in a loop of their own. */
typedef struct group {
  uint64_t carried;
  LLVMBasicBlockRef before, loop; /* accumulators are loaded in `before` and carried around `loop` */
  LLVMValueRef iteration;         /* iteration of the strip: 0, 1, … */
  LLVMValueRef *made;             /* by instruction of the original loop: its copy here */
} group;

/* A live-in of the second group, and what each later group has in its place. */
typedef struct live_in {
  LLVMValueRef of[MOST_GROUPS]; /* by group, from the second on */
  bool differs;
  LLVMValueRef memory, now; /* the array of all of them; the current group's */
} live_in;

/* Groups from the second on that do the same with other live-ins. */
typedef struct reroll {
  bool all;
  int first, each; /* the first accumulator of the second group, and how many each group has */
  live_in values[MOST_LIVE_INS];
  int count;
  LLVMValueRef vectors, which; /* the accumulators' array; the number of the current group, from 0 on */
} reroll;

typedef struct blocking {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  LLVMBasicBlockRef block, before, exit;
  LLVMValueRef *items; /* the loop's instructions, its phis first and its branch last */
  int count, phi_count;
  int carried[MOST_CARRIED], carried_count; /* the accumulators: phis that are vectors */
  uint64_t *needed;                         /* by instruction: the set of accumulators that it is computed for */
  LLVMValueRef memory[MOST_CARRIED];        /* by accumulator: its place between groups */
  /* by phi: a scalar at the beginning of a strip, and after its iterations */
  LLVMValueRef *begins, *continues;
  LLVMValueRef *buffers; /* by instruction: the buffer that it is left in; NULL: none */
  group list[MOST_GROUPS];
  int group_count;
  uint64_t strip;
  reroll reroll;
} blocking;

static inline uint64_t bit(int n) { return (uint64_t)1 << n; }

/* ---- register_blocking.c ---- */

int item_of(const blocking *t, LLVMValueRef value); /* the value's number in the loop, or NONE */
LLVMValueRef next_of(const blocking *t, int phi);   /* the value of the phi in the next iteration */
/* Memory on the stack; the builder is at the function's beginning. */
LLVMValueRef new_memory(const blocking *t, LLVMTypeRef type);

/* ---- register_blocking_groups.c ---- */

int registers_of_type(const program *p, LLVMTypeRef type); /* the number of registers that a value takes */
/* Choose as few groups as possible; false where one is enough or too many would be needed. */
bool choose_groups(blocking *t);
int first_group(const blocking *t, int item); /* the first group that needs it */
/* The buffers, and the number of iterations for which they suffice; false if too few. */
bool choose_strip(blocking *t);

/* ---- register_blocking_reroll.c ---- */

/* Whether all groups from the second on do the same with other live-ins: then they can be one loop. */
bool find_reroll(blocking *t);
/* The arrays of live-ins: allocated at the function's beginning, filled where all of them are known. */
void make_live_in_arrays(blocking *t);
void fill_live_in_arrays(blocking *t);
/* Load a group's live-ins, in the block before its iterations. */
void load_live_ins(blocking *t);
/* The current group's value of a live-in. */
LLVMValueRef live_in_now(const blocking *t, LLVMValueRef value);

#endif
