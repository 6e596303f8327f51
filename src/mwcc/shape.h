/* What the files of the shape analysis share.
 *
 *   joins.c            where lanes that part at a branch, or leave a loop one by one, meet again
 *   shape.c            the rounds: values and divergent branches, until nothing changes
 *   shape_transfer.c   the shape of one instruction from those of its operands */
#ifndef SHAPE_H
#define SHAPE_H

#include "simt.h"

/* A shape, and for affine integers whose lanes do not wrap where lane 0's number lies, be that lane active or not. For
   uniform integers the range of the value. */
typedef struct view {
  shape shape;
  range base;
} view;

struct shape_table {
  ranges ranges;
  view *of;              /* by number */
  unsigned char *join;   /* by node: its phis are at least this (a shape_kind), unless all edges bring the same value */
  unsigned char *left;   /* by loop: lanes (SHAPE_VARYING) or gangs (SHAPE_GANG) leave it one by one */
  bool *given;         /* by number: what the caller knows */
  unsigned char *parted; /* by node: how badly its branch parts them, as far as followed */
};

/* ---- joins.c ---- */

/* Both lists grow; the caller frees them. `left`: loops that some lanes leave in a round in which others do not. */
typedef struct joins {
  int *nodes, node_count;
  int *left, left_count;
} joins;
void joins_of_branch(const graph *g, const order *o, int at, joins *out);
void joins_of_loop(const graph *g, const order *o, int which, joins *out);

/* ---- shape_transfer.c ---- */

view view_of(const shapes *s, LLVMValueRef value);
/* No phi, and no instruction without a value. */
view transfer_shape(const shapes *s, LLVMValueRef instruction, int at);
/* The parts that phis need too. */
shape join_shapes(shape a, shape b);
view settle(const shapes *s, LLVMValueRef instruction, view v);

#endif
