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
#include "mwcc.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 16 }; /* floats in a register */

static LLVMValueRef all_lanes(LLVMTypeRef type, double number) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstReal(type, number);
  LLVMValueRef items[MOST];
  unsigned lanes = LLVMGetVectorSize(type);
  for (unsigned i = 0; i < lanes; i++) items[i] = LLVMConstReal(LLVMGetElementType(type), number);
  return LLVMConstVector(items, lanes);
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
  LLVMTypeRef mask = lanes == 16 ? LLVMInt16TypeInContext(p->context) : p->i8;
  LLVMValueRef arguments[] = {x, LLVMConstNull(type), LLVMConstAllOnes(mask)};
  char *name = mw_format("llvm.x86.avx512.rsqrt14.ps.%u", lanes * 32);
  LLVMValueRef result = call_intrinsic(p, b, name, NULL, 0, arguments, 3);
  free(name);
  return result;
}

/* AMD's Zen adds where it does not multiply, and does integers in both places: a step has multiplications enough. The
   estimate is no denormal. A zero is less than what is left of it, and stays. */
static LLVMValueRef halved(program *p, LLVMBuilderRef b, LLVMValueRef y) {
  LLVMTypeRef type = LLVMTypeOf(y), word = p->i32;
  if (!starts_with(p->cpu, "znver")) return LLVMBuildFMul(b, y, all_lanes(type, 0.5), "");
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) word = LLVMVectorType(word, LLVMGetVectorSize(type));
  LLVMValueRef one = LLVMBuildBitCast(b, all_lanes(type, 0x1p-126), word, ""); /* of the exponent's field */
  LLVMValueRef bits = LLVMBuildBitCast(b, y, word, ""), arguments[] = {LLVMBuildSub(b, bits, one, ""), bits};
  return LLVMBuildBitCast(b, call_intrinsic(p, b, "llvm.umin", &word, 1, arguments, 2), type, "");
}

/* y + y/2 * (1 - x y y), for one register. */
static LLVMValueRef reciprocal_root(program *p, LLVMBuilderRef b, LLVMValueRef x) {
  LLVMTypeRef type = LLVMTypeOf(x);
  LLVMValueRef y = estimate(p, b, x), root = LLVMBuildFMul(b, x, y, "");
  LLVMValueRef arguments[] = {LLVMBuildFNeg(b, root, ""), y, all_lanes(type, 1)};
  LLVMValueRef error = call_intrinsic(p, b, "llvm.fma", &type, 1, arguments, 3);
  /* Where it is NaN, half as much again is added: nothing to a zero or an infinity. A comparison and a mask would have to
     wait for where multiplications are done. */
  LLVMValueRef least[] = {error, all_lanes(type, 1)};
  error = call_intrinsic(p, b, "llvm.minnum", &type, 1, least, 2);
  LLVMValueRef half[] = {halved(p, b, y), error, y};
  return call_intrinsic(p, b, "llvm.fma", &type, 1, half, 3);
}

/* Lanes first .. first + count - 1. */
static LLVMValueRef lanes_from(program *p, LLVMBuilderRef b, LLVMValueRef vector, unsigned first, unsigned count) {
  LLVMValueRef items[MOST];
  for (unsigned i = 0; i < count; i++) items[i] = constant_i32(p, first + i);
  return LLVMBuildShuffleVector(b, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(items, count), "");
}

/* Vectors of more than a register, half by half. */
static LLVMValueRef in_pieces(program *p, LLVMBuilderRef b, LLVMValueRef x) {
  enum { WIDEST = 64 };
  unsigned lanes = LLVMGetTypeKind(LLVMTypeOf(x)) == LLVMVectorTypeKind ? LLVMGetVectorSize(LLVMTypeOf(x)) : 1;
  if (lanes <= MOST) return reciprocal_root(p, b, x);
  LLVMValueRef pieces[WIDEST / MOST], items[WIDEST];
  unsigned count = lanes / MOST;
  for (unsigned i = 0; i < count; i++) pieces[i] = reciprocal_root(p, b, lanes_from(p, b, x, i * MOST, MOST));
  for (unsigned length = MOST; count > 1; count /= 2, length *= 2)
    for (unsigned i = 0; i < count; i += 2) {
      for (unsigned n = 0; n < 2 * length; n++) items[n] = constant_i32(p, n);
      pieces[i / 2] = LLVMBuildShuffleVector(b, pieces[i], pieces[i + 1], LLVMConstVector(items, 2 * length), "");
    }
  return pieces[0];
}

static bool is_one(LLVMValueRef value) {
  LLVMBool loses;
  if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
    if (!LLVMIsAConstantDataVector(value)) return false;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(value));
    for (unsigned i = 0; i < lanes; i++)
      if (!is_one(LLVMGetAggregateElement(value, i))) return false;
    return true;
  }
  return LLVMIsAConstantFP(value) && LLVMConstRealGetDouble(value, &loses) == 1;
}

static bool is_quotient(LLVMValueRef i) {
  if (LLVMGetInstructionOpcode(i) != LLVMFDiv || !(LLVMGetFastMathFlags(i) & LLVMFastMathAllowReciprocal)) return false;
  LLVMTypeRef type = LLVMTypeOf(i);
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  LLVMValueRef root = LLVMGetOperand(i, 1);
  return LLVMGetTypeKind(type) == LLVMFloatTypeKind && LLVMIsACallInst(root) &&
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
      LLVMValueRef root = LLVMGetOperand(i, 1);
      LLVMPositionBuilderBefore(b, i);
      bool good = can && lanes != 2 && (lanes & (lanes - 1)) == 0;
      LLVMValueRef made =
          good ? in_pieces(p, b, LLVMGetOperand(root, 0)) : LLVMBuildFDiv(b, LLVMGetOperand(i, 0), root, "");
      LLVMReplaceAllUsesWith(i, made);
      LLVMInstructionEraseFromParent(i);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
