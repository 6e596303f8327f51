/* If-conversion of stores, in kernels that do little but gather: stores that depend on what was just loaded (bfs:
 * `if (!visited[n]) next[n] = 1`).
 *
 *   before:  if (c) *p = v;
 *   after:   *(c ? p : &nowhere) = v;
 *
 * Such branches are unpredictable, and a misprediction costs more than the rest of the iteration. `nowhere` is
 * memory of the thread's own that nothing reads. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/tuning.h"
#include "mwcc/analysis/analysis.h"
#include "opt.h"

enum { MOST_BEFORE = TUNE_STORE_INSTRUCTIONS, LARGEST = 16 };

/* May be executed speculatively: neither traps nor accesses memory. */
static bool is_speculatable(LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMGetElementPtr:
  case LLVMSExt:
  case LLVMZExt:
  case LLVMTrunc:
  case LLVMBitCast:
  case LLVMSIToFP:
  case LLVMUIToFP:
  case LLVMFPExt:
  case LLVMFPTrunc:
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMAnd:
  case LLVMOr:
  case LLVMXor:
  case LLVMICmp:
  case LLVMSelect:
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul: return true;
  default: return false;
  }
}

static bool is_plain_store(const program *p, LLVMValueRef i) {
  if (!LLVMIsAStoreInst(i) || !is_plain_access(i)) return false;
  LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 0));
  return LLVMGetPointerAddressSpace(LLVMTypeOf(LLVMGetOperand(i, 1))) == 0 && LLVMGetAlignment(i) <= LARGEST &&
         LLVMABISizeOfType(p->layout, type) <= LARGEST;
}

/* The only store of a block that has no other effect; NULL: there is none, or more. */
static LLVMValueRef store_of(const program *p, LLVMBasicBlockRef block) {
  LLVMValueRef store = NULL, end = LLVMGetBasicBlockTerminator(block);
  int count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != end; i = LLVMGetNextInstruction(i)) {
    if (++count > MOST_BEFORE) return NULL;
    if (is_speculatable(i)) continue;
    if (store || !is_plain_store(p, i)) return NULL;
    store = i;
  }
  return store;
}

static bool compares_loaded(LLVMValueRef condition) {
  if (!LLVMIsAICmpInst(condition) && !LLVMIsAFCmpInst(condition)) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef from = LLVMGetOperand(condition, n);
    while (LLVMIsACastInst(from)) from = LLVMGetOperand(from, 0);
    if (LLVMIsALoadInst(from)) return true;
  }
  return false;
}

static bool has_one_use(LLVMValueRef value) {
  LLVMUseRef use = LLVMGetFirstUse(value);
  return use && !LLVMGetNextUse(use);
}

/* Memory that the optimiser takes to be read: otherwise it would make the branch again. */
static LLVMValueRef add_nowhere(program *p, LLVMValueRef function) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  LLVMValueRef place = LLVMBuildAlloca(b, LLVMArrayType2(p->i8, LARGEST), "nowhere");
  LLVMSetAlignment(place, LARGEST);
  LLVMTypeRef type = LLVMFunctionType(p->void_type, &p->pointer, 1, 0);
  static const char constraints[] = "r";
  LLVMValueRef look =
      LLVMGetInlineAsm(type, "", 0, constraints, sizeof constraints - 1, 1, 0, LLVMInlineAsmDialectATT, 0);
  LLVMBuildCall2(b, type, look, &place, 1, "");
  LLVMDisposeBuilder(b);
  return place;
}

/* `side` is the block's successor if its condition is `when`. */
static bool store_always(program *p, LLVMValueRef function, LLVMBasicBlockRef block, LLVMBasicBlockRef side, bool when,
                         LLVMValueRef *nowhere) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block), store = store_of(p, side);
  if (!store) return false;
  if (!*nowhere) *nowhere = add_nowhere(p, function);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(b, end);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(side); i != LLVMGetBasicBlockTerminator(side); i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMInstructionRemoveFromParent(i);
    if (i == store) {
      LLVMValueRef at = LLVMGetOperand(i, 1), condition = LLVMGetCondition(end);
      at = LLVMBuildSelect(b, condition, when ? at : *nowhere, when ? *nowhere : at, "");
      LLVMSetOperand(i, 1, at);
    }
    LLVMMetadataRef position = LLVMInstructionGetDebugLoc(i);
    LLVMInsertIntoBuilder(b, i);
    LLVMInstructionSetDebugLoc(i, position);
  }
  LLVMDisposeBuilder(b);
  return true;
}

static void store_without_branches(program *p, LLVMValueRef function) {
  LLVMValueRef nowhere = NULL;
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) || !compares_loaded(LLVMGetCondition(end))) continue;
    for (unsigned n = 0; n < 2; n++) {
      LLVMBasicBlockRef side = LLVMGetSuccessor(end, n), other = LLVMGetSuccessor(end, 1 - n);
      LLVMValueRef on = LLVMGetBasicBlockTerminator(side);
      if (side == other || side == block || !has_one_use(LLVMBasicBlockAsValue(side))) continue;
      if (!LLVMIsABranchInst(on) || LLVMIsConditional(on) || LLVMGetSuccessor(on, 0) != other) continue;
      if (store_always(p, function, block, side, n == 0, &nowhere)) break;
    }
  }
}

void convert_all_stores(program *p) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (is_sparse_loop(p, &p->kernels[i])) store_without_branches(p, p->kernels[i].body);
}
