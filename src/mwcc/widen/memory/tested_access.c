/* Accesses whose class is tested at run time, since a comparison is much cheaper than a gather.
 *
 * An index that is clamped to an edge, or flipped by an exclusive or, is contiguous in most gangs though not in all.
 * Where it is made by such operations alone, the first of these that all vectors of the gang pass decides:
 *
 *   contiguous   lane l's index is lane 0's plus l: whole vectors. Where 32-bit lanes follow each other, and may only
 *                wrap before they are extended, lane 0's alone is compared
 *   two runs     each lane's index is lane 0's plus l, or the last lane's minus the distance to it, as where one lane is
 *                clamped: two masked loads
 *   near         loads: within two vectors' lengths; stores: lanes that change places in pairs (tested_butterfly.c)
 *   a window     loads: within one vector's length (windowed_gather.c)
 *   otherwise    a gather or scatter
 *
 * Proof. The tests compare the indices of all active lanes with what the access assumes. Pointers are made from the
 * first and the last lane's index, and the tests reject indices so near the limit of their type that one of the other
 * lanes' would wrap before it is extended to 64 bits. Only active lanes are stored. */
#include "memory.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

#include <string.h>

/* ---- which indices ---- */

enum { DEPTH = 8, WORK = 100 };

typedef struct search {
  widener *w;
  tested_index *found;
  int work;
} search;

static bool is_often_affine(search *s, LLVMValueRef value, int depth);

static bool are_often_affine(search *s, LLVMValueRef i, unsigned first, unsigned count, int depth) {
  for (unsigned n = first; n < count; n++)
    if (!is_often_affine(s, LLVMGetOperand(i, n), depth - 1)) return false;
  return true;
}

static bool is_call_often_affine(search *s, LLVMValueRef call, int depth) {
  const char *name = callee_name(call);
  bool extreme = starts_with(name, "llvm.") && (starts_with(name + 6, "min.") || starts_with(name + 6, "max."));
  s->found->clamps = true;
  return extreme && are_often_affine(s, call, 0, 2, depth);
}

/* Whether the value is made from affine and uniform ones alone, by operations that often preserve that. */
static bool is_often_affine(search *s, LLVMValueRef value, int depth) {
  if (!is_varying(s->w, value)) return true;
  if (depth == 0 || s->work++ > WORK || !LLVMIsAInstruction(value)) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMXor: s->found->swaps = true; return are_often_affine(s, value, 0, 2, depth);
  case LLVMAnd:
  case LLVMOr:
  case LLVMAdd:
  case LLVMSub: return are_often_affine(s, value, 0, 2, depth);
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc: return are_often_affine(s, value, 0, 1, depth);
  case LLVMSelect: s->found->clamps = true; return are_often_affine(s, value, 1, 3, depth);
  case LLVMCall: return is_call_often_affine(s, value, depth);
  default: return false;
  }
}

/* An index before it is extended to 64 bits. */
static LLVMValueRef narrow_index(LLVMValueRef index) {
  return LLVMIsASExtInst(index) || LLVMIsAZExtInst(index) ? LLVMGetOperand(index, 0) : index;
}

/* Which tests pay. Where lanes follow each other but for wrapping, only that is tested: of a scalar. Runs are accessed
   under masks, which is slow where there are no mask registers, and are common where lanes are clamped in shared
   memory, since that is so in every block. A gang that failed the test of speculative_shapes.c is not contiguous, and
   where few do, the code for tests is not worth its compile time. */
static void choose_tests(widener *w, const place *at, LLVMTypeRef type, bool one_row, tested_index *x) {
  shape narrow = shape_of(w->shapes, narrow_index(x->index));
  x->follows = (narrow.kind == SHAPE_AFFINE || narrow.kind == SHAPE_VECTOR_AFFINE) && narrow.stride == 1;
  x->contiguous = x->follows;
  if (x->follows) return;
  bool masks = has_quick_masked_access(w->p, LLVMABISizeOfType(w->p->layout, type));
  x->window = x->loads && may_be_window(w, at, type) && !(w->speculation_failed && w->rarely_fails);
  x->runs = x->window && x->clamps && masks && memory_of(at->address) == MEMORY_SHARED && has_pass(w->p, PASS_RUNS);
  /* a volatile load reads what its own lane does, once */
  x->near = one_row && x->swaps && may_be_near(w, type) && !(x->loads && at->is_volatile);
  x->window = x->window && !x->near;
  x->contiguous = !x->window && !w->speculation_failed;
}

