/* Indices that follow on in most gangs, though not in all: clamped to an edge, or flipped by an exclusive or.
 *
 * `min(max(x + i, 0), width - 1)` is x + i but at the edges, and `i ^ distance` counts up like i where distance is a multiple
 * of what a gang has. That cannot be proved; so each gang looks, at its start and once for all such values, and has code of
 * its own where it is so: with shapes in which they are affine, loads by them are contiguous, and comparisons of them with
 * others of their kind are alike for all lanes.
 *
 * What is looked at must be known at the start: made from ids, parameters and constants alone. */
#include "widen.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24, DEPTH = 8, LONG_STEP = 1 << 20, MUCH_CODE = 2400 /* instructions, times parts */ };

/* ---- what is known at the start ---- */

static bool is_extreme(LLVMValueRef call) {
  const char *name = LLVMIsACallInst(call) ? callee_name(call) : "";
  return strncmp(name, "llvm.", 5) == 0 && (strncmp(name + 6, "min.", 4) == 0 || strncmp(name + 6, "max.", 4) == 0);
}

static bool is_id(LLVMValueRef call) {
  static const char prefix[] = "llvm.nvvm.read.ptx.sreg.";
  const char *name = LLVMIsACallInst(call) ? callee_name(call) : "";
  if (!starts_with(name, prefix)) return false;
  name += sizeof prefix - 1;
  return starts_with(name, "tid.") || starts_with(name, "ctaid.") || starts_with(name, "ntid.") ||
         starts_with(name, "nctaid.");
}

/* Operations that can be done anywhere: none traps. */
static bool is_simple(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMLShr:
  case LLVMAShr:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc:
  case LLVMICmp:
  case LLVMSelect: return true;
  default: return is_extreme(i);
  }
}

static bool is_known_at_start(LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return LLVMIsAConstant(value) || LLVMIsAArgument(value);
  if (is_id(value)) return true;
  if (depth == 0 || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind || !is_simple(value)) return false;
  int count = is_extreme(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++)
    if (!is_known_at_start(LLVMGetOperand(value, (unsigned)n), depth - 1)) return false;
  return true;
}

/* ---- what is expected of it ---- */

typedef struct search {
  const graph *g;
  const shapes *shapes;
  given list[MOST];
  int count;
} search;

static bool differs(const search *s, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(s->shapes, value).kind == SHAPE_VARYING;
}

static bool expect(search *s, LLVMValueRef value, shape found) {
  for (int i = 0; i < s->count; i++)
    if (s->list[i].value == value) return true;
  if (s->count == MOST) return false;
  s->list[s->count++] = (given){value, found};
  return true;
}

/* How a value counts up from lane to lane if all clamps in it let their first operand through that differs by lane. */
static bool look_at(search *s, LLVMValueRef value, int depth, shape *out);

static bool look_at_clamp(search *s, LLVMValueRef i, int depth, shape *out) {
  unsigned first = LLVMIsASelectInst(i) ? 1 : 0;
  shape found = {0}, other;
  if (!is_known_at_start(i, DEPTH)) return false;
  for (unsigned n = first; n < first + 2; n++) {
    if (!look_at(s, LLVMGetOperand(i, n), depth - 1, &other)) return false;
    if (!found.stride && !found.step) found = other;
  }
  *out = (shape){.kind = SHAPE_AFFINE, .stride = found.stride, .step = found.step, .no_wrap = true};
  bool small = llabs(found.stride) < LONG_STEP && llabs(found.step) < LONG_STEP;
  return found.stride != 0 && small && LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && expect(s, i, *out);
}

static bool look_at(search *s, LLVMValueRef value, int depth, shape *out) {
  shape a, b;
  *out = (shape){0};
  if (!differs(s, value)) {
    if (LLVMIsAInstruction(value)) *out = shape_of(s->shapes, value);
    return out->kind <= SHAPE_PARTED;
  }
  if (depth == 0 || LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind) return false;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd:
  case LLVMSub: {
    int64_t sign = LLVMGetInstructionOpcode(value) == LLVMSub ? -1 : 1;
    if (!look_at(s, LLVMGetOperand(value, 0), depth - 1, &a) || !look_at(s, LLVMGetOperand(value, 1), depth - 1, &b))
      return false;
    out->stride = a.stride + sign * b.stride, out->step = a.step + sign * b.step;
    return true;
  }
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc: return look_at(s, LLVMGetOperand(value, 0), depth - 1, out);
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSelect: return look_at_clamp(s, value, depth, out);
  default: return is_extreme(value) && look_at_clamp(s, value, depth, out);
  }
}

