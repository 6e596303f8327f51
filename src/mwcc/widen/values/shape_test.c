/* The run-time test of speculative_shapes.c: whether a gang, all of whose lanes are active, has the speculated shapes;
 * and the values that clamps then return.
 *
 * Most tests are of scalars. Lane 0's number is computed as the program computes it, and with the known distances of
 * the other lanes, the least or the greatest shows that no lane is clamped, flipped or in another row. */
#include "mwcc/divergence/division_method.h"
#include "mwcc/widen/values/continued_division.h"
#include "mwcc/widen/values/shape_test.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>

enum { MOST_KNOWN = 64 };

void compute_at_start(widener *w, LLVMValueRef value, mask m) {
  if (!LLVMIsAInstruction(value)) return;
  widened *k = widened_of(w, value);
  if (k->local.of[0] && k->node_stamp == w->stamp) return;
  int count = is_launch_id(value) ? 0 : LLVMIsACallInst(value) ? 2 : LLVMGetNumOperands(value);
  for (int n = 0; n < count; n++) compute_at_start(w, LLVMGetOperand(value, (unsigned)n), m);
  w->widen(w, value, m);
}

/* ---- by scalars ---- */

/* If the shape of the clamped or flipped operand is known, lane 0 and the last lane decide for all lanes, and no
   vectors are needed. If vectors are rows and columns of a block, each vector is tested. */

typedef struct shape_test {
  widener *w;
  const speculation *x;
  mask m;
  int vector;          /* the vector that is tested; 0 where the test covers all */
  LLVMValueRef active; /* how many lanes are tested, from lane 0 on (i32); NULL: all */
  struct first {
    LLVMValueRef value, first;
  } known[MOST_KNOWN]; /* lane 0's numbers that have been computed, of that vector */
  int known_count;
} shape_test;

/* How lanes differ in a value that is affine, if it and its operands have their speculated shapes. */
static bool counts_by(shape_test *l, LLVMValueRef value, shape *out) {
  LLVMValueRef counting, common;
  *out = shape_of(l->w->shapes, value);
  if (is_affine(l->w, value) || is_vector_affine(l->w, value)) return true;
  for (int i = 0; i < l->x->count; i++) {
    *out = l->x->list[i].shape;
    if (l->x->list[i].value == value) return true;
  }
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : LLVMRet;
  if (opcode == LLVMFreeze) return counts_by(l, LLVMGetOperand(value, 0), out);
  if ((opcode != LLVMAdd && opcode != LLVMSub) || !split_operands(l->w, value, &counting, &common)) return false;
  return (opcode == LLVMAdd || counting == LLVMGetOperand(value, 0)) && counts_by(l, counting, out);
}

static bool is_signed(LLVMValueRef division) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(division);
  return opcode == LLVMSDiv || opcode == LLVMSRem;
}

/* The quotient or remainder, without a trap where the program would not have divided. */
static LLVMValueRef divided(shape_test *l, LLVMValueRef i, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef continues = continue_division(l->w, i, opcode, a, b);
  if (continues) return continues;
  LLVMTypeRef type = LLVMTypeOf(b);
  LLVMBuilderRef to = l->w->b;
  LLVMValueRef one = LLVMConstInt(type, 1, 0), unsafe = LLVMBuildICmp(to, LLVMIntEQ, b, LLVMConstNull(type), "");
  if (opcode == LLVMSDiv || opcode == LLVMSRem)
    unsafe = LLVMBuildOr(to, unsafe, LLVMBuildICmp(to, LLVMIntEQ, b, LLVMConstAllOnes(type), ""), "");
  b = LLVMBuildFreeze(to, LLVMBuildSelect(to, unsafe, one, b, ""), "");
  return LLVMBuildBinOp(to, opcode, LLVMBuildFreeze(to, a, ""), b, "");
}

/* The divisor of a division that is tested, as a scalar; NULL: lanes have different ones. */
static LLVMValueRef common_divisor(shape_test *l, LLVMValueRef i) {
  LLVMValueRef divisor = LLVMGetOperand(i, 1);
  if (!is_uniform(l->w, divisor)) return NULL;
  compute_at_start(l->w, divisor, l->m);
  return value_scalar(l->w, divisor);
}

/* ---- lane 0 ---- */

/* Lane 0's number, computed from ids and parameters; as if values had their speculated shapes, which are tested as
   well. NULL: it takes operations that scalars do not have. */
