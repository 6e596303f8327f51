/* Block guards: a kernel that begins with `if (i > k && i < n)` tests first whether any thread of its block passes.
 *
 * The test is the source's condition over intervals: an id of a thread is 0 to blockDim - 1, everything else in it is
 * the same for the whole block. A comparison that fails for the extremes fails for all threads, and a conjunction
 * with such a comparison, too; then the block returns. The test depends on blockIdx and parameters alone: it is
 * scalar code before the loop over gangs, and a block whose threads all fail costs little more than a branch.
 *
 * Intervals are computed in 64 bits from 32-bit values as the comparison interprets them, signed or unsigned. Where the
 * source's arithmetic may wrap, the test also checks that both ends are in the type's range; if not, threads may pass.
 * The block's code still has its own condition: the test only decides that nothing remains to be done.
 *
 * Only for code of one block class, and for conditions that exclude whole blocks: comparisons from below (i > k), or
 * with more than a parameter (i < n - k). Grids are just large enough for `i < n`, so a test of that would hardly ever
 * exclude a block. */
#include "mwcc/analysis/analysis.h"
#include "emission.h"

enum { DEPTH = 10, MOST_GUARDS = 4 };

typedef struct guard_builder {
  widener *w;
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef *ctaid;   /* the block's, by axis */
  bool is_signed;        /* how the current comparison interprets its operands */
  LLVMValueRef in_range; /* i1, or NULL: all arithmetic of the comparison keeps its range */
  bool skips_blocks;     /* a comparison of a kind that excludes whole blocks */
} guard_builder;

typedef struct interval {
  LLVMValueRef low, high; /* i64, or NULL: not known */
  bool varies;            /* over the threads of a block */
} interval;

static const char registers[] = "llvm.nvvm.read.ptx.sreg.";

/* The axis of threadIdx, or 0. */
static char axis_of_thread(LLVMValueRef value) {
  if (!LLVMIsACallInst(value)) return 0;
  const char *name = callee_name(value);
  return starts_with(name, registers) && starts_with(name + sizeof registers - 1, "tid.") ? name[sizeof registers + 3]
                                                                                          : 0;
}

/* ---- values that are the same for a block ---- */

static bool is_common(LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return true;
  if (!depth) return false;
  if (LLVMIsACallInst(value)) {
    const char *name = callee_name(value);
    if (!starts_with(name, registers)) return false;
    name += sizeof registers - 1;
    return starts_with(name, "ctaid.");
  }
  if (!is_integer_operation(value)) return false;
  for (int i = 0; i < LLVMGetNumOperands(value); i++)
    if (!is_common(LLVMGetOperand(value, (unsigned)i), depth - 1)) return false;
  return true;
}

/* A copy of its computation, for the block. The kernel may not reach the original; so the copy must not be poison. */
static LLVMValueRef copy_common(const guard_builder *g, LLVMValueRef value) {
  if (LLVMIsAArgument(value)) return widened_of(g->w, value)->saved;
  if (LLVMIsACallInst(value)) return g->ctaid[callee_name(value)[sizeof registers + 5] - 'x'];
  if (!LLVMIsAInstruction(value)) return value;
  LLVMValueRef copy = LLVMInstructionClone(value);
  LLVMInstructionSetDebugLoc(copy, NULL);
  for (int i = 0; i < LLVMGetNumOperands(value); i++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
    LLVMSetOperand(copy, (unsigned)i, copy_common(g, operand));
  }
  LLVMOpcode opcode = LLVMGetInstructionOpcode(copy);
  if (opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMMul || opcode == LLVMShl) {
    LLVMSetNSW(copy, 0);
    LLVMSetNUW(copy, 0);
  }
  if (opcode == LLVMLShr || opcode == LLVMAShr) LLVMSetExact(copy, 0);
  if (opcode == LLVMOr) LLVMSetIsDisjoint(copy, 0);
  if (opcode == LLVMZExt) LLVMSetNNeg(copy, 0);
  LLVMInsertIntoBuilder(g->b, copy);
  return copy;
}

/* ---- intervals ---- */

