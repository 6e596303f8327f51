/* Speculative shapes (multiversioning): indices that are affine in most gangs though not in all, since they are
 * clamped to an edge or flipped by an exclusive or.
 *
 * `min(max(x + i, 0), width - 1)` is x + i except at the edges, and `i ^ distance` is affine like i where distance
 * is a multiple of the gang's size. Neither can be proved. So each gang tests it once at its start, for all such
 * values together, and runs a speculative path if the test succeeds. There the values are affine: loads through them
 * are contiguous, and comparisons with them are uniform.
 *
 * Invariant: the test uses only values that are known at the start, that is, made from ids, parameters and constants
 * by operations that cannot trap (is_known_at_start). */
#include "mwcc/widen/widen.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 24, DEPTH = 8, LONG_STEP = 1 << 20, MUCH_CODE = TUNE_SPECULATIVE_CODE };

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

/* Operations that can be executed anywhere: none traps. */
static bool is_simple(LLVMValueRef i) {
  return is_integer_operation(i) || LLVMIsAICmpInst(i) || LLVMIsASelectInst(i) || is_extreme(i);
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

/* ---- the shapes that are speculated on ---- */

typedef struct search {
  const graph *g;
  const shapes *shapes;
  given list[MOST];
  int count;
} search;

static bool is_varying_instruction(const search *s, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && shape_of(s->shapes, value).kind == SHAPE_VARYING;
}

static bool speculate(search *s, LLVMValueRef value, shape found) {
  for (int i = 0; i < s->count; i++)
    if (s->list[i].value == value) return true;
  if (s->count == MOST) return false;
  s->list[s->count++] = (given){value, found};
  return true;
}

/* The shape of a value on the assumption that every clamp in it returns its first operand that differs between lanes.
   */
static bool assumed_shape(search *s, LLVMValueRef value, int depth, shape *out);

static bool assumed_shape_of_clamp(search *s, LLVMValueRef i, int depth, shape *out) {
  unsigned first = LLVMIsASelectInst(i) ? 1 : 0;
  shape found = {0}, other;
  bool parted = false;
  if (!is_known_at_start(i, DEPTH)) return false;
  for (unsigned n = first; n < first + 2; n++) {
    if (!assumed_shape(s, LLVMGetOperand(i, n), depth - 1, &other)) return false;
    if (!found.stride && !found.step) found = other;
    parted = parted || other.kind == SHAPE_VECTOR_AFFINE;
  }
  *out = (shape){.kind = SHAPE_AFFINE, .stride = found.stride, .step = found.step, .no_wrap = true};
  if (parted) out->kind = SHAPE_VECTOR_AFFINE, out->step = 0;
  bool small = llabs(found.stride) < LONG_STEP && llabs(found.step) < LONG_STEP;
  return found.stride != 0 && small && LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && speculate(s, i, *out);
}

static bool assumed_shape(search *s, LLVMValueRef value, int depth, shape *out) {
  shape a, b;
  *out = (shape){0};
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
  case LLVMZExt:
  case LLVMTrunc: return assumed_shape(s, LLVMGetOperand(value, 0), depth - 1, out);
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMSelect: return assumed_shape_of_clamp(s, value, depth, out);
  default: return is_extreme(value) && assumed_shape_of_clamp(s, value, depth, out);
  }
}

