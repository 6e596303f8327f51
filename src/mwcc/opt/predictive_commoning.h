/* Loops whose rounds load in part the same: what predictive_commoning.c, which numbers their values, and commoned_loop_unroll.c, which puts them in
 * order, share. */
#ifndef OVERLAP_H
#define OVERLAP_H

#include "mwcc/analysis/simt.h"
#include "opt.h"

enum { NONE = -1 }; /* no item */

/* A value of one round, or of several. */
typedef struct item {
  LLVMTypeRef type;
  LLVMValueRef outside; /* not of the loop; else NULL */
  LLVMValueRef like;    /* the instruction that it is a copy of */
  int base;             /* neither: a whole number, this item (NONE: 0) and a distance */
  int64_t distance;
  int second;                           /* instead of a distance: this item, counted from 1 */
  int first, count;                     /* its operands, from `operands` */
  unsigned align;                       /* of a load */
  bool heavy;                           /* a vector from memory, or made from one */
  bool root;                            /* used behind the loop */
  int users, user_count, pending, left; /* heavy ones that use it; operands to come; uses to come */
  bool again;                           /* a number from memory, or lanes that all have one: can be loaded once more */
  bool pinned;                          /* such lanes that stay in a register */
  bool asked;                           /* a row: what blocks to come load of it was asked for */
  LLVMValueRef made;
  int epoch; /* in which it was made, where it is not pinned */
} item;

typedef struct unfolding {
  program *p;
  LLVMBasicBlockRef block, before, exit;
  LLVMValueRef *body; /* its instructions, without the branch */
  size_t body_count, rounds;
  int *inside, *first_inside; /* operands: which instruction of the loop each is, or NONE */
  int *known;                 /* by round and instruction: its item */
  item *items;
  int count;
  int *operands, operand_count;
  int *table; /* of items, by hash */
  int *users; /* of heavy items */
  int *placed, placed_count;
  bool fails;
  int alive; /* heavy items at once, at most */
  int pins, epoch, in_epoch;
  LLVMValueRef base, opaque; /* a pointer, and what stands for it in this epoch */
  LLVMBuilderRef b;
} unfolding;

static inline bool is_vector_load(LLVMValueRef i) {
  return LLVMIsALoadInst(i) && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind;
}

/* commoned_loop_unroll.c: straight code instead of the loop, whose rounds are numbered. */
void unfold_loop(unfolding *l);

#endif
