/* What the files of the shape analysis share.
 *
 *   sync_dependence.c            where lanes that part at a branch, or leave a loop one by one, meet again
 *   vector_shape.c            the rounds: values and divergent branches, until nothing changes
 *   vector_shape_transfer.c   the shape of one instruction from those of its operands
 *   vector_shape_integer.c    ... of integer arithmetic, comparisons and casts
 *   vector_shape_lattice.c       what is known without looking at code, and what all results have in common */
#ifndef SHAPE_H
#define SHAPE_H

#include "mwcc/analysis/value_range.h"

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
  unsigned char *left;   /* by loop: lanes (SHAPE_VARYING) or gangs (SHAPE_GANG, _RACED) leave it one by one */
  bool *out_of_step;     /* by loop: in a data race, gangs may be in different rounds between the same barriers */
  bool *given;           /* by number: what the caller knows */
  unsigned char *parted; /* by node: how badly its branch parts them, as far as followed */
};

/* ---- sync_dependence.c ---- */

/* Both lists grow; the caller frees them. `left`: loops that some lanes leave in a round in which others do not. */
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
/* The same question about a part by itself, whose views are those of a gang of one part; and its answer about a gang, of
   which each part has its own. */
shapes look_at_parts(const shapes *s);
view of_parts(view v);
shape join_shapes(shape a, shape b);
/* The last touch of every result: strides of 0 and impossible ones, alignment, what the range of the value proves. */
view settle(const shapes *s, LLVMValueRef instruction, view v);
/* A number as one of the width, sign-extended. */
int64_t cut_to_width(wide number, unsigned width);
/* Whether lanes from base on lie in one aligned piece of 2^align: then no sum carries out of its low bits. */
bool in_one_piece(const shapes *s, shape a, unsigned align);
/* Between which numbers l * stride + u * step lies. */
typedef struct span {
  wide low, high;
} span;
span span_of(const shapes *s, shape a);
/* Whether base, computed back from an active lane that lies in r, is a number of the width, too. */
bool base_fits(const shapes *s, range r, shape a, unsigned width);

/* ---- vector_shape_integer.c ---- */

/* Operands not all uniform: the views of both, `at` the node. */
view binary_shape(const shapes *s, LLVMValueRef i, int at, view a, view b);
view compare_shape(const shapes *s, LLVMValueRef i, view a, view b);
view cast_shape(const shapes *s, LLVMValueRef i, int at, view a);
/* The alignment of a uniform result. */
unsigned uniform_align(LLVMValueRef i, view a, view b);

/* ---- vector_shape_transfer.c ---- */

/* No phi, and no instruction without a value. */
view transfer_shape(const shapes *s, LLVMValueRef instruction, int at);

#endif