static LLVMValueRef first_of(shape_test *l, LLVMValueRef value) {
  LLVMValueRef counting, common, of[3] = {0};
  widener *w = l->w;
  if (!LLVMIsAInstruction(value) || !is_varying(w, value)) {
    compute_at_start(w, value, l->m);
    return vector_scalar(w, value, l->vector);
  }
  for (int i = 0; i < l->known_count; i++)
    if (l->known[i].value == value) return l->known[i].first;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool speculated = is_speculated(l->x, value);
  LLVMValueRef same = opcode == LLVMFreeze ? LLVMGetOperand(value, 0) : NULL, result = NULL;
  if (speculated && extreme_sign(value) && split_operands(w, value, &counting, &common)) same = counting;
  if (same) return first_of(l, same);
  int count = LLVMIsACallInst(value) ? 2 : LLVMGetNumOperands(value);
  bool simple = is_integer_operation(value) || LLVMIsAICmpInst(value) || LLVMIsASelectInst(value) ||
                is_extreme(value) || is_clamped_difference(value) || is_division(value);
  for (int n = 0; n < count && simple; n++) simple = (of[n] = first_of(l, LLVMGetOperand(value, (unsigned)n))) != NULL;
  if (!simple) return NULL;
  LLVMTypeRef type = LLVMTypeOf(value);
  if (is_division(value))
    result = divided(l, value, opcode, of[0], of[1]);
  else if (LLVMIsACallInst(value))
    result = LLVMBuildCall2(w->b, LLVMGetCalledFunctionType(value), LLVMGetCalledValue(value), of, 2, "");
  else if (LLVMIsACastInst(value))
    result = LLVMBuildCast(w->b, opcode, of[0], type, "");
  else if (LLVMIsAICmpInst(value))
    result = LLVMBuildICmp(w->b, LLVMGetICmpPredicate(value), of[0], of[1], "");
  else if (LLVMIsASelectInst(value))
    result = LLVMBuildSelect(w->b, of[0], of[1], of[2], "");
  else
    result = LLVMBuildBinOp(w->b, opcode, of[0], of[1], "");
  if (l->known_count < MOST_KNOWN) l->known[l->known_count++] = (struct first){value, result};
  return result;
}

static LLVMValueRef moved_by(shape_test *l, LLVMValueRef first, int64_t distance) {
  return LLVMBuildAdd(l->w->b, first, LLVMConstInt(LLVMTypeOf(first), (uint64_t)distance, 1), "");
}

/* The number of the lane that has the greatest (sign 1) or the least (-1), from lane 0's. */
static LLVMValueRef farthest(shape_test *l, const shape *s, int sign, LLVMValueRef first) {
  /* vectors that are tested one by one have no step */
  int64_t along = s->stride * (l->w->width - 1), across = s->step * (l->w->vectors - 1), far = 0;
  if (along * sign > 0) far += along;
  if (across * sign > 0) far += across;
  if (!l->active || !far) return moved_by(l, first, far);
  /* vectors follow each other: follows_lanes */
  LLVMTypeRef type = LLVMTypeOf(first);
  LLVMValueRef stride = LLVMConstInt(type, (uint64_t)s->stride, 1);
  LLVMValueRef last = LLVMBuildIntCast2(l->w->b, moved_by(l, l->active, -1), type, 0, "");
  return LLVMBuildAdd(l->w->b, first, LLVMBuildMul(l->w->b, last, stride, ""), "");
}

/* Whether no lane that uses the clamp is clamped: the farthest on the bound's side is not. Numbers near 0 do not wrap. */
static LLVMValueRef clamps_no_lane(shape_test *l, LLVMValueRef clamp, const shape *s, LLVMValueRef counting,
                                   LLVMValueRef first, LLVMValueRef bound) {
  int sign = extreme_sign(clamp);
  LLVMValueRef far = farthest_user(l->w, clamp, counting, sign, farthest(l, s, sign, first));
  return LLVMBuildICmp(l->w->b, sign > 0 ? LLVMIntSLE : LLVMIntSGE, far, bound, "");
}

/* `i ^ bits`, where i is affine with stride 1 and starts at a multiple of the gang's size, is affine if and only if
   bits has none of the bits in which lanes differ. */
