/* Predicates of LLVM values that all rooms share: plain accesses, vector types, roots of addresses. */
#ifndef MWCC_PREDICATES_H
#define MWCC_PREDICATES_H

#include <llvm-c/Core.h>

#include <stdbool.h>

/* A load or store that is neither volatile nor atomic. */
static inline bool is_plain_access(LLVMValueRef access) {
  return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

/* The opcode of an instruction or a constant expression; else 0. */
static inline LLVMOpcode opcode_of(LLVMValueRef value) {
  if (LLVMIsAInstruction(value)) return LLVMGetInstructionOpcode(value);
  return LLVMIsAConstantExpr(value) ? LLVMGetConstOpcode(value) : (LLVMOpcode)0;
}

/* The pointer that address computations were applied to. */
static inline LLVMValueRef root_of(LLVMValueRef pointer) {
  for (;; pointer = LLVMGetOperand(pointer, 0)) {
    LLVMOpcode opcode = opcode_of(pointer);
    if (opcode != LLVMGetElementPtr && opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast && opcode != LLVMFreeze)
      return pointer;
  }
}

static inline bool is_vector_type(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

#endif
