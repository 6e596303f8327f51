/* Speculative shapes (multiversioning): indices that are affine in most gangs but not in all, since they are clamped to
 * an edge, flipped by an exclusive or, or divided.
 *
 * `min(max(x + i, 0), width - 1)` is x + i except at the edges, `i ^ distance` is affine like i where distance is a
 * multiple of the gang's size, and where no row ends within the gang all its lanes have the same `i / width`, so that
 * `i % width` is affine like i. None of this can be proved. So each gang tests it once at its start, for all such
 * values together, and runs a speculative path if the test succeeds. There the values are affine: loads through them
 * are contiguous, and comparisons with them are uniform.
 *
 * This file finds the values; shape_test.c emits the test.
 *
 * Invariant: the test uses only values that are known at the start, that is, made from ids, parameters and constants
 * by operations that cannot trap (is_known_at_start). */
#include "mwcc/divergence/division_method.h"
#include "mwcc/widen/values/shape_test.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24, MOST_SUMS = 64, DEPTH = 40, WORK = 20000, WORK_AT_START = 2000, MUCH_CODE = TUNE_SPECULATIVE_CODE };

/* ---- what is known at the start ---- */

bool is_extreme(LLVMValueRef call) {
  const char *name = LLVMIsACallInst(call) ? callee_name(call) : "";
  return strncmp(name, "llvm.", 5) == 0 && (strncmp(name + 6, "min.", 4) == 0 || strncmp(name + 6, "max.", 4) == 0);
}

bool is_clamped_difference(LLVMValueRef call) {
  return LLVMIsACallInst(call) && starts_with(callee_name(call), "llvm.usub.sat.");
}

/* Operations that can be executed anywhere: none traps. */
static bool is_simple(LLVMValueRef i) {
  return is_integer_operation(i) || LLVMIsAICmpInst(i) || LLVMIsASelectInst(i) || is_extreme(i) ||
         is_clamped_difference(i);
}

/* Whether it divides by a constant, or lanes by one divisor, whatever that is, without a trap (division.c). */
static bool is_common_division(const shapes *s, LLVMValueRef value) {
  if (!is_division(value)) return false;
  LLVMValueRef divisor = LLVMGetOperand(value, 1);
  if (LLVMIsAConstantInt(divisor)) return LLVMConstIntGetSExtValue(divisor) > 0;
  return shape_of(s, value).kind == SHAPE_VARYING && is_uniform_kind(shape_of(s, LLVMGetOperand(value, 1)).kind) &&
         division_of(s, value) != DIVISION_PLAIN;
}

/* `work`: the values that may be visited still, as chains of selections use each value more than once. */
static bool is_made_at_start(const shapes *s, LLVMValueRef value, int depth, int *work) {
  if (!LLVMIsAInstruction(value)) return LLVMIsAConstant(value) || LLVMIsAArgument(value);
  if (is_launch_id(value)) return true;
  if (depth == 0 || --*work < 0 || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind) return false;
  if (!is_simple(value) && !LLVMIsAFreezeInst(value) && !is_common_division(s, value)) return false;
  int count = LLVMIsACallInst(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++)
    if (!is_made_at_start(s, LLVMGetOperand(value, (unsigned)n), depth - 1, work)) return false;
  return true;
}

bool is_known_at_start(const shapes *s, LLVMValueRef value) {
  int work = WORK_AT_START;
  return is_made_at_start(s, value, DEPTH, &work);
}

/* ---- the shapes that are speculated on ---- */

typedef struct search {
  const graph *g;
  const shapes *shapes;
  given list[MOST + MOST_SUMS]; /* MOST at first; then all of the sums that must be tested, as these rely on it */
  int count;
  given sums[MOST_SUMS]; /* numbers that are extended and might wrap: tested unless the others' shapes prove them */
  int sum_count;
  int work;     /* visited values */
  shape *found; /* of each value that has been visited with success; of kind SHAPE_VARYING: not yet */
} search;

static void forget(search *s) {
  for (int i = 0; i < s->g->value_count; i++) s->found[i] = (shape){.kind = SHAPE_VARYING};
}

static search begin_search(const graph *g, const shapes *s) {
  search made = {.g = g, .shapes = s, .found = mw_alloc(((size_t)g->value_count + 1) * sizeof(shape))};
  forget(&made);
  return made;
}

static bool is_varying_instruction(const search *s, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(s->shapes, value).kind == SHAPE_VARYING;
}