static LLVMValueRef flips_no_lane(shape_test *l, LLVMValueRef counting, LLVMValueRef bits) {
  widener *w = l->w;
  shape s = shape_of(w->shapes, counting);
  uint64_t size = (uint64_t)w->width * (uint64_t)w->vectors;
  if (!is_affine(w, counting) || s.stride != 1 || (w->vectors > 1 && s.step != w->width)) return NULL;
  if ((size & (size - 1)) != 0 || s.align > 31 || ((uint64_t)1 << s.align) < size) return NULL;
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMValueRef low = LLVMBuildAnd(w->b, bits, LLVMConstInt(type, size - 1, 0), "");
  return LLVMBuildICmp(w->b, LLVMIntEQ, low, LLVMConstNull(type), "");
}

/* Lane 0's number of the value is so small that no other lane's wraps. */
static LLVMValueRef is_small(shape_test *l, LLVMValueRef value, LLVMValueRef first) {
  if (is_small_natural(l->w, value)) return LLVMConstInt(l->w->p->i1, 1, 0);
  LLVMValueRef limit = LLVMConstInt(LLVMTypeOf(first), 2 * (uint64_t)BOUND_EXTENT, 0);
  return LLVMBuildICmp(l->w->b, LLVMIntULE, moved_by(l, first, BOUND_EXTENT), limit, "");
}

/* All lanes have the same quotient: neither a row of `by` numbers begins nor one ends between them, where none is
   negative. */
static LLVMValueRef test_division(shape_test *l, LLVMValueRef i, LLVMValueRef *first) {
  LLVMBuilderRef b = l->w->b;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i), remainder = opcode;
  if (opcode == LLVMSDiv) remainder = LLVMSRem;
  if (opcode == LLVMUDiv) remainder = LLVMURem;
  shape from;
  LLVMValueRef by = common_divisor(l, i), lane0 = first_of(l, LLVMGetOperand(i, 0));
  if (!by || !lane0 || !counts_by(l, LLVMGetOperand(i, 0), &from)) return NULL;
  LLVMValueRef none = LLVMConstNull(LLVMTypeOf(lane0)), rest = divided(l, i, remainder, lane0, by);
  *first = opcode == remainder ? rest : divided(l, i, opcode, lane0, by);
  /* The tested lanes end with the row: lanes_of_row. */
  if (l->active && from.stride > 0) {
    LLVMValueRef rows = LLVMBuildICmp(b, LLVMIntSGT, by, none, "");
    if (is_small_natural(l->w, LLVMGetOperand(i, 0))) return rows;
    LLVMValueRef natural = LLVMBuildICmp(b, LLVMIntSGE, lane0, none, "");
    return LLVMBuildAnd(b, LLVMBuildAnd(b, natural, is_small(l, LLVMGetOperand(i, 0), lane0), ""), rows, "");
  }
  LLVMValueRef least = farthest(l, &from, -1, rest);
  LLVMValueRef alike = LLVMBuildICmp(b, LLVMIntSLT, farthest(l, &from, 1, rest), by, "");
  if (least != rest) alike = LLVMBuildAnd(b, alike, LLVMBuildICmp(b, LLVMIntSGE, least, none, ""), "");
  alike = LLVMBuildAnd(b, alike, LLVMBuildICmp(b, LLVMIntSGE, lane0, none, ""), "");
  return LLVMBuildAnd(b, alike, is_small(l, LLVMGetOperand(i, 0), lane0), "");
}

/* No lane is negative as a signed number, nor much greater than lane 0. */
static LLVMValueRef test_extension(shape_test *l, LLVMValueRef i, const shape *s, LLVMValueRef *first) {
  LLVMValueRef from = first_of(l, LLVMGetOperand(i, 0));
  if (!from) return NULL;
  LLVMValueRef least = farthest(l, s, -1, from);
  LLVMValueRef positive = LLVMBuildICmp(l->w->b, LLVMIntSGE, least, LLVMConstNull(LLVMTypeOf(least)), "");
  *first = LLVMBuildZExt(l->w->b, from, LLVMTypeOf(i), "");
  return LLVMBuildAnd(l->w->b, positive, is_small(l, LLVMGetOperand(i, 0), from), "");
}

