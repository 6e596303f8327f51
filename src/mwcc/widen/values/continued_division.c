/* Divisions of gangs that run row by row: the quotient of the last gang is continued, without a division.
 *
 * Such gangs follow each other closely: a dividend as `i` or `i / w` is at most one row further on than in the gang
 * before. Each division keeps its last quotient Q and the row's begin B = Q * by. If a - B is in [0, by), the quotient of a
 * is Q still, and if it is in [by, 2 * by), it is Q + 1. Otherwise the gang divides.
 *
 * Invariant: B = Q * by is in [0, INT_MAX] as a signed number, or B = Q = 0, which holds for each divisor. Where a and
 * by are not negative as signed numbers, no difference overflows, and a = Q * by + r with 0 <= r < by for one Q alone.
 * Other numbers, which may be great unsigned ones, are divided.
 *
 * They are in memory, by volatile accesses, so that gangs that run otherwise do not keep them in registers (torus_step
 * took 1.05 times as long).
 *
 * The divisor must be the same in all gangs of the launch, that is, made of parameters and constants. */
#include "mwcc/support/predicates.h"
#include "mwcc/widen/values/continued_division.h"

#include <stdlib.h>

enum { DEPTH = 8 };

static bool is_made_of_parameters(LLVMValueRef value, int depth) {
  if (!LLVMIsAInstruction(value)) return LLVMIsAConstant(value) || LLVMIsAArgument(value);
  if (depth == 0 || LLVMIsACallInst(value) || LLVMIsAPHINode(value)) return false;
  if (!is_integer_operation(value) && !LLVMIsAICmpInst(value) && !LLVMIsASelectInst(value) && !LLVMIsAFreezeInst(value))
    return false;
  for (int n = 0; n < LLVMGetNumOperands(value); n++)
    if (!is_made_of_parameters(LLVMGetOperand(value, (unsigned)n), depth - 1)) return false;
  return true;
}

static continued *find(continued_divisions *all, LLVMValueRef dividend, LLVMValueRef divisor, bool is_signed) {
  for (int n = 0; n < all->count; n++) {
    continued *c = &all->list[n];
    if (c->dividend == dividend && c->divisor == divisor && c->is_signed == is_signed) return c;
  }
  return NULL;
}

static continued *add(widener *w, LLVMValueRef dividend, LLVMValueRef divisor, bool is_signed) {
  continued_divisions *all = w->continued;
  unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(divisor));
  if (all->count == MOST_CONTINUED || LLVMIsAConstant(divisor) || (bits != 32 && bits != 64)) return NULL;
  if (!is_made_of_parameters(divisor, DEPTH)) return NULL;
  continued *c = &all->list[all->count++];
  *c = (continued){.dividend = dividend, .divisor = divisor, .is_signed = is_signed};
  for (int n = 0; n < 2; n++) {
    c->last[n] = LLVMBuildAlloca(w->entry, LLVMTypeOf(divisor), "continued");
    LLVMBuildStore(w->entry, LLVMConstNull(LLVMTypeOf(divisor)), c->last[n]);
  }
  return c;
}

static void store(widener *w, const continued *c, LLVMValueRef begin, LLVMValueRef quotient) {
  LLVMSetVolatile(LLVMBuildStore(w->b, begin, c->last[0]), 1);
  LLVMSetVolatile(LLVMBuildStore(w->b, quotient, c->last[1]), 1);
}

static LLVMValueRef joined(widener *w, LLVMValueRef a, LLVMBasicBlockRef from, LLVMValueRef b,
                           LLVMBasicBlockRef other) {
  LLVMValueRef phi = LLVMBuildPhi(w->b, LLVMTypeOf(a), ""), values[] = {a, b};
  LLVMBasicBlockRef blocks[] = {from, other};
  LLVMAddIncoming(phi, values, blocks, 2);
  return phi;
}

/* The quotient and the remainder, from the last ones or by a division. */
static void divide(widener *w, continued *c, LLVMValueRef a, LLVMValueRef by, LLVMValueRef *quotient,
                   LLVMValueRef *rest) {
  LLVMBuilderRef b = w->b;
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef none = LLVMConstNull(type), one = LLVMConstInt(type, 1, 0);
  LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(w->p->context, w->function, "divide"),
                    done = LLVMAppendBasicBlockInContext(w->p->context, w->function, "divided");
  a = LLVMBuildFreeze(b, a, ""), by = LLVMBuildFreeze(b, by, "");
  LLVMValueRef begin = LLVMBuildLoad2(b, type, c->last[0], ""), q = LLVMBuildLoad2(b, type, c->last[1], "");
  LLVMSetVolatile(begin, 1), LLVMSetVolatile(q, 1);
  /* no remainder is below 0, in place of negative divisors */
  LLVMValueRef row = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, by, none, ""), by, none, "");
  LLVMValueRef r = LLVMBuildSub(b, a, begin, ""), next = LLVMBuildICmp(b, LLVMIntSGE, r, row, "");
  r = LLVMBuildSelect(b, next, LLVMBuildSub(b, r, row, ""), r, "");
  q = LLVMBuildAdd(b, q, LLVMBuildZExt(b, next, type, ""), "");
  LLVMValueRef natural = LLVMBuildICmp(b, LLVMIntSGE, a, none, "");
  store(w, c, LLVMBuildSub(b, a, r, ""), q);
  LLVMBasicBlockRef fast = LLVMGetInsertBlock(b);
  build_likely(w->p, b, LLVMBuildAnd(b, natural, LLVMBuildICmp(b, LLVMIntULT, r, row, ""), ""), done, slow);
  LLVMPositionBuilderAtEnd(b, slow);
  LLVMValueRef unsafe = LLVMBuildICmp(b, LLVMIntEQ, by, none, "");
  if (c->is_signed) unsafe = LLVMBuildOr(b, unsafe, LLVMBuildICmp(b, LLVMIntEQ, by, LLVMConstAllOnes(type), ""), "");
  LLVMValueRef safe = LLVMBuildSelect(b, unsafe, one, by, "");
  LLVMValueRef q2 = LLVMBuildBinOp(b, c->is_signed ? LLVMSDiv : LLVMUDiv, a, safe, "");
  LLVMValueRef r2 = LLVMBuildSub(b, a, LLVMBuildMul(b, q2, safe, ""), "");
  LLVMValueRef keeps = LLVMBuildAnd(b, natural, LLVMBuildICmp(b, LLVMIntSGT, by, none, ""), "");
  store(w, c, LLVMBuildSelect(b, keeps, LLVMBuildSub(b, a, r2, ""), none, ""), LLVMBuildSelect(b, keeps, q2, none, ""));
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
  *quotient = joined(w, q, fast, q2, slow);
  *rest = joined(w, r, fast, r2, slow);
}

LLVMValueRef continue_division(widener *w, LLVMValueRef i, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef by) {
  LLVMValueRef dividend = LLVMGetOperand(i, 0), divisor = LLVMGetOperand(i, 1), quotient, rest;
  bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem, remainder = opcode == LLVMURem || opcode == LLVMSRem;
  if (!w->continued) return NULL;
  continued *c = find(w->continued, dividend, divisor, is_signed);
  if (!c) c = add(w, dividend, divisor, is_signed);
  if (!c) return NULL;
  if (c->quotient) return remainder ? c->rest : c->quotient;
  divide(w, c, a, by, &quotient, &rest);
  if (w->continued->testing) c->quotient = quotient, c->rest = rest;
  return remainder ? rest : quotient;
}