static bool add_given(given *list, int *count, int most, LLVMValueRef value, shape found) {
  for (int i = 0; i < *count; i++)
    if (list[i].value == value) return true;
  if (*count == most) return false;
  list[(*count)++] = (given){value, found};
  return true;
}

static bool speculate(search *s, LLVMValueRef value, shape found) {
  return add_given(s->list, &s->count, MOST, value, found);
}

/* The same for all lanes. */
static bool is_uniform_shape(shape a) { return a.kind <= SHAPE_AFFINE && !a.stride && !a.step; }

/* The shape of a value on the assumption that every clamp in it returns its first operand that differs between lanes.
   */
static bool assumed_shape(search *s, LLVMValueRef value, int depth, shape *out);

/* Whether all lanes select the same of two uniform values: proved, or since they compare the same numbers, or
   speculated on. */
static bool assumed_condition(search *s, LLVMValueRef i, int depth) {
  LLVMValueRef condition = LLVMGetOperand(i, 0);
  shape a, b;
  if (!is_varying_instruction(s, condition)) return true;
  if (!LLVMIsAICmpInst(condition)) return false;
  if (!assumed_shape(s, LLVMGetOperand(condition, 0), depth - 1, &a) ||
      !assumed_shape(s, LLVMGetOperand(condition, 1), depth - 1, &b))
    return false;
  if (is_uniform_shape(a) && is_uniform_shape(b)) return true;
  if (a.kind == SHAPE_VECTOR_AFFINE || b.kind == SHAPE_VECTOR_AFFINE) return false;
  return LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && is_known_at_start(s->shapes, i) &&
         speculate(s, i, (shape){.kind = SHAPE_GANG});
}

static bool assumed_shape_of_clamp(search *s, LLVMValueRef i, int depth, shape *out) {
  unsigned first = LLVMIsASelectInst(i) ? 1 : 0;
  shape found = {0}, other;
  bool parted = false;
  for (unsigned n = first; n < first + 2; n++) {
    if (!assumed_shape(s, LLVMGetOperand(i, n), depth - 1, &other)) return false;
    if (!found.stride && !found.step) found = other;
    parted = parted || other.kind == SHAPE_VECTOR_AFFINE;
  }
  *out = (shape){.kind = SHAPE_GANG};
  if (is_uniform_shape(found) && !parted) return !LLVMIsASelectInst(i) || assumed_condition(s, i, depth);
  if (!is_known_at_start(s->shapes, i)) return false;
  *out = (shape){.kind = SHAPE_AFFINE, .stride = found.stride, .step = found.step, .no_wrap = true};
  if (parted) out->kind = SHAPE_VECTOR_AFFINE, out->step = 0;
  bool small = llabs(found.stride) < LONG_STEP && llabs(found.step) < LONG_STEP;
  return found.stride != 0 && small && LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && speculate(s, i, *out);
}

/* A sum may wrap although none of its terms does, and an unsigned number below 0 is a large one: both are tested as
   well. Sums of fewer bits are not, so their extensions are not known to follow each other. */
static bool assumed_shape_of_extension(search *s, LLVMValueRef i, int depth, shape *out) {
  LLVMValueRef sum = LLVMGetOperand(i, 0);
  if (!assumed_shape(s, sum, depth - 1, out)) return false;
  if (out->stride && LLVMGetIntTypeWidth(LLVMTypeOf(sum)) < 32) return false;
  LLVMOpcode opcode = LLVMIsAInstruction(sum) ? LLVMGetInstructionOpcode(sum) : LLVMRet;
  bool adds = opcode == LLVMAdd || opcode == LLVMSub, is_unsigned = LLVMIsAZExtInst(i) && !LLVMGetNNeg(i);
  bool bounded = is_unsigned && is_bounded_sum(s->shapes, i);
  if (!out->stride || (!bounded && !is_known_at_start(s->shapes, sum))) return true;
  if (!is_unsigned && (!adds || LLVMIsAConstant(LLVMGetOperand(sum, 1)))) return true;
  if (llabs(out->stride) >= LONG_STEP || llabs(out->step) >= LONG_STEP) return true;
  bool parted = out->kind == SHAPE_VECTOR_AFFINE;
  shape all = {.kind = parted ? SHAPE_VECTOR_AFFINE : SHAPE_AFFINE, .stride = out->stride, .no_wrap = true};
  if (!parted) all.step = out->step;
  return add_given(s->sums, &s->sum_count, MOST_SUMS, is_unsigned ? i : sum, all);
}

