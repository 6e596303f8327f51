/* Predicates of single instructions and functions. */
#include "simt.h"
#include "mwcc/support/predicates.h"
#include "analysis.h"
#include "mwcc/support/checked_access.h"

#include <stdlib.h>
#include <string.h>

bool is_cold_helper(LLVMValueRef f) {
  return LLVMIsAFunction(f) && LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                                             COLD_HELPER, sizeof COLD_HELPER - 1);
}

bool is_cold_call(LLVMValueRef call) { return LLVMIsACallInst(call) && is_cold_helper(LLVMGetCalledValue(call)); }

size_t cold_call_length(LLVMValueRef call) {
  if (!is_cold_call(call)) return 0;
  instructions all = instructions_of_function(LLVMGetCalledValue(call));
  free(all.items);
  return all.count;
}

bool has_address_taken(LLVMValueRef function) {
  for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsACallInst(user) || LLVMGetCalledValue(user) != function) return true;
    unsigned count = LLVMGetNumArgOperands(user);
    for (unsigned i = 0; i < count; i++)
      if (LLVMGetOperand(user, i) == function) return true;
  }
  return false;
}

bool touches_no_memory(LLVMValueRef i) {
  static const char *const names[] = {"llvm.lifetime.",      "llvm.dbg.",    "llvm.nvvm.read.ptx.sreg.",
                                      CHECK_ACCESS_FUNCTION, CHECK_EVENT_IF, SHADOW_DISTANCE};
  if (!LLVMIsACallInst(i))
    return !LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i) && !LLVMIsAFenceInst(i) && !LLVMIsAAtomicRMWInst(i) &&
           !LLVMIsAAtomicCmpXchgInst(i);
  for (size_t n = 0; n < MW_COUNT(names); n++)
    if (starts_with(callee_name(i), names[n])) return true;
  LLVMValueRef callee = LLVMGetCalledValue(i);
  if (is_cold_call(i)) return true;
  if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee)) return false;
  uint64_t bits;
  return memory_fact(i, &bits) && bits == 0; /* it depends on its arguments only */
}

bool is_byval_parameter(LLVMValueRef address) {
  LLVMValueRef root = root_of(address);
  if (!LLVMIsAArgument(root)) return false;
  LLVMValueRef function = LLVMGetParamParent(root);
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    if (LLVMGetParam(function, i) == root) return LLVMGetEnumAttributeAtIndex(function, i + 1, byval) != NULL;
  return false;
}

bool is_only_read(LLVMValueRef pointer) {
  for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (LLVMIsALoadInst(user)) continue;
    if (LLVMIsAGetElementPtrInst(user) || LLVMIsAAddrSpaceCastInst(user)) {
      if (!is_only_read(user)) return false;
      continue;
    }
    return false;
  }
  return true;
}

bool is_alone(LLVMValueRef i) {
  if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i)) return touches_no_memory(i);
  return is_plain_access(i);
}

bool is_variant(const kernel *k, LLVMValueRef function) {
  for (int i = 0; i < k->variant_count; i++)
    if (k->variants[i].function == function || k->variants[i].fallback == function) return true;
  return false;
}

bool is_entry(const program *p, LLVMValueRef f) {
  for (size_t i = 0; i < p->kernel_count; i++) {
    const kernel *k = &p->kernels[i];
    if (k->run == f || k->fits == f || k->iterations == f || k->general == f || k->thread_function == f ||
        is_variant(k, f))
      return true;
  }
  return false;
}

bool is_sparse_loop(const program *p, const kernel *k) {
  return k->gather_bound && !k->waits && !p->options->launch_kernel;
}

bool takes_vectors(LLVMValueRef f) {
  return LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, COLD_VECTORS,
                                       sizeof COLD_VECTORS - 1);
}

bool is_lane_code(const program *p, LLVMValueRef f) {
  return p->all_in_lanes || p->options->has_only || takes_vectors(f) ||
         LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, LANE_CODE,
                                       sizeof LANE_CODE - 1);
}
