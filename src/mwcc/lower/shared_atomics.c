/* Atomics on shared memory as plain accesses. One host thread runs a block and switches between its threads only
 * where they wait, so an atomic there needs no lock: it is a load, the operation, and a store. Gangs emit theirs
 * this way (atomics.c); unlock_shared() does it for the loop and fiber tiers. */
#include "mwcc/analysis/simt.h"
#include "lower.h"

#include <stdlib.h>

LLVMValueRef combine_atomic(LLVMBuilderRef b, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef value) {
  LLVMIntPredicate predicate = op == LLVMAtomicRMWBinOpMax    ? LLVMIntSGT
                               : op == LLVMAtomicRMWBinOpMin  ? LLVMIntSLT
                               : op == LLVMAtomicRMWBinOpUMax ? LLVMIntUGT
                                                              : LLVMIntULT;
  switch (op) {
  case LLVMAtomicRMWBinOpXchg: return value;
  case LLVMAtomicRMWBinOpAdd: return LLVMBuildAdd(b, old, value, "");
  case LLVMAtomicRMWBinOpSub: return LLVMBuildSub(b, old, value, "");
  case LLVMAtomicRMWBinOpAnd: return LLVMBuildAnd(b, old, value, "");
  case LLVMAtomicRMWBinOpOr: return LLVMBuildOr(b, old, value, "");
  case LLVMAtomicRMWBinOpXor: return LLVMBuildXor(b, old, value, "");
  case LLVMAtomicRMWBinOpFAdd: return LLVMBuildFAdd(b, old, value, "");
  case LLVMAtomicRMWBinOpFSub: return LLVMBuildFSub(b, old, value, "");
  case LLVMAtomicRMWBinOpMax:
  case LLVMAtomicRMWBinOpMin:
  case LLVMAtomicRMWBinOpUMax:
  case LLVMAtomicRMWBinOpUMin: return LLVMBuildSelect(b, LLVMBuildICmp(b, predicate, old, value, ""), old, value, "");
  default: return NULL;
  }
}

LLVMValueRef build_change(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef value) {
  LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(atomic);
  if (is_unlocked(atomic)) {
    LLVMValueRef old = LLVMBuildLoad2(b, LLVMTypeOf(value), address, ""), result = combine_atomic(b, op, old, value);
    if (result) {
      LLVMBuildStore(b, result, address);
      return old;
    }
  }
  return LLVMBuildAtomicRMW(b, op, address, value, LLVMGetOrdering(atomic), 0);
}

LLVMValueRef build_exchange(LLVMBuilderRef b, LLVMValueRef atomic, LLVMValueRef address, LLVMValueRef expected,
                            LLVMValueRef desired) {
  if (!is_unlocked(atomic))
    return LLVMBuildAtomicCmpXchg(b, address, expected, desired, LLVMGetCmpXchgSuccessOrdering(atomic),
                                  LLVMGetCmpXchgFailureOrdering(atomic), 0);
  LLVMValueRef old = LLVMBuildLoad2(b, LLVMTypeOf(desired), address, "");
  LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, old, expected, "");
  LLVMBuildStore(b, LLVMBuildSelect(b, same, desired, old, ""), address);
  LLVMValueRef both = LLVMBuildInsertValue(b, LLVMGetPoison(LLVMTypeOf(atomic)), old, 0, "");
  return LLVMBuildInsertValue(b, both, same, 1, "");
}

static void unlock(LLVMBuilderRef b, LLVMValueRef atomic) {
  LLVMPositionBuilderBefore(b, atomic);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(atomic));
  LLVMValueRef address = LLVMGetOperand(atomic, 0), value = LLVMGetOperand(atomic, 1);
  LLVMValueRef made = LLVMIsAAtomicRMWInst(atomic)
                          ? build_change(b, atomic, address, value)
                          : build_exchange(b, atomic, address, value, LLVMGetOperand(atomic, 2));
  LLVMReplaceAllUsesWith(atomic, made);
  LLVMInstructionEraseFromParent(atomic);
}

void unlock_shared(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++) {
      LLVMValueRef i = all.items[n];
      if ((LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) && is_unlocked(i)) unlock(b, i);
    }
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}
