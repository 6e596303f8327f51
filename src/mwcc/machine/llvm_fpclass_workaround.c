/* Numbers that are looked at bit by bit, hidden from instcombine.
 *
 * From LLVM 19 on it asks, of each number made of a float's bits, which kinds of floats that may be: through all that the
 * float was made from, constants lane by lane. Mathematical functions are full of such numbers (an exponent, a sign), and
 * half the time behind widening went into that, for answers that change nothing. So while it runs, what makes a number of a
 * float's bits is a call of which nobody knows more than that it reads nothing else. */
#include "mwcc/mwcc.h"
#include "machine.h"

#include <stdlib.h>

static LLVMTypeRef scalar_of(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

static bool is_float(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(scalar_of(type));
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMHalfTypeKind;
}

static bool takes_bits(LLVMValueRef i) {
  if (!LLVMIsABitCastInst(i)) return false;
  LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(i, 0)), to = LLVMTypeOf(i);
  return is_float(from) && LLVMGetTypeKind(scalar_of(to)) == LLVMIntegerTypeKind;
}

/* The function for these types; each pair of them has one. */
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

void hide_bits(program *p) {
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

void show_bits(program *p) {
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
