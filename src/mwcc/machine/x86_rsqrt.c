/* Reciprocal square roots by the processor's estimate and one Newton step.
 *
 * 1.0f / sqrtf(x) takes a root and a division, which are the slowest instructions there are. Where the source says that the
 * quotient need not be the nearest number (rsqrtf, whose bound is 2 units in the last place, and all of -use_fast_math),
 * AVX-512 has an estimate of 14 bits; the step makes 24 of them, at most 1.05 units off for every number (all mantissas
 * were tried). A zero, an infinity, a negative number or NaN has its right value in the estimate, and NaN in the step.
 *
 * The same for one number as for vectors, so that a thread's result does not depend on how it is run. Elsewhere the estimate
 * is worse (SSE's has 12 bits): there the division is done, and LLVM is told so, which would take that estimate and give
 * NaN for 0.
 *
 * Runs behind the optimiser. */
#include "mwcc/mwcc.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static LLVMValueRef number_for(LLVMTypeRef type, double number) {
  return constant_lanes(type, LLVMConstReal(element_type(type), number));
}

static LLVMValueRef estimate(program *p, LLVMBuilderRef b, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) {
    LLVMTypeRef four = LLVMVectorType(type, 4);
    LLVMValueRef lane = constant_i32(p, 0), first = LLVMBuildInsertElement(b, LLVMConstNull(four), x, lane, "");
    LLVMValueRef arguments[] = {first, first, LLVMConstNull(four), LLVMConstInt(p->i8, 1, 0)};
    first = call_intrinsic(p, b, "llvm.x86.avx512.rsqrt14.ss", NULL, 0, arguments, 4);
    return LLVMBuildExtractElement(b, first, lane, "");
  }
  unsigned lanes = LLVMGetVectorSize(type);
  LLVMValueRef arguments[] = {x, LLVMConstNull(type), LLVMConstAllOnes(lane_mask_type(p, lanes))};
  char *name = mw_format("llvm.x86.avx512.rsqrt14.ps.%u", lanes * 32);
  LLVMValueRef result = call_intrinsic(p, b, name, NULL, 0, arguments, 3);
  free(name);
  return result;
}

static bool loads_something(LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (LLVMIsALoadInst(i) || (LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.masked."))) return true;
  return false;
}

/* In integers. The estimate is no denormal. A zero is less than what is left of it, and stays. */
static LLVMValueRef halved_bits(program *p, LLVMBuilderRef b, LLVMValueRef y, LLVMTypeRef words) {
  LLVMTypeRef type = LLVMTypeOf(y);
  LLVMValueRef one = LLVMBuildBitCast(b, number_for(type, 0x1p-126), words, ""); /* of the exponent's field */
  LLVMValueRef bits = LLVMBuildBitCast(b, y, words, ""), arguments[] = {LLVMBuildSub(b, bits, one, ""), bits};
  return LLVMBuildBitCast(b, call_intrinsic(p, b, "llvm.umin", &words, 1, arguments, 2), type, "");
}

/* AMD's Zen adds where it does not multiply, and a step has multiplications enough. It has products by powers of two
   (x86_scalef.c) where it adds; integers in both places, where multiplications wait for them: bodies that attract each other took a
   sixteenth more time. But such a product is there late, and where nothing is loaded, as in the rounds of an orbit, all waits for
   the root. (Those took up to a fifteenth less time with integers.) */
static LLVMValueRef halved(program *p, LLVMBuilderRef b, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(y), types[] = {type, p->i32};
  if (!starts_with(p->cpu, "znver")) return LLVMBuildFMul(b, y, number_for(type, 0.5), "");
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) types[1] = LLVMVectorType(p->i32, LLVMGetVectorSize(type));
  if (!loads_something(LLVMGetInsertBlock(b))) return halved_bits(p, b, y, types[1]);
  LLVMValueRef arguments[] = {y, constant_lanes(types[1], LLVMConstAllOnes(p->i32))};
  return call_intrinsic(p, b, "llvm.ldexp", types, 2, arguments, 2);
}

/* y + y/2 * (1 - x y y), for one register. */
static LLVMValueRef reciprocal_root(program *p, LLVMBuilderRef b, LLVMValueRef *operand) {
  LLVMValueRef x = *operand;
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef y = estimate(p, b, x), root = LLVMBuildFMul(b, x, y, "");
  LLVMValueRef arguments[] = {LLVMBuildFNeg(b, root, ""), y, number_for(type, 1)};
  LLVMValueRef error = call_intrinsic(p, b, "llvm.fma", &type, 1, arguments, 3);
  /* Where it is NaN, half as much again is added: nothing to a zero or an infinity. A comparison and a mask would have to
     wait for where multiplications are done. */
  LLVMValueRef least[] = {error, number_for(type, 1)};
  error = call_intrinsic(p, b, "llvm.minnum", &type, 1, least, 2);
  LLVMValueRef half[] = {halved(p, b, y), error, y};
  return call_intrinsic(p, b, "llvm.fma", &type, 1, half, 3);
}

static bool is_one(LLVMValueRef value) {
  LLVMBool loses;
  LLVMValueRef lane = constant_of_lanes(value);
  return lane && LLVMIsAConstantFP(lane) && LLVMConstRealGetDouble(lane, &loses) == 1;
}

static bool is_quotient(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMFDiv || !(LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal)) return false;
  LLVMValueRef root = LLVMGetOperand(i, 1);
  return LLVMGetTypeKind(element_type(LLVMTypeOf(i))) == LLVMFloatTypeKind && LLVMIsACallInst(root) &&
         starts_with(callee_name(root), "llvm.sqrt.") && is_one(LLVMGetOperand(i, 0));
}

void estimate_roots(program *p) {
  bool can = strstr(p->features, "+avx512f") && strstr(p->features, "+avx512vl");
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef i = list.items[n];
      if (!is_quotient(i)) continue;
      LLVMTypeRef type = LLVMTypeOf(i);
      unsigned lanes = LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 1;
      LLVMValueRef root = LLVMGetOperand(i, 1), x = LLVMGetOperand(root, 0);
      LLVMPositionBuilderBefore(b, i);
      bool good = can && lanes != 2 && (lanes & (lanes - 1)) == 0;
      LLVMValueRef made =
          good ? by_registers(p, b, reciprocal_root, &x, 1) : LLVMBuildFDiv(b, LLVMGetOperand(i, 0), root, "");
      LLVMReplaceAllUsesWith(i, made);
      LLVMInstructionEraseFromParent(i);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