/* A difference that is clamped to 0: as without the clamp. */
static bool assumed_shape_of_difference(search *s, LLVMValueRef i, int depth, shape *out) {
  shape from, by;
  if (!assumed_shape(s, LLVMGetOperand(i, 0), depth - 1, &from) ||
      !assumed_shape(s, LLVMGetOperand(i, 1), depth - 1, &by) || !is_uniform_shape(by))
    return false;
  *out = from;
  if (is_uniform_shape(from)) return true;
  bool small = llabs(from.stride) < LONG_STEP && llabs(from.step) < LONG_STEP;
  out->no_wrap = true, out->kind = from.kind == SHAPE_VECTOR_AFFINE ? from.kind : SHAPE_AFFINE, out->align = 0;
  return small && from.stride && LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && is_known_at_start(s->shapes, i) &&
         speculate(s, i, *out);
}

/* The quotient of all lanes is the same, on the assumption that none is in another row. */
static bool assumed_shape_of_division(search *s, LLVMValueRef i, int depth, shape *out) {
  shape from;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  bool divides = opcode == LLVMUDiv || opcode == LLVMSDiv;
  if (!is_common_division(s->shapes, i)) return false;
  if (!assumed_shape(s, LLVMGetOperand(i, 0), depth - 1, &from)) return false;
  *out = (shape){.kind = SHAPE_GANG};
  if (is_uniform_shape(from)) return true;
  if (!from.stride || llabs(from.stride) >= LONG_STEP || llabs(from.step) >= LONG_STEP) return false;
  if (!is_known_at_start(s->shapes, LLVMGetOperand(i, 0)) || !is_known_at_start(s->shapes, LLVMGetOperand(i, 1)))
    return false;
  bool parted = from.kind == SHAPE_VECTOR_AFFINE;
  if (parted) *out = (shape){.kind = SHAPE_VECTOR_AFFINE};
  if (!divides) *out = (shape){.kind = SHAPE_AFFINE, .stride = from.stride, .step = from.step, .no_wrap = true};
  if (!divides && parted) out->kind = SHAPE_VECTOR_AFFINE, out->step = 0;
  return LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && speculate(s, i, *out);
}

static bool visit(search *s, LLVMValueRef value, int depth, shape *out) {
  shape a, b;
  *out = (shape){0};
  if (s->work++ > WORK) return false;
  if (!is_varying_instruction(s, value)) {
    if (LLVMIsAInstruction(value)) *out = shape_of(s->shapes, value);
    return out->kind <= SHAPE_VECTOR_AFFINE;
  }
  if (depth == 0 || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub: {
    int64_t sign = LLVMGetInstructionOpcode(value) == LLVMSub ? -1 : 1;
    if (!assumed_shape(s, LLVMGetOperand(value, 0), depth - 1, &a) ||
        !assumed_shape(s, LLVMGetOperand(value, 1), depth - 1, &b))
      return false;
    out->stride = a.stride + sign * b.stride, out->step = a.step + sign * b.step;
    if (a.kind == SHAPE_VECTOR_AFFINE || b.kind == SHAPE_VECTOR_AFFINE) out->kind = SHAPE_VECTOR_AFFINE;
    return true;
  }
  case LLVMSExt:
  case LLVMZExt: return assumed_shape_of_extension(s, value, depth, out);
  case LLVMTrunc:
  case LLVMFreeze: return assumed_shape(s, LLVMGetOperand(value, 0), depth - 1, out);
  case LLVMShl:
  case LLVMMul:
    if (!assumed_shape(s, LLVMGetOperand(value, 0), depth - 1, &a) ||
        !assumed_shape(s, LLVMGetOperand(value, 1), depth - 1, &b))
      return false;
    if (!is_uniform_shape(a) && LLVMIsAConstantInt(LLVMGetOperand(value, 1)) && a.stride) {
      int64_t number = LLVMConstIntGetSExtValue(LLVMGetOperand(value, 1));
      bool shifts = LLVMGetInstructionOpcode(value) == LLVMShl;
      if (number <= 0 || number > (shifts ? 16 : 1 << 16)) return false;
      out->kind = a.kind == SHAPE_VECTOR_AFFINE ? a.kind : SHAPE_UNDEFINED;
      out->stride = shifts ? a.stride << number : a.stride * number;
      out->step = shifts ? a.step << number : a.step * number;
      return llabs(out->stride) < LONG_STEP && llabs(out->step) < LONG_STEP;
    }
    return is_uniform_shape(a) && is_uniform_shape(b);
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMURem:
  case LLVMSRem: return assumed_shape_of_division(s, value, depth, out);
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSelect: return assumed_shape_of_clamp(s, value, depth, out);
  default:
    if (is_clamped_difference(value)) return assumed_shape_of_difference(s, value, depth, out);
    return is_extreme(value) && assumed_shape_of_clamp(s, value, depth, out);
  }
}