/* Collect the varying indices of an address; all of them or none. */
static void collect_indices(search *s, LLVMValueRef address) {
  int before = s->count;
  shape found;
  if (!is_varying_instruction(s, address) || !LLVMIsAGetElementPtrInst(address)) return;
  for (int n = 1; n < LLVMGetNumOperands(address); n++)
    if (is_varying_instruction(s, LLVMGetOperand(address, (unsigned)n)) &&
        !assumed_shape(s, LLVMGetOperand(address, (unsigned)n), DEPTH, &found))
      s->count = before;
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

bool find_speculation(const graph *g, const order *o, const shapes *s, speculation *out) {
  search found = {.g = g, .shapes = s};
  *out = (speculation){0};
  if (!has_pass(g->program, PASS_SPECULATIVE_SHAPES)) return false;
  bool whole = s->cut.kind == CUT_ROWS || s->cut.kind == CUT_PLANE; /* the test reads all lanes */
  if (!whole || s->cut.lanes == 1 || has_barrier(g) || g->value_count * s->cut.vectors > MUCH_CODE) return false;
  for (int i = 0; i < g->value_count; i++) {
    LLVMValueRef address = address_of(g->values[i]);
    if (address) collect_indices(&found, address);
  }
  if (!found.count) return false;
  out->shapes = shapes_given(g, o, s->cut, found.list, found.count, s);
  if (!is_better(&found, &out->shapes)) {
    shapes_free(&out->shapes);
    return false;
  }
  out->list = mw_alloc((size_t)found.count * sizeof *out->list);
  memcpy(out->list, found.list, (size_t)found.count * sizeof *out->list);
  out->count = found.count;
  return true;
}

void free_speculation(speculation *x) {
  if (x->count) shapes_free(&x->shapes);
  free(x->list);
  *x = (speculation){0};
}

/* ---- the run-time test ---- */

static void compute(widener *w, LLVMValueRef value, mask m) {
  if (!LLVMIsAInstruction(value)) return;
  widened *k = widened_of(w, value);
  if (k->local.of[0] && k->node_stamp == w->stamp) return;
  int count = is_id(value) ? 0 : is_extreme(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++) compute(w, LLVMGetOperand(value, (unsigned)n), m);
  w->widen(w, value, m);
}

/* ---- by scalars ---- Where the shape of the clamped or flipped operand is known, lane 0 and the last lane decide for
   all lanes, and no vectors are needed. Where vectors are rows and columns of a block, each vector is tested. */

typedef struct shape_test {
  widener *w;
  const speculation *x;
  mask m;
  int vector; /* the vector that is tested; 0 where the test covers all */
} shape_test;

static bool is_speculated(const speculation *x, LLVMValueRef value) {
  for (int i = 0; i < x->count; i++)
    if (x->list[i].value == value) return true;
  return false;
}

/* +1: the lesser of two signed numbers, -1: the greater, 0: neither. */
static int extreme_sign(LLVMValueRef value) {
  const char *name = is_extreme(value) ? callee_name(value) + 5 : "";
  return starts_with(name, "smin.") ? 1 : starts_with(name, "smax.") ? -1 : 0;
}

/* Split the operands into the one that differs between lanes and the one that is uniform. */
static bool split(const widener *w, LLVMValueRef value, LLVMValueRef *counting, LLVMValueRef *common) {
  for (unsigned n = 0; n < 2; n++) {
    *counting = LLVMGetOperand(value, n), *common = LLVMGetOperand(value, 1 - n);
    if (is_uniform(w, *common) && !is_uniform(w, *counting)) return true;
  }
  return false;
}

/* Lane 0's number, provided that the value has its speculated shape; NULL: only its vectors show that. */
static LLVMValueRef assumed_lane0(const shape_test *l, LLVMValueRef value) {
  LLVMValueRef counting, common;
  if (is_affine(l->w, value) || is_vector_affine(l->w, value)) {
    compute(l->w, value, l->m);
    return vector_scalar(l->w, value, l->vector);
  }
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : LLVMRet;
  bool moved = opcode == LLVMAdd || opcode == LLVMSub;
  if (!moved && (!is_speculated(l->x, value) || !extreme_sign(value))) return NULL;
  if (!split(l->w, value, &counting, &common) || (opcode == LLVMSub && counting != LLVMGetOperand(value, 0)))
    return NULL;
  LLVMValueRef first = assumed_lane0(l, counting);
  if (!first || !moved) return first;
  compute(l->w, common, l->m);
  return LLVMBuildBinOp(l->w->b, opcode, first, value_scalar(l->w, common), "");
}

/* The distance from lane 0 to the lane with the greatest number (sign 1) or the least (-1). */
static int64_t farthest(const widener *w, const shape *s, int sign) {
  /* vectors that are tested one by one have no step */
  int64_t along = s->stride * (w->width - 1), across = s->step * (w->vectors - 1), far = 0;
  if (along * sign > 0) far += along;
  if (across * sign > 0) far += across;
  return far;
}

/* Whether no lane is clamped: the lane that is farthest on the bound's side is not. Numbers near 0 do not wrap. */
static LLVMValueRef clamps_no_lane(const shape_test *l, const shape *s, int sign, LLVMValueRef first,
                                   LLVMValueRef bound) {
  LLVMValueRef far = LLVMConstInt(LLVMTypeOf(first), (uint64_t)farthest(l->w, s, sign), 1);
  far = LLVMBuildAdd(l->w->b, first, far, "");
  return LLVMBuildICmp(l->w->b, sign > 0 ? LLVMIntSLE : LLVMIntSGE, far, bound, "");
}

/* `i ^ bits`, where i is affine with stride 1 and starts at a multiple of the gang's size, is affine if and only if
   bits has none of the bits in which lanes differ. */
static LLVMValueRef flips_no_lane(const shape_test *l, LLVMValueRef counting, LLVMValueRef bits) {
  widener *w = l->w;
  shape s = shape_of(w->shapes, counting);
  uint64_t size = (uint64_t)w->width * (uint64_t)w->vectors;
  if (!is_affine(w, counting) || s.stride != 1 || (w->vectors > 1 && s.step != w->width)) return NULL;
  if ((size & (size - 1)) != 0 || s.align > 31 || ((uint64_t)1 << s.align) < size) return NULL;
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMValueRef low = LLVMBuildAnd(w->b, bits, LLVMConstInt(type, size - 1, 0), "");
  return LLVMBuildICmp(w->b, LLVMIntEQ, low, LLVMConstNull(type), "");
}

/* Whether the value has its speculated shape, and lane 0's number in *first; NULL: see assumed_lane0. */
static LLVMValueRef test_by_scalars(const shape_test *l, LLVMValueRef value, const shape *s, LLVMValueRef *first) {
  LLVMValueRef counting, common;
  bool flips = LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMXor;
  int sign = extreme_sign(value);
  if ((!flips && !sign) || !split(l->w, value, &counting, &common)) return NULL;
  LLVMValueRef from = assumed_lane0(l, counting), found = NULL;
  if (!from) return NULL;
  compute(l->w, common, l->m);
  LLVMValueRef other = value_scalar(l->w, common);
  if (flips)
    found = flips_no_lane(l, counting, other);
  else
    found = clamps_no_lane(l, s, sign, from, other);
  *first = flips ? LLVMBuildXor(l->w->b, from, other, "") : from;
  return found;
}

/* ---- by vectors ---- */

static LLVMValueRef test_by_vectors(const shape_test *l, LLVMValueRef value, const shape *s, LLVMValueRef *first) {
  widener *w = l->w;
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef same = NULL;
  compute(w, value, l->m);
  vectors lanes = value_vectors(w, value);
  *first = LLVMBuildExtractElement(w->b, lanes.of[l->vector], constant_i32(w->p, 0), "");
  int end = s->kind == SHAPE_VECTOR_AFFINE ? l->vector + 1 : w->vectors;
  for (int u = l->vector; u < end; u++) {
    LLVMValueRef distance = LLVMConstInt(type, (uint64_t)(u * s->step), 1);
    LLVMValueRef follow = splat(w, LLVMBuildAdd(w->b, *first, distance, ""));
    follow = LLVMBuildAdd(w->b, follow, lane_steps(w, type, s->stride), "");
    LLVMValueRef here = LLVMBuildICmp(w->b, LLVMIntEQ, lanes.of[u], follow, "");
    same = same ? LLVMBuildAnd(w->b, same, here, "") : here;
  }
  return same;
}

static LLVMValueRef both(widener *w, LLVMValueRef a, LLVMValueRef b) { return a ? LLVMBuildAnd(w->b, a, b, "") : b; }

/* Test that a value, or a vector of it, has its speculated shape and does not wrap: lane 0's number must be as small
   as vector_shape.c assumes. Tests by scalars are joined to *all, those by vectors to *lanes. */
static void test_value(const shape_test *l, const given *value, LLVMValueRef *all, LLVMValueRef *lanes) {
  widener *w = l->w;
  LLVMTypeRef type = LLVMTypeOf(value->value);
  LLVMValueRef first = NULL, follows = test_by_scalars(l, value->value, &value->shape, &first);
  if (follows)
    *all = both(w, *all, follows);
  else
    *lanes = both(w, *lanes, test_by_vectors(l, value->value, &value->shape, &first));
  LLVMValueRef above = LLVMBuildAdd(w->b, first, LLVMConstInt(type, BOUND_EXTENT, 0), "");
  LLVMValueRef small = LLVMBuildICmp(w->b, LLVMIntULE, above, LLVMConstInt(type, 2 * (uint64_t)BOUND_EXTENT, 0), "");
  *all = both(w, *all, small);
}

LLVMValueRef build_shape_test(widener *w, const speculation *x) {
  /* As if under a mask: a value may be undefined where the program would not have computed it. */
  shape_test l = {w, x, {.lanes = mask_vectors(w, (mask){.all = true})}, 0};
  LLVMValueRef lanes = NULL, all = NULL;
  for (int i = 0; i < x->count; i++) {
    int count = x->list[i].shape.kind == SHAPE_VECTOR_AFFINE ? w->vectors : 1;
    for (l.vector = 0; l.vector < count; l.vector++) test_value(&l, &x->list[i], &all, &lanes);
  }
  if (lanes) {
    LLVMValueRef word = mask_word(w, lanes);
    all = both(w, all, LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), ""));
  }
  return LLVMBuildFreeze(w->b, all, "");
}

