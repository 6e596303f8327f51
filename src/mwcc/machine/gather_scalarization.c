/* Scalarisation of masked gathers and scatters, for processors without fast ones.
 *
 *   gather(pointers, mask)   ->   pointers = select(mask, pointers, &inactive); a load of each lane; select(mask, …)
 *
 * LLVM's own scalarisation branches on each lane's mask bit. Here all lanes are accessed without branches: inactive
 * lanes access a stack slot of the function. Two cases are left to LLVM: constant masks, which need no branches, and
 * addresses that are a scalar plus constant offsets, whose active lanes are usually a contiguous range, so that its
 * branches are predicted well and its addresses are not extracted from vectors.
 *
 * It runs after optimisation. */
#include "mwcc/mwcc.h"
#include "machine.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 8 }; /* of an element */

typedef struct scalarizer {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef call, pointers, mask;
  unsigned lanes, align;
} scalarizer;

/* The stack slot for inactive lanes, one for each function. */
static LLVMValueRef inactive_slot(scalarizer *a, LLVMValueRef function, LLVMValueRef *slot) {
  if (*slot) return *slot;
  LLVMBuilderRef entry = LLVMCreateBuilderInContext(a->p->context);
  LLVMPositionBuilderBefore(entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  *slot = LLVMBuildAlloca(entry, a->p->i64, "inactive");
  LLVMSetAlignment(*slot, MOST_BYTES);
  LLVMDisposeBuilder(entry);
  return *slot;
}

static LLVMValueRef lane(scalarizer *a, LLVMValueRef vector, unsigned l) {
  return LLVMBuildExtractElement(a->b, vector, constant_i32(a->p, l), "");
}

static void choose_pointers(scalarizer *a, LLVMValueRef slot) {
  LLVMTypeRef pointers = LLVMTypeOf(a->pointers);
  LLVMValueRef one = LLVMBuildInsertElement(a->b, LLVMGetPoison(pointers), slot, constant_i32(a->p, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(a->p->i32, a->lanes));
  LLVMValueRef all = LLVMBuildShuffleVector(a->b, one, LLVMGetPoison(pointers), zeros, "");
  a->pointers = LLVMBuildSelect(a->b, a->mask, a->pointers, all, "");
}

static void load_each(scalarizer *a, LLVMValueRef otherwise) {
  LLVMTypeRef wide = LLVMTypeOf(a->call);
  LLVMValueRef result = LLVMGetPoison(wide);
  for (unsigned l = 0; l < a->lanes; l++) {
    LLVMValueRef element = LLVMBuildLoad2(a->b, LLVMGetElementType(wide), lane(a, a->pointers, l), "");
    LLVMSetAlignment(element, a->align);
    result = LLVMBuildInsertElement(a->b, result, element, constant_i32(a->p, l), "");
  }
  if (!LLVMIsUndef(otherwise)) result = LLVMBuildSelect(a->b, a->mask, result, otherwise, "");
  LLVMReplaceAllUsesWith(a->call, result);
}

static void store_each(scalarizer *a, LLVMValueRef lanes) {
  for (unsigned l = 0; l < a->lanes; l++)
    LLVMSetAlignment(LLVMBuildStore(a->b, lane(a, lanes, l), lane(a, a->pointers, l)), a->align);
}

/* Whether the pointers are a scalar plus constant offsets, as of the lanes of a row or column. */
static bool has_constant_offsets(LLVMValueRef pointers) {
  return LLVMIsAGetElementPtrInst(pointers) && LLVMGetNumIndices(pointers) == 1 &&
         LLVMIsConstant(LLVMGetOperand(pointers, 1));
}

static bool is_candidate(const program *p, LLVMValueRef call, bool *loads, LLVMTypeRef *wide) {
  if (!LLVMIsACallInst(call)) return false;
  *loads = starts_with(callee_name(call), "llvm.masked.gather");
  if (!*loads && !starts_with(callee_name(call), "llvm.masked.scatter")) return false;
  *wide = *loads ? LLVMTypeOf(call) : LLVMTypeOf(LLVMGetOperand(call, 0));
  if (LLVMIsConstant(LLVMGetOperand(call, *loads ? MASKED_LOAD_MASK : MASKED_STORE_MASK))) return false;
  LLVMValueRef pointers = LLVMGetOperand(call, *loads ? 0 : 1);
  return !has_constant_offsets(pointers) && LLVMGetPointerAddressSpace(LLVMGetElementType(LLVMTypeOf(pointers))) == 0 &&
         LLVMABISizeOfType(p->layout, LLVMGetElementType(*wide)) <= MOST_BYTES;
}

static void scalarize(scalarizer *a, LLVMValueRef function, LLVMValueRef *slot, bool loads, LLVMTypeRef wide) {
  LLVMPositionBuilderBefore(a->b, a->call);
  a->pointers = LLVMGetOperand(a->call, loads ? 0 : 1);
  a->mask = LLVMGetOperand(a->call, loads ? MASKED_LOAD_MASK : MASKED_STORE_MASK);
  a->lanes = LLVMGetVectorSize(wide);
  a->align = masked_alignment(a->call);
  choose_pointers(a, inactive_slot(a, function, slot));
  if (loads)
    load_each(a, LLVMGetOperand(a->call, MASKED_LOAD_ELSE));
  else
    store_each(a, LLVMGetOperand(a->call, 0));
  LLVMInstructionEraseFromParent(a->call);
}

void scalarise_gathers(program *p) {
  if (!has_slow_gathers(p)) return;
  scalarizer a = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  EACH_FUNCTION(p, f) {
    LLVMValueRef slot = NULL;
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      bool loads;
      LLVMTypeRef wide;
      if (!is_candidate(p, list.items[i], &loads, &wide)) continue;
      a.call = list.items[i];
      scalarize(&a, f, &slot, loads, wide);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(a.b);
}
