/* Gathers and scatters on processors that have none which are quick: one element after the other.
 *
 * LLVM would do that too, but it takes each lane's address out of a vector, and where lanes may be inactive it makes a branch
 * of each. Here lanes in even steps have a constant distance from a scalar; and lanes that are not active reach a place of
 * our own, so that nobody has to ask. */
#include "mwcc/mwcc.h"
#include "machine.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

/* ---- behind the optimiser: lanes anywhere, of which some may be inactive ---- */

enum { MOST_BYTES = 8 }; /* of an element */

typedef struct apart {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef call, pointers, mask;
  unsigned lanes, align;
} apart;

/* Inactive lanes' place, one for each function. */
static LLVMValueRef own_place(apart *a, LLVMValueRef function, LLVMValueRef *own) {
  if (*own) return *own;
  LLVMBuilderRef entry = LLVMCreateBuilderInContext(a->p->context);
  LLVMPositionBuilderBefore(entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  *own = LLVMBuildAlloca(entry, a->p->i64, "inactive");
  LLVMSetAlignment(*own, MOST_BYTES);
  LLVMDisposeBuilder(entry);
  return *own;
}

static LLVMValueRef lane(apart *a, LLVMValueRef vector, unsigned l) {
  return LLVMBuildExtractElement(a->b, vector, constant_i32(a->p, l), "");
}

static void choose_pointers(apart *a, LLVMValueRef own) {
  LLVMTypeRef pointers = LLVMTypeOf(a->pointers);
  LLVMValueRef one = LLVMBuildInsertElement(a->b, LLVMGetPoison(pointers), own, constant_i32(a->p, 0), "");
  LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(a->p->i32, a->lanes));
  LLVMValueRef all = LLVMBuildShuffleVector(a->b, one, LLVMGetPoison(pointers), zeros, "");
  a->pointers = LLVMBuildSelect(a->b, a->mask, a->pointers, all, "");
}

static void load_each(apart *a, LLVMValueRef otherwise) {
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

static void store_each(apart *a, LLVMValueRef lanes) {
  for (unsigned l = 0; l < a->lanes; l++)
    LLVMSetAlignment(LLVMBuildStore(a->b, lane(a, lanes, l), lane(a, a->pointers, l)), a->align);
}

/* Whether the pointers are a scalar and constant distances: lanes of one row or column, of which a range is active as a rule.
   LLVM's branches are foreseen there, and its addresses come out of no vector. */
static bool are_in_steps(LLVMValueRef pointers) {
  return LLVMIsAGetElementPtrInst(pointers) && LLVMGetNumIndices(pointers) == 1 &&
         LLVMIsConstant(LLVMGetOperand(pointers, 1));
}

/* Lanes that are all active LLVM takes apart as well as anyone. */
static bool is_open(const program *p, LLVMValueRef call, bool *loads, LLVMTypeRef *wide) {
  if (!LLVMIsACallInst(call)) return false;
  *loads = starts_with(callee_name(call), "llvm.masked.gather");
  if (!*loads && !starts_with(callee_name(call), "llvm.masked.scatter")) return false;
  *wide = *loads ? LLVMTypeOf(call) : LLVMTypeOf(LLVMGetOperand(call, 0));
  if (LLVMIsConstant(LLVMGetOperand(call, *loads ? MASKED_LOAD_MASK : MASKED_STORE_MASK))) return false;
  LLVMValueRef pointers = LLVMGetOperand(call, *loads ? 0 : 1);
  return !are_in_steps(pointers) && LLVMGetPointerAddressSpace(LLVMGetElementType(LLVMTypeOf(pointers))) == 0 &&
         LLVMABISizeOfType(p->layout, LLVMGetElementType(*wide)) <= MOST_BYTES;
}

static void take_apart(apart *a, LLVMValueRef function, LLVMValueRef *own, bool loads, LLVMTypeRef wide) {
  LLVMPositionBuilderBefore(a->b, a->call);
  a->pointers = LLVMGetOperand(a->call, loads ? 0 : 1);
  a->mask = LLVMGetOperand(a->call, loads ? MASKED_LOAD_MASK : MASKED_STORE_MASK);
  a->lanes = LLVMGetVectorSize(wide);
  a->align = masked_alignment(a->call);
  choose_pointers(a, own_place(a, function, own));
  if (loads)
    load_each(a, LLVMGetOperand(a->call, MASKED_LOAD_ELSE));
  else
    store_each(a, LLVMGetOperand(a->call, 0));
  LLVMInstructionEraseFromParent(a->call);
}

void reach_singly(program *p) {
  if (!gathers_singly(p)) return;
  apart a = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  EACH_FUNCTION(p, f) {
    LLVMValueRef own = NULL;
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) {
      bool loads;
      LLVMTypeRef wide;
      if (!is_open(p, list.items[i], &loads, &wide)) continue;
      a.call = list.items[i];
      take_apart(&a, f, &own, loads, wide);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(a.b);
}
