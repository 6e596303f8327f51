/* Waiting for the phase of a cuda::barrier, `__mw_block_wait(&phase, mask, value)`: until phase & mask is not the value.
 *
 * Where all threads of a block come to the same wait for the same barrier, it is a barrier of the block: who is to end the
 * phase has done so once all are there. So the analyses take it for one, and gangs of lanes run it as one. Where that
 * cannot be, threads are on stacks of their own, and a wait is a loop that asks the runtime to have others go on until
 * the phase has changed; this makes that loop. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "lower.h"

#include <stdlib.h>
#include <string.h>

static LLVMValueRef turn_function(program *p) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, TURN);
  if (function) return function;
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32};
  function = LLVMAddFunction(p->module, TURN, LLVMFunctionType(p->void_type, params, 3, 0));
  add_attribute(p, function, "convergent");
  return function;
}

static void expand(program *p, LLVMValueRef wait) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMValueRef function = turn_function(p), phase = LLVMGetOperand(wait, 0);
  LLVMBasicBlockRef behind = LLVMGetInstructionParent(wait), head = split_block(p, wait);
  LLVMBasicBlockRef look = LLVMInsertBasicBlockInContext(p->context, behind, "look");
  LLVMBasicBlockRef turn = LLVMInsertBasicBlockInContext(p->context, behind, "turn");
  LLVMPositionBuilderAtEnd(b, head);
  LLVMBuildBr(b, look);
  LLVMPositionBuilderAtEnd(b, look);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(wait));
  LLVMValueRef now = LLVMBuildLoad2(b, p->i32, phase, "phase");
  LLVMSetOrdering(now, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(now, sizeof(uint32_t));
  now = LLVMBuildAnd(b, now, LLVMGetOperand(wait, 1), "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, now, LLVMGetOperand(wait, 2), ""), turn, behind);
  LLVMPositionBuilderAtEnd(b, turn);
  LLVMValueRef arguments[] = {phase, LLVMGetOperand(wait, 1), LLVMGetOperand(wait, 2)};
  LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, arguments, 3, "");
  LLVMBuildBr(b, look);
  LLVMDisposeBuilder(b);
  LLVMInstructionEraseFromParent(wait);
}

void expand_block_waits(program *p) {
  if (!LLVMGetNamedFunction(p->module, BLOCK_WAIT)) return;
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++)
      if (is_block_wait(all.items[n])) expand(p, all.items[n]);
    free(all.items);
  }
}
