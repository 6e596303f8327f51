/* Warp functions on fibers.
 *
 * Before: warp functions are calls of the device target's intrinsics (or, for 64 bits, of functions that the device
 * headers name like them). After: calls of the services `warp` and `warp_converge` (mwo.h). */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "lower.h"

#include <stdlib.h>
#include <string.h>

/* ---- on fibers ---- */

LLVMValueRef lower_converge(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker) {
  LLVMTypeRef params[] = {p->pointer, p->i32};
  LLVMValueRef arguments[] = {worker, constant_i32(p, p->converge_sites++)};
  return call_service(p, b, frame, offsetof(mw_services, warp_converge), LLVMFunctionType(p->i32, params, 2, 0),
                      arguments, 2);
}

/* The service takes and returns 64 bits for every type. */
static LLVMValueRef as_bits(program *p, LLVMBuilderRef b, LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
    value = LLVMBuildBitCast(b, value,
                             LLVMIntTypeInContext(p->context, (unsigned)LLVMSizeOfTypeInBits(p->layout, type)), "");
  return LLVMBuildZExtOrBitCast(b, value, p->i64, "");
}

static LLVMValueRef from_bits(program *p, LLVMBuilderRef b, LLVMValueRef bits, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMStructTypeKind) { /* match.all: {mask, whether there is one} */
    LLVMValueRef mask = LLVMBuildTrunc(b, bits, p->i32, "");
    LLVMValueRef same = LLVMBuildICmp(b, LLVMIntNE, mask, constant_i32(p, 0), "");
    LLVMValueRef both = LLVMBuildInsertValue(b, LLVMGetPoison(type), mask, 0, "");
    return LLVMBuildInsertValue(b, both, same, 1, "");
  }
  LLVMTypeRef integer = LLVMIntTypeInContext(p->context, (unsigned)LLVMSizeOfTypeInBits(p->layout, type));
  if (integer != p->i64) bits = LLVMBuildTrunc(b, bits, integer, "");
  return LLVMBuildBitCast(b, bits, type, "");
}

LLVMValueRef lower_warp(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef frame, LLVMValueRef worker) {
  const warp_call *kind = find_warp_call(callee_name(call));
  if (!kind) return lower_converge(p, b, frame, worker);
  bool shuffles = kind->call >= MW_WARP_SHUFFLE && kind->call <= MW_WARP_SHUFFLE_XOR;
  LLVMValueRef zero = constant_i32(p, 0);
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i64, p->i32, p->i32};
  LLVMValueRef arguments[] = {worker,
                              constant_i32(p, kind->call),
                              LLVMGetOperand(call, (unsigned)kind->mask),
                              kind->value < 0 ? constant_i64(p, 0)
                                              : as_bits(p, b, LLVMGetOperand(call, (unsigned)kind->value)),
                              shuffles ? LLVMGetOperand(call, 2) : zero,
                              shuffles ? LLVMGetOperand(call, 3) : zero};
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMValueRef bits =
      call_service(p, b, frame, offsetof(mw_services, warp), LLVMFunctionType(p->i64, params, 6, 0), arguments, 6);
  if (p->follows) add_call_attribute(p, bits, "noduplicate"), add_call_attribute(p, bits, "nomerge");
  LLVMSetTailCallKind(bits, LLVMTailCallKindNoTail); /* reports need the return address of the calling line */
  return LLVMGetTypeKind(type) == LLVMVoidTypeKind ? NULL : from_bits(p, b, bits, type);
}

/* ---- a function for a whole warp ---- */

static LLVMValueRef word_of_lane(program *p, LLVMBuilderRef b, const LLVMValueRef services[2], LLVMValueRef value,
                                 unsigned lane) {
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32, p->i64, p->i32, p->i32};
  LLVMValueRef arguments[] = {services[1],           constant_i32(p, MW_WARP_SHUFFLE),
                              constant_i32(p, ~0u),  LLVMBuildZExt(b, value, p->i64, ""),
                              constant_i32(p, lane), constant_i32(p, WARP_LANES - 1)};
  LLVMValueRef bits = call_service(p, b, services[0], offsetof(mw_services, warp),
                                   LLVMFunctionType(p->i64, params, 6, 0), arguments, 6);
  LLVMSetTailCallKind(bits, LLVMTailCallKindNoTail);
  return LLVMBuildTrunc(b, bits, p->i32, "");
}

/* Each fiber collects the values of all lanes and computes for all of them: slow, and only for kernels that cannot be
   widened. */
LLVMValueRef lower_warp_apply(program *p, LLVMBuilderRef b, LLVMValueRef call, const LLVMValueRef services[2],
                              LLVMValueRef thread, LLVMValueRef lane) {
  unsigned count = LLVMGetNumArgOperands(call) - 1;
  LLVMValueRef function = LLVMGetOperand(call, 0), own = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  LLVMBuilderRef entry = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(own)));
  LLVMValueRef in = LLVMBuildAlloca(entry, LLVMArrayType2(p->i32, (uint64_t)count * WARP_LANES), "");
  LLVMValueRef out = LLVMBuildAlloca(entry, LLVMArrayType2(p->i32, WARP_APPLY_RESULTS * WARP_LANES), "");
  LLVMSetAlignment(in, 64);
  LLVMSetAlignment(out, 64);
  LLVMDisposeBuilder(entry);
  for (unsigned n = 0; n < count; n++) {
    for (unsigned from = 0; from < WARP_LANES; from++) {
      LLVMValueRef at = constant_i32(p, n * WARP_LANES + from);
      LLVMValueRef word = word_of_lane(p, b, services, LLVMGetOperand(call, n + 1), from);
      LLVMBuildStore(b, word, LLVMBuildInBoundsGEP2(b, p->i32, in, &at, 1, ""));
    }
  }
  LLVMValueRef arguments[] = {thread, in, out}, result = LLVMGetPoison(LLVMTypeOf(call));
  LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, arguments, 3,
                 ""); /* it has its thread parameter by now */
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef words[2];
    for (unsigned m = 0; m < 2; m++) {
      LLVMValueRef at = LLVMBuildAdd(b, lane, constant_i32(p, (2 * n + m) * WARP_LANES), "");
      words[m] = LLVMBuildLoad2(b, p->i32, LLVMBuildInBoundsGEP2(b, p->i32, out, &at, 1, ""), "");
      words[m] = LLVMBuildZExt(b, words[m], p->i64, "");
    }
    words[1] = LLVMBuildShl(b, words[1], constant_i64(p, 32), "");
    result = LLVMBuildInsertValue(b, result, LLVMBuildOr(b, words[0], words[1], ""), n, "");
  }
  return result;
}
