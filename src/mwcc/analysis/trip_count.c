/* Simple facts about loops: whether a loop is one block, whether its instructions have side effects, and its trip
 * count, found by evaluating its condition iteration by iteration if everything starts from constants (LLVM's
 * ScalarEvolution::computeExitCountExhaustively). */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"

enum { MOST_ITERATIONS = 32, DEEPEST = 6 };

/* The value in the iteration in which the phi is `now`; NULL: not known. */
static LLVMValueRef value_in_iteration(LLVMValueRef value, LLVMValueRef phi, LLVMValueRef now, int depth) {
  if (value == phi) return now;
  if (LLVMIsAConstantInt(value)) return value;
  if (depth == 0 || (!LLVMIsABinaryOperator(value) && !LLVMIsAICmpInst(value))) return NULL;
  LLVMValueRef a = value_in_iteration(LLVMGetOperand(value, 0), phi, now, depth - 1),
               b = value_in_iteration(LLVMGetOperand(value, 1), phi, now, depth - 1);
  if (!a || !b) return NULL;
  int64_t left = LLVMConstIntGetSExtValue(a), right = LLVMConstIntGetSExtValue(b);
  LLVMTypeRef type = LLVMTypeOf(a);
  bool large = right < 0 || right >= LLVMGetIntTypeWidth(type);
  if (LLVMIsAICmpInst(value)) {
    bool holds;
    uint64_t x = LLVMConstIntGetZExtValue(a), y = LLVMConstIntGetZExtValue(b);
    switch (LLVMGetICmpPredicate(value)) {
    case LLVMIntEQ: holds = x == y; break;
    case LLVMIntNE: holds = x != y; break;
    case LLVMIntULT: holds = x < y; break;
    case LLVMIntULE: holds = x <= y; break;
    case LLVMIntUGT: holds = x > y; break;
    case LLVMIntUGE: holds = x >= y; break;
    case LLVMIntSLT: holds = left < right; break;
    case LLVMIntSLE: holds = left <= right; break;
    case LLVMIntSGT: holds = left > right; break;
    default: holds = left >= right; break;
    }
    return LLVMConstInt(LLVMTypeOf(value), holds, 0);
  }
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMAdd: return LLVMConstInt(type, (uint64_t)left + (uint64_t)right, 1);
  case LLVMSub: return LLVMConstInt(type, (uint64_t)left - (uint64_t)right, 1);
  case LLVMMul: return LLVMConstInt(type, (uint64_t)left * (uint64_t)right, 1);
  case LLVMShl: return large ? NULL : LLVMConstInt(type, (uint64_t)left << right, 1);
  case LLVMLShr: return large ? NULL : LLVMConstInt(type, LLVMConstIntGetZExtValue(a) >> right, 1);
  case LLVMAShr: return large ? NULL : LLVMConstInt(type, (uint64_t)(left >> right), 1);
  case LLVMUDiv: return right ? LLVMConstInt(type, LLVMConstIntGetZExtValue(a) / LLVMConstIntGetZExtValue(b), 1) : NULL;
  case LLVMSDiv: return right > 0 ? LLVMConstInt(type, (uint64_t)(left / right), 1) : NULL;
  default: return NULL;
  }
}

/* The trip count by one of the header's phis; 0: not known, or many. */
static size_t iterations_by(LLVMValueRef phi, LLVMBasicBlockRef header, LLVMBasicBlockRef latch, LLVMValueRef end) {
  LLVMValueRef now = NULL, next = NULL;
  if (LLVMCountIncoming(phi) != 2) return 0;
  for (unsigned i = 0; i < 2; i++) {
    if (LLVMGetIncomingBlock(phi, i) == latch)
      next = LLVMGetIncomingValue(phi, i);
    else
      now = LLVMGetIncomingValue(phi, i);
  }
  if (!next || !now || !LLVMIsAConstantInt(now) || LLVMGetIntTypeWidth(LLVMTypeOf(now)) > 64) return 0;
  bool stays_if = LLVMGetSuccessor(end, 0) == header;
  for (size_t iterations = 1; iterations <= MOST_ITERATIONS; iterations++) {
    LLVMValueRef taken = value_in_iteration(LLVMGetCondition(end), phi, now, DEEPEST);
    if (!taken) return 0;
    if ((LLVMConstIntGetZExtValue(taken) != 0) != stays_if) return iterations;
    now = value_in_iteration(next, phi, now, DEEPEST);
    if (!now) return 0;
  }
  return 0;
}

size_t trip_count(LLVMBasicBlockRef header, LLVMBasicBlockRef latch) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
  size_t iterations = 0;
  if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end)) return 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(header); i && LLVMIsAPHINode(i) && !iterations;
       i = LLVMGetNextInstruction(i))
    iterations = iterations_by(i, header, latch, end);
  return iterations;
}

bool is_own_loop(LLVMBasicBlockRef block, LLVMBasicBlockRef *before, LLVMBasicBlockRef *after) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block), first = LLVMGetFirstInstruction(block);
  if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) || !LLVMIsAPHINode(first)) return false;
  bool again = LLVMGetSuccessor(end, 0) == block, other = LLVMGetSuccessor(end, 1) == block;
  if (again == other || LLVMCountIncoming(first) != 2) return false;
  *after = LLVMGetSuccessor(end, again ? 1 : 0);
  for (unsigned i = 0; i < 2; i++)
    if (LLVMGetIncomingBlock(first, i) != block) *before = LLVMGetIncomingBlock(first, i);
  return true;
}

static bool is_pure_call(LLVMValueRef call) {
  static const char *const names[] = {"llvm.smax.",   "llvm.smin.",   "llvm.umax.",       "llvm.umin.",
                                      "llvm.abs.",    "llvm.fma.",    "llvm.fabs.",       "llvm.fmuladd",
                                      "llvm.sqrt.",   "llvm.minnum.", "llvm.maxnum.",     "llvm.floor.",
                                      "llvm.minimum", "llvm.maximum", "llvm.fptosi.sat.", "llvm.fptoui.sat."};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (starts_with(callee_name(call), names[i])) return true;
  return is_launch_id(call);
}

bool is_pure(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMPHI:
  case LLVMICmp:
  case LLVMFCmp:
  case LLVMSelect:
  case LLVMGetElementPtr:
  case LLVMExtractElement:
  case LLVMInsertElement:
  case LLVMShuffleVector:
  case LLVMFNeg: return true;
  case LLVMLoad: return is_plain_access(i);
  case LLVMCall: return is_pure_call(i);
  default: return LLVMIsABinaryOperator(i) || LLVMIsACastInst(i);
  }
}

bool keeps_memory(LLVMValueRef i) {
  return is_pure(i) || (LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.prefetch"));
}
