/* Workaround for a miscompile of LLVM 19's loop vectoriser: functions with indices that wrap in strides are not
 * vectorised.
 *
 *   for (int i = 0; i < 32; i++) out[i] = in[(5 * i) & 31];
 *
 * To ScalarEvolution that index is a recurrence of 5 bits, {0,+,5}, zero-extended. The vectoriser loads it as an
 * interleaved group of stride 5, under the assumption that the recurrence does not wrap, which it tests at run time.
 * But the test of one that begins at 0 and has a positive step is constant ("nothing is below 0" in
 * SCEVExpander::generateOverflowCheck): the test for an overflow of step times iterations is left out as well. So
 * in[35] is loaded where in[3] is meant. A step of one cannot wrap unnoticed, since the number of iterations is tested.
 *
 * An index is suspicious if a mask of its low bits, a remainder by a power of two, or an extension from 16 bits or
 * fewer is part of it, and something with a stride is part of what is masked: a product, a shift, a variable that grows
 * by more than one. Here variables may still be in memory (slots), and the vectoriser's view is that after all
 * simplifications, so whole functions are excluded: by the attribute noimplicitfloat, which LLVM's vectorisers respect,
 * and which is removed before code generation. LLVM has no narrower means that is the same after unrolling. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

/* A backward search gives up after so many values, and then assumes a stride. */
enum { DEPTH = 12, MOST_VALUES = 200 };

static bool is_low_mask(LLVMValueRef value) {
  if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
  unsigned long long word = LLVMConstIntGetZExtValue(value);
  return word && !(word & (word + 1));
}

static bool is_power_of_two(LLVMValueRef value) {
  if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
  unsigned long long word = LLVMConstIntGetZExtValue(value);
  return word && !(word & (word - 1));
}

static bool is_shift(LLVMValueRef value) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMShl;
}

/* The operand of which the instruction keeps the low bits, or NULL. */
static LLVMValueRef masked_operand(LLVMValueRef i) {
  if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind) return NULL;
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMAnd: return is_low_mask(LLVMGetOperand(i, 1)) ? LLVMGetOperand(i, 0) : NULL;
  case LLVMURem:
  case LLVMSRem: return is_power_of_two(LLVMGetOperand(i, 1)) ? LLVMGetOperand(i, 0) : NULL;
  case LLVMLShr: return is_shift(LLVMGetOperand(i, 0)) ? LLVMGetOperand(LLVMGetOperand(i, 0), 0) : NULL;
  case LLVMZExt: return LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(i, 0))) <= 16 ? LLVMGetOperand(i, 0) : NULL;
  default: return NULL;
  }
}

static bool has_stride(LLVMValueRef value, unsigned depth, unsigned *left);

/* Whether a variable that gets this value may be stepped by another number than one. */
static bool is_long_step(LLVMValueRef value, unsigned depth, unsigned *left) {
  if (!LLVMIsAInstruction(value)) return false;
  LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
  if (opcode != LLVMAdd && opcode != LLVMSub) return has_stride(value, depth, left);
  LLVMValueRef step = LLVMGetOperand(value, 1);
  if (!LLVMIsAConstantInt(step)) return true;
  long long number = LLVMConstIntGetSExtValue(step);
  return number > 1 || number < -1 || has_stride(LLVMGetOperand(value, 0), depth, left);
}

static bool slot_has_stride(LLVMValueRef slot, unsigned depth, unsigned *left) {
  for (LLVMUseRef use = LLVMGetFirstUse(slot); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == slot && is_long_step(LLVMGetOperand(user, 0), depth, left))
      return true;
  }
  return false;
}

/* Whether the value may be a recurrence whose step is not one. The steps of a variable are seen at its first visit, so
   a search that returns to it need not find another. */
static bool has_stride(LLVMValueRef value, unsigned depth, unsigned *left) {
  if (!LLVMIsAInstruction(value) || !depth) return false;
  if (!*left) return true;
  --*left;
  switch (LLVMGetInstructionOpcode(value)) {
  case LLVMMul:
  case LLVMShl: return true;
  case LLVMAdd:
  case LLVMSub:
  case LLVMOr:
    return has_stride(LLVMGetOperand(value, 0), depth - 1, left) ||
           has_stride(LLVMGetOperand(value, 1), depth - 1, left);
  case LLVMTrunc:
  case LLVMZExt:
  case LLVMSExt:
  case LLVMFreeze: return has_stride(LLVMGetOperand(value, 0), depth - 1, left);
  case LLVMPHI:
    for (unsigned n = 0; n < LLVMCountIncoming(value); n++)
      if (is_long_step(LLVMGetIncomingValue(value, n), depth - 1, left)) return true;
    return false;
  case LLVMLoad:
    return LLVMIsAAllocaInst(LLVMGetOperand(value, 0)) && slot_has_stride(LLVMGetOperand(value, 0), depth - 1, left);
  default: return false;
  }
}

/* Whether the value is part of an address, by arithmetic or by way of a variable. */
static bool is_index(LLVMValueRef value, unsigned depth) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); depth && use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsAGetElementPtrInst(user)) return true;
    if (LLVMIsAStoreInst(user) && LLVMIsAAllocaInst(LLVMGetOperand(user, 1))) return true;
    if (!LLVMIsABinaryOperator(user) && !LLVMIsACastInst(user) && !LLVMIsAPHINode(user)) continue;
    if (LLVMGetTypeKind(LLVMTypeOf(user)) == LLVMIntegerTypeKind && is_index(user, depth / 2)) return true;
  }
  return false;
}

static bool has_wrapped_stride(LLVMValueRef f) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
      LLVMValueRef what = masked_operand(i);
      unsigned left = MOST_VALUES;
      if (what && is_index(i, DEPTH) && has_stride(what, DEPTH, &left)) return true;
    }
  return false;
}

void forbid_wrapped_strides(program *p) {
  EACH_FUNCTION(p, f) {
    if (has_wrapped_stride(f)) add_attribute(p, f, "noimplicitfloat");
  }
}

void allow_wrapped_strides(program *p) { EACH_FUNCTION(p, f) remove_attribute(f, "noimplicitfloat"); }
