/* Quotients by products, from quotients by factors (strength reduction of index arithmetic).
 *
 * Kernels take an index apart as `w = i % W, h = i / W % H, c = i / (H * W) % C, n = i / (C * H * W)`. The quotient
 * i / (H * W) is (i / W) / H, which is computed anyway, next to its remainder h. So such indices take a division per axis
 * instead of two.
 *
 *   P = i / (f * g), where S = i / f and a quotient or remainder of S by g exist   ->   S / g
 *
 * Proof. Division rounds towards zero, and floor(floor(|i| / |f|) / |g|) = floor(|i| / |f * g|); the signs multiply. The
 * product must not wrap: it is signed and has the flag nsw, so that a program whose product wraps is undefined. A factor 0
 * makes the product 0, and retarget.c's selection by the product stays. Only the least number divided by -1 has no quotient,
 * which is undefined in C++ as well. Products and factors may be of several factors, in any order.
 *
 * Before: retarget.c's expansions of divisions, values in registers. What the new quotient needs and stands after it, in
 * the same block, is moved before it: such operations have no effects, and no divisor is 0 or -1. */
#include "mwcc/mwcc.h"
#include "prepare.h"

#include <stdlib.h>

enum { MOST_FACTORS = 8 };

typedef struct factors {
  LLVMValueRef list[MOST_FACTORS];
  int count;
} factors;

/* A division as retarget.c expands it (define_division), or by a constant. */
typedef struct division {
  LLVMValueRef inner;    /* the sdiv or srem */
  LLVMValueRef dividend; /* without freeze */
  LLVMValueRef divisor;  /* that is tested for 0 and -1; NULL: a constant, which needs no tests */
  LLVMValueRef nonzero;  /* the quotient, if the divisor is not 0; NULL for remainders */
  LLVMValueRef result;   /* the quotient for all divisors; NULL for remainders */
  factors by;
} division;

typedef struct divisions {
  division *list;
  size_t count;
} divisions;

static bool is_opcode(LLVMValueRef value, LLVMOpcode opcode) {
  return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == opcode;
}

static LLVMValueRef unfrozen(LLVMValueRef value) {
  return is_opcode(value, LLVMFreeze) ? LLVMGetOperand(value, 0) : value;
}

static void add_factors(factors *f, LLVMValueRef value, int depth) {
  if (depth > 0 && is_opcode(value, LLVMMul) && LLVMGetNSW(value)) {
    add_factors(f, LLVMGetOperand(value, 0), depth - 1);
    add_factors(f, LLVMGetOperand(value, 1), depth - 1);
  } else {
    if (f->count < MOST_FACTORS) f->list[f->count] = value;
    f->count++;
  }
}

static bool is_number(LLVMValueRef value, long long number) {
  return LLVMIsAConstantInt(value) && LLVMConstIntGetSExtValue(value) == number;
}

/* The selection between `other` and the value, where the value is a quotient by a divisor that may be `number`. */
static LLVMValueRef selection_for(LLVMValueRef value, LLVMValueRef divisor, long long number) {
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!is_opcode(user, LLVMSelect) || LLVMGetOperand(user, 2) != value) continue;
    LLVMValueRef test = LLVMGetOperand(user, 0);
    if (is_opcode(test, LLVMICmp) && LLVMGetICmpPredicate(test) == LLVMIntEQ && LLVMGetOperand(test, 0) == divisor &&
        is_number(LLVMGetOperand(test, 1), number))
      return user;
  }
  return NULL;
}

/* select (d == 0 or d == -1), 1, d */
static LLVMValueRef tested_divisor(LLVMValueRef by) {
  if (!is_opcode(by, LLVMSelect) || !is_number(LLVMGetOperand(by, 1), 1)) return NULL;
  LLVMValueRef either = LLVMGetOperand(by, 0), divisor = LLVMGetOperand(by, 2);
  if (!is_opcode(either, LLVMOr)) return NULL;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef test = LLVMGetOperand(either, n);
    if (!is_opcode(test, LLVMICmp) || LLVMGetICmpPredicate(test) != LLVMIntEQ) return NULL;
    if (LLVMGetOperand(test, 0) != divisor || !is_number(LLVMGetOperand(test, 1), n ? -1 : 0)) return NULL;
  }
  return divisor;
}

static bool read_division(LLVMValueRef i, division *out) {
  bool quotient = is_opcode(i, LLVMSDiv);
  if (!quotient && !is_opcode(i, LLVMSRem)) return false;
  if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(i)) > 64) return false;
  LLVMValueRef by = LLVMGetOperand(i, 1);
  *out = (division){.inner = i, .dividend = unfrozen(LLVMGetOperand(i, 0))};
  if (!LLVMIsAConstantInt(by)) {
    out->divisor = tested_divisor(by);
    if (!out->divisor) return false;
  }
  add_factors(&out->by, out->divisor ? unfrozen(out->divisor) : by, MOST_FACTORS);
  if (out->by.count > MOST_FACTORS) return false;
  if (!quotient) return true;
  out->nonzero = out->divisor ? selection_for(i, out->divisor, -1) : i;
  out->result = out->divisor && out->nonzero ? selection_for(out->nonzero, out->divisor, 0) : out->nonzero;
  return out->result != NULL;
}

/* Whether `all` are the factors of a and of b together. */
static bool are_together(const factors *all, const factors *a, const factors *b) {
  bool used[MOST_FACTORS] = {false};
  if (all->count != a->count + b->count) return false;
  for (int n = 0; n < all->count; n++) {
    LLVMValueRef factor = n < a->count ? a->list[n] : b->list[n - a->count];
    int at = 0;
    while (at < all->count && (used[at] || all->list[at] != factor)) at++;
    if (at == all->count) return false;
    used[at] = true;
  }
  return true;
}

