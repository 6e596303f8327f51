/* Sums of what lanes move, kept short for LLVM's eyes.
 *
 * Prefix sums within a gang add to each vector what shuffles bring from two others, eight times over. Instruction selection asks
 * of every sum which of its bits are known, and looks six operations deep for that, each time in both operands and in both
 * vectors of a shuffle: a sort by digits took a sixth of its compile time for it, and nothing comes of it. It does not look
 * through a freeze, which is no instruction in the end: the code is the same to the letter. */
#include "mwcc/analysis/simt.h"
#include "machine.h"

static bool is_move(LLVMValueRef value) {
  return LLVMIsAShuffleVectorInst(value) && !LLVMIsUndef(LLVMGetOperand(value, 0)) &&
         !LLVMIsUndef(LLVMGetOperand(value, 1));
}

static bool is_moved_sum(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMAdd || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVectorTypeKind) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef operand = LLVMGetOperand(i, n);
    if (is_move(operand) || LLVMIsAFreezeInst(operand)) return true;
  }
  return false;
}

void shorten_sums(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
      for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (!is_moved_sum(i)) continue;
        LLVMPositionBuilderBefore(b, next);
        LLVMValueRef frozen = LLVMBuildFreeze(b, i, "");
        LLVMReplaceAllUsesWith(i, frozen);
        LLVMSetOperand(frozen, 0, i);
      }
  }
  LLVMDisposeBuilder(b);
}
