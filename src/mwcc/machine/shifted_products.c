/* Products by a constant that another product by a constant gives when it is shifted.
 *
 *   a = mul <8 x i64> x, C            a = mul <8 x i64> x, C
 *   b = mul <8 x i64> x, C << n   ->  b = shl <8 x i64> a, n
 *
 * instcombine makes the first form of a shifted product, though the product itself is used too. A product of two words
 * of 32 bits is one instruction, and C << n may be longer: Philox's doubles are made of the upper halves of products, and
 * of the lower ones shifted by 21. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>

/* The constant by which `i` multiplies each lane, 0 if it is no such product. */
static unsigned long long factor_of(LLVMValueRef i) {
  if (!LLVMIsABinaryOperator(i) || LLVMGetInstructionOpcode(i) != LLVMMul || !is_vector_type(LLVMTypeOf(i))) return 0;
  if (LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(i))) != 64) return 0;
  LLVMValueRef factor = constant_of_lanes(LLVMGetOperand(i, 1));
  return factor && LLVMIsAConstantInt(factor) ? LLVMConstIntGetZExtValue(factor) : 0;
}

static bool is_before(LLVMValueRef i, LLVMValueRef later) {
  while (i && i != later) i = LLVMGetNextInstruction(i);
  return i == later;
}

/* A product of the same lanes before `i`, in its block, that gives `i` when it is shifted by *by. */
static LLVMValueRef unshifted_product(LLVMValueRef i, unsigned *by) {
  unsigned long long factor = factor_of(i);
  if (!factor) return NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMGetOperand(i, 0)); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef other = LLVMGetUser(use);
    if (other == i || !LLVMIsAInstruction(other) || LLVMGetInstructionParent(other) != LLVMGetInstructionParent(i))
      continue;
    unsigned long long less = LLVMGetOperand(other, 0) == LLVMGetOperand(i, 0) ? factor_of(other) : 0;
    for (*by = 1; less && *by < 64; ++*by)
      if (less << *by == factor && less << *by >> *by == less && is_before(other, i)) return other;
  }
  return NULL;
}

void shift_products(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++) {
      unsigned by;
      LLVMValueRef i = all.items[n], product = unshifted_product(i, &by);
      if (!product) continue;
      LLVMPositionBuilderBefore(b, i);
      LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(i));
      LLVMValueRef bits = LLVMConstInt(LLVMGetElementType(LLVMTypeOf(i)), by, false);
      LLVMReplaceAllUsesWith(i, LLVMBuildShl(b, product, constant_lanes(LLVMTypeOf(i), bits), ""));
      LLVMInstructionEraseFromParent(i);
    }
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}