/* ---- moving what a quotient needs ---- */

static bool is_before(LLVMValueRef value, LLVMValueRef place) {
  for (LLVMValueRef i = LLVMGetPreviousInstruction(place); i; i = LLVMGetPreviousInstruction(i))
    if (i == value) return true;
  return false;
}

static LLVMBasicBlockRef only_predecessor(LLVMBasicBlockRef block) {
  LLVMBasicBlockRef found = NULL;
  for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsATerminatorInst(user) || (found && found != LLVMGetInstructionParent(user))) return NULL;
    found = LLVMGetInstructionParent(user);
  }
  return found;
}

static bool is_above(LLVMBasicBlockRef block, LLVMBasicBlockRef other) {
  enum { STEPS = 16 };
  for (int n = 0; n < STEPS && other; n++) {
    other = only_predecessor(other);
    if (other == block) return true;
  }
  return false;
}

static bool is_movable(LLVMValueRef i) {
  return LLVMIsABinaryOperator(i) || LLVMIsAICmpInst(i) || LLVMIsASelectInst(i) || is_opcode(i, LLVMFreeze) ||
         LLVMIsACastInst(i);
}

/* Whether the value is there at `place`, or can be moved there with what it needs. */
static bool can_be_before(LLVMValueRef value, LLVMValueRef place, int depth) {
  if (!LLVMIsAInstruction(value)) return true;
  LLVMBasicBlockRef block = LLVMGetInstructionParent(value), here = LLVMGetInstructionParent(place);
  if (block != here) return is_above(block, here);
  if (is_before(value, place)) return true;
  if (value == place || depth == 0 || !is_movable(value)) return false;
  for (int n = 0; n < LLVMGetNumOperands(value); n++)
    if (!can_be_before(LLVMGetOperand(value, (unsigned)n), place, depth - 1)) return false;
  return true;
}

static void move_before(LLVMBuilderRef b, LLVMValueRef value, LLVMValueRef place) {
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != LLVMGetInstructionParent(place)) return;
  if (is_before(value, place)) return;
  for (int n = 0; n < LLVMGetNumOperands(value); n++) move_before(b, LLVMGetOperand(value, (unsigned)n), place);
  LLVMMetadataRef line = LLVMInstructionGetDebugLoc(value);
  LLVMInstructionRemoveFromParent(value);
  LLVMPositionBuilderBefore(b, place);
  LLVMInsertIntoBuilder(b, value);
  LLVMInstructionSetDebugLoc(value, line); /* the builder gives it its own */
}

/* ---- the rewriting ---- */

/* P as the quotient of S, by what `with` divides S by. */
static bool nest(LLVMBuilderRef b, const division *product, const division *with) {
  enum { DEPTH = 24 };
  LLVMValueRef place = product->inner, a = LLVMGetOperand(with->inner, 0), by = LLVMGetOperand(with->inner, 1);
  if (!can_be_before(a, place, DEPTH) || !can_be_before(by, place, DEPTH)) return false;
  move_before(b, a, place), move_before(b, by, place);
  LLVMPositionBuilderBefore(b, place);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(place));
  LLVMValueRef quotient = LLVMBuildSDiv(b, a, by, "nested");
  if (with->divisor) {
    LLVMValueRef minus_one = LLVMBuildICmp(b, LLVMIntEQ, with->divisor, LLVMConstAllOnes(LLVMTypeOf(a)), "");
    quotient = LLVMBuildSelect(b, minus_one, LLVMBuildNeg(b, quotient, ""), quotient, "");
  }
  LLVMReplaceAllUsesWith(product->nonzero, quotient);
  return true;
}

/* The division that makes `product` from a quotient by fewer factors; NULL: there is none. */
static const division *rest_of(const divisions *all, const division *product) {
  for (size_t s = 0; s < all->count; s++) {
    const division *part = &all->list[s];
    if (part == product || !part->result || part->dividend != product->dividend) continue;
    for (size_t d = 0; d < all->count; d++) {
      const division *rest = &all->list[d];
      if (rest->dividend == part->result && are_together(&product->by, &part->by, &rest->by)) return rest;
    }
  }
  return NULL;
}

/* Products of many factors first, which are made from the quotients by fewer. */
static bool nest_one(LLVMBuilderRef b, const divisions *all) {
  for (int most = MOST_FACTORS; most > 1; most--)
    for (size_t n = 0; n < all->count; n++) {
      const division *product = &all->list[n];
      if (!product->result || product->by.count != most) continue;
      const division *rest = rest_of(all, product);
      if (rest && nest(b, product, rest)) return true;
    }
  return false;
}

static divisions divisions_of(LLVMValueRef f) {
  instructions in = instructions_of_function(f);
  divisions all = {mw_alloc((in.count + 1) * sizeof(division)), 0};
  for (size_t n = 0; n < in.count; n++)
    if (read_division(in.items[n], &all.list[all.count])) all.count++;
  free(in.items);
  return all;
}

void nest_divisions(program *p) {
  enum { MOST = 64 };
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    bool again = !LLVMIsDeclaration(f) && !p->options->observe;
    for (int n = 0; n < MOST && again; n++) {
      divisions all = divisions_of(f);
      again = nest_one(b, &all);
      free(all.list);
    }
  }
  LLVMDisposeBuilder(b);
}
