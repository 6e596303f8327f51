/* Numbers that all lanes have, and that several vectors take over for some of their lanes: a loop's counter, which lanes
 * that leave it one by one take along.
 *
 * LLVM sees that AVX-512 can bring a number from a scalar register into some lanes of a vector by one instruction, and does so
 * for each vector. That instruction takes the time of two or three others. Brought into all lanes of a vector once, the
 * number is in a vector register, from where it costs each of them a move; here LLVM is kept from seeing where that vector
 * came from. (Measured: the rounds of mandelbrot take a twentieth less time.)
 *
 * Runs behind the optimiser. */
#include "mwcc/mwcc.h"
#include "machine.h"

#include <stdlib.h>
#include <string.h>

/* Vectors of other sizes have no register that inline assembly could name. */
static bool fills_register(unsigned bits) { return bits == 128 || bits == 256 || bits == 512; }

/* A vector of which all lanes are one integer that some instruction computes, not one from memory, which instructions can
   bring into lanes by themselves. */
static bool is_broadcast(LLVMValueRef vector) {
  if (!LLVMIsAShuffleVectorInst(vector)) return false;
  LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(vector));
  LLVMValueRef first = LLVMGetOperand(vector, 0);
  if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(element) < 32) return false;
  if (!fills_register(LLVMGetVectorSize(LLVMTypeOf(vector)) * LLVMGetIntTypeWidth(element))) return false;
  for (unsigned i = 0; i < LLVMGetNumMaskElements(vector); i++)
    if (LLVMGetMaskValue(vector, i) != 0) return false;
  if (!LLVMIsAInsertElementInst(first) || !LLVMIsNull(LLVMGetOperand(first, 2))) return false;
  LLVMValueRef number = LLVMGetOperand(first, 1);
  return LLVMIsAInstruction(number) && !LLVMIsALoadInst(number);
}

static bool takes_for_some(LLVMValueRef user, LLVMValueRef vector) {
  return LLVMIsASelectInst(user) && LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(user, 0))) == LLVMVectorTypeKind &&
         (LLVMGetOperand(user, 1) == vector || LLVMGetOperand(user, 2) == vector);
}

static bool blends_often(LLVMValueRef vector) {
  enum { OFTEN = 2 };
  int count = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(vector); use; use = LLVMGetNextUse(use))
    count += takes_for_some(LLVMGetUser(use), vector);
  return count >= OFTEN;
}

void broadcast_once(program *p) {
  if (!strstr(p->features, "+avx512f")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    instructions list = instructions_of_function(f);
    for (size_t n = 0; n < list.count; n++) {
      LLVMValueRef vector = list.items[n];
      if (!is_broadcast(vector) || !blends_often(vector)) continue;
      LLVMTypeRef type = LLVMTypeOf(vector), nothing = LLVMFunctionType(type, &type, 1, 0);
      LLVMValueRef hide = LLVMGetInlineAsm(nothing, "", 0, "=v,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
      LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(vector));
      LLVMValueRef hidden = LLVMBuildCall2(b, nothing, hide, &vector, 1, "");
      LLVMReplaceAllUsesWith(vector, hidden);
      LLVMSetOperand(hidden, 0, vector);
    }
    free(list.items);
  }
  LLVMDisposeBuilder(b);
}
