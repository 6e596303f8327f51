/* Reciprocal square roots by AVX-512's estimate (vrsqrt14) and one Newton-Raphson step.
 *
 *   1.0f / sqrtf(x)   ->   y = rsqrt14(x); y + y/2 * (1 - x*y*y)
 *
 * Square root and division are the slowest arithmetic instructions. The replacement is done where the source allows a
 * quotient that is not correctly rounded (the arcp flag: rsqrtf, whose error bound is 2 ulp, and everything with
 * -use_fast_math). The step turns the estimate's 14 bits into 24; the error is at most 1.05 ulp, tested with all
 * mantissas. For zeros, infinities, negative numbers and NaN the estimate is right and the step would give NaN, so the
 * correction is made to have no effect there.
 *
 * Scalars are treated like vectors, so that a thread's result does not depend on its tier. Without AVX-512 the estimate
 * is worse (12 bits with SSE), and the division is rebuilt without the arcp flag: LLVM would otherwise use that
 * estimate, whose result for 0 is NaN.
 *
 * It runs after optimisation. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

static LLVMValueRef number_for(LLVMTypeRef type, double number) {
  return constant_lanes(type, LLVMConstReal(element_type(type), number));
}

static LLVMValueRef estimate(program *p, LLVMBuilderRef b, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  if (!is_vector_type(type)) {
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

/* y / 2 by integer arithmetic: 1 is subtracted from the exponent. The estimate is never subnormal. For a zero the
   difference wraps around and is larger than the zero itself, which the minimum keeps. */
static LLVMValueRef halved_bits(program *p, LLVMBuilderRef b, LLVMValueRef y, LLVMTypeRef words) {
  LLVMTypeRef type = LLVMTypeOf(y);
  LLVMValueRef one = LLVMBuildBitCast(b, number_for(type, 0x1p-126), words, ""); /* the exponent field's lowest bit */
  LLVMValueRef bits = LLVMBuildBitCast(b, y, words, ""), arguments[] = {LLVMBuildSub(b, bits, one, ""), bits};
  return LLVMBuildBitCast(b, call_intrinsic(p, b, "llvm.umin", &words, 1, arguments, 2), type, "");
}

/* y / 2, on Zen without the multipliers, which the step keeps busy. Zen executes scalef on its adders; integer
   operations run on both and delay multiplications (N-body: 6 % slower). But scalef has a long latency. In blocks
   without loads the latency of the root dominates, as in the iteration of an orbit, and integer operations are used (up
   to 7 % faster). */
static LLVMValueRef halved(program *p, LLVMBuilderRef b, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(y), types[] = {type, p->i32};
  if (!starts_with(p->cpu, "znver")) return LLVMBuildFMul(b, y, number_for(type, 0.5), "");
  if (is_vector_type(type)) types[1] = LLVMVectorType(p->i32, LLVMGetVectorSize(type));
  if (!loads_something(LLVMGetInsertBlock(b))) return halved_bits(p, b, y, types[1]);
  LLVMValueRef arguments[] = {y, constant_lanes(types[1], LLVMConstAllOnes(p->i32))};
  return call_intrinsic(p, b, "llvm.ldexp", types, 2, arguments, 2);
}

/* y + y/2 * (1 - x*y*y), for one register. */
static LLVMValueRef reciprocal_root(program *p, LLVMBuilderRef b, LLVMValueRef *operand) {
  LLVMValueRef x = *operand;
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef y = estimate(p, b, x), root = LLVMBuildFMul(b, x, y, "");
  LLVMValueRef arguments[] = {LLVMBuildFNeg(b, root, ""), y, number_for(type, 1)};
  LLVMValueRef error = call_intrinsic(p, b, "llvm.fma", &type, 1, arguments, 3);
  /* Where the error is NaN, minnum makes it 1, and y + y/2 is y itself for a zero, an infinity and NaN. A comparison
     and a mask would compete with multiplications for their execution units. */
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

void estimate_reciprocal_roots(program *p) {
  bool can = strstr(p->features, "+avx512f") && strstr(p->features, "+avx512vl");
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef i = list.items[n];
      if (!is_quotient(i)) continue;
      LLVMTypeRef type = LLVMTypeOf(i);
      unsigned lanes = is_vector_type(type) ? LLVMGetVectorSize(type) : 1;
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
