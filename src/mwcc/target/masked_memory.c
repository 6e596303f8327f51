/* Masked loads, stores, gathers and scatters by LLVM's intrinsics. Their alignment is an operand up to LLVM 21, and an
 * attribute of the address operand since LLVM 22. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "target.h"

#include <string.h>

enum { ALIGN_IS_OPERAND = MASKED_LOAD_MASK == 2 };

static bool is_vector(LLVMValueRef pointers) { return is_vector_type(LLVMTypeOf(pointers)); }

/* `arguments` has room for one more, the alignment, which is inserted after the argument with index `address`. */
static LLVMValueRef call_masked(program *p, LLVMBuilderRef b, const char *name, LLVMTypeRef *overloads,
                                LLVMValueRef *arguments, unsigned count, unsigned address, unsigned align) {
  if (ALIGN_IS_OPERAND) {
    for (unsigned i = count; i > address + 1; i--) arguments[i] = arguments[i - 1];
    arguments[address + 1] = constant_i32(p, align);
    return call_intrinsic(p, b, name, overloads, 2, arguments, count + 1);
  }
  LLVMValueRef call = call_intrinsic(p, b, name, overloads, 2, arguments, count);
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAddCallSiteAttribute(call, address + 1, LLVMCreateEnumAttribute(p->context, kind, align)); /* 0 is the result */
  return call;
}

LLVMValueRef masked_load(program *p, LLVMBuilderRef b, LLVMTypeRef wide, LLVMValueRef pointers, unsigned align,
                         LLVMValueRef mask) {
  LLVMTypeRef overloads[] = {wide, LLVMTypeOf(pointers)};
  LLVMValueRef arguments[4] = {pointers, mask, LLVMGetPoison(wide)};
  const char *name = is_vector(pointers) ? "llvm.masked.gather" : "llvm.masked.load";
  return call_masked(p, b, name, overloads, arguments, 3, 0, align);
}

LLVMValueRef masked_store(program *p, LLVMBuilderRef b, LLVMValueRef lanes, LLVMValueRef pointers, unsigned align,
                          LLVMValueRef mask) {
  LLVMTypeRef overloads[] = {LLVMTypeOf(lanes), LLVMTypeOf(pointers)};
  LLVMValueRef arguments[4] = {lanes, pointers, mask};
  return call_masked(p, b, is_vector(pointers) ? "llvm.masked.scatter" : "llvm.masked.store", overloads, arguments, 3,
                     1, align);
}

unsigned masked_alignment(LLVMValueRef call) {
  unsigned address = starts_with(callee_name(call), "llvm.masked.scatter");
  if (ALIGN_IS_OPERAND) return (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(call, address + 1));
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, address + 1, kind); /* 0 is the result */
  return align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1;
}

static bool has(const program *p, const char *feature) { return strstr(p->features, feature) != NULL; }

bool has_quick_masked_access(const program *p, uint64_t bytes) {
  return has(p, "+avx512vl") && (bytes >= 4 || has(p, "+avx512bw"));
}

bool has_masked_access(const program *p, uint64_t bytes) {
  return has_quick_masked_access(p, bytes) || (bytes >= 4 && has(p, "+avx"));
}