LLVMValueRef unclamped_operand(const widener *w, LLVMValueRef value) {
  LLVMValueRef counting, common;
  if (!w->speculated || !extreme_sign(value) || !is_speculated(w->speculated, value)) return NULL;
  if (!split(w, value, &counting, &common)) return NULL;
  bool affine = is_affine(w, value) && is_affine(w, counting),
       parted = is_vector_affine(w, value) && is_vector_affine(w, counting);
  return affine || parted ? counting : NULL;
}

LLVMValueRef unclamped_base(const widener *w, LLVMValueRef value, int at, int64_t *distance) {
  LLVMValueRef from = value, inner = unclamped_operand(w, value);
  int64_t all = 0;
  while (inner) { /* the clamped operand is often a sum with a constant */
    from = inner;
    inner = unclamped_operand(w, from);
    if (inner || !LLVMIsAInstruction(from) || LLVMGetInstructionOpcode(from) != LLVMAdd) continue;
    LLVMValueRef step = LLVMGetOperand(from, 1);
    if (!LLVMIsAConstantInt(step) || llabs(LLVMConstIntGetSExtValue(step)) >= LONG_STEP) continue;
    all += LLVMConstIntGetSExtValue(step);
    inner = LLVMGetOperand(from, 0);
  }
  bool at_hand = !LLVMIsAInstruction(from) || graph_node_of(w->g, from) == at || is_in_slot(w, from);
  if (!at_hand || is_varying(w, from)) return value;
  *distance += all;
  return from;
}