static bool assumed_shape(search *s, LLVMValueRef value, int depth, shape *out) {
  int n = LLVMIsAInstruction(value) ? graph_number(s->g, value) : -1;
  shape *known = n >= 0 && n < s->g->value_count ? &s->found[n] : NULL;
  if (known && known->kind != SHAPE_VARYING) {
    *out = *known;
    return true;
  }
  bool found = visit(s, value, depth, out);
  if (known && found) *known = *out;
  return found;
}

/* Collect the varying indices of an address; all of them or none. */
static void collect_indices(search *s, LLVMValueRef address) {
  int before = s->count, sums_before = s->sum_count;
  shape found;
  for (; is_varying_instruction(s, address) && LLVMIsAGetElementPtrInst(address); address = LLVMGetOperand(address, 0))
    for (int n = 1; n < LLVMGetNumOperands(address); n++) {
      LLVMValueRef index = LLVMGetOperand(address, (unsigned)n);
      if (!is_varying_instruction(s, index) || assumed_shape(s, index, DEPTH, &found)) continue;
      s->count = before, s->sum_count = sums_before;
      forget(s); /* their shapes were speculated on */
      return;
    }
}

static LLVMValueRef address_of(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return LLVMGetOperand(i, 0);
  return LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
}

static bool is_better(const search *s, const shapes *with) {
  for (int i = 0; i < s->g->value_count; i++) {
    LLVMValueRef address = address_of(s->g->values[i]);
    if (address && is_varying_instruction(s, address) && shape_of(with, address).kind != SHAPE_VARYING) return true;
  }
  return false;
}

static bool has_barrier(const graph *g) {
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier) return true;
  return false;
}

/* Whether the value is affine through all vectors, and scalars can show how many lanes have its speculated shape. */
static bool follows_lanes(const given *x, const cut *c) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(x->value);
  bool counts = c->vectors == 1 || x->shape.step == x->shape.stride * c->lanes;
  return x->shape.kind <= SHAPE_AFFINE && counts && opcode != LLVMXor && opcode != LLVMAnd && opcode != LLVMOr;
}

static void search_all(search *s) {
  for (int i = 0; i < s->g->value_count; i++) {
    LLVMValueRef address = address_of(s->g->values[i]);
    if (address) collect_indices(s, address);
  }
}

/* Whether the extensions of a sum, or an extension itself, need no test of their own: with these shapes no lane wraps. */
static bool is_proved(const shapes *with, LLVMValueRef value) {
  if (LLVMIsAZExtInst(value)) return shape_of(with, value).kind != SHAPE_VARYING;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsASExtInst(user) || LLVMIsAZExtInst(user))
      if (shape_of(with, user).kind == SHAPE_VARYING) return false;
  }
  return true;
}

/* The shapes with all that is speculated on. Sums that the other speculated shapes prove are not tested: every gang runs
   the test, and a stencil has many sums. */
static shapes speculated_shapes(search *found, const order *o, cut c) {
  shapes s = shapes_given(found->g, o, c, found->list, found->count, found->shapes);
  int before = found->count;
  for (int i = 0; i < found->sum_count; i++)
    if (!is_proved(&s, found->sums[i].value))
      add_given(found->list, &found->count, MOST + MOST_SUMS, found->sums[i].value, found->sums[i].shape);
  if (found->count == before) return s;
  shapes_free(&s);
  return shapes_given(found->g, o, c, found->list, found->count, found->shapes);
}

