/* Masks of which a half is cleared, for processors with mask registers. A workaround for LLVM 19.
 *
 *   m = shufflevector <16 x i1> x, zeroinitializer, 0 … 7, 24 … 31    ->    m = and x, 0x00ff
 *
 * LLVM clears the upper half by KMOVB, which copies the lower one and clears the rest. But the register allocator takes
 * it for a copy of the whole register: where the result is spilled, x itself is stored, and lanes 8 to 15 are active
 * again. In blocks of rows of 24 threads the 8 lanes that have no thread stored to memory. instcombine makes such
 * shuffles of selections by constants, so they are replaced after it.
 *
 * A lane of the result is x's own or false, so it is x's lane and a constant. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "machine.h"

#include <stdlib.h>

static bool is_false(LLVMValueRef constant, unsigned lane) {
  LLVMValueRef element = LLVMGetAggregateElement(constant, lane);
  return element && (LLVMIsUndef(element) || LLVMIsNull(element));
}

/* Whether each lane of the shuffle is the same lane of its operand `from` or false; keeps[i]: which. */
static bool keeps_lanes(LLVMValueRef shuffle, unsigned from, LLVMValueRef *keeps, bool *clears) {
  LLVMValueRef x = LLVMGetOperand(shuffle, from), other = LLVMGetOperand(shuffle, 1 - from);
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x)), count = LLVMGetNumMaskElements(shuffle);
  LLVMTypeRef i1 = LLVMGetElementType(LLVMTypeOf(x));
  if (!LLVMIsAConstant(other) || LLVMIsAConstant(x) || count > MOST_LANES || count < lanes) return false;
  *clears = false;
  for (unsigned i = 0; i < count; i++) {
    int at = LLVMGetMaskValue(shuffle, i);
    bool own = at == LLVMGetUndefMaskElem() || (i < lanes && at == (int)(i + from * lanes));
    unsigned place = (unsigned)at - (1 - from) * lanes; /* in the other operand; beyond it, if it is in x */
    if (!own && (place >= lanes || !is_false(other, place))) return false;
    keeps[i] = LLVMConstInt(i1, own, 0);
    *clears = *clears || !own;
  }
  return true;
}

static LLVMValueRef widened(LLVMBuilderRef b, program *p, LLVMValueRef x, unsigned count) {
  LLVMValueRef order[MOST_LANES];
  unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x));
  if (lanes == count) return x;
  for (unsigned i = 0; i < count; i++) order[i] = i < lanes ? constant_i32(p, i) : LLVMGetUndef(p->i32);
  return LLVMBuildShuffleVector(b, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(order, count), "");
}

static void clear_by_constant(program *p, LLVMBuilderRef b, LLVMValueRef shuffle) {
  LLVMValueRef keeps[MOST_LANES];
  bool clears;
  for (unsigned from = 0; from < 2; from++) {
    if (!keeps_lanes(shuffle, from, keeps, &clears) || !clears) continue;
    unsigned count = LLVMGetNumMaskElements(shuffle);
    LLVMPositionBuilderBefore(b, shuffle);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(shuffle));
    LLVMValueRef x = widened(b, p, LLVMGetOperand(shuffle, from), count);
    LLVMReplaceAllUsesWith(shuffle, LLVMBuildAnd(b, x, LLVMConstVector(keeps, count), ""));
    LLVMInstructionEraseFromParent(shuffle);
    return;
  }
}

void clear_masks_by_constants(program *p) {
  if (!has_mask_registers(p)) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++) {
      LLVMTypeRef type = LLVMTypeOf(all.items[n]);
      if (LLVMIsAShuffleVectorInst(all.items[n]) && LLVMGetElementType(type) == p->i1)
        clear_by_constant(p, b, all.items[n]);
    }
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}
