/* Turns that do the same with other values: one loop over them instead of the code of each.
 *
 * Each row of a block has the same instructions, and so have turns of as many rows: only what was computed before the loop,
 * such as a row's address, differs. Two turns are compared from what their vectors become backwards, instruction by
 * instruction. Where the other turns are as the second one is, their values are put into arrays before the loop, from which
 * each turn loads its own. */
#include "register_blocking.h"
#include "opt.h"

#include <stdlib.h>

/* The second turn, and the one that it is compared with. */
typedef struct comparison {
  turns *t;
  int other, shift;   /* its number, and how many vectors are between those of the one and the other */
  LLVMValueRef *pair; /* by instruction of the second turn: the other's */
} comparison;

static bool are_alike(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ);

/* ---- one instruction ---- */

static bool have_same_metadata(LLVMValueRef a, LLVMValueRef b) {
  size_t count_a, count_b;
  LLVMValueMetadataEntry *of_a = LLVMInstructionGetAllMetadataOtherThanDebugLoc(a, &count_a),
                         *of_b = LLVMInstructionGetAllMetadataOtherThanDebugLoc(b, &count_b);
  bool same = count_a == count_b;
  for (unsigned i = 0; same && i < count_a; i++)
    same = LLVMValueMetadataEntriesGetKind(of_a, i) == LLVMValueMetadataEntriesGetKind(of_b, i) &&
           LLVMValueMetadataEntriesGetMetadata(of_a, i) == LLVMValueMetadataEntriesGetMetadata(of_b, i);
  LLVMDisposeValueMetadataEntries(of_a);
  LLVMDisposeValueMetadataEntries(of_b);
  return same;
}

static bool have_same_mask(LLVMValueRef a, LLVMValueRef b) {
  unsigned count = LLVMGetNumMaskElements(a);
  for (unsigned i = 0; i < count; i++)
    if (LLVMGetMaskValue(a, i) != LLVMGetMaskValue(b, i)) return false;
  return true;
}

/* What of an instruction are neither its operands nor its type. */
static bool have_same_details(LLVMValueRef a, LLVMValueRef b) {
  switch (LLVMGetInstructionOpcode(a)) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMMul:
  case LLVMShl:
  case LLVMTrunc: return LLVMGetNSW(a) == LLVMGetNSW(b) && LLVMGetNUW(a) == LLVMGetNUW(b);
  case LLVMUDiv:
  case LLVMSDiv:
  case LLVMLShr:
  case LLVMAShr: return LLVMGetExact(a) == LLVMGetExact(b);
  case LLVMOr: return LLVMGetIsDisjoint(a) == LLVMGetIsDisjoint(b);
  case LLVMZExt:
  case LLVMUIToFP: return LLVMGetNNeg(a) == LLVMGetNNeg(b);
  case LLVMICmp: return LLVMGetICmpPredicate(a) == LLVMGetICmpPredicate(b);
  case LLVMFCmp: return LLVMGetFCmpPredicate(a) == LLVMGetFCmpPredicate(b);
  case LLVMLoad: return LLVMGetAlignment(a) == LLVMGetAlignment(b);
  case LLVMGetElementPtr:
    return LLVMGetGEPSourceElementType(a) == LLVMGetGEPSourceElementType(b) &&
           LLVMGEPGetNoWrapFlags(a) == LLVMGEPGetNoWrapFlags(b);
  case LLVMShuffleVector: return have_same_mask(a, b);
  case LLVMExtractValue:
  case LLVMInsertValue: return false;
  default: return true;
  }
}

static bool do_the_same(LLVMValueRef a, LLVMValueRef b) {
  if (LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b) || LLVMTypeOf(a) != LLVMTypeOf(b)) return false;
  if (LLVMGetNumOperands(a) != LLVMGetNumOperands(b) || !have_same_details(a, b)) return false;
  if (LLVMCanValueUseFastMathFlags(a) && LLVMGetFastMathFlags(a) != LLVMGetFastMathFlags(b)) return false;
  return have_same_metadata(a, b);
}

/* ---- turns ---- */

/* Whether an operand may be one constant here and another there. */
static bool may_be_loaded(LLVMValueRef user, int operand) {
  return LLVMIsAGetElementPtrInst(user) && LLVMGetNumOperands(user) == 2 && operand == 1;
}

/* Of a value from before the loop: that this one has b where the second turn has a, wherever it has it. */
static bool note_outside(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ) {
  alike *found = &c->t->alike;
  int i = 0;
  bool constant = LLVMIsConstant(a) || LLVMIsConstant(b);
  if (LLVMTypeOf(a) != LLVMTypeOf(b) || (a != b && constant && !may_differ)) return false;
  if (!LLVMTypeIsSized(LLVMTypeOf(a))) return a == b;
  while (i < found->count && found->values[i].of[1] != a) i++;
  if (i == MOST_OUTSIDE) return false;
  outside *o = &found->values[i];
  if (i == found->count) found->count++, o->of[1] = a;
  if (o->of[c->other]) return o->of[c->other] == b;
  o->of[c->other] = b;
  o->differs = o->differs || a != b;
  return true;
}