/* No lane is clamped: the least is not. */
static LLVMValueRef test_difference(shape_test *l, LLVMValueRef i, LLVMValueRef *first) {
  LLVMValueRef from = first_of(l, LLVMGetOperand(i, 0)), by = LLVMGetOperand(i, 1);
  shape s;
  if (!from || !is_uniform(l->w, by) || !counts_by(l, LLVMGetOperand(i, 0), &s)) return NULL;
  compute_at_start(l->w, by, l->m);
  LLVMValueRef least = farthest(l, &s, -1, from), other = value_scalar(l->w, by);
  LLVMValueRef above = LLVMBuildICmp(l->w->b, LLVMIntSGE, least, other, "");
  LLVMValueRef positive = LLVMBuildICmp(l->w->b, LLVMIntSGE, other, LLVMConstNull(LLVMTypeOf(other)), "");
  *first = LLVMBuildSub(l->w->b, from, other, "");
  above = LLVMBuildAnd(l->w->b, above, positive, "");
  return LLVMBuildAnd(l->w->b, above, is_small(l, LLVMGetOperand(i, 0), from), "");
}

/* Whether the lanes are so close to each other that none of a small number's wraps. Numbers that are only compared may
   have any stride: a hash is a product of the index. */
static bool are_near(shape_test *l, const shape *s, LLVMValueRef number) {
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(number));
  int64_t most = (bits < 32 ? (int64_t)1 << bits : BOUND_EXTENT) / 4;
  return llabs(s->stride) < most / l->w->width && llabs(s->step) < most / l->w->vectors;
}

/* All lanes compare alike: an affine number with one that is above, below or, for equality, outside of all of them.
   NULL: only vectors show that. */
static LLVMValueRef compares_uniformly(shape_test *l, LLVMValueRef condition) {
  widener *w = l->w;
  LLVMBuilderRef b = w->b;
  LLVMValueRef counting, common, always = LLVMConstInt(w->p->i1, 1, 0);
  shape s;
  if (is_uniform(w, condition)) return always;
  if (!LLVMIsAICmpInst(condition) || !split_operands(w, condition, &counting, &common)) return NULL;
  if (is_small_natural(w, counting) && is_no_small_natural(common)) return always;
  if (!counts_by(l, counting, &s) || !are_near(l, &s, counting)) return NULL;
  LLVMValueRef from = first_of(l, counting), other;
  if (!from) return NULL;
  compute_at_start(w, common, l->m);
  other = value_scalar(w, common);
  LLVMValueRef least = farthest(l, &s, -1, from), most = farthest(l, &s, 1, from);
  LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
  if (p == LLVMIntEQ || p == LLVMIntNE) {
    LLVMValueRef distance = LLVMBuildSub(b, other, least, "");
    return LLVMBuildICmp(b, LLVMIntUGT, distance, LLVMBuildSub(b, most, least, ""), "");
  }
  bool left = counting == LLVMGetOperand(condition, 0), is_signed = p >= LLVMIntSGT;
  LLVMValueRef a = LLVMBuildICmp(b, p, left ? least : other, left ? other : least, "");
  LLVMValueRef c = LLVMBuildICmp(b, p, left ? most : other, left ? other : most, "");
  LLVMValueRef alike = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, a, c, ""), is_small(l, counting, from), "");
  LLVMValueRef positive = LLVMBuildICmp(b, LLVMIntSGE, least, LLVMConstNull(LLVMTypeOf(least)), "");
  return is_signed ? alike : LLVMBuildAnd(b, alike, positive, "");
}

/* Whether an operand of a selection has the selection's shape. */
static bool is_like(shape_test *l, LLVMValueRef operand, const shape *s) {
  shape own;
  if (is_uniform(l->w, operand)) return !s->stride && !s->step;
  return counts_by(l, operand, &own) && own.stride == s->stride && own.step == s->step;
}

/* All lanes select the same operand, and that has the shape. */
static LLVMValueRef test_choice(shape_test *l, LLVMValueRef i, const shape *s, LLVMValueRef *first) {
  LLVMBuilderRef b = l->w->b;
  bool truth = is_like(l, LLVMGetOperand(i, 1), s), other = is_like(l, LLVMGetOperand(i, 2), s);
  LLVMValueRef found = truth || other ? compares_uniformly(l, LLVMGetOperand(i, 0)) : NULL;
  LLVMValueRef chosen = found ? first_of(l, LLVMGetOperand(i, 0)) : NULL;
  *first = chosen ? first_of(l, i) : NULL;
  if (!*first) return NULL;
  if (truth && other) return found;
  return LLVMBuildAnd(b, found, truth ? chosen : LLVMBuildNot(b, chosen, ""), "");
}

