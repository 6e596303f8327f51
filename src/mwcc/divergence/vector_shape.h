/* Divergence analysis: the shape of each value across the lanes of a gang (LLVM: UniformityAnalysis; vecz: stride
 * analysis), and which branches are divergent. This is the manual of the analysis, and what its files share.
 *
 *   vector_shape.c                     the fixpoint over values and branches
 *   vector_shape_transfer.c            the shape of an instruction from those of its operands
 *   vector_shape_integer.c             the same for integer arithmetic, comparisons and casts
 *   vector_shape_lattice.c             the lattice: initial shapes, and the join of two shapes
 *   sync_dependence.c                  where lanes that diverge at a branch, or leave a loop in different
 *                                      iterations, reconverge
 *   linearization.h and .c             the order and masks in which divergent control flow runs
 *   address_form.h, access_pattern.h   addresses as linear forms, and accesses at constant distances
 *   row_walk.c                         loads by which lanes walk rows of their own
 *   division_method.h and .c           how lanes divide integers
 *   cost_model.c                       how many lanes and vectors a gang has
 *
 * Invariant: during the fixpoint shapes only move down the lattice (uniform, block-uniform, raced, gang-uniform,
 * affine, varying), so it ends. A shape holds for all lanes, active or not, unless a comment says otherwise. */
#ifndef VECTOR_SHAPE_H
#define VECTOR_SHAPE_H

#include "mwcc/analysis/value_range.h"

/* A shape. For affine integers whose lanes do not wrap, also the range of lane 0's number, whether or not lane 0 is
   active; for uniform integers the range of the value. */
typedef struct view {
  shape shape;
  range base;
} view;

struct shape_table {
  ranges ranges;
  view *of;            /* by number */
  unsigned char *join; /* by node: its phis are at least this (a shape_kind), unless all edges have the same value */
  /* by loop: lanes (SHAPE_VARYING) or gangs (SHAPE_GANG, _RACED) leave it in different iterations */
  unsigned char *left;
  bool *out_of_step;       /* by loop: in a data race, gangs may be in different iterations between the same barriers */
  bool *given;             /* by number: given by the caller */
  unsigned char *diverged; /* by node: how far its branch diverges, as propagated so far */
};

/* ---- sync_dependence.c ---- */

/* Both lists grow; the caller frees them. `left`: loops that some lanes leave in an iteration in which others do
   not. */
typedef struct joins {
  int *nodes, node_count;
  int *left, left_count;
} joins;
void joins_of_branch(const graph *g, const order *o, int at, joins *out);
void joins_of_loop(const graph *g, const order *o, int which, joins *out);

/* ---- vector_shape_lattice.c ---- */

enum { EVERY_POWER = 63 }; /* the alignment of 0 */

static const view varying = {.shape = {.kind = SHAPE_VARYING}};
static inline view uniform(shape_kind kind, unsigned align) { return (view){.shape = {.kind = kind, .align = align}}; }
static inline bool is_whole_rows(const shapes *s) { return s->cut.kind == CUT_ROWS || s->cut.kind == CUT_PLANE; }
static inline shape_kind larger(shape_kind a, shape_kind b) { return a > b ? a : b; }
static inline unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }
static inline unsigned power_in(uint64_t number) { return number ? (unsigned)__builtin_ctzll(number) : EVERY_POWER; }
static inline bool is_power_of_two(uint64_t number) { return number && !(number & (number - 1)); }
static inline bool is_pointer(LLVMValueRef value) { return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind; }

view view_of(const shapes *s, LLVMValueRef value);
/* The shapes of a single vector, as if the gang had no other; and such a view as one of the whole gang, in which each
   vector has its own. */
shapes shapes_of_vector(const shapes *s);
view view_of_vectors(view v);
shape join_shapes(shape a, shape b);
/* Normalise a result: strides of 0 and impossible ones, alignment, and what the range of the value proves. */
view settle(const shapes *s, LLVMValueRef instruction, view v);
/* A number truncated to the width, sign-extended. */
int64_t cut_to_width(wide number, unsigned width);
/* Whether the lanes from base on lie in one aligned piece of 2^align: then no sum carries out of its low bits. */
bool in_one_piece(const shapes *s, shape a, unsigned align);
/* The bounds of l * stride + u * step. */
typedef struct span {
  wide low, high;
} span;
span span_of(const shapes *s, shape a);
/* Whether base, computed back from an active lane that lies in r, is also representable in the width. */
bool base_fits(const shapes *s, range r, shape a, unsigned width);

/* ---- vector_shape_integer.c ---- */

/* For operands that are not all uniform: their views, and the node `at`. */
view binary_shape(const shapes *s, LLVMValueRef i, int at, view a, view b);
view compare_shape(const shapes *s, LLVMValueRef i, view a, view b);
view cast_shape(const shapes *s, LLVMValueRef i, int at, view a);
/* The alignment of a uniform result. */
unsigned uniform_align(LLVMValueRef i, view a, view b);

/* ---- vector_shape_transfer.c ---- */

/* The view of an instruction that has a value and is not a phi. */
view transfer_shape(const shapes *s, LLVMValueRef instruction, int at);

#endif
