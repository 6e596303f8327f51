/* Divisions of gangs that run row by row: the quotient of the last gang is continued, without a division.
 *
 * Such gangs follow each other closely: a dividend as `i` or `i / w` is at most one row further on than in the gang
 * before. Each division keeps its last quotient Q and the row's begin B = Q * by. If a - B is in [0, by), the quotient
 * of a is Q still, and if it is in [by, 2 * by), it is Q + 1. Otherwise the gang divides. So the digits of an index
 * advance as an odometer's, and a quotient and a remainder of the same numbers are one step.
 *
 * Invariant: B = Q * by is in [0, INT_MAX] as a signed number, or B = Q = 0, which holds for each divisor. Where a and
 * by are not negative as signed numbers, no difference overflows, and a = Q * by + r with 0 <= r < by for one Q alone.
 * Other numbers, which may be great unsigned ones, are divided. In joined blocks (block_loop.c) an index is known not
 * to be negative, and so are its quotients and remainders by positive numbers: no gang tests that.
 *
 * Within the loop over a block's rows they are in slots, which become registers: through memory each step would wait
 * for the one before it to be stored. Between these loops they are in memory, by volatile accesses, so that gangs that
 * run otherwise do not keep them in registers (torus_step took 1.05 times as long). Where a loop is left in another
 * way, the memory has an older Q and B, which are as right as others.
 *
 * The divisor must be the same in all gangs of the launch, that is, made of parameters and constants. Where it is a
 * parameter, the loop is entered only if it is positive, and the results by 0 and -1 (retarget.c) fall away: its
 * comparisons with 0 and -1 are false, and those of products that are tested as well (nested_division.c leaves them).
 * A parameter is not poison, so all its copies are the number that was tested; products of 64 bits that wrap are
 * tested as what they wrap to. */
#include "mwcc/divergence/division_method.h"
#include "mwcc/prepare/prepare.h"
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

static LLVMValueRef unfrozen(LLVMValueRef value) { return LLVMIsAFreezeInst(value) ? LLVMGetOperand(value, 0) : value; }

/* ---- positive divisors ---- */

static bool is_positive(const continued_divisions *all, LLVMValueRef value) {
  for (int n = 0; n < all->positive_count; n++)
    if (all->positive[n] == unfrozen(value)) return true;
  return false;
}

static bool is_one(LLVMValueRef value) { return LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == 1; }

/* The divisor as the program has it: retarget.c divides by 1 instead of 0 and -1. */
static LLVMValueRef plain_divisor(LLVMValueRef divisor) {
  bool selects = LLVMIsASelectInst(divisor) && is_one(LLVMGetOperand(divisor, 1));
  return unfrozen(selects ? LLVMGetOperand(divisor, 2) : divisor);
}

static bool is_product(LLVMValueRef value) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == LLVMMul;
}

/* Whether it is a product of parameters that are positive. */
static bool is_positive_product(const continued_divisions *all, LLVMValueRef value, int depth) {
  value = unfrozen(value);
  if (!is_product(value)) return is_positive(all, value);
  return depth > 0 && is_positive_product(all, LLVMGetOperand(value, 0), depth - 1) &&
         is_positive_product(all, LLVMGetOperand(value, 1), depth - 1);
}

static bool compares_with(LLVMValueRef i, long long low, long long high) {
  if (!LLVMIsAICmpInst(i) || LLVMGetICmpPredicate(i) != LLVMIntEQ || !LLVMIsAConstantInt(LLVMGetOperand(i, 1)))
    return false;
  if (LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(i, 1))) > 64) return false;
  long long with = LLVMConstIntGetSExtValue(LLVMGetOperand(i, 1));
  return with >= low && with <= high;
}

static void add_positive(continued_divisions *all, LLVMValueRef value) {
  if (all->positive_count < MOST_POSITIVE && !is_positive(all, value)) all->positive[all->positive_count++] = value;
}

void list_positive_divisors(const widener *w, continued_divisions *all) {
  const graph *g = w->g;
  for (int n = 0; n < g->value_count; n++) {
    LLVMValueRef divisor = is_division(g->values[n]) ? plain_divisor(LLVMGetOperand(g->values[n], 1)) : NULL;
    if (divisor && LLVMIsAArgument(divisor) && LLVMGetIntTypeWidth(LLVMTypeOf(divisor)) <= 64)
      add_positive(all, divisor);
  }
  for (int n = 0; n < g->value_count; n++) {
    LLVMValueRef with = compares_with(g->values[n], 0, 0) ? unfrozen(LLVMGetOperand(g->values[n], 0)) : NULL;
    if (with && is_product(with) && is_positive_product(all, with, DEPTH)) add_positive(all, with);
  }
}

/* The parameter, or the product of parameters, that may wrap. */
static LLVMValueRef build_product(widener *w, LLVMValueRef value) {
  value = unfrozen(value);
  if (!is_product(value)) return value_scalar(w, value);
  LLVMValueRef a = build_product(w, LLVMGetOperand(value, 0));
  return LLVMBuildMul(w->b, a, build_product(w, LLVMGetOperand(value, 1)), "");
}

