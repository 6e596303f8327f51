/* Flags as conditions: phis and selections that are 0 or 1 wherever control comes from become phis of i1.
 *
 *   done = false; for (…) { done = false; if (x < n) { …; done = true; } __syncthreads(); if (done) …; }
 *
 * clang keeps a bool in memory as 8 bits, and a flag may be an int; promoted to registers, either is a phi of
 * integers, which is compared, or cut, where it is used. In a gang that is a vector of numbers instead of a mask. It
 * is converted twice, and nothing that looks at conditions, such as a branch without active lanes, recognises it.
 *
 * When it applies. A set of phis and selections whose operands are 0, 1, extended conditions, undefined or in the
 * set, some of which decide something. All other uses get the condition, extended.
 *
 * Proof. By induction over the steps of a thread each value of the set is 0 or 1: the operand that control or the
 * condition selects is. So it is the extension of its own lowest bit, and the phi or selection of the bits is that
 * bit. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/prepare/prepare.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct flag {
  LLVMValueRef value, bit, number; /* its replacement, if it is needed; and for other uses, extended */
  bool holds, needed;
} flag;

typedef struct flags {
  program *p;
  LLVMBuilderRef b;
  flag *items, **sorted; /* sorted: by the values' addresses */
  size_t count;
} flags;

static int by_value(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)(*(flag *const *)a)->value, y = (uintptr_t)(*(flag *const *)b)->value;
  return x < y ? -1 : x > y;
}

static void sort_flags(flags *f) {
  f->sorted = mw_alloc((f->count + 1) * sizeof *f->sorted);
  for (size_t i = 0; i < f->count; i++) f->sorted[i] = &f->items[i];
  qsort(f->sorted, f->count, sizeof *f->sorted, by_value);
}

static flag *flag_of(flags *f, LLVMValueRef value) {
  flag key = {.value = value}, *wanted = &key;
  flag **found = bsearch(&wanted, f->sorted, f->count, sizeof *f->sorted, by_value);
  return found && (*found)->holds ? *found : NULL;
}

static unsigned first_operand(LLVMValueRef value) { return LLVMIsASelectInst(value) ? 1 : 0; }

static LLVMValueRef operand_of(LLVMValueRef value, unsigned n) {
  return LLVMIsAPHINode(value) ? LLVMGetIncomingValue(value, n) : LLVMGetOperand(value, n);
}

static unsigned operand_count(LLVMValueRef value) {
  return LLVMIsAPHINode(value) ? LLVMCountIncoming(value) : (unsigned)LLVMGetNumOperands(value);
}

static bool is_extended_condition(const flags *f, LLVMValueRef value) {
  return LLVMIsAZExtInst(value) && LLVMTypeOf(LLVMGetOperand(value, 0)) == f->p->i1;
}

static bool is_bit(flags *f, LLVMValueRef value) {
  if (LLVMIsUndef(value)) return true;
  if (LLVMIsAConstantInt(value)) return LLVMConstIntGetZExtValue(value) <= 1;
  return is_extended_condition(f, value) || flag_of(f, value);
}

/* Whether an operand may be 0 or 1 at all: most phis are excluded by this. */
static bool may_be_bit(const flags *f, LLVMValueRef value) {
  if (LLVMIsAConstantInt(value)) return LLVMConstIntGetZExtValue(value) <= 1;
  return LLVMIsUndef(value) || is_extended_condition(f, value) || LLVMIsAPHINode(value) || LLVMIsASelectInst(value);
}

static void find_flags(flags *f, const instructions *all) {
  for (size_t i = 0; i < all->count; i++) {
    LLVMValueRef value = all->items[i];
    LLVMTypeRef type = LLVMTypeOf(value);
    if (!LLVMIsAPHINode(value) && !LLVMIsASelectInst(value)) continue;
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind || type == f->p->i1 || LLVMGetIntTypeWidth(type) > 64) continue;
    bool may = LLVMIsAPHINode(value) || !LLVMIsAConstant(LLVMGetOperand(value, 0));
    for (unsigned n = first_operand(value); may && n < operand_count(value); n++)
      may = may_be_bit(f, operand_of(value, n));
    if (!may) continue;
    f->items = mw_realloc(f->items, (f->count + 1) * sizeof *f->items);
    f->items[f->count++] = (flag){.value = value, .holds = true};
  }
  sort_flags(f);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < f->count; i++) {
      flag *one = &f->items[i];
      for (unsigned n = first_operand(one->value); one->holds && n < operand_count(one->value); n++)
        if (!is_bit(f, operand_of(one->value, n))) one->holds = false, changed = true;
    }
  }
}