/* Whether the lanes of a vector have the same value. Rows of a block's tile differ between vectors alone. */
static bool is_same_in_vectors(const widener *w, LLVMValueRef value) {
  bool known = is_affine(w, value) || is_vector_affine(w, value);
  return is_uniform(w, value) || (known && shape_of(w->shapes, value).stride == 0);
}

/* The type of the element of which the last index alone differs between the lanes of a vector, as of `tile[row][lane]`;
   NULL: others may differ as well. *one_row: the others are the same for the gang. */
static LLVMTypeRef element_of_row(const widener *w, LLVMValueRef gep, bool *one_row) {
  unsigned last = (unsigned)LLVMGetNumIndices(gep);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  *one_row = true;
  for (unsigned n = 0; n < last; n++) {
    LLVMValueRef operand = LLVMGetOperand(gep, n);
    if (!is_same_in_vectors(w, operand)) return NULL;
    *one_row = *one_row && is_uniform(w, operand);
  }
  if (last > 1 && !(LLVMIsAConstantInt(LLVMGetOperand(gep, 1)) && LLVMIsNull(LLVMGetOperand(gep, 1)))) return NULL;
  for (unsigned n = 1; n < last; n++) {
    if (LLVMGetTypeKind(type) != LLVMArrayTypeKind) return NULL;
    type = LLVMGetElementType(type);
  }
  return type;
}

tested_index index_to_test(widener *w, const place *at, LLVMTypeRef type, bool loads) {
  tested_index none = {0}, x = {.loads = loads};
  int64_t distance; /* the same for all lanes */
  LLVMValueRef gep = base_of(w, at->address, &distance);
  bool one_row;
  if (!LLVMIsAGetElementPtrInst(gep) || local_unit(w->g, gep)) return none;
  LLVMTypeRef unit = element_of_row(w, gep, &one_row);
  if (!unit || LLVMABISizeOfType(w->p->layout, unit) != LLVMABISizeOfType(w->p->layout, type)) return none;
  x.index = LLVMGetOperand(gep, (unsigned)LLVMGetNumIndices(gep));
  search s = {w, &x, 0};
  if (!is_varying(w, x.index) || !is_often_affine(&s, x.index, DEPTH)) return none;
  choose_tests(w, at, type, one_row, &x);
  if (!x.contiguous && !x.runs && !x.near && !x.window) return none;
  return is_available(w, at, narrow_index(x.index)) ? x : none;
}

/* ---- the tests ---- */

LLVMValueRef in_every_lane(widener *w, LLVMValueRef lanes) {
  LLVMValueRef word = mask_word(w, lanes);
  return LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
}

LLVMValueRef unless_inactive(widener *w, mask m, int u, LLVMValueRef lanes) {
  return m.all ? lanes : LLVMBuildSelect(w->b, m.lanes.of[u], lanes, LLVMConstAllOnes(LLVMTypeOf(lanes)), "");
}

LLVMValueRef has_room(widener *w, LLVMValueRef index, bool is_unsigned, unsigned lanes) {
  LLVMTypeRef type = LLVMTypeOf(index);
  uint64_t most = (is_unsigned ? UINT64_MAX : (uint64_t)INT64_MAX) >> (64 - LLVMGetIntTypeWidth(type));
  return LLVMBuildICmp(w->b, is_unsigned ? LLVMIntULT : LLVMIntSLT, index, LLVMConstInt(type, most - lanes, 0), "");
}

static LLVMValueRef both(widener *w, LLVMValueRef a, LLVMValueRef b) { return a ? LLVMBuildAnd(w->b, a, b, "") : b; }