LLVMValueRef build_positive_test(widener *w, const continued_divisions *all) {
  LLVMValueRef result = NULL;
  for (int n = 0; n < all->positive_count; n++) {
    LLVMValueRef by = build_product(w, all->positive[n]);
    LLVMValueRef one = LLVMBuildICmp(w->b, LLVMIntSGT, by, LLVMConstNull(LLVMTypeOf(by)), "");
    result = result ? LLVMBuildAnd(w->b, result, one, "") : one;
  }
  return result;
}

void assume_positive(widener *w, const continued_divisions *all) {
  for (int n = 0; n < w->g->value_count; n++) {
    LLVMValueRef i = w->g->values[n];
    if (!compares_with(i, -1, 0) || !is_positive(all, LLVMGetOperand(i, 0))) continue;
    widened *k = widened_of(w, i);
    k->constant = mw_alloc(sizeof *k->constant);
    *k->constant = (vectors){{LLVMConstNull(w->p->i1)}};
  }
}

bool is_small_natural(const widener *w, LLVMValueRef value) {
  if (!w->row_index || !LLVMIsAInstruction(value)) return false;
  if (is_grid_index(w->p, value)) return true;
  if (LLVMIsAFreezeInst(value) || LLVMIsAZExtInst(value) || LLVMIsASExtInst(value))
    return is_small_natural(w, LLVMGetOperand(value, 0));
  if (LLVMIsATruncInst(value))
    return LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 32 && is_small_natural(w, LLVMGetOperand(value, 0));
  if (!w->continued) return false;
  if (LLVMIsASelectInst(value)) { /* between the result and the one by 0 or -1 */
    LLVMValueRef condition = LLVMGetOperand(value, 0);
    return compares_with(condition, -1, 0) && is_positive(w->continued, LLVMGetOperand(condition, 0)) &&
           is_small_natural(w, LLVMGetOperand(value, 2));
  }
  if (!is_division(value)) return false;
  LLVMValueRef divisor = plain_divisor(LLVMGetOperand(value, 1));
  bool positive =
      LLVMIsAConstantInt(divisor) ? LLVMConstIntGetSExtValue(divisor) > 0 : is_positive(w->continued, divisor);
  return positive && is_small_natural(w, LLVMGetOperand(value, 0));
}

bool is_no_small_natural(LLVMValueRef value) {
  if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
  return LLVMConstIntGetZExtValue(value) > BOUND_EXTENT;
}

/* ---- quotients ---- */

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
  c->positive = is_positive(all, plain_divisor(divisor));
  c->natural = is_small_natural(w, dividend);
  for (int n = 0; n < 2; n++) {
    c->kept[n] = LLVMBuildAlloca(w->entry, LLVMTypeOf(divisor), "continued");
    LLVMBuildStore(w->entry, LLVMConstNull(LLVMTypeOf(divisor)), c->kept[n]);
    c->last[n] = LLVMBuildAlloca(w->entry, LLVMTypeOf(divisor), "");
  }
  return c;
}

static void store(widener *w, const continued *c, LLVMValueRef begin, LLVMValueRef quotient) {
  LLVMBuildStore(w->b, begin, c->last[0]);
  LLVMBuildStore(w->b, quotient, c->last[1]);
}

static LLVMValueRef joined(widener *w, LLVMValueRef values[3], LLVMBasicBlockRef blocks[3]) {
  LLVMValueRef phi = LLVMBuildPhi(w->b, LLVMTypeOf(values[0]), "");
  LLVMAddIncoming(phi, values, blocks, 3);
  return phi;
}

/* Both, of which the first may be NULL: it is known to be true. */
static LLVMValueRef both(LLVMBuilderRef b, LLVMValueRef a, LLVMValueRef other) {
  return a ? LLVMBuildAnd(b, a, other, "") : other;
}

/* The quotient and the remainder: the last quotient or the next one, or by a division. Gangs branch, as most find the
   same as the ones before them: rows that begin in each gang, or in none but the first of many. */
