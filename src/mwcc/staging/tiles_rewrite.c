/* Rewriting of a loop over tiles and its inner loop (staging.h) as one loop: each read of a tile becomes the load
 * whose value was stored there. */
#include "staging.h"

#include <stdlib.h>

typedef struct rewriting {
  const tile_loop *t;
  LLVMBuilderRef b;
  LLVMValueRef place; /* the counter that replaces the id */
  int axis;
} rewriting;

/* Whether the value is a multiple of the counter, and so 0 if the counter starts at 0. */
static bool vanishes(const tile_loop *t, LLVMValueRef value) {
  if (value == t->counter) return t->from_zero;
  if (!is_operation(value, LLVMMul) && !is_operation(value, LLVMShl)) return false;
  return vanishes(t, LLVMGetOperand(value, 0)) && is_common(t, LLVMGetOperand(value, 1));
}

/* The other operand of an addition of a value that vanishes, or NULL. */
static LLVMValueRef without_counter(const tile_loop *t, LLVMValueRef value) {
  if (!is_addition(value)) return NULL;
  for (unsigned i = 0; i < 2; i++)
    if (vanishes(t, LLVMGetOperand(value, i))) return LLVMGetOperand(value, 1 - i);
  return NULL;
}

/* The wrap flags that an operation may have after the rewriting. */
typedef enum outcome {
  WRAPS,     /* it may wrap where it did not before: no nsw, nuw */
  ADDS_MORE, /* a sum of other operands with the same value, which does not wrap: nsw */
  AS_BEFORE  /* the same operands */
} outcome;

static bool is_same(const rewriting *r, LLVMValueRef value) {
  return is_common(r->t, value) || steps_match(r->t, value, r->axis);
}

static bool is_signed_sum(LLVMValueRef value) {
  return is_addition(value) && (!is_operation(value, LLVMAdd) || LLVMGetNSW(value));
}

/* Whether an operand of a sum is the same as before, a sum without the counter's term, or the new counter. */
static bool is_exact(const rewriting *r, LLVMValueRef value) {
  if (is_same(r, value)) return true;
  LLVMValueRef rest = without_counter(r->t, value);
  if (rest) return is_signed_sum(value) && is_same(r, rest);
  return r->t->from_zero && LLVMIsACallInst(value) && axis_of(value) == r->axis;
}

static outcome outcome_of(const rewriting *r, LLVMValueRef value) {
  if (!steps_match(r->t, value, r->axis)) return WRAPS;
  bool same = true, exact = is_signed_sum(value);
  for (int i = 0; i < LLVMGetNumOperands(value); i++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)i);
    same = same && is_same(r, operand);
    exact = exact && is_exact(r, operand);
  }
  return same ? AS_BEFORE : exact ? ADDS_MORE : WRAPS;
}

/* The value for the thread with the id `place`, and the counter at its first value. */
static LLVMValueRef rewritten(const rewriting *r, LLVMValueRef value) {
  const tile_loop *t = r->t;
  if (value == t->counter) return t->counter_first;
  if (!LLVMIsAInstruction(value) || (is_common(t, value) && !is_in_loop(t, value))) return value;
  if (LLVMIsACallInst(value) && axis_of(value) == r->axis) return r->place;
  if (LLVMIsACallInst(value) && !is_in_loop(t, value)) return value;
  LLVMValueRef rest = without_counter(t, value), operands[MOST_OPERANDS], made;
  if (rest) return rewritten(r, rest);
  int count = LLVMIsACallInst(value) ? 0 : LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++) operands[i] = rewritten(r, LLVMGetOperand(value, (unsigned)i));
  outcome is_now = LLVMIsABinaryOperator(value) ? outcome_of(r, value) : AS_BEFORE;
  if (is_now == ADDS_MORE) return LLVMBuildNSWAdd(r->b, operands[0], operands[1], "");
  if (is_now == WRAPS) {
    LLVMOpcode opcode = is_addition(value) ? LLVMAdd : LLVMGetInstructionOpcode(value);
    return LLVMBuildBinOp(r->b, opcode, operands[0], operands[1], "");
  }
  /* `inbounds` still holds: each index has the same value as before (all_steps_match), 64 bits wide or extended. */
  made = LLVMInstructionClone(value);
  for (int i = 0; i < count; i++) LLVMSetOperand(made, (unsigned)i, operands[i]);
  LLVMInsertIntoBuilder(r->b, made);
  return made;
}

static LLVMValueRef load_in_place(const tile_loop *t, LLVMBuilderRef b, const tile *of, LLVMValueRef place) {
  rewriting r = {t, b, place, of->counted};
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(of->load));
  LLVMValueRef address = rewritten(&r, LLVMGetOperand(of->load, 0)), load = LLVMInstructionClone(of->load);
  LLVMSetOperand(load, 0, address);
  LLVMInsertIntoBuilder(b, load);
  return load;
}

typedef struct pair {
  LLVMValueRef old, made;
} pair;

static LLVMValueRef made_of(const pair *list, size_t count, LLVMValueRef old) {
  for (size_t i = 0; i < count; i++)
    if (list[i].old == old) return list[i].made;
  return old;
}

/* Erase all instructions of a block that is no longer needed. */
static void empty_block(LLVMBasicBlockRef block) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (LLVMGetFirstUse(i)) LLVMReplaceAllUsesWith(i, LLVMGetPoison(LLVMTypeOf(i)));
  while (LLVMGetLastInstruction(block)) LLVMInstructionEraseFromParent(LLVMGetLastInstruction(block));
}