/* Which of the carried vectors the phi is, or NONE. */
static int carried_by(const turns *t, int phi) {
  for (int k = 0; k < t->carried_count; k++)
    if (t->carried[k] == phi) return k;
  return NONE;
}

static bool are_alike(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ) {
  const turns *t = c->t;
  int item = item_of(t, a), other = item_of(t, b);
  if (item == NONE || other == NONE) return item == other && note_outside(c, a, b, may_differ);
  if (item < t->phi_count) {
    int k = carried_by(t, item);
    return k == NONE ? a == b : LLVMTypeOf(a) == LLVMTypeOf(b) && carried_by(t, other) == k + c->shift;
  }
  if (other < t->phi_count) return false;
  if (c->pair[item]) return c->pair[item] == b;
  c->pair[item] = b;
  bool kept = t->buffers[item] && first_turn(t, item) == 0;
  if (kept || t->buffers[item] || t->buffers[other]) return kept && a == b;
  bool same = do_the_same(a, b);
  for (int n = 0; same && n < LLVMGetNumOperands(a); n++)
    same = are_alike(c, LLVMGetOperand(a, (unsigned)n), LLVMGetOperand(b, (unsigned)n), may_be_loaded(a, n));
  return same;
}

static bool is_as_second(turns *t, int other) {
  const alike *a = &t->alike;
  comparison c = {.t = t, .other = other, .shift = (other - 1) * a->each};
  uint64_t second = t->list[1].carried;
  if (t->list[other].carried != second << c.shift) return false;
  c.pair = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  bool same = true;
  for (int k = a->first; same && k < a->first + a->each; k++) {
    int from = t->carried[k], to = t->carried[k + c.shift];
    same = LLVMTypeOf(t->items[from]) == LLVMTypeOf(t->items[to]) &&
           are_alike(&c, next_of(t, from), next_of(t, to), false);
  }
  free(c.pair);
  return same;
}

bool find_alike(turns *t) {
  enum { LEAST = 3 }; /* turns: of two, the first is another */
  alike *a = &t->alike;
  *a = (alike){0};
  if (t->turn_count < LEAST) return false;
  while (!(t->list[1].carried >> a->first & 1)) a->first++;
  while (t->list[1].carried >> a->first >> a->each & 1) a->each++;
  for (int k = a->first + 1; k < t->carried_count; k++)
    if (LLVMTypeOf(t->items[t->carried[k]]) != LLVMTypeOf(t->items[t->carried[a->first]])) return false;
  for (int n = 2; n < t->turn_count; n++)
    if (!is_as_second(t, n)) return false;
  return a->all = true;
}

/* ---- their memory ---- */

void make_alike_memory(turns *t) {
  alike *a = &t->alike;
  uint64_t behind = (uint64_t)t->turn_count - 1;
  LLVMTypeRef type = LLVMTypeOf(t->items[t->carried[a->first]]);
  a->vectors = new_memory(t, LLVMArrayType2(type, behind * (uint64_t)a->each));
  for (int i = 0; i < a->count; i++)
    if (a->values[i].differs)
      a->values[i].memory = new_memory(t, LLVMArrayType2(LLVMTypeOf(a->values[i].of[1]), behind));
}

void fill_alike_memory(turns *t) {
  for (int i = 0; i < t->alike.count; i++) {
    const outside *o = &t->alike.values[i];
    for (int n = 1; o->differs && n < t->turn_count; n++) {
      LLVMValueRef at = constant_i64(t->p, (uint64_t)n - 1);
      LLVMBuildStore(t->b, o->of[n], LLVMBuildGEP2(t->b, LLVMTypeOf(o->of[n]), o->memory, &at, 1, ""));
    }
  }
}

void bring_outside(turns *t) {
  alike *a = &t->alike;
  for (int i = 0; i < a->count; i++) {
    outside *o = &a->values[i];
    LLVMTypeRef type = LLVMTypeOf(o->of[1]);
    if (o->differs) o->now = LLVMBuildLoad2(t->b, type, LLVMBuildGEP2(t->b, type, o->memory, &a->which, 1, ""), "");
  }
}

LLVMValueRef outside_now(const turns *t, LLVMValueRef value) {
  for (int i = 0; i < t->alike.count; i++)
    if (t->alike.values[i].of[1] == value) return t->alike.values[i].differs ? t->alike.values[i].now : value;
  return value;
}