/* Whether the value has its speculated shape, and lane 0's number in *first; NULL: see assumed_lane0. */
static LLVMValueRef test_by_scalars(shape_test *l, LLVMValueRef value, const shape *s, LLVMValueRef *first) {
  LLVMValueRef counting, common;
  LLVMOpcode opcode = LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : LLVMRet;
  if (opcode == LLVMZExt) return test_extension(l, value, s, first);
  if (opcode == LLVMAdd || opcode == LLVMSub) { /* if its operands have theirs */
    *first = first_of(l, value);
    return *first ? LLVMConstInt(l->w->p->i1, 1, 0) : NULL;
  }
  if (is_division(value)) return test_division(l, value, first);
  if (LLVMIsAICmpInst(value)) return *first = compares_uniformly(l, value);
  if (is_clamped_difference(value)) return test_difference(l, value, first);
  if (LLVMIsAInstruction(value) && LLVMIsASelectInst(value)) return test_choice(l, value, s, first);
  bool flips = LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMXor;
  int sign = extreme_sign(value);
  if ((!flips && !sign) || !split_operands(l->w, value, &counting, &common)) return NULL;
  LLVMValueRef from = first_of(l, counting), found = NULL;
  if (!from) return NULL;
  compute_at_start(l->w, common, l->m);
  LLVMValueRef other = value_scalar(l->w, common);
  if (flips)
    found = flips_no_lane(l, counting, other);
  else
    found = clamps_no_lane(l, value, s, counting, from, other);
  *first = flips ? LLVMBuildXor(l->w->b, from, other, "") : from;
  return found;
}

/* ---- by vectors ---- */