/* The indices of an address that differ in all its lanes. */
static void look_at_address(search *s, LLVMValueRef address) {
  int before = s->count;
  shape found;
  if (!differs(s, address) || !LLVMIsAGetElementPtrInst(address)) return;
  for (int n = 1; n < LLVMGetNumOperands(address); n++)
    if (differs(s, LLVMGetOperand(address, (unsigned)n)) &&
        !look_at(s, LLVMGetOperand(address, (unsigned)n), DEPTH, &found))
      s->count = before;
}

static LLVMValueRef address_of(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return LLVMGetOperand(i, 0);
  return LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 1) : NULL;
}

static bool is_better(const search *s, const shapes *with) {
  for (int i = 0; i < s->g->value_count; i++) {
    LLVMValueRef address = address_of(s->g->values[i]);
    if (address && differs(s, address) && shape_of(with, address).kind != SHAPE_VARYING) return true;
  }
  return false;
}

static bool has_barrier(const graph *g) {
  for (int n = 0; n < g->count; n++)
    if (g->nodes[n].barrier) return true;
  return false;
}

bool find_expected(const graph *g, const order *o, const shapes *s, expectation *out) {
  search found = {.g = g, .shapes = s};
  *out = (expectation){0};
  bool whole = s->cut.kind == CUT_ROWS || s->cut.kind == CUT_PLANE; /* all lanes are there to be looked at */
  if (!whole || s->cut.lanes == 1 || has_barrier(g) || g->value_count * s->cut.parts > MUCH_CODE) return false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef address = address_of(g->values[i]);
    if (address) look_at_address(&found, address);
  }
  if (!found.count) return false;
  out->shapes = shapes_given(g, o, s->cut, found.list, found.count);
  if (!is_better(&found, &out->shapes)) {
    shapes_free(&out->shapes);
    return false;
  }
  out->list = mw_alloc((size_t)found.count * sizeof *out->list);
  memcpy(out->list, found.list, (size_t)found.count * sizeof *out->list);
  out->count = found.count;
  return true;
}

void forget_expected(expectation *x) {
  if (x->count) shapes_free(&x->shapes);
  free(x->list);
  *x = (expectation){0};
}

/* ---- looking ---- */

static void compute(widener *w, LLVMValueRef value, mask m) {
  if (!LLVMIsAInstruction(value)) return;
  kept *k = kept_of(w, value);
  if (k->local.of[0] && k->node_stamp == w->stamp) return;
  int count = is_id(value) ? 0 : is_extreme(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++) compute(w, LLVMGetOperand(value, (unsigned)n), m);
  widen_instruction(w, value, m);
}

LLVMValueRef is_as_expected(widener *w, const expectation *x) {
  /* as under a mask: a value may be undefined where nobody would have computed it */
  mask m = {.lanes = mask_vectors(w, (mask){.all = true})};
  LLVMValueRef same = NULL, near = NULL;
  for (int i = 0; i < x->count; i++) {
    LLVMValueRef value = x->list[i].value;
    LLVMTypeRef type = LLVMTypeOf(value);
    compute(w, value, m);
    parts lanes = value_vectors(w, value);
    LLVMValueRef first = LLVMBuildExtractElement(w->b, lanes.of[0], constant_i32(w->p, 0), "");
    /* and does not wrap: lane 0's number is as small as shape.c takes it to be */
    LLVMValueRef above = LLVMBuildAdd(w->b, first, LLVMConstInt(type, BOUND_EXTENT, 0), "");
    LLVMValueRef small = LLVMBuildICmp(w->b, LLVMIntULE, above, LLVMConstInt(type, 2 * (uint64_t)BOUND_EXTENT, 0), "");
    near = near ? LLVMBuildAnd(w->b, near, small, "") : small;
    for (int u = 0; u < w->parts; u++) {
      LLVMValueRef distance = LLVMConstInt(type, (uint64_t)(u * x->list[i].shape.step), 1);
      LLVMValueRef follow = splat(w, LLVMBuildAdd(w->b, first, distance, ""));
      follow = LLVMBuildAdd(w->b, follow, lane_steps(w, type, x->list[i].shape.stride), "");
      LLVMValueRef here = LLVMBuildICmp(w->b, LLVMIntEQ, lanes.of[u], follow, "");
      same = same ? LLVMBuildAnd(w->b, same, here, "") : here;
    }
  }
  LLVMValueRef word = mask_word(w, same);
  LLVMValueRef all = LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), "");
  return LLVMBuildFreeze(w->b, LLVMBuildAnd(w->b, all, near, ""), "");
}
