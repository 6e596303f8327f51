/* Contraction: a product that only a sum of the same block uses is one instruction with the sum, a fused multiply-add
 * (nvcc's -fmad=true).
 *
 * LLVM's code generator would contract as well, but so late that the choice of products, and with it the last bit of
 * results, would depend on the gang's width, on masks and on the rest of the block. Here the code is still that of one
 * thread. So the general code, the code for each launch class and all widths of gangs compute the same bits, which
 * measured candidates rely on (candidates.c).
 *
 * Before: the flag `contract` on sums and products. After: no sum has it; every contraction is an llvm.fma, where the
 * processor has the instruction. Of two products, the first is fused. */
#include "mwcc/mwcc.h"
#include "mwcc/target/target.h"
#include "prepare.h"

#include <stdlib.h>

static bool may_contract(LLVMValueRef i, LLVMOpcode opcode) {
  return LLVMIsABinaryOperator(i) && LLVMGetInstructionOpcode(i) == opcode &&
         (LLVMGetFastMathFlags(i) & LLVMFastMathAllowContract);
}

static bool is_fused_type(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMDoubleTypeKind;
}

static bool is_fused_product(LLVMValueRef product, LLVMValueRef sum) {
  if (!may_contract(product, LLVMFMul)) return false;
  if (LLVMGetInstructionParent(product) != LLVMGetInstructionParent(sum)) return false;
  LLVMUseRef use = LLVMGetFirstUse(product);
  return use && !LLVMGetNextUse(use);
}

/* a*b + c, a*b - c as a*b + (-c), c - a*b as (-a)*b + c. */
static void fuse(program *p, LLVMBuilderRef b, LLVMValueRef sum, unsigned which) {
  LLVMValueRef product = LLVMGetOperand(sum, which), other = LLVMGetOperand(sum, 1 - which);
  LLVMValueRef left = LLVMGetOperand(product, 0), right = LLVMGetOperand(product, 1);
  LLVMTypeRef type = LLVMTypeOf(sum);
  LLVMPositionBuilderBefore(b, sum);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(sum));
  if (LLVMGetInstructionOpcode(sum) == LLVMFSub) {
    if (which == 0)
      other = LLVMBuildFNeg(b, other, "");
    else
      left = LLVMBuildFNeg(b, left, "");
  }
  LLVMValueRef arguments[] = {left, right, other}, made = call_intrinsic(p, b, "llvm.fma", &type, 1, arguments, 3);
  LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(sum) & LLVMGetFastMathFlags(product) &
                                 ~(unsigned)LLVMFastMathAllowContract);
  LLVMReplaceAllUsesWith(sum, made);
  LLVMInstructionEraseFromParent(sum);
  LLVMInstructionEraseFromParent(product);
}

/* The operand that is a product to fuse; -1: none. */
static int product_of(LLVMValueRef i) {
  if (!may_contract(i, LLVMFAdd) && !may_contract(i, LLVMFSub)) return -1;
  if (!is_fused_type(LLVMTypeOf(i))) return -1;
  for (int n = 0; n < 2; n++)
    if (is_fused_product(LLVMGetOperand(i, (unsigned)n), i)) return n;
  return -1;
}

/* The same sum without the flag: LLVM's C interface can only add flags. */
static void remove_flag(LLVMBuilderRef b, LLVMValueRef sum) {
  unsigned flags = LLVMGetFastMathFlags(sum) & ~(unsigned)LLVMFastMathAllowContract;
  LLVMPositionBuilderBefore(b, sum);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(sum));
  LLVMValueRef left = LLVMGetOperand(sum, 0), right = LLVMGetOperand(sum, 1),
               made = LLVMBuildBinOp(b, LLVMGetInstructionOpcode(sum), left, right, "");
  if (LLVMIsAInstruction(made)) LLVMSetFastMathFlags(made, flags);
  LLVMReplaceAllUsesWith(sum, made);
  LLVMInstructionEraseFromParent(sum);
}

static void contract_function(program *p, LLVMBuilderRef b, LLVMValueRef f) {
  instructions all = instructions_of_function(f);
  for (size_t i = 0; i < all.count; i++) {
    /* erased ones are products, which come before their sums */
    int which = has_fused_multiply_add(p) ? product_of(all.items[i]) : -1;
    if (which >= 0) fuse(p, b, all.items[i], (unsigned)which);
  }
  free(all.items);
  all = instructions_of_function(f);
  for (size_t i = 0; i < all.count; i++)
    if (may_contract(all.items[i], LLVMFAdd) || may_contract(all.items[i], LLVMFSub)) remove_flag(b, all.items[i]);
  free(all.items);
}

void contract(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (!LLVMIsDeclaration(f)) contract_function(p, b, f);
  }
  LLVMDisposeBuilder(b);
}