static LLVMValueRef extended(const guard_builder *g, LLVMValueRef value) {
  return g->is_signed ? LLVMBuildSExt(g->b, value, g->p->i64, "") : LLVMBuildZExt(g->b, value, g->p->i64, "");
}

static void require(guard_builder *g, LLVMValueRef condition) {
  g->in_range = g->in_range ? LLVMBuildAnd(g->b, g->in_range, condition, "") : condition;
}

/* Require that the operation does not wrap, so that its result lies in the interval. */
static interval checked(guard_builder *g, LLVMValueRef operation, interval found) {
  bool flagged = g->is_signed ? LLVMGetNSW(operation) : LLVMGetNUW(operation);
  if (flagged) return found;
  uint64_t low = g->is_signed ? (uint64_t)INT32_MIN : 0, high = g->is_signed ? INT32_MAX : UINT32_MAX;
  require(g, LLVMBuildICmp(g->b, LLVMIntSGE, found.low, constant_i64(g->p, low), ""));
  require(g, LLVMBuildICmp(g->b, LLVMIntSLE, found.high, constant_i64(g->p, high), ""));
  return found;
}

static interval interval_of(guard_builder *g, LLVMValueRef value, int depth) {
  const interval unknown = {0};
  LLVMTypeRef type = LLVMTypeOf(value);
  char axis = axis_of_thread(value);
  if (axis) {
    unsigned size = block_size(g->p, axis);
    return (interval){constant_i64(g->p, 0), constant_i64(g->p, size - 1), true};
  }
  if (type == g->p->i32 && is_common(value, DEPTH)) {
    LLVMValueRef wide = extended(g, copy_common(g, value));
    return (interval){wide, wide, false};
  }
  if (type != g->p->i32 || !depth || !LLVMIsAInstruction(value)) return unknown;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  bool sums = opcode == LLVMAdd || (opcode == LLVMOr && LLVMGetIsDisjoint(value));
  if (!sums && opcode != LLVMSub) return unknown;
  interval a = interval_of(g, LLVMGetOperand(value, 0), depth - 1);
  interval b = a.low ? interval_of(g, LLVMGetOperand(value, 1), depth - 1) : unknown;
  if (!b.low) return unknown;
  interval found = {.varies = true};
  found.low = sums ? LLVMBuildAdd(g->b, a.low, b.low, "") : LLVMBuildSub(g->b, a.low, b.high, "");
  found.high = sums ? LLVMBuildAdd(g->b, a.high, b.high, "") : LLVMBuildSub(g->b, a.high, b.low, "");
  /* Disjoint bits are added without a carry: an interpretation as signed adds the sign bit to one of them. */
  if (opcode == LLVMOr) return found;
  return checked(g, value, found);
}

/* ---- conditions: NULL, or i1, false where no thread of the block has the condition (`truth`: its value) ---- */

static bool is_plain(LLVMValueRef bound) { return LLVMIsAArgument(bound) || LLVMIsAConstant(bound); }

static LLVMIntPredicate inverse(LLVMIntPredicate predicate) {
  switch (predicate) {
  case LLVMIntSLT: return LLVMIntSGE;
  case LLVMIntSLE: return LLVMIntSGT;
  case LLVMIntSGT: return LLVMIntSLE;
  case LLVMIntSGE: return LLVMIntSLT;
  case LLVMIntULT: return LLVMIntUGE;
  case LLVMIntULE: return LLVMIntUGT;
  case LLVMIntUGT: return LLVMIntULE;
  default: return LLVMIntULT;
  }
}

