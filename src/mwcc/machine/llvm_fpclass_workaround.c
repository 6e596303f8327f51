/* Workaround for LLVM's compile time (19 and later): bit casts from floats to integers are hidden from instcombine.
 *
 *   bitcast float x to i32   ->   call __mw_bits(x)   while instcombine runs   ->   bitcast float x to i32
 *
 * For each such cast, instcombine computes the floating-point class of the operand (computeKnownFPClass), recursively
 * and, for constants, lane by lane. Mathematical functions have many of these casts (to get at an exponent or a sign),
 * and the analysis took half the compile time after widening, without changing the code. The call is to an undefined
 * function that is speculatable and accesses no memory. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <stdlib.h>

static LLVMTypeRef scalar_of(LLVMTypeRef type) { return is_vector_type(type) ? LLVMGetElementType(type) : type; }

static bool is_float(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(scalar_of(type));
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind;
}

static bool takes_bits(LLVMValueRef i) {
  if (!LLVMIsABitCastInst(i)) return false;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(i, 0)), to = LLVMTypeOf(i);
  return is_float(from) && LLVMGetTypeKind(scalar_of(to)) == LLVMIntegerTypeKind;
}

/* The function that stands for casts between these types. */
static LLVMValueRef function_for(program *p, LLVMTypeRef from, LLVMTypeRef to) {
  static const char *const facts[] = {"nounwind", "willreturn", "nosync", "nofree", "nocallback", "speculatable"};
  char *from_text = LLVMPrintTypeToString(from), *to_text = LLVMPrintTypeToString(to);
  char *name = mw_format("__mw_bits %s %s", from_text, to_text);
  LLVMValueRef f = LLVMGetNamedFunction(p->module, name);
  if (!f) {
    f = LLVMAddFunction(p->module, name, LLVMFunctionType(to, &from, 1, 0));
    for (size_t n = 0; n < MW_COUNT(facts); n++) add_attribute(p, f, facts[n]);
    add_attribute(p, f, "memory");
  }
  free(name);
  LLVMDisposeMessage(from_text), LLVMDisposeMessage(to_text);
  return f;
}

static LLVMValueRef replace(LLVMBuilderRef b, LLVMValueRef old, LLVMValueRef callee) {
  LLVMValueRef from = LLVMGetOperand(old, 0), made;
  LLVMPositionBuilderBefore(b, old);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(old));
  made = callee ? LLVMBuildCall2(b, LLVMGlobalGetValueType(callee), callee, &from, 1, "")
                : LLVMBuildBitCast(b, from, LLVMTypeOf(old), "");
  LLVMReplaceAllUsesWith(old, made);
  LLVMInstructionEraseFromParent(old);
  return made;
}

void hide_float_bits(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions all = instructions_of_function(f);
    for (size_t n = 0; n < all.count; n++) {
      if (!takes_bits(all.items[n])) continue;
      LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(all.items[n], 0));
      replace(b, all.items[n], function_for(p, from, LLVMTypeOf(all.items[n])));
    }
    free(all.items);
  }
  LLVMDisposeBuilder(b);
}

void show_float_bits(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (LLVMValueRef next, f = LLVMGetFirstFunction(p->module); f; f = next) {
    size_t length;
    next = LLVMGetNextFunction(f);
    if (!starts_with(LLVMGetValueName2(f, &length), "__mw_bits ")) continue;
    for (LLVMUseRef use; (use = LLVMGetFirstUse(f));) replace(b, LLVMGetUser(use), NULL);
    LLVMDeleteFunction(f);
  }
  LLVMDisposeBuilder(b);
}
