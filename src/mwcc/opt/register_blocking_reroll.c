/* Rerolling in register blocking: groups that do the same with other live-ins are one loop over them.
 *
 * Each row of a block has the same instructions, and so have groups of as many rows. Only values from before the
 * loop differ, such as a row's address. Each later group is compared with the second one, instruction by
 * instruction, backwards from the next values of the accumulators. Where all match, the live-ins that differ are put
 * into arrays before the loop, and each group loads its own.
 *
 * Invariant: operations match in opcode, type, flags and metadata. Operands that differ are live-ins of the same
 * type; constants may differ only as the index of an address, which can as well be loaded. */
#include "register_blocking.h"
#include "opt.h"

#include <stdlib.h>

/* The second group, and the one that it is compared with. */
typedef struct comparison {
  blocking *t;
  int other, shift;   /* the other's number, and how many accumulators lie between those of the two */
  LLVMValueRef *pair; /* by instruction of the second group: the other's */
} comparison;

static bool match(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ);

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

/* The properties of an instruction other than its operands and type. */
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

static bool are_equivalent(LLVMValueRef a, LLVMValueRef b) {
  if (LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b) || LLVMTypeOf(a) != LLVMTypeOf(b)) return false;
  if (LLVMGetNumOperands(a) != LLVMGetNumOperands(b) || !have_same_details(a, b)) return false;
  if (LLVMCanValueUseFastMathFlags(a) && LLVMGetFastMathFlags(a) != LLVMGetFastMathFlags(b)) return false;
  return have_same_metadata(a, b);
}

/* ---- groups ---- */

/* Whether an operand may be one constant in one group and another in the other. */
static bool may_be_loaded(LLVMValueRef user, int operand) {
  return LLVMIsAGetElementPtrInst(user) && LLVMGetNumOperands(user) == 2 && operand == 1;
}

/* Note that this group has the live-in b wherever the second group has a. */
static bool match_live_in(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ) {
  reroll *found = &c->t->reroll;
  int i = 0;
  bool constant = LLVMIsConstant(a) || LLVMIsConstant(b);
  if (LLVMTypeOf(a) != LLVMTypeOf(b) || (a != b && constant && !may_differ)) return false;
  if (!LLVMTypeIsSized(LLVMTypeOf(a))) return a == b;
  while (i < found->count && found->values[i].of[1] != a) i++;
  if (i == MOST_LIVE_INS) return false;
  live_in *o = &found->values[i];
  if (i == found->count) found->count++, o->of[1] = a;
  if (o->of[c->other]) return o->of[c->other] == b;
  o->of[c->other] = b;
  o->differs = o->differs || a != b;
  return true;
}

/* Which accumulator the phi is, or NONE. */
static int carried_by(const blocking *t, int phi) {
  for (int k = 0; k < t->carried_count; k++)
    if (t->carried[k] == phi) return k;
  return NONE;
}

static bool match(comparison *c, LLVMValueRef a, LLVMValueRef b, bool may_differ) {
  const blocking *t = c->t;
  int item = item_of(t, a), other = item_of(t, b);
  if (item == NONE || other == NONE) return item == other && match_live_in(c, a, b, may_differ);
  if (item < t->phi_count) {
    int k = carried_by(t, item);
    return k == NONE ? a == b : LLVMTypeOf(a) == LLVMTypeOf(b) && carried_by(t, other) == k + c->shift;
  }
  if (other < t->phi_count) return false;
  if (c->pair[item]) return c->pair[item] == b;
  c->pair[item] = b;
  bool is_buffered = t->buffers[item] && first_group(t, item) == 0;
  if (is_buffered || t->buffers[item] || t->buffers[other]) return is_buffered && a == b;
  bool same = are_equivalent(a, b);
  for (int n = 0; same && n < LLVMGetNumOperands(a); n++)
    same = match(c, LLVMGetOperand(a, (unsigned)n), LLVMGetOperand(b, (unsigned)n), may_be_loaded(a, n));
  return same;
}

static bool matches_second(blocking *t, int other) {
  const reroll *a = &t->reroll;
  comparison c = {.t = t, .other = other, .shift = (other - 1) * a->each};
  uint64_t second = t->list[1].carried;
  if (t->list[other].carried != second << c.shift) return false;
  c.pair = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  bool same = true;
  for (int k = a->first; same && k < a->first + a->each; k++) {
    int from = t->carried[k], to = t->carried[k + c.shift];
    same = LLVMTypeOf(t->items[from]) == LLVMTypeOf(t->items[to]) && match(&c, next_of(t, from), next_of(t, to), false);
  }
  free(c.pair);
  return same;
}

bool find_reroll(blocking *t) {
  enum { LEAST = 3 }; /* groups: of two, only one is after the first */
  reroll *a = &t->reroll;
  *a = (reroll){0};
  if (t->group_count < LEAST) return false;
  while (!(t->list[1].carried >> a->first & 1)) a->first++;
  while (t->list[1].carried >> a->first >> a->each & 1) a->each++;
  for (int k = a->first + 1; k < t->carried_count; k++)
    if (LLVMTypeOf(t->items[t->carried[k]]) != LLVMTypeOf(t->items[t->carried[a->first]])) return false;
  for (int n = 2; n < t->group_count; n++)
    if (!matches_second(t, n)) return false;
  return a->all = true;
}

/* ---- the arrays of live-ins ---- */

void make_live_in_arrays(blocking *t) {
  reroll *a = &t->reroll;
  uint64_t others = (uint64_t)t->group_count - 1;
  LLVMTypeRef type = LLVMTypeOf(t->items[t->carried[a->first]]);
  a->vectors = new_memory(t, LLVMArrayType2(type, others * (uint64_t)a->each));
  for (int i = 0; i < a->count; i++)
    if (a->values[i].differs)
      a->values[i].memory = new_memory(t, LLVMArrayType2(LLVMTypeOf(a->values[i].of[1]), others));
}

void fill_live_in_arrays(blocking *t) {
  for (int i = 0; i < t->reroll.count; i++) {
    const live_in *o = &t->reroll.values[i];
    for (int n = 1; o->differs && n < t->group_count; n++) {
      LLVMValueRef at = constant_i64(t->p, (uint64_t)n - 1);
      LLVMBuildStore(t->b, o->of[n], LLVMBuildGEP2(t->b, LLVMTypeOf(o->of[n]), o->memory, &at, 1, ""));
    }
  }
}

void load_live_ins(blocking *t) {
  reroll *a = &t->reroll;
  for (int i = 0; i < a->count; i++) {
    live_in *o = &a->values[i];
    LLVMTypeRef type = LLVMTypeOf(o->of[1]);
    if (o->differs) o->now = LLVMBuildLoad2(t->b, type, LLVMBuildGEP2(t->b, type, o->memory, &a->which, 1, ""), "");
  }
}

LLVMValueRef live_in_now(const blocking *t, LLVMValueRef value) {
  for (int i = 0; i < t->reroll.count; i++)
    if (t->reroll.values[i].of[1] == value) return t->reroll.values[i].differs ? t->reroll.values[i].now : value;
  return value;
}
