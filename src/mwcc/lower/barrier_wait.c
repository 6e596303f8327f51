/* Waiting for a phase of a cuda::barrier, `__mw_block_wait(&phase, mask, value)`: until phase & mask differs from
 * the value.
 *
 * Where all threads of a block reach the same wait for the same barrier, it is a barrier of the block: when all have
 * arrived, one of them has ended the phase. So the analyses treat it as one, and gangs run it as one. Where that is
 * impossible, threads run on fibers, and a wait is a loop that calls the runtime to run other fibers until the phase
 * has changed. This file emits that loop. */
#include "mwcc/analysis/simt.h"
#include "mwcc/analysis/analysis.h"
#include "lower.h"

#include <stdlib.h>
#include <string.h>

static LLVMValueRef word_wait_function(program *p) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, WORD_WAIT);
  if (function) return function;
  LLVMTypeRef params[] = {p->pointer, p->i32, p->i32};
  function = LLVMAddFunction(p->module, WORD_WAIT, LLVMFunctionType(p->void_type, params, 3, 0));
  add_attribute(p, function, "convergent");
  return function;
}

static void expand(program *p, LLVMValueRef wait) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMValueRef function = word_wait_function(p), phase = LLVMGetOperand(wait, 0);
  LLVMBasicBlockRef after = LLVMGetInstructionParent(wait), head = split_block(p, wait);
  LLVMBasicBlockRef poll = LLVMInsertBasicBlockInContext(p->context, after, "poll");
  LLVMBasicBlockRef wait_block = LLVMInsertBasicBlockInContext(p->context, after, "wait");
  LLVMPositionBuilderAtEnd(b, head);
  LLVMBuildBr(b, poll);
  LLVMPositionBuilderAtEnd(b, poll);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(wait));
  LLVMValueRef now = LLVMBuildLoad2(b, p->i32, phase, "phase");
  LLVMSetOrdering(now, LLVMAtomicOrderingMonotonic);
  LLVMSetAlignment(now, sizeof(uint32_t));
  now = LLVMBuildAnd(b, now, LLVMGetOperand(wait, 1), "");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, now, LLVMGetOperand(wait, 2), ""), wait_block, after);
  LLVMPositionBuilderAtEnd(b, wait_block);
  LLVMValueRef arguments[] = {phase, LLVMGetOperand(wait, 1), LLVMGetOperand(wait, 2)};
  LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, arguments, 3, "");
  LLVMBuildBr(b, poll);
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
