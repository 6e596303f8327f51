/* Comparisons of vectors of half and bfloat16 in float.
 *
 *   fcmp olt <16 x half> x, y   ->   fcmp olt <16 x float> (fpext x), (fpext y)
 *
 * instcombine turns the second form, which is what the device headers write, into the first. Where the processor does not
 * compare such vectors, LLVM's code generator does so lane by lane: of 16 lanes a comparison was 150 instructions, and is
 * three here. A float holds each half, so that the results are the same. Scalars are left alone: LLVM extends them. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static bool is_compared_in_lanes(const program *p, LLVMTypeRef type) {
  LLVMTypeKind kind = is_vector_type(type) ? LLVMGetTypeKind(LLVMGetElementType(type)) : LLVMVoidTypeKind;
  if (kind == LLVMBFloatTypeKind) return true;
  return kind == LLVMHalfTypeKind && !strstr(p->features, "+avx512fp16") && !strstr(p->features, "+fullfp16");
}

static void compare_in_float(program *p, LLVMBuilderRef b, LLVMValueRef old) {
  LLVMTypeRef lanes = LLVMTypeOf(LLVMGetOperand(old, 0));
  LLVMTypeRef floats = LLVMVectorType(LLVMFloatTypeInContext(p->context), LLVMGetVectorSize(lanes));
  LLVMPositionBuilderBefore(b, old);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(old));
  LLVMValueRef x = LLVMBuildFPExt(b, LLVMGetOperand(old, 0), floats, "");
  LLVMValueRef y =
      LLVMGetOperand(old, 0) == LLVMGetOperand(old, 1) ? x : LLVMBuildFPExt(b, LLVMGetOperand(old, 1), floats, "");
  LLVMReplaceAllUsesWith(old, LLVMBuildFCmp(b, LLVMGetFCmpPredicate(old), x, y, ""));
  LLVMInstructionEraseFromParent(old);
}

void compare_halves_in_float(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++) {
      LLVMValueRef i = all.items[n];
      if (LLVMIsAFCmpInst(i) && is_compared_in_lanes(p, LLVMTypeOf(LLVMGetOperand(i, 0)))) compare_in_float(p, b, i);
    }
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}
