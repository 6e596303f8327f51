/* Multiplication by powers of two, y * 2^n, by AVX-512's scalef instruction.
 *
 * Exponential functions end with such a product, which is rounded once (float_exponential.h, double_exponential.h). The
 * device headers' portable form multiplies twice, by halves of the power that are built with shifts. There are two
 * steps:
 *   before widening, form_ldexp() replaces the body of that function by llvm.ldexp, which is widened as one operation;
 *   after optimisation, form_scalef() replaces llvm.ldexp by scalef.
 * scalef takes n as a floating-point number. Usually n was made from one by the "magic number" conversion, adding 1.5 *
 * 2^23 or 1.5 * 2^52, so that the number is available (as_real).
 *
 * Scalars are treated like vectors, so that a thread's result does not depend on its tier: both round once. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static bool has_instruction(const program *p) {
  return strstr(p->features, "+avx512f") && strstr(p->features, "+avx512vl") && strstr(p->features, "+avx512dq");
}

/* ---- before widening ---- */

/* Whether it is the device headers' function for y * 2^n, an instance of a template. */
static bool is_times_power(LLVMValueRef f) {
  size_t length;
  const char *name = LLVMGetValueName2(f, &length);
  return LLVMCountBasicBlocks(f) && LLVMCountParams(f) == 2 && starts_with(name, "_ZL16__mw_times_powerI") &&
         LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(f, 1))) == LLVMIntegerTypeKind;
}

void empty_function(LLVMValueRef f) {
  LLVMBasicBlockRef block;
  while ((block = LLVMGetFirstBasicBlock(f))) {
    LLVMValueRef i;
    while ((i = LLVMGetLastInstruction(block))) {
      if (LLVMGetFirstUse(i)) LLVMReplaceAllUsesWith(i, LLVMGetPoison(LLVMTypeOf(i)));
      LLVMInstructionEraseFromParent(i);
    }
    LLVMDeleteBasicBlock(block);
  }
}

void form_ldexp(program *p) {
  if (!has_instruction(p)) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    if (!is_times_power(f)) continue;
    LLVMValueRef arguments[] = {LLVMGetParam(f, 0), LLVMGetParam(f, 1)};
    LLVMTypeRef types[] = {LLVMTypeOf(arguments[0]), LLVMTypeOf(arguments[1])};
    empty_function(f);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->context, f, ""));
    LLVMBuildRet(b, call_intrinsic(p, b, "llvm.ldexp", types, 2, arguments, 2));
  }
  LLVMDisposeBuilder(b);
}

/* ---- after optimisation ---- */

/* The magic number: 1.5 times the smallest number whose last mantissa bit is worth 1. Adding it to a number rounds that
   to an integer, which is then in the sum's low mantissa bits. */
static LLVMValueRef shifter(LLVMTypeRef type) {
  return LLVMConstReal(type, LLVMGetTypeKind(type) == LLVMFloatTypeKind ? 0x1.8p+23 : 0x1.8p+52);
}

/* n as a floating-point number: the number that it was converted from, rounded, or else a conversion. */
static LLVMValueRef as_real(LLVMBuilderRef b, LLVMValueRef n, LLVMTypeRef type) {
  LLVMValueRef added = constant_lanes(type, shifter(element_type(type)));
  if (LLVMIsAInstruction(n) && LLVMGetInstructionOpcode(n) == LLVMAdd) {
    LLVMValueRef bits = LLVMGetOperand(n, 0), less = LLVMConstNeg(LLVMConstBitCast(added, LLVMTypeOf(n)));
    if (LLVMGetOperand(n, 1) == less && LLVMIsABitCastInst(bits) && LLVMTypeOf(LLVMGetOperand(bits, 0)) == type)
      return LLVMBuildFAdd(b, LLVMGetOperand(bits, 0), LLVMBuildFNeg(b, added, ""), "");
  }
  return LLVMBuildSIToFP(b, n, type, "");
}

static LLVMValueRef of_register(program *p, LLVMBuilderRef b, LLVMValueRef y, LLVMValueRef n) {
  LLVMTypeRef type = LLVMTypeOf(y);
  bool is_float = LLVMGetTypeKind(element_type(type)) == LLVMFloatTypeKind;
  unsigned lanes = LLVMGetVectorSize(type), bits = lanes * (is_float ? 32 : 64);
  LLVMValueRef mask = LLVMConstAllOnes(lane_mask_type(p, lanes));
  LLVMValueRef arguments[] = {y, n, LLVMConstNull(type), mask, constant_i32(p, 4)}; /* 4: the current rounding mode */
  char *name = mw_format("llvm.x86.avx512.mask.scalef.%s.%u", is_float ? "ps" : "pd", bits);
  LLVMValueRef result = call_intrinsic(p, b, name, NULL, 0, arguments, bits == 512 ? 5 : 4);
  free(name);
  return result;
}

static LLVMValueRef of_one(program *p, LLVMBuilderRef b, LLVMValueRef y, LLVMValueRef n) {
  bool is_float = LLVMGetTypeKind(LLVMTypeOf(y)) == LLVMFloatTypeKind;
  LLVMValueRef none = LLVMConstNull(LLVMVectorType(LLVMTypeOf(y), is_float ? 4 : 2)), first = constant_i32(p, 0);
  LLVMValueRef arguments[] = {LLVMBuildInsertElement(b, none, y, first, ""),
                              LLVMBuildInsertElement(b, none, n, first, ""), none, LLVMConstInt(p->i8, 1, 0),
                              constant_i32(p, 4)};
  const char *name = is_float ? "llvm.x86.avx512.mask.scalef.ss" : "llvm.x86.avx512.mask.scalef.sd";
  return LLVMBuildExtractElement(b, call_intrinsic(p, b, name, NULL, 0, arguments, 5), first, "");
}

/* Vectors that are not of a register's size are scalarised. */
static LLVMValueRef scaled(program *p, LLVMBuilderRef b, LLVMValueRef *y_n) {
  LLVMValueRef y = y_n[0], n = y_n[1];
  LLVMTypeRef type = LLVMTypeOf(y);
  if (!is_vector_type(type)) return of_one(p, b, y, n);
  unsigned long long bytes = LLVMABISizeOfType(p->layout, type);
  if (bytes == 16 || bytes == 32 || bytes == 64) return of_register(p, b, y, n);
  LLVMValueRef result = LLVMGetPoison(type);
  for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
    LLVMValueRef at = constant_i32(p, i);
    LLVMValueRef one = of_one(p, b, LLVMBuildExtractElement(b, y, at, ""), LLVMBuildExtractElement(b, n, at, ""));
    result = LLVMBuildInsertElement(b, result, one, at, "");
  }
  return result;
}

void form_scalef(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t k = 0; k < list.count; k++) {
      LLVMValueRef i = list.items[k];
      if (!LLVMIsACallInst(i) || !starts_with(callee_name(i), "llvm.ldexp.")) continue;
      LLVMPositionBuilderBefore(b, i);
      LLVMValueRef y_n[] = {LLVMGetOperand(i, 0), as_real(b, LLVMGetOperand(i, 1), LLVMTypeOf(i))};
      LLVMReplaceAllUsesWith(i, by_registers(p, b, scaled, y_n, 2));
      LLVMInstructionEraseFromParent(i);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
