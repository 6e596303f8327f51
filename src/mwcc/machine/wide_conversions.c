/* Vectors of 64-bit integers to double on x86, without AVX-512's instructions for that.
 *
 *   sitofp <4 x i64> x to <4 x double>   ->   (high - (2^84 + 2^63 + 2^52)) + low
 *
 * LLVM's code generator converts lane by lane: 12 instructions for 4 lanes, and more time than those say. Instead, the
 * halves of x are put into the mantissas of 2^84 and 2^52: high is 2^84 + 2^63 + 2^32 times x's upper half, as its sign
 * bit is flipped, and low is 2^52 + the lower half. The difference is exact and the sum rounds once, as the conversion
 * does. Integers that are known to have 32 bits are left to LLVM, which has an instruction for them. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static bool has_32_bits(LLVMValueRef x) {
  if (LLVMIsAZExtInst(x) || LLVMIsASExtInst(x)) return true;
  LLVMValueRef lane = LLVMIsABinaryOperator(x) ? constant_of_lanes(LLVMGetOperand(x, 1)) : NULL;
  if (!lane || !LLVMIsAConstantInt(lane)) return false;
  unsigned long long constant = LLVMConstIntGetZExtValue(lane);
  switch (LLVMGetInstructionOpcode(x)) {
  case LLVMLShr: return constant >= 33;
  case LLVMAShr: return constant >= 32;
  case LLVMAnd: return constant < 1ull << 31;
  default: return false;
  }
}

static bool is_wide_conversion(LLVMValueRef i) {
  if (!LLVMIsASIToFPInst(i) && !LLVMIsAUIToFPInst(i)) return false;
  LLVMTypeRef type = LLVMTypeOf(i), from = LLVMTypeOf(LLVMGetOperand(i, 0));
  return is_vector_type(type) && LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMDoubleTypeKind &&
         LLVMGetIntTypeWidth(LLVMGetElementType(from)) == 64 && !LLVMIsConstant(LLVMGetOperand(i, 0)) &&
         !has_32_bits(LLVMGetOperand(i, 0));
}

static void convert_by_halves(LLVMBuilderRef b, LLVMValueRef old) {
  LLVMValueRef x = LLVMGetOperand(old, 0);
  LLVMTypeRef integers = LLVMTypeOf(x), reals = LLVMTypeOf(old), lane = LLVMGetElementType(integers);
  bool is_signed = LLVMIsASIToFPInst(old);
#define LANES(n) constant_lanes(integers, LLVMConstInt(lane, n, 0))
  LLVMPositionBuilderBefore(b, old);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(old));
  LLVMValueRef upper = LLVMBuildLShr(b, x, LANES(32), ""), lower = LLVMBuildAnd(b, x, LANES(0xffffffff), "");
  upper = LLVMBuildXor(b, upper, LANES(is_signed ? 0x4530000080000000 : 0x4530000000000000), "");
  lower = LLVMBuildOr(b, lower, LANES(0x4330000000000000), "");
#undef LANES
  LLVMValueRef less = LLVMConstReal(LLVMGetElementType(reals), is_signed ? -0x1.00000801p+84 : -0x1.00000001p+84);
  LLVMValueRef high = LLVMBuildFAdd(b, LLVMBuildBitCast(b, upper, reals, ""), constant_lanes(reals, less), "");
  LLVMReplaceAllUsesWith(old, LLVMBuildFAdd(b, high, LLVMBuildBitCast(b, lower, reals, ""), ""));
  LLVMInstructionEraseFromParent(old);
}

void convert_wide_integers(program *p) {
  if (!strstr(p->features, "+avx2") || strstr(p->features, "+avx512dq")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++)
      if (is_wide_conversion(all.items[n])) convert_by_halves(b, all.items[n]);
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}
