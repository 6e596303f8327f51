/* Unsigned sums that are bounded before a loop: `a[k * pitch + column]` with 32-bit numbers, k being the loop's counter.
 *
 * Such an index might wrap in the middle of a gang, so its lanes are not known to be contiguous after it is extended.
 * speculative_shapes.c tests sums of ids and parameters, whose lane 0 is known where the gang starts; the counter is
 * not. Here the test is of an upper bound instead: counters are replaced by their limits.
 *
 * Proof. A sum is made of numbers by addition, multiplication and shifts to the left alone. Let T be the sum of the same
 * numbers without wrapping, and B the sum of their bounds. All are natural numbers, so T <= B. If B < 2^32, then T is what
 * the 32-bit operations compute, whether or not one of them wraps, in every lane and in every iteration. A sum of fewer
 * bits is the same for all lanes, and one of the numbers: if it wraps, it is less than its bound. A counter with a
 * constant start and step is its start, or a number for which the loop was continued, which is less than the limit.
 * Bounds are clamped to 2^31, so that products fit in 64 bits: a clamped bound fails the test, unless it is multiplied
 * by 0. */
#include "mwcc/widen/values/shape_test.h"

enum { DEPTH = 12, LONGEST = 1 << 20 }; /* of a counter's step */

/* The counter's next number, its constant start, and the condition of another iteration; or false. */
typedef struct counter {
  uint64_t start, step;
  LLVMValueRef limit;
  bool equality; /* it counts until it equals the limit */
} counter;

static bool is_one(LLVMValueRef value) { return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == 1; }

/* The comparison `next < limit` by which the latch continues. */
static bool read_condition(LLVMValueRef branch, LLVMBasicBlockRef header, LLVMValueRef next, counter *c) {
  if (!LLVMIsABranchInst(branch) || LLVMGetNumSuccessors(branch) != 2) return false;
  LLVMValueRef condition = LLVMGetCondition(branch);
  if (!LLVMIsAICmpInst(condition)) return false;
  bool stays = LLVMGetSuccessor(branch, 0) == header;
  if (!stays && LLVMGetSuccessor(branch, 1) != header) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
  bool left = LLVMGetOperand(condition, 0) == next;
  if (!left && LLVMGetOperand(condition, 1) != next) return false;
  c->limit = LLVMGetOperand(condition, left ? 1 : 0);
  c->equality = p == (stays ? LLVMIntNE : LLVMIntEQ);
  if (c->equality) return true;
  if (stays) return left ? p == LLVMIntULT || p == LLVMIntSLT : p == LLVMIntUGT || p == LLVMIntSGT;
  return left ? p == LLVMIntUGE || p == LLVMIntSGE : p == LLVMIntULE || p == LLVMIntSLE;
}

static bool read_counter(LLVMValueRef phi, counter *c) {
  if (!LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef next = LLVMGetIncomingValue(phi, n), start = LLVMGetIncomingValue(phi, 1 - n);
    if (!LLVMIsAConstantInt(start) || !LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd) continue;
    LLVMValueRef step = LLVMGetOperand(next, 1);
    if (LLVMGetOperand(next, 0) != phi || !LLVMIsAConstantInt(step)) continue;
    c->start = LLVMConstIntGetZExtValue(start), c->step = LLVMConstIntGetZExtValue(step);
    if (c->start > LONGEST || c->step == 0 || c->step > LONGEST) continue;
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, n));
    if (read_condition(branch, LLVMGetInstructionParent(phi), next, c)) return !c->equality || is_one(step);
  }
  return false;
}

/* Whether it is a number whose lanes do not wrap, that is known where the gang starts. */
static bool is_leaf(const shapes *s, LLVMValueRef value) {
  shape of = shape_of(s, value);
  if (!is_known_at_start(s, value)) return false;
  if (!LLVMIsAInstruction(value) || is_uniform_kind(of.kind)) return true;
  return (of.kind == SHAPE_AFFINE || of.kind == SHAPE_VECTOR_AFFINE) && of.no_wrap && of.positive && of.stride >= 0 &&
         of.step >= 0;
}

static bool is_sum(LLVMValueRef value) {
  switch (LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : LLVMRet) {
  case LLVMAdd:
  case LLVMMul: return true;
  case LLVMShl: return LLVMIsAConstantInt(LLVMGetOperand(value, 1)) != NULL;
  case LLVMOr: return LLVMGetIsDisjoint(value);
  default: return false;
  }
}