/* Whether the user only tests the flag: cuts it to its bit, or compares it with 0. */
static bool tests_flag(const flags *f, LLVMValueRef user) {
  if (LLVMIsATruncInst(user)) return LLVMTypeOf(user) == f->p->i1;
  if (!LLVMIsAICmpInst(user) || !LLVMIsAConstantInt(LLVMGetOperand(user, 1))) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(user);
  return (p == LLVMIntEQ || p == LLVMIntNE) && LLVMIsNull(LLVMGetOperand(user, 1));
}

static void need(flags *f, flag *one) {
  if (one->needed) return;
  one->needed = true;
  for (unsigned n = first_operand(one->value); n < operand_count(one->value); n++) {
    flag *from = flag_of(f, operand_of(one->value, n));
    if (from) need(f, from);
  }
}

static void find_needed(flags *f) {
  for (size_t i = 0; i < f->count; i++)
    if (f->items[i].holds)
      for (LLVMUseRef use = LLVMGetFirstUse(f->items[i].value); use; use = LLVMGetNextUse(use))
        if (tests_flag(f, LLVMGetUser(use))) need(f, &f->items[i]);
}

static LLVMValueRef bit_of(flags *f, LLVMValueRef value) {
  if (LLVMIsUndef(value)) return LLVMGetUndef(f->p->i1);
  if (LLVMIsAConstantInt(value)) return LLVMConstInt(f->p->i1, LLVMConstIntGetZExtValue(value), 0);
  return is_extended_condition(f, value) ? LLVMGetOperand(value, 0) : flag_of(f, value)->bit;
}

/* An empty phi, or a selection of values that are not made yet. */
static void make_bit(flags *f, flag *one) {
  LLVMPositionBuilderBefore(f->b, one->value);
  LLVMValueRef none = LLVMGetUndef(f->p->i1);
  one->bit = LLVMIsAPHINode(one->value) ? LLVMBuildPhi(f->b, f->p->i1, "")
                                        : LLVMBuildSelect(f->b, LLVMGetOperand(one->value, 0), none, none, "");
}

static void fill_bit(flags *f, flag *one) {
  if (LLVMIsASelectInst(one->value)) {
    for (unsigned n = 1; n <= 2; n++) LLVMSetOperand(one->bit, n, bit_of(f, LLVMGetOperand(one->value, n)));
    return;
  }
  for (unsigned n = 0; n < LLVMCountIncoming(one->value); n++) {
    LLVMValueRef value = bit_of(f, LLVMGetIncomingValue(one->value, n));
    LLVMBasicBlockRef block = LLVMGetIncomingBlock(one->value, n);
    LLVMAddIncoming(one->bit, &value, &block, 1);
  }
}

static void replace(flags *f, flag *one) {
  for (LLVMUseRef use = LLVMGetFirstUse(one->value), after; use; use = after) {
    LLVMValueRef user = LLVMGetUser(use);
    after = LLVMGetNextUse(use);
    if (!tests_flag(f, user)) continue;
    LLVMPositionBuilderBefore(f->b, user);
    bool inverted = LLVMIsAICmpInst(user) && LLVMGetICmpPredicate(user) == LLVMIntEQ;
    LLVMReplaceAllUsesWith(user, inverted ? LLVMBuildNot(f->b, one->bit, "") : one->bit);
    LLVMInstructionEraseFromParent(user);
  }
  LLVMValueRef next = LLVMGetNextInstruction(one->value);
  while (LLVMIsAPHINode(next)) next = LLVMGetNextInstruction(next);
  LLVMPositionBuilderBefore(f->b, next);
  one->number = LLVMBuildZExt(f->b, one->bit, LLVMTypeOf(one->value), "");
  LLVMReplaceAllUsesWith(one->value, one->number);
}

static void narrow_in(program *p, LLVMBuilderRef b, kernel *k) {
  instructions all = instructions_of_function(k->body);
  flags f = {.p = p, .b = b};
  find_flags(&f, &all);
  find_needed(&f);
  for (size_t i = 0; i < f.count; i++)
    if (f.items[i].needed) k->has_flags = true, make_bit(&f, &f.items[i]);
  for (size_t i = 0; i < f.count; i++)
    if (f.items[i].needed) fill_bit(&f, &f.items[i]);
  for (size_t i = 0; i < f.count; i++)
    if (f.items[i].needed) replace(&f, &f.items[i]);
  for (size_t i = 0; i < f.count; i++) {
    if (!f.items[i].needed) continue;
    LLVMInstructionEraseFromParent(f.items[i].value);
  }
  for (size_t i = 0; i < f.count; i++) {
    LLVMValueRef number = f.items[i].number;
    if (number && LLVMIsAInstruction(number) && !LLVMGetFirstUse(number)) LLVMInstructionEraseFromParent(number);
  }
  free(f.sorted);
  free(f.items);
  free(all.items);
}

void narrow_flags(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (size_t i = 0; i < p->kernel_count; i++) narrow_in(p, b, &p->kernels[i]);
  LLVMDisposeBuilder(b);
}