/* The two runs of a vector's lanes. */
typedef struct row_runs {
  LLVMValueRef first, last; /* the lanes that follow lane 0, and those that precede the last */
} row_runs;

typedef struct tests {
  row_runs runs[MOST_VECTORS];
  LLVMValueRef contiguous, two_runs, near; /* of all vectors; NULL: not tested */
  butterfly pattern[MOST_VECTORS];
} tests;

/* The element of `starts` (each lane's index minus its number) for that lane: the start of its run. */
static LLVMValueRef start_of_run(widener *w, LLVMValueRef starts, int lane) {
  return LLVMBuildExtractElement(w->b, starts, constant_i32(w->p, (unsigned)lane), "");
}

static void test_vector(widener *w, const place *at, const tested_index *x, mask m, int u, tests *t) {
  LLVMValueRef narrow = narrow_index(x->index);
  bool is_unsigned = LLVMIsAZExtInst(x->index) != NULL;
  if (x->follows) {
    LLVMValueRef lane = LLVMBuildFreeze(w->b, vector_scalar(w, narrow, u), "");
    t->contiguous = both(w, t->contiguous, has_room(w, lane, is_unsigned, (unsigned)w->width));
    return;
  }
  /* freeze: an inactive lane may be poison, on which no branch may depend */
  LLVMValueRef lanes = LLVMBuildFreeze(w->b, value_vector(w, narrow, u), "");
  LLVMValueRef starts = LLVMBuildSub(w->b, lanes, lane_numbers(w, LLVMTypeOf(narrow)), "");
  LLVMValueRef first = start_of_run(w, starts, 0);
  LLVMValueRef follow = LLVMBuildICmp(w->b, LLVMIntEQ, starts, splat(w, first), "");
  LLVMValueRef fits = has_room(w, first, is_unsigned, (unsigned)w->width);
  t->runs[u].first = follow;
  LLVMValueRef every = LLVMBuildAnd(w->b, in_every_lane(w, unless_inactive(w, m, u, follow)), fits, "");
  t->contiguous = both(w, t->contiguous, every);
  if (x->runs) {
    LLVMValueRef last = start_of_run(w, starts, w->width - 1);
    t->runs[u].last = LLVMBuildICmp(w->b, LLVMIntEQ, starts, splat(w, last), "");
    /* including inactive lanes: in a loop, masks may change while indices do not */
    LLVMValueRef either = in_every_lane(w, LLVMBuildOr(w->b, follow, t->runs[u].last, ""));
    fits = LLVMBuildAnd(w->b, fits, has_room(w, last, is_unsigned, (unsigned)w->width), "");
    t->two_runs = both(w, t->two_runs, LLVMBuildAnd(w->b, either, fits, ""));
  }
  if (!x->near) return;
  butterfly *near = &t->pattern[u];
  fits = x->loads ? test_near(w, at, lanes, is_unsigned, m, u, near) : test_swap(w, at, lanes, is_unsigned, u, near);
  t->near = both(w, t->near, fits);
}

static LLVMBasicBlockRef new_path(widener *w, const char *name) {
  return LLVMAppendBasicBlockInContext(w->p->context, w->function, name);
}

/* Branch to a new block if the condition holds, and continue there. Returns the other block. */
static LLVMBasicBlockRef continue_if(widener *w, LLVMValueRef condition, const char *name) {
  LLVMBasicBlockRef here = new_path(w, name), other = new_path(w, "anywhere");
  build_likely(w->p, w->b, condition, here, other);
  LLVMPositionBuilderAtEnd(w->b, here);
  return other;
}

static void leave(widener *w, LLVMBasicBlockRef done, LLVMBasicBlockRef next) {
  LLVMBuildBr(w->b, done);
  LLVMPositionBuilderAtEnd(w->b, next);
}

/* ---- two runs ---- */

static LLVMValueRef active_in(widener *w, mask m, int u, LLVMValueRef lanes) {
  return m.all ? lanes : LLVMBuildSelect(w->b, m.lanes.of[u], lanes, LLVMConstNull(LLVMTypeOf(lanes)), "");
}

