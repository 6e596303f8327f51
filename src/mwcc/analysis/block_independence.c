/* Block independence: whether no block can observe another's progress, so that blocks may run in any order.
 *
 * A block observes the progress of others through memory that they write at the same time: by volatile and atomic
 * loads, by atomics whose old value it uses, and by fences and ordered atomics, which order data before the flag that
 * announces it. Without these no block can observe which blocks ran before it, and the runtime may choose the order
 * (cpu/schedule/command.h). Clocks and calls of services count as observations, too, so that output and allocations
 * follow the order of blocks as far as possible. */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"
#include "mwcc/support/checked_access.h"

/* Memory that other blocks cannot access. */
static bool is_own(LLVMValueRef address) {
  memory_kind kind = memory_of(address);
  return kind == MEMORY_SHARED || kind == MEMORY_LOCAL;
}

static bool call_observes_blocks(LLVMValueRef call) {
  static const char *const own[] = {"llvm.nvvm.read.ptx.sreg.", "llvm.lifetime.", "llvm.dbg.",    "llvm.assume",
                                    CHECK_ACCESS_FUNCTION,      CHECK_EVENT_IF,   SHADOW_DISTANCE};
  static const char *const clocks[] = {"llvm.nvvm.read.ptx.sreg.clock", "llvm.nvvm.read.ptx.sreg.globaltimer"};
  LLVMValueRef callee = LLVMGetCalledValue(call);
  const char *name = callee_name(call);
  uint64_t bits;
  if (LLVMIsAInlineAsm(callee)) return true;
  if (!LLVMIsAFunction(callee) || !LLVMIsDeclaration(callee)) return false; /* the callee is examined itself */
  if (is_barrier(call) || is_warp_call(name)) return false;
  for (size_t i = 0; i < MW_COUNT(clocks); i++)
    if (starts_with(name, clocks[i])) return true;
  for (size_t i = 0; i < MW_COUNT(own); i++)
    if (starts_with(name, own[i])) return false;
  if (starts_with(name, "llvm.mem")) return LLVMConstIntGetZExtValue(LLVMGetOperand(call, 3)) != 0; /* volatile */
  return !memory_fact(call, &bits) || bits != 0;
}

bool observes_other_blocks(LLVMValueRef i) {
  if (LLVMIsALoadInst(i)) return !is_plain_access(i) && !is_own(LLVMGetOperand(i, 0));
  if (LLVMIsAStoreInst(i)) return !is_plain_access(i) && !is_own(LLVMGetOperand(i, 1));
  if (LLVMIsAAtomicRMWInst(i))
    return (LLVMGetFirstUse(i) || LLVMGetOrdering(i) != LLVMAtomicOrderingMonotonic) && !is_own(LLVMGetOperand(i, 0));
  if (LLVMIsAAtomicCmpXchgInst(i)) return !is_own(LLVMGetOperand(i, 0));
  if (LLVMIsAFenceInst(i)) return true;
  return LLVMIsACallInst(i) && call_observes_blocks(i);
}