static LLVMValueRef some_compare(guard_builder *g, LLVMValueRef compare, bool truth) {
  LLVMIntPredicate predicate = LLVMGetICmpPredicate(compare);
  LLVMValueRef left = LLVMGetOperand(compare, 0), right = LLVMGetOperand(compare, 1);
  if (predicate == LLVMIntEQ || predicate == LLVMIntNE || LLVMTypeOf(left) != g->p->i32) return NULL;
  if (!truth) predicate = inverse(predicate);
  g->is_signed = predicate >= LLVMIntSGT;
  g->in_range = NULL;
  interval a = interval_of(g, left, DEPTH), b = a.low ? interval_of(g, right, DEPTH) : (interval){0};
  if (!b.low || (!a.varies && !b.varies)) return NULL;
  bool less = predicate == LLVMIntSLT || predicate == LLVMIntSLE || predicate == LLVMIntULT || predicate == LLVMIntULE;
  bool strict =
      predicate == LLVMIntSLT || predicate == LLVMIntSGT || predicate == LLVMIntULT || predicate == LLVMIntUGT;
  bool from_above = less ? a.varies && !b.varies : b.varies && !a.varies;
  if (!from_above || !is_plain(less ? right : left)) g->skips_blocks = true;
  LLVMValueRef low = less ? a.low : b.low, high = less ? b.high : a.high;
  LLVMValueRef some = LLVMBuildICmp(g->b, strict ? LLVMIntSLT : LLVMIntSLE, low, high, "");
  return g->in_range ? LLVMBuildOr(g->b, some, LLVMBuildNot(g->b, g->in_range, ""), "") : some;
}

static LLVMValueRef some_pass(guard_builder *g, LLVMValueRef value, bool truth, int depth) {
  if (!depth || !LLVMIsAInstruction(value)) return NULL;
  if (LLVMIsAICmpInst(value)) return some_compare(g, value, truth);
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  bool all = opcode == (truth ? LLVMAnd : LLVMOr);
  if (opcode == LLVMSelect) { /* a && b, a || b */
    LLVMValueRef other = LLVMGetOperand(value, truth ? 2 : 1);
    all = LLVMIsAConstantInt(other) && LLVMConstIntGetZExtValue(other) == !truth;
    b = LLVMGetOperand(value, truth ? 1 : 2);
  }
  if (opcode == LLVMXor && LLVMIsAConstantInt(b)) return some_pass(g, a, !truth, depth - 1);
  if (!all) return NULL;
  LLVMValueRef some_a = some_pass(g, a, truth, depth - 1), some_b = some_pass(g, b, truth, depth - 1);
  if (!some_a || !some_b) return some_a ? some_a : some_b;
  return LLVMBuildAnd(g->b, some_a, some_b, "");
}

/* ---- the kernel ---- */

/* Whether the block only computes values before its branch. */
static bool only_computes(LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) || !touches_no_memory(i)) return false;
  return true;
}

static bool only_returns(LLVMBasicBlockRef block) { return LLVMIsAReturnInst(LLVMGetFirstInstruction(block)) != NULL; }

/* The successor in which a thread continues, if the other one ends it; *truth: the condition's value for that. */
static LLVMBasicBlockRef next_of(LLVMBasicBlockRef block, bool *truth) {
  LLVMValueRef branch = LLVMGetBasicBlockTerminator(block);
  if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) || !only_computes(block)) return NULL;
  LLVMBasicBlockRef yes = LLVMGetSuccessor(branch, 0), no = LLVMGetSuccessor(branch, 1);
  if (only_returns(yes) == only_returns(no)) return NULL;
  *truth = only_returns(no);
  return *truth ? yes : no;
}

static bool is_entered_once(LLVMBasicBlockRef block) {
  int uses = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) uses++;
  return uses == 1;
}

LLVMValueRef build_block_guard(widener *w, LLVMValueRef ctaid[3]) {
  program *p = w->p;
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(w->g->function), at = entry, next;
  bool truth;
  if (!has_pass(p, PASS_BLOCK_GUARD) || !p->options->launch_kernel || p->merged > 1) return NULL;
  if (w->k->iterations_end || w->k->saves_state) return NULL;
  guard_builder g = {.w = w, .p = p, .b = w->b, .ctaid = ctaid};
  LLVMValueRef some = NULL;
  for (int i = 0; i < MOST_GUARDS && (at == entry || is_entered_once(at)); i++, at = next) {
    if (!(next = next_of(at, &truth))) break;
    LLVMValueRef own = some_pass(&g, LLVMGetCondition(LLVMGetBasicBlockTerminator(at)), truth, DEPTH);
    some = !own ? some : some ? LLVMBuildAnd(g.b, some, own, "") : own;
  }
  return g.skips_blocks ? some : NULL;
}
