/* Values in screened code (prepare/race_screen.c): a load of memory that nothing has written makes the launch suspicious,
 * whatever becomes of the value, and then the code that follows values runs again. So here each loaded value counts as
 * written, and only the shadows of unwritten variables are left to compute. The fourth part of value_check.c.
 *
 * Before: loads of shadows, as value_shadow.c has placed them. After: their bits are collected in a variable, which
 * becomes a register, and is tested before each barrier and at the function's ends: a test in a loop's body would
 * divide it. */
#include "value_check.h"
#include "mwcc/analysis/simt.h"

#include <stdlib.h>

/* The bits of a shadow, in one word: not zero if any of them is set. */
static LLVMValueRef folded(value_check *c, LLVMValueRef bits) {
  program *p = c->p;
  LLVMTypeRef type = LLVMTypeOf(bits);
  LLVMValueRef sum = NULL;
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) {
    for (unsigned i = 0; i < LLVMGetVectorSize(type); i++) {
      LLVMValueRef part = folded(c, LLVMBuildExtractElement(c->b, bits, constant_i32(p, i), ""));
      sum = sum ? LLVMBuildOr(c->b, sum, part, "") : part;
    }
    return sum;
  }
  unsigned width = LLVMGetIntTypeWidth(type);
  if (width <= 32) return LLVMBuildZExt(c->b, bits, p->i32, "");
  for (unsigned at = 0; at < width; at += 32) {
    LLVMValueRef part = at ? LLVMBuildLShr(c->b, bits, LLVMConstInt(type, at, 0), "") : bits;
    part = LLVMBuildTrunc(c->b, part, p->i32, "");
    sum = sum ? LLVMBuildOr(c->b, sum, part, "") : part;
  }
  return sum;
}

static LLVMValueRef seen_in(value_check *c, LLVMValueRef f) {
  if (c->seeing == f) return c->seen;
  LLVMPositionBuilderBefore(c->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
  c->seeing = f;
  c->seen = LLVMBuildAlloca(c->b, c->p->i32, "");
  LLVMBuildStore(c->b, constant_i32(c->p, 0), c->seen);
  return c->seen;
}

static bool has_bits(LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
}

void collect_shadow(value_check *c, LLVMValueRef load) {
  LLVMTypeRef type = LLVMTypeOf(load);
  if (!has_bits(type)) return;
  LLVMValueRef seen = seen_in(c, LLVMGetBasicBlockParent(LLVMGetInstructionParent(load)));
  LLVMReplaceAllUsesWith(load, LLVMConstNull(type));
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(load));
  LLVMValueRef before = LLVMBuildLoad2(c->b, c->p->i32, seen, "");
  LLVMBuildStore(c->b, LLVMBuildOr(c->b, before, folded(c, load), ""), seen);
}

static void test_seen(value_check *c, LLVMValueRef before) {
  program *p = c->p;
  LLVMPositionBuilderBefore(c->b, before);
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(before));
  LLVMValueRef bits = LLVMBuildLoad2(c->b, p->i32, c->seen, "");
  call_event_if(c, constant_i64(p, 0), LLVMBuildICmp(c->b, LLVMIntNE, bits, constant_i32(p, 0), ""));
  LLVMBuildStore(c->b, constant_i32(p, 0), c->seen);
}

void test_collected(value_check *c, LLVMValueRef f) {
  if (c->seeing != f) return;
  instructions list = instructions_of_function(f);
  for (size_t n = 0; n < list.count; n++)
    if (LLVMIsAReturnInst(list.items[n]) || is_barrier(list.items[n])) test_seen(c, list.items[n]);
  free(list.items);
}