/* Lane 0's place in the last lane's run. */
static LLVMValueRef start_of_last(widener *w, const place *at, uint64_t bytes, int u) {
  uint64_t back = (uint64_t)-((int64_t)bytes * (w->width - 1));
  return moved(w, pointer_of_lane(w, at, u, w->width - 1), back);
}

static LLVMValueRef only_last(widener *w, const row_runs *r) {
  return LLVMBuildAnd(w->b, r->last, LLVMBuildNot(w->b, r->first, ""), "");
}

static LLVMValueRef load_runs(widener *w, const place *at, LLVMTypeRef wide, mask m, int u, const row_runs *r) {
  uint64_t bytes = LLVMABISizeOfType(w->p->layout, LLVMGetElementType(wide));
  LLVMValueRef first = active_in(w, m, u, r->first), last = active_in(w, m, u, only_last(w, r));
  LLVMValueRef a = masked_load(w->p, w->b, wide, pointer_of_lane(w, at, u, 0), at->align, first);
  LLVMValueRef b = masked_load(w->p, w->b, wide, start_of_last(w, at, bytes, u), at->align, last);
  return LLVMBuildSelect(w->b, r->first, a, b, "");
}

/* ---- all of them ---- */

static vectors first_pointers(widener *w, const place *at) {
  vectors firsts = {0};
  for (int u = 0; u < w->vectors; u++) firsts.of[u] = first_pointer(w, at, u);
  return firsts;
}

static tests test_all(widener *w, const place *at, const tested_index *x, mask m) {
  tests t = {0};
  w->k->tests_runs = w->k->tests_runs || x->runs, w->k->tests_near = w->k->tests_near || x->near;
  need_pointers(w, at);
  for (int u = 0; u < w->vectors; u++) test_vector(w, at, x, m, u, &t);
  return t;
}

vectors load_tested(widener *w, const place *at, const tested_index *x, LLVMTypeRef wide, mask m) {
  LLVMBasicBlockRef done = new_path(w, "accessed"), other;
  vectors slots = new_slots(w, wide, w->vectors), firsts;
  tests t = test_all(w, at, x, m);
  if (x->contiguous) {
    other = continue_if(w, t.contiguous, "contiguous");
    firsts = first_pointers(w, at);
    store_slots(w, load_following(w, at, wide, &firsts, m, w->vectors), slots, w->vectors);
    leave(w, done, other);
  }
  if (x->runs) {
    other = continue_if(w, t.two_runs, "runs");
    for (int u = 0; u < w->vectors; u++) LLVMBuildStore(w->b, load_runs(w, at, wide, m, u, &t.runs[u]), slots.of[u]);
    leave(w, done, other);
  }
  if (x->near) {
    other = continue_if(w, t.near, "near");
    for (int u = 0; u < w->vectors; u++) LLVMBuildStore(w->b, load_near(w, at, wide, &t.pattern[u]), slots.of[u]);
    leave(w, done, other);
  }
  if (x->window)
    store_slots(w, load_window(w, at, x->index, LLVMGetElementType(wide), m), slots, w->vectors);
  else
    for (int u = 0; u < w->vectors; u++) LLVMBuildStore(w->b, gather(w, at, wide, m, u), slots.of[u]);
  leave(w, done, done);
  return load_slots(w, wide, slots, w->vectors);
}

void store_tested(widener *w, const place *at, const tested_index *x, vectors lanes, mask m) {
  LLVMBasicBlockRef done = new_path(w, "accessed"), other;
  vectors firsts;
  tests t = test_all(w, at, x, m);
  if (x->contiguous) {
    other = continue_if(w, t.contiguous, "contiguous");
    firsts = first_pointers(w, at);
    store_following(w, at, lanes, &firsts, m);
    leave(w, done, other);
  }
  if (x->near) {
    other = continue_if(w, t.near, "near");
    for (int u = 0; u < w->vectors; u++) store_swapped(w, at, lanes.of[u], m, u, &t.pattern[u]);
    leave(w, done, other);
  }
  for (int u = 0; u < w->vectors; u++) scatter(w, at, lanes.of[u], m, u);
  leave(w, done, done);
}