/* False: no access gains. */
static bool speculate_on(search *found, const order *o, cut c, speculation *out) {
  if (!found->count && !found->sum_count) return false;
  out->shapes = speculated_shapes(found, o, c);
  if (!is_better(found, &out->shapes)) {
    shapes_free(&out->shapes);
    return false;
  }
  out->list = mw_alloc((size_t)found->count * sizeof *out->list);
  memcpy(out->list, found->list, (size_t)found->count * sizeof *out->list);
  out->count = found->count;
  for (int i = 0; i < found->count; i++)
    out->divides =
        out->divides || (is_division(out->list[i].value) && !LLVMIsAConstant(LLVMGetOperand(out->list[i].value, 1)));
  return true;
}

static bool returns_at_once(const node *n) {
  return n->returns && LLVMIsAReturnInst(LLVMGetFirstInstruction(n->block));
}

/* Conditions such as `i >= n` that end threads: all lanes of a row compare alike but for the grid's last threads. Then
   the branch is of a scalar, and the row's mask remains. */
static void speculate_on_guards(search *s) {
  for (int n = 0; n < s->g->count; n++) {
    const node *at = &s->g->nodes[n];
    if (at->succ_count != 2 || !LLVMIsABranchInst(at->last) || !LLVMIsConditional(at->last)) continue;
    LLVMValueRef condition = LLVMGetCondition(at->last);
    bool ends = returns_at_once(&s->g->nodes[at->succs[0]]) || returns_at_once(&s->g->nodes[at->succs[1]]);
    shape a, b;
    if (!ends || !is_varying_instruction(s, condition) || !LLVMIsAICmpInst(condition)) continue;
    if (!is_known_at_start(s->shapes, condition)) continue;
    if (!assumed_shape(s, LLVMGetOperand(condition, 0), DEPTH, &a) ||
        !assumed_shape(s, LLVMGetOperand(condition, 1), DEPTH, &b) || is_uniform_shape(a) == is_uniform_shape(b))
      continue;
    speculate(s, condition, (shape){.kind = SHAPE_GANG});
  }
}

/* Gangs in which a row ends can be run row by row. Such a gang may begin at any thread, so other shapes are proved. */
static void speculate_by_rows(const graph *g, const order *o, const shapes *s, speculation *x) {
  cut from = {CUT_ROW, s->cut.lanes, s->cut.vectors, 0};
  if (s->cut.kind != CUT_ROWS || !x->divides || !has_pass(g->program, PASS_ROW_RUNS)) return;
  speculation *rows = mw_alloc(sizeof *rows);
  *rows = (speculation){0};
  x->rows_proved = shapes_given(g, o, from, NULL, 0, s);
  search found = begin_search(g, &x->rows_proved);
  search_all(&found);
  speculate_on_guards(&found);
  free(found.found);
  bool follow = true;
  for (int i = 0; i < found.count; i++) follow = follow && follows_lanes(&found.list[i], &s->cut);
  if (follow && speculate_on(&found, o, from, rows) && rows->divides) {
    x->rows = rows;
    return;
  }
  free_speculation(rows);
  free(rows);
  shapes_free(&x->rows_proved);
}

bool find_speculation(const graph *g, const order *o, const shapes *s, speculation *out) {
  *out = (speculation){0};
  if (!has_pass(g->program, PASS_SPECULATIVE_SHAPES)) return false;
  bool whole = s->cut.kind == CUT_ROWS || s->cut.kind == CUT_PLANE; /* the test reads all lanes */
  if (!whole || s->cut.lanes == 1 || has_barrier(g) || g->value_count * s->cut.vectors > MUCH_CODE) return false;
  search found = begin_search(g, s);
  search_all(&found);
  free(found.found);
  if (!speculate_on(&found, o, s->cut, out)) return false;
  speculate_by_rows(g, o, s, out);
  return true;
}

bool runs_by_rows(const graph *g, const order *o, cut c) {
  bool divides = false;
  for (int i = 0; i < g->value_count; i++)
    divides = divides || (is_division(g->values[i]) && !LLVMIsAConstant(LLVMGetOperand(g->values[i], 1)));
  if (!divides || c.kind != CUT_ROWS) return false;
  shapes s = shapes_of(g, o, c);
  speculation x = {0};
  bool found = find_speculation(g, o, &s, &x) && x.rows;
  free_speculation(&x);
  shapes_free(&s);
  return found;
}

void free_speculation(speculation *x) {
  if (x->rows) {
    free_speculation(x->rows);
    free(x->rows);
    shapes_free(&x->rows_proved);
  }
  if (x->count) shapes_free(&x->shapes);
  free(x->list);
  *x = (speculation){0};
}
