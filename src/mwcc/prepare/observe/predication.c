/* Predication: nvcc compiles a short block that a branch skips without a branch. Its instructions are issued for every
 * warp that reaches it, with a predicate, even if no lane is active. Counts of executed instructions depend on this
 * choice of nvcc's and on no other. */
#include "watch_sites.h"

#include <string.h>

static LLVMBasicBlockRef only_predecessor(LLVMBasicBlockRef block) {
  LLVMBasicBlockRef found = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsATerminatorInst(user)) continue;
    LLVMBasicBlockRef from = LLVMGetInstructionParent(user);
    if (found && found != from) return NULL;
    found = from;
  }
  return found;
}

static bool only_returns(LLVMBasicBlockRef block) { return LLVMIsAReturnInst(LLVMGetFirstInstruction(block)) != NULL; }

/* Instructions that are issued, and whether all of them can be predicated. */
static unsigned length_of(LLVMBasicBlockRef block, bool *simple) {
  unsigned count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    const char *name = LLVMIsACallInst(i) ? callee_name(i) : "";
    if (LLVMIsAPHINode(i) || LLVMIsATerminatorInst(i) || starts_with(name, "__mw_watch")) continue;
    if (*name && !starts_with(name, "llvm.nvvm.read."))
      *simple = *simple && starts_with(name, "llvm.") && !strstr(name, "barrier") && !strstr(name, "sync");
    if (LLVMIsACastInst(i) || LLVMIsAGetElementPtrInst(i)) continue;
    count++;
  }
  return count;
}

/* The block that decides whether block b is entered, if b is short enough to be predicated; else NULL. */
static LLVMBasicBlockRef decider(LLVMBasicBlockRef b) {
  enum { MOST = 7 };
  LLVMBasicBlockRef from = only_predecessor(b);
  LLVMValueRef end = LLVMGetBasicBlockTerminator(b), branch = from ? LLVMGetBasicBlockTerminator(from) : NULL;
  bool simple = true;
  if (!branch || LLVMGetNumSuccessors(branch) != 2 || LLVMGetNumSuccessors(end) != 1) return NULL;
  LLVMBasicBlockRef join = LLVMGetSuccessor(end, 0), other = LLVMGetSuccessor(branch, 0);
  if (other == b) other = LLVMGetSuccessor(branch, 1);
  if (other != join || only_returns(join)) return NULL;
  return length_of(b, &simple) <= MOST && simple ? from : NULL;
}

size_t issuing_site(const LLVMBasicBlockRef *blocks, const size_t *codes, size_t count, size_t n) {
  size_t site = NO_SITE;
  for (LLVMBasicBlockRef at = decider(blocks[n]); at; at = decider(at))
    for (size_t i = 0; i < count; i++)
      if (blocks[i] == at) site = codes[i];
  return site;
}
