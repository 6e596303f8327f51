/* Workaround for LLVM's compile time: a freeze on sums of shuffled vectors stops known-bits analysis.
 *
 * Prefix sums within a gang are chains of additions whose operands are shuffles of two vectors. For each addition,
 * instruction selection computes known bits (computeKnownBits), six operations deep and in both operands of each
 * addition and shuffle; no code becomes better by it. The analysis does not look through a freeze
 * of a vector, and a freeze generates no instruction: the code stays the same. It saves 17 % of the compile time of a
 * radix sort. */
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

static bool is_two_vector_shuffle(LLVMValueRef value) {
  return LLVMIsAShuffleVectorInst(value) && !LLVMIsUndef(LLVMGetOperand(value, 0)) &&
         !LLVMIsUndef(LLVMGetOperand(value, 1));
}

static bool is_shuffled_sum(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMAdd || !is_vector_type(LLVMTypeOf(i))) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, n);
    if (is_two_vector_shuffle(operand) || LLVMIsAFreezeInst(operand)) return true;
  }
  return false;
}

void freeze_shuffled_sums(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
      for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!is_shuffled_sum(i)) continue;
        LLVMPositionBuilderBefore(b, next);
        LLVMValueRef frozen = LLVMBuildFreeze(b, i, "");
        LLVMReplaceAllUsesWith(i, frozen);
        LLVMSetOperand(frozen, 0, i);
      }
  }
  LLVMDisposeBuilder(b);
}