static bool is_bounded(const shapes *s, LLVMValueRef value, int depth) {
  counter c;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 32)
    return false;
  if (is_leaf(s, value)) return true;
  if (depth == 0 || !LLVMIsAInstruction(value)) return false;
  bool narrow = LLVMGetIntTypeWidth(LLVMTypeOf(value)) < 32 && !is_uniform_kind(shape_of(s, value).kind);
  if (is_sum(value))
    return !narrow && is_bounded(s, LLVMGetOperand(value, 0), depth - 1) &&
           is_bounded(s, LLVMGetOperand(value, 1), depth - 1);
  if (LLVMIsAZExtInst(value)) return is_bounded(s, LLVMGetOperand(value, 0), depth - 1);
  if (!is_uniform_kind(shape_of(s, value).kind) || !read_counter(value, &c)) return false;
  /* counting up to equality, a limit of 0 is reached by wrapping around: the bound is of limit - 1 */
  return c.equality ? c.start == 0 && is_leaf(s, c.limit) : is_bounded(s, c.limit, depth - 1);
}

bool is_bounded_sum(const shapes *s, LLVMValueRef extension) {
  if (!LLVMIsAZExtInst(extension)) return false;
  LLVMValueRef sum = LLVMGetOperand(extension, 0);
  return LLVMGetIntTypeWidth(LLVMTypeOf(sum)) == 32 && !is_known_at_start(s, sum) && is_bounded(s, sum, DEPTH);
}

/* ---- the test ---- */

static LLVMValueRef word(widener *w, uint64_t value) { return LLVMConstInt(w->p->i64, value, 0); }

static LLVMValueRef lesser(widener *w, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(w->b, LLVMBuildICmp(w->b, LLVMIntULT, a, b, ""), a, b, "");
}

/* The greatest number of the lanes of vector u, or of all vectors. */
static LLVMValueRef bound_of_leaf(widener *w, LLVMValueRef value, mask m, int u, unsigned less) {
  shape s = shape_of(w->shapes, value);
  uint64_t far = 0;
  compute_at_start(w, value, m);
  LLVMValueRef first = vector_scalar(w, value, u);
  if (less) first = LLVMBuildSub(w->b, first, LLVMConstInt(LLVMTypeOf(first), less, 0), "");
  if (LLVMIsAInstruction(value) && !is_uniform_kind(s.kind)) far += (uint64_t)s.stride * (uint64_t)(w->width - 1);
  if (LLVMIsAInstruction(value) && s.kind == SHAPE_AFFINE) far += (uint64_t)s.step * (uint64_t)(w->vectors - 1);
  return LLVMBuildAdd(w->b, LLVMBuildZExt(w->b, first, w->p->i64, ""), word(w, far), "");
}

static LLVMValueRef bound_of(widener *w, LLVMValueRef value, mask m, int u);

static LLVMValueRef bound_of_counter(widener *w, LLVMValueRef phi, mask m, int u) {
  counter c;
  if (!read_counter(phi, &c)) return word(w, UINT32_MAX);
  LLVMValueRef limit = c.equality ? bound_of_leaf(w, c.limit, m, u, 1) : bound_of(w, c.limit, m, u),
               start = word(w, c.start);
  return LLVMBuildSelect(w->b, LLVMBuildICmp(w->b, LLVMIntULT, limit, start, ""), start, limit, "");
}

static LLVMValueRef bound_of(widener *w, LLVMValueRef value, mask m, int u) {
  LLVMValueRef result;
  if (is_leaf(w->shapes, value))
    result = bound_of_leaf(w, value, m, u, 0);
  else if (LLVMIsAZExtInst(value))
    return bound_of(w, LLVMGetOperand(value, 0), m, u);
  else if (!is_sum(value))
    result = bound_of_counter(w, value, m, u);
  else {
    LLVMValueRef a = bound_of(w, LLVMGetOperand(value, 0), m, u), b;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    if (opcode == LLVMShl)
      b = word(w, (uint64_t)1 << (LLVMConstIntGetZExtValue(LLVMGetOperand(value, 1)) & 31));
    else
      b = bound_of(w, LLVMGetOperand(value, 1), m, u);
    bool sums = opcode == LLVMAdd || opcode == LLVMOr;
    result = sums ? LLVMBuildAdd(w->b, a, b, "") : LLVMBuildMul(w->b, a, b, "");
  }
  return lesser(w, result, word(w, 2 * (uint64_t)BOUND_EXTENT));
}

LLVMValueRef build_bound_test(widener *w, LLVMValueRef extension, mask m, int u) {
  LLVMValueRef bound = bound_of(w, LLVMGetOperand(extension, 0), m, u);
  w->rarely_fails = true;
  return LLVMBuildICmp(w->b, LLVMIntULT, bound, word(w, BOUND_EXTENT), "");
}
