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
  LLVMSetTailCallKind(bits, LLVMTailCallKindNoTail); /* reports need the return address of the calling line */
  return LLVMGetTypeKind(type) == LLVMVoidTypeKind ? NULL : from_bits(p, b, bits, type);
}
