/* What LLVM's C API takes two calls to ask, once for all rooms. */
#ifndef MWCC_PREDICATES_H
#define MWCC_PREDICATES_H

#include <llvm-c/Core.h>

#include <stdbool.h>

/* A load or store that is neither volatile nor atomic. */
static inline bool is_plain_access(LLVMValueRef access) {
  return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

static inline bool is_vector_type(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

#endif