/* The latch becomes what follows the new loop: a barrier. */
static void keep_barrier(const tile_loop *t, LLVMBuilderRef b) {
  LLVMValueRef barrier = LLVMInstructionClone(t->barrier);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(t->barrier));
  empty_block(t->latch);
  LLVMPositionBuilderAtEnd(b, t->latch);
  LLVMInsertIntoBuilder(b, barrier);
  LLVMBuildBr(b, t->after);
}

/* The old tile counter in iteration number `place` of the new loop. */
static LLVMValueRef counter_at(const tile_loop *t, LLVMBuilderRef b, LLVMValueRef place) {
  program *p = t->p;
  LLVMValueRef steps = LLVMBuildUDiv(b, place, constant_i32(p, (unsigned)t->iterations), "");
  LLVMValueRef grown = LLVMBuildMul(b, steps, LLVMConstInt(p->i32, (uint64_t)t->step, 1), "");
  return LLVMBuildAdd(b, t->counter_first, grown, "");
}

/* Whether the loop continues with iteration `next`: always within a tile; after each tile by the old condition. */
static LLVMValueRef build_continues(const tile_loop *t, LLVMBuilderRef b, LLVMValueRef next) {
  program *p = t->p;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(t->latch), condition = LLVMGetCondition(end);
  LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(end));
  LLVMValueRef rest = LLVMBuildAnd(b, next, constant_i32(p, (unsigned)t->iterations - 1), "");
  LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntNE, rest, constant_i32(p, 0), "");
  /* if the step equals the trip count of k, the counter advances as `next` does */
  LLVMValueRef counter =
      t->step == t->iterations ? LLVMBuildAdd(b, t->counter_first, next, "") : counter_at(t, b, next);
  LLVMValueRef continues = LLVMInstructionClone(condition);
  rewriting limit = {t, b, NULL, AXES};
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef operand = LLVMGetOperand(condition, n);
    LLVMSetOperand(continues, n, operand == t->counter_next ? counter : rewritten(&limit, operand));
  }
  LLVMInsertIntoBuilder(b, continues);
  if (LLVMGetSuccessor(end, 0) != t->head) continues = LLVMBuildNot(b, continues, "");
  return LLVMBuildSelect(b, inside, LLVMConstInt(p->i1, 1, 0), continues, "");
}

/* Copy an iteration of the inner loop; returns the new sum. */
static LLVMValueRef copy_iteration(tile_loop *t, LLVMBuilderRef b, LLVMValueRef place, LLVMValueRef sum) {
  size_t count = 0, most = 3;
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->inner); i; i = LLVMGetNextInstruction(i)) most++;
  pair *list = mw_alloc(most * sizeof *list);
  LLVMValueRef k = LLVMBuildAnd(b, place, constant_i32(t->p, (unsigned)t->iterations - 1), "");
  list[count++] = (pair){t->inner_sum, sum};
  list[count++] = (pair){t->k, LLVMBuildIntCast2(b, k, LLVMTypeOf(t->k), 0, "")};
  list[count++] = (pair){t->counter, counter_at(t, b, place)};
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->inner); i; i = LLVMGetNextInstruction(i)) {
    if (LLVMIsAPHINode(i) || LLVMIsATerminatorInst(i) || is_place_of_read(t, i)) continue;
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(i));
    LLVMValueRef made = NULL;
    for (int n = 0; n < t->tile_count; n++)
      if (t->tiles[n].read == i) made = load_in_place(t, b, &t->tiles[n], place);
    if (!made) {
      made = LLVMInstructionClone(i);
      for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(made); n++)
        LLVMSetOperand(made, n, made_of(list, count, LLVMGetOperand(made, n)));
      LLVMInsertIntoBuilder(b, made);
    }
    list[count++] = (pair){i, made};
  }
  LLVMValueRef next = made_of(list, count, t->sum_next);
  free(list);
  return next;
}

void make_one_loop(tile_loop *t) {
  program *p = t->p;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef block = LLVMInsertBasicBlockInContext(p->context, t->latch, "product");
  LLVMBasicBlockRef from[] = {t->before, block}, old[] = {t->head, t->inner};
  LLVMPositionBuilderAtEnd(b, block);
  LLVMValueRef place = LLVMBuildPhi(b, p->i32, "place"), sum = LLVMBuildPhi(b, LLVMTypeOf(t->outer_sum), "sum");
  LLVMValueRef sum_next = copy_iteration(t, b, place, sum), next = LLVMBuildAdd(b, place, constant_i32(p, 1), "");
  LLVMBuildCondBr(b, build_continues(t, b, next), block, t->latch);
  LLVMAddIncoming(place, (LLVMValueRef[]){constant_i32(p, 0), next}, from, 2);
  LLVMAddIncoming(sum, (LLVMValueRef[]){incoming_value(t->outer_sum, t->latch, false), sum_next}, from, 2);
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->latch); LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
    if (through_latch(t, i) == t->sum_next) LLVMReplaceAllUsesWith(i, sum_next);
  LLVMReplaceAllUsesWith(t->sum_next, sum_next);
  LLVMValueRef enters = LLVMGetBasicBlockTerminator(t->before);
  for (unsigned s = 0; s < LLVMGetNumSuccessors(enters); s++)
    if (LLVMGetSuccessor(enters, s) == t->head) LLVMSetSuccessor(enters, s, block);
  keep_barrier(t, b);
  for (int i = 0; i < 2; i++) empty_block(old[i]);
  for (int i = 0; i < 2; i++) LLVMDeleteBasicBlock(old[i]);
  LLVMDisposeBuilder(b);
}