static LLVMValueRef test_by_vectors(shape_test *l, LLVMValueRef value, const shape *s, LLVMValueRef *first) {
  widener *w = l->w;
  if (l->active) return *first = NULL;
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMValueRef same = NULL;
  compute_at_start(w, value, l->m);
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
static void test_value(shape_test *l, const given *value, LLVMValueRef *all, LLVMValueRef *lanes) {
  widener *w = l->w;
  LLVMValueRef first = NULL, follows;
  if (is_bounded_sum(w->shapes, value->value)) {
    *all = both(w, *all, build_bound_test(w, value->value, l->m, l->vector));
    return;
  }
  follows = test_by_scalars(l, value->value, &value->shape, &first);
  if (follows)
    *all = both(w, *all, follows);
  else if ((follows = test_by_vectors(l, value->value, &value->shape, &first)))
    *lanes = both(w, *lanes, follows);
  if (!first) *all = LLVMConstNull(w->p->i1);
  /* a remainder or quotient is not greater than its dividend */
  if (first && value->shape.no_wrap && !is_division(value->value))
    *all = both(w, *all, is_small(l, value->value, first));
}

/* Whether all divisors that are not constant are at least that large. It is the same for all gangs, so the branch is
   predicted. NULL: nothing is divided. */
static LLVMValueRef has_long_rows(shape_test *l, int least) {
  LLVMValueRef all = NULL;
  for (int i = 0; i < l->x->count; i++) {
    LLVMValueRef value = l->x->list[i].value, by = is_division(value) ? common_divisor(l, value) : NULL;
    if (!by || LLVMIsAConstant(by)) continue;
    LLVMValueRef limit = LLVMConstInt(LLVMTypeOf(by), (uint64_t)least, 0);
    all = both(l->w, all, LLVMBuildICmp(l->w->b, LLVMIntSGE, by, limit, ""));
  }
  return all ? LLVMBuildFreeze(l->w->b, all, "") : NULL;
}

/* A new test, which computes as if under a mask: a value may be undefined where the program would not have computed
   it. */
static shape_test new_test(widener *w, const speculation *x) {
  return (shape_test){.w = w, .x = x, .m = {.lanes = mask_vectors(w, (mask){.all = true})}};
}

/* ---- row by row ---- */

LLVMValueRef build_row_choice(widener *w, const speculation *x) {
  enum { LANES = 12 }; /* of a row: each row costs scalar divisions */
  shape_test l = new_test(w, x);
  return has_long_rows(&l, LANES);
}

/* The lanes from lane 0 to the end of its row: at least 1, as the remainder is less than the divisor. */
static LLVMValueRef lanes_of_row(shape_test *l, LLVMValueRef i) {
  LLVMBuilderRef b = l->w->b;
  shape from;
  LLVMValueRef by = common_divisor(l, i), lane0 = first_of(l, LLVMGetOperand(i, 0));
  if (!by || !lane0 || !counts_by(l, LLVMGetOperand(i, 0), &from) || from.stride <= 0) return NULL;
  LLVMTypeRef type = LLVMTypeOf(by);
  LLVMValueRef rest = divided(l, i, is_signed(i) ? LLVMSRem : LLVMURem, lane0, by),
               left = LLVMBuildSub(b, by, rest, "");
  if (from.stride == 1) return left;
  left = moved_by(l, left, from.stride - 1);
  return LLVMBuildUDiv(b, left, LLVMConstInt(type, (uint64_t)from.stride, 0), "");
}

/* Whether a division before number `end` has the same rows. */
static bool has_same_rows(const speculation *x, int end, LLVMValueRef division) {
  for (int i = 0; i < end; i++) {
    LLVMValueRef other = x->list[i].value;
    if (is_division(other) && LLVMGetOperand(other, 0) == LLVMGetOperand(division, 0) &&
        LLVMGetOperand(other, 1) == LLVMGetOperand(division, 1) && is_signed(other) == is_signed(division))
      return true;
  }
  return false;
}

LLVMValueRef build_row_test(widener *w, const speculation *x, LLVMValueRef left, LLVMValueRef *holds) {
  shape_test l = new_test(w, x);
  LLVMValueRef all = NULL, lanes = NULL;
  for (int i = 0; i < x->count; i++) {
    LLVMValueRef value = x->list[i].value;
    LLVMValueRef row = is_division(value) && !has_same_rows(x, i, value) ? lanes_of_row(&l, value) : NULL;
    if (!row) continue;
    LLVMValueRef wide = LLVMBuildIntCast2(w->b, left, LLVMTypeOf(row), 0, "");
    LLVMValueRef ends = LLVMBuildICmp(w->b, LLVMIntULT, row, wide, "");
    left = LLVMBuildSelect(w->b, ends, LLVMBuildIntCast2(w->b, row, w->p->i32, 0, ""), left, "");
  }
  l.active = left = LLVMBuildFreeze(w->b, left, "");
  for (int i = 0; i < x->count; i++) test_value(&l, &x->list[i], &all, &lanes);
  *holds = LLVMBuildFreeze(w->b, all, "");
  return left;
}

/* ---- whole gangs ---- */

LLVMValueRef build_shape_test(widener *w, const speculation *x) {
  enum { GANGS = 6 }; /* of a row, at least: the test costs about as much as it gains in every third */
  shape_test l = new_test(w, x);
  LLVMValueRef lanes = NULL, all = NULL, result = NULL, long_rows = has_long_rows(&l, GANGS * w->width * w->vectors);
  LLVMBasicBlockRef tested = NULL;
  if (long_rows) {
    LLVMBasicBlockRef test = LLVMAppendBasicBlockInContext(w->p->context, w->function, "long.rows");
    tested = LLVMAppendBasicBlockInContext(w->p->context, w->function, "tested");
    result = LLVMBuildAlloca(w->entry, w->p->i1, "");
    LLVMBuildStore(w->b, LLVMConstNull(w->p->i1), result);
    LLVMBuildCondBr(w->b, long_rows, test, tested);
    LLVMPositionBuilderAtEnd(w->b, test);
  }
  for (int i = 0; i < x->count; i++) {
    int count = x->list[i].shape.kind == SHAPE_VECTOR_AFFINE ? w->vectors : 1;
    for (l.vector = 0; l.vector < count; l.vector++) {
      if (count > 1) l.known_count = 0;
      test_value(&l, &x->list[i], &all, &lanes);
    }
    if (count > 1) l.known_count = 0;
  }
  if (lanes) {
    LLVMValueRef word = mask_word(w, lanes);
    all = both(w, all, LLVMBuildICmp(w->b, LLVMIntEQ, word, LLVMConstAllOnes(LLVMTypeOf(word)), ""));
  }
  all = LLVMBuildFreeze(w->b, all, "");
  if (!long_rows) return all;
  LLVMBuildStore(w->b, all, result);
  LLVMBuildBr(w->b, tested);
  LLVMPositionBuilderAtEnd(w->b, tested);
  return LLVMBuildLoad2(w->b, w->p->i1, result, "");
}
