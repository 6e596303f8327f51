/* Whether a load's address moves by one element in each iteration of a loop, forwards or backwards: then a thread walks
 * a row (opt/row_tiles.h). For the cost model, which does not need a proof: numbers are taken not to wrap. */
#include "simt.h"
#include "mwcc/support/predicates.h"

enum { DEEPEST = 12, FEW_STEPS = 4 /* elements between lanes up to which whole vectors are loaded: interleaved.c */ };

static bool adds_constant(LLVMValueRef next, LLVMValueRef phi, int64_t *step) {
  if (!LLVMIsAInstruction(next)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(next);
  if ((opcode != LLVMAdd && opcode != LLVMSub) || LLVMGetOperand(next, 0) != phi) return false;
  LLVMValueRef by = LLVMGetOperand(next, 1);
  if (!LLVMIsAConstantInt(by)) return false;
  *step = opcode == LLVMAdd ? LLVMConstIntGetSExtValue(by) : -LLVMConstIntGetSExtValue(by);
  return true;
}

/* By how much the value changes in each iteration of the loop, which is the block alone. */
static bool step_in(const program *p, LLVMBasicBlockRef block, LLVMValueRef value, int64_t *step, int depth) {
  int64_t other = 0;
  *step = 0;
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != block) return true;
  if (depth == 0) return false;
  LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL;
  LLVMValueRef b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMPHI:
    for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
      if (LLVMGetIncomingBlock(value, i) == block) return adds_constant(LLVMGetIncomingValue(value, i), value, step);
    return false;
  case LLVMOr:
  case LLVMAdd:
  case LLVMSub:
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    *step += LLVMGetInstructionOpcode(value) == LLVMSub ? -other : other;
    return true;
  case LLVMMul:
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    return *step == 0 && other == 0;
  case LLVMSExt:
  case LLVMZExt:
  case LLVMFreeze:
  case LLVMAddrSpaceCast: return step_in(p, block, a, step, depth - 1);
  case LLVMGetElementPtr:
    if (LLVMGetNumIndices(value) != 1) return false;
    if (!step_in(p, block, a, step, depth - 1) || !step_in(p, block, b, &other, depth - 1)) return false;
    *step += other * (int64_t)LLVMABISizeOfType(p->layout, LLVMGetGEPSourceElementType(value));
    return true;
  default: return false;
  }
}

static bool walks_row(const program *p, LLVMValueRef load) {
  LLVMBasicBlockRef block = LLVMGetInstructionParent(load), before, after;
  int64_t step, bytes = (int64_t)LLVMABISizeOfType(p->layout, LLVMTypeOf(load));
  if (!is_own_loop(block, &before, &after)) return false;
  return step_in(p, block, LLVMGetOperand(load, 0), &step, DEEPEST) && (step == bytes || step == -bytes);
}

bool is_walked_row(const shapes *s, LLVMValueRef load) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  shape at = shape_of(s, address);
  int64_t bytes = (int64_t)LLVMABISizeOfType(s->graph->program->layout, LLVMTypeOf(load));
  bool strided = at.kind == SHAPE_AFFINE || at.kind == SHAPE_VECTOR_AFFINE;
  if (at.kind != SHAPE_VARYING && (!strided || (at.stride <= FEW_STEPS * bytes && at.stride >= -FEW_STEPS * bytes)))
    return false;
  return is_plain_access(load) && memory_of(address) != MEMORY_LOCAL && walks_row(s->graph->program, load);
}