static void divide(widener *w, continued *c, LLVMValueRef a, LLVMValueRef by) {
  LLVMBuilderRef b = w->b;
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMContextRef context = w->p->context;
  LLVMValueRef none = LLVMConstNull(type), one = LLVMConstInt(type, 1, 0);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(b),
                    advance = LLVMAppendBasicBlockInContext(context, w->function, "next.quotient"),
                    slow = LLVMAppendBasicBlockInContext(context, w->function, "divide"),
                    done = LLVMAppendBasicBlockInContext(context, w->function, "divided");
  a = LLVMBuildFreeze(b, a, ""), by = LLVMBuildFreeze(b, by, "");
  LLVMValueRef row = by, safe = by, natural = NULL;
  LLVMValueRef begin = LLVMBuildLoad2(b, type, c->last[0], ""), q = LLVMBuildLoad2(b, type, c->last[1], "");
  /* no remainder is below 0, in place of negative divisors */
  if (!c->positive) row = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, by, none, ""), by, none, "");
  if (!c->natural) natural = LLVMBuildICmp(b, LLVMIntSGE, a, none, "");
  LLVMValueRef r = LLVMBuildSub(b, a, begin, "");
  LLVMBuildCondBr(b, both(b, natural, LLVMBuildICmp(b, LLVMIntULT, r, row, "")), done, advance);
  LLVMPositionBuilderAtEnd(b, advance);
  /* where a is below B, r - row may wrap around to a remainder, though not for numbers up to BOUND_EXTENT */
  LLVMValueRef follows = c->natural ? NULL : LLVMBuildICmp(b, LLVMIntSGE, LLVMBuildOr(b, a, r, ""), none, "");
  LLVMValueRef next_r = LLVMBuildSub(b, r, row, ""), next_q = LLVMBuildAdd(b, q, one, "");
  store(w, c, LLVMBuildAdd(b, begin, row, ""), next_q);
  build_likely(w->p, b, both(b, follows, LLVMBuildICmp(b, LLVMIntULT, next_r, row, "")), done, slow);
  LLVMPositionBuilderAtEnd(b, slow);
  if (!c->positive) {
    LLVMValueRef unsafe = LLVMBuildICmp(b, LLVMIntEQ, by, none, "");
    if (c->is_signed) unsafe = LLVMBuildOr(b, unsafe, LLVMBuildICmp(b, LLVMIntEQ, by, LLVMConstAllOnes(type), ""), "");
    safe = LLVMBuildSelect(b, unsafe, one, by, "");
  }
  LLVMValueRef slow_q = LLVMBuildBinOp(b, c->is_signed ? LLVMSDiv : LLVMUDiv, a, safe, ""), keeps = natural;
  LLVMValueRef slow_r = LLVMBuildSub(b, a, LLVMBuildMul(b, slow_q, safe, ""), "");
  if (!c->positive) keeps = both(b, natural, LLVMBuildICmp(b, LLVMIntSGT, by, none, ""));
  LLVMValueRef slow_begin = LLVMBuildSub(b, a, slow_r, "");
  store(w, c, keeps ? LLVMBuildSelect(b, keeps, slow_begin, none, "") : slow_begin,
        keeps ? LLVMBuildSelect(b, keeps, slow_q, none, "") : slow_q);
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMBasicBlockRef blocks[] = {from, advance, slow};
  c->quotient = joined(w, (LLVMValueRef[]){q, next_q, slow_q}, blocks);
  c->rest = joined(w, (LLVMValueRef[]){r, next_r, slow_r}, blocks);
  c->at = done;
  continued_divisions *all = w->continued;
  if (all->join_count < MOST_JOINS) all->joins[all->join_count++] = (struct join){done, from};
}

/* Whether the division has been emitted where it dominates the place of the builder. */
static bool is_emitted(const widener *w, const continued *c) {
  const continued_divisions *all = w->continued;
  LLVMBasicBlockRef block = LLVMGetInsertBlock(w->b);
  if (!c->quotient) return false;
  if (c->tested) return true;
  for (int n = all->join_count - 1; n >= 0 && block != c->at; n--)
    if (all->joins[n].block == block) block = all->joins[n].from;
  return block == c->at;
}

LLVMValueRef continue_division(widener *w, LLVMValueRef i, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef by) {
  LLVMValueRef dividend = LLVMGetOperand(i, 0), divisor = LLVMGetOperand(i, 1);
  bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem, remainder = opcode == LLVMURem || opcode == LLVMSRem;
  if (!w->continued) return NULL;
  continued *c = find(w->continued, dividend, divisor, is_signed);
  if (!c) c = add(w, dividend, divisor, is_signed);
  if (!c) return NULL;
  if (!is_emitted(w, c)) {
    divide(w, c, a, by);
    c->tested = w->continued->testing;
  }
  return remainder ? c->rest : c->quotient;
}

void keep_quotients(widener *w, const continued_divisions *all, LLVMBasicBlockRef before,
                    const LLVMBasicBlockRef *after, int count) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(w->b);
  for (int k = -1; k < count; k++) {
    LLVMPositionBuilderBefore(w->b, LLVMGetBasicBlockTerminator(k < 0 ? before : after[k]));
    for (int n = 0; n < 2 * all->count; n++) {
      const continued *c = &all->list[n / 2];
      LLVMValueRef kept = c->kept[n % 2], last = c->last[n % 2];
      LLVMValueRef moved = LLVMBuildLoad2(w->b, LLVMTypeOf(c->divisor), k < 0 ? kept : last, "");
      LLVMValueRef stored = LLVMBuildStore(w->b, moved, k < 0 ? last : kept);
      LLVMSetVolatile(k < 0 ? moved : stored, 1);
    }
  }
  LLVMPositionBuilderAtEnd(w->b, here);
}
