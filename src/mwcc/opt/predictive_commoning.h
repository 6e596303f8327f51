/* Predictive commoning: a loop's values by number. Shared by predictive_commoning.c, which numbers them, and
 * commoned_loop_unroll.c, which schedules and emits them as straight code. */
#ifndef PREDICTIVE_COMMONING_H
#define PREDICTIVE_COMMONING_H

#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "opt.h"

enum { NONE = -1 }; /* no item */

/* A value of one iteration, or of several. */
typedef struct item {
  LLVMTypeRef type;
  LLVMValueRef outside; /* a value from outside of the loop; else NULL */
  LLVMValueRef like;    /* the instruction that it is a copy of */
  int base;             /* neither: an integer, this item (NONE: 0) plus a distance */
  int64_t distance;
  int second;                           /* instead of a distance: this item, counted from 1 */
  int first, count;                     /* its operands, from `operands` */
  unsigned align;                       /* of a load */
  bool heavy;                           /* a vector that is loaded, or made from such */
  bool root;                            /* used after the loop */
  int users, user_count, pending, left; /* heavy items that use it; operands not yet placed; uses not yet placed */
  bool reloadable;                      /* a scalar from memory, or its splat: can be loaded again */
  bool pinned;                          /* a splat that stays in a register */
  bool prefetched;                      /* a row that has been prefetched for later blocks */
  LLVMValueRef made;
  int epoch; /* the epoch that it was made in, if it is not pinned */
} item;

typedef struct commoning {
  program *p;
  LLVMBasicBlockRef block, before, exit;
  LLVMValueRef *body; /* its instructions, without the branch */
  size_t body_count, iterations;
  int *inside, *first_inside; /* by operand: the instruction of the loop that it is, or NONE */
  int *known;                 /* by iteration and instruction: its item */
  item *items;
  int count;
  int *operands, operand_count;
  int *table; /* of items, by hash */
  int *users; /* of heavy items */
  int *placed, placed_count;
  bool fails;
  int alive; /* heavy items that are live at once, at most */
  int pins, epoch, in_epoch;
  LLVMValueRef base, opaque; /* a pointer, and its opaque copy in this epoch */
  LLVMBuilderRef b;
} commoning;

static inline bool is_vector_load(LLVMValueRef i) { return LLVMIsALoadInst(i) && is_vector_type(LLVMTypeOf(i)); }

/* commoned_loop_unroll.c: replace the loop, whose iterations are numbered, by straight code. */
void unroll_commoned(commoning *l);

#endif
