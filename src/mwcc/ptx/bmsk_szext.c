/* Inline PTX: masks and extensions whose position is an operand, which wraps or is clamped, and the position of the
 * n-th set bit (PTX ISA 8.0, chapters 9.7.1.21, 9.7.1.22 and 9.7.1.16). */
#include "ptx.h"

#include <string.h>

/* An operand modulo 32 (.wrap) or at most 32 (.clamp), in 64 bits, where shifts by it are defined. */
static LLVMValueRef position(const ptx_source *x, int n) {
  LLVMBuilderRef b = x->s->b;
  bool wraps = ptx_has_modifier(x->i, "wrap");
  LLVMValueRef value = ptx_operand(x, n), limit = constant_i32(x->s->p, wraps ? 31 : 32);
  value = wraps ? LLVMBuildAnd(b, value, limit, "")
                : LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, value, limit, ""), value, limit, "");
  return LLVMBuildZExt(b, value, x->s->p->i64, "");
}

/* bmsk: operand 2 counts ones from bit operand 1 on. */
static LLVMValueRef ones_from(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  LLVMValueRef from = position(x, 1), one = constant_i64(x->s->p, 1);
  LLVMValueRef ones = LLVMBuildSub(b, LLVMBuildShl(b, one, position(x, 2), ""), one, "");
  return LLVMBuildShl(b, ones, from, "");
}

/* szext: the lowest bits of operand 1, as many as operand 2 says, extended; 0 if there are none. */
static LLVMValueRef extended(const ptx_source *x) {
  LLVMBuilderRef b = x->s->b;
  program *p = x->s->p;
  LLVMValueRef value = LLVMBuildZExt(b, ptx_operand(x, 1), p->i64, "");
  LLVMValueRef dropped = LLVMBuildSub(b, constant_i64(p, 64), position(x, 2), "");
  LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, dropped, constant_i64(p, 64), "");
  dropped = LLVMBuildAnd(b, dropped, constant_i64(p, 63), "");
  value = LLVMBuildShl(b, value, dropped, "");
  value = x->t.is_signed ? LLVMBuildAShr(b, value, dropped, "") : LLVMBuildLShr(b, value, dropped, "");
  return LLVMBuildSelect(b, none, constant_i64(p, 0), value, "");
}

/* fns.b32 d, mask, base, offset */
static bool translate_fns(const ptx_source *x) {
  if (x->i->operand_count != 4) return false;
  LLVMValueRef arguments[] = {ptx_operand(x, 1), ptx_operand(x, 2), ptx_operand(x, 3)};
  LLVMValueRef result = ptx_call(x, "fns", arguments, 3);
  if (result) ptx_result(x, result);
  return result != NULL;
}

bool ptx_translate_mask(const ptx_source *x) {
  if (strcmp(x->i->words[0], "fns") == 0) return translate_fns(x);
  if (x->t.bits != 32 || ptx_has_modifier(x->i, "wrap") == ptx_has_modifier(x->i, "clamp")) return false;
  LLVMValueRef value = x->i->words[0][0] == 'b' ? ones_from(x) : extended(x);
  ptx_result(x, LLVMBuildTrunc(x->s->b, value, x->s->p->i32, ""));
  return true;
}
