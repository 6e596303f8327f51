/* Register blocking (loop distribution by accumulator, then strip-mining): loops that carry more vectors from one
 * iteration to the next than the processor has registers.
 *
 * In a product of matrices each thread of a block has an accumulator, and all rows of the block multiply with the
 * same vector that an iteration loads. With sixteen rows there are more accumulators than registers, and each
 * iteration spills and reloads some. Accumulators do not depend on each other, so the loop is distributed over
 * groups of them that fit:
 *
 *   before:  do { shared = …; for all k: sum[k] += shared * row[k] } while (…)
 *
 *   after:   do {
 *              for up to `strip` iterations: shared = buffer[i] = …; for k of group 0: sum[k] += shared * row[k]
 *              for each later group: for the same iterations: for k of the group: sum[k] += buffer[i] * row[k]
 *            } while (…)
 *
 * A vector that several groups need is computed by the first of them, and left in a buffer that the nearest cache
 * holds. Addresses and scalars are computed again in each group. Groups after the first that do the same with other
 * live-ins are one loop over them (register_blocking_reroll.c), so that many rows are not much more code than two
 * groups.
 *
 * A loop qualifies if it is one basic block that stores nothing, no accumulator depends on another one, and neither
 * the loop's exit nor any scalar depends on a vector. So every accumulator has the same operations in the same order
 * as before. suits_register_blocking (cost_model.c) selects the kernels. Runs after the optimiser, which does not
 * handle that many loops well. */
#include "register_blocking.h"
#include "mwcc/support/predicates.h"
#include "opt.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ITEMS = TUNE_BLOCKING_ITEMS };

int item_of(const blocking *t, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != t->block) return NONE;
  for (int i = 0; i < t->count; i++)
    if (t->items[i] == value) return i;
  return NONE;
}

static bool is_prefetch(LLVMValueRef i) { return LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.prefetch"); }

static LLVMValueRef incoming(const blocking *t, int phi, bool again) {
  for (unsigned n = 0; n < 2; n++)
    if ((LLVMGetIncomingBlock(t->items[phi], n) == t->block) == again) return LLVMGetIncomingValue(t->items[phi], n);
  return NULL;
}

LLVMValueRef next_of(const blocking *t, int phi) { return incoming(t, phi, true); }

static bool is_used_after(const blocking *t, int i) {
  for (LLVMUseRef use = LLVMGetFirstUse(t->items[i]); use; use = LLVMGetNextUse(use))
    if (LLVMGetInstructionParent(LLVMGetUser(use)) != t->block) return true;
  return false;
}

LLVMValueRef new_memory(const blocking *t, LLVMTypeRef type) {
  enum { LINE = 64 };
  LLVMValueRef memory = LLVMBuildAlloca(t->b, type, "");
  LLVMSetAlignment(memory, LINE);
  return memory;
}

/* ---- which loops ---- */

static bool read_loop(blocking *t) {
  bool good = true;
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->block); i; i = LLVMGetNextInstruction(i)) t->count++;
  if (t->count > MOST_ITEMS) return false;
  t->items = mw_alloc((size_t)t->count * sizeof *t->items);
  t->count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(t->block); i; i = LLVMGetNextInstruction(i)) {
    int number = t->count++;
    t->items[number] = i;
    good = good && LLVMGetNumOperands(i) <= MOST_OPERANDS;
    if (LLVMIsAPHINode(i)) {
      t->phi_count++;
      if (!is_vector_type(LLVMTypeOf(i))) continue;
      if (LLVMGetElementType(LLVMTypeOf(i)) == t->p->i1 || t->carried_count == MOST_CARRIED) return false;
      t->carried[t->carried_count++] = number;
    } else if (!LLVMIsATerminatorInst(i)) {
      good = good && (is_pure(i) || is_prefetch(i));
    }
  }
  return good;
}

/* Backwards from the last instruction: the accumulators that each is computed for. The loop's exit and the scalars
   must not depend on vectors. */
static bool find_needs(blocking *t) {
  bool *scalar = mw_alloc((size_t)t->count * sizeof *scalar), good = true;
  t->needed = mw_alloc((size_t)t->count * sizeof *t->needed);
  t->begins = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  t->continues = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  for (int i = 0; i < t->phi_count; i++) {
    int next = item_of(t, next_of(t, i));
    if (next != NONE && !is_vector_type(LLVMTypeOf(t->items[i]))) scalar[next] = true;
  }
  for (int k = 0; k < t->carried_count; k++) {
    int next = item_of(t, next_of(t, t->carried[k]));
    if (next == NONE || next < t->phi_count)
      good = false;
    else
      t->needed[next] |= bit(k);
  }
  scalar[t->count - 1] = true;
  good = good && item_of(t, LLVMGetCondition(t->items[t->count - 1])) != NONE;
  for (int i = t->count - 1; i >= t->phi_count; i--) {
    int operands = LLVMGetNumOperands(t->items[i]);
    if (is_prefetch(t->items[i])) t->needed[i] = bit(0); /* in the first group */
    for (int n = 0; n < operands; n++) {
      LLVMValueRef operand = LLVMGetOperand(t->items[i], (unsigned)n);
      int from = LLVMValueIsBasicBlock(operand) ? NONE : item_of(t, operand);
      if (from == NONE) continue;
      t->needed[from] |= t->needed[i];
      scalar[from] = scalar[from] || scalar[i];
    }
  }
  for (int i = 0; i < t->count; i++) good = good && !(scalar[i] && is_vector_type(LLVMTypeOf(t->items[i])));
  free(scalar);
  return good;
}

/* Whether the vectors used after the loop are all accumulators' final values. */
static bool has_only_final_values_used(const blocking *t) {
  for (int i = 0; i < t->count; i++) {
    if (!is_vector_type(LLVMTypeOf(t->items[i]))) continue;
    bool carried = false;
    for (int k = 0; k < t->carried_count; k++) carried = carried || next_of(t, t->carried[k]) == t->items[i];
    if (!carried && is_used_after(t, i)) return false;
  }
  return true;
}

/* Whether no accumulator is computed from another one. */
static bool are_independent(const blocking *t) {
  for (int k = 0; k < t->carried_count; k++)
    if (t->needed[t->carried[k]] & ~bit(k)) return false;
  return true;
}

/* ---- the loops of the groups ---- */

static LLVMValueRef copy_of(blocking *t, group *in, LLVMValueRef value);

static LLVMValueRef place_in_buffer(blocking *t, const group *in, int i) {
  return LLVMBuildGEP2(t->b, LLVMTypeOf(t->items[i]), t->buffers[i], (LLVMValueRef[]){in->iteration}, 1, "");
}

/* An induction variable: at the beginning of a strip it has the value that the iterations before left. */
static LLVMValueRef copy_induction(blocking *t, group *in, int i) {
  LLVMTypeRef type = LLVMTypeOf(t->items[i]);
  if (!t->begins[i]) {
    LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(t->list[0].before));
    t->begins[i] = LLVMBuildPhi(t->b, type, "");
  }
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(in->loop));
  LLVMValueRef phi = in->made[i] = LLVMBuildPhi(t->b, type, "");
  LLVMPositionBuilderAtEnd(t->b, in->loop);
  LLVMValueRef next = copy_of(t, in, next_of(t, i));
  LLVMAddIncoming(phi, (LLVMValueRef[]){t->begins[i], next}, (LLVMBasicBlockRef[]){in->before, in->loop}, 2);
  if (!t->continues[i]) t->continues[i] = next;
  return phi;
}

static LLVMValueRef copy(blocking *t, group *in, int i) {
  LLVMValueRef old = t->items[i], operands[MOST_OPERANDS];
  int count = LLVMGetNumOperands(old);
  for (int n = 0; n < count; n++) operands[n] = copy_of(t, in, LLVMGetOperand(old, (unsigned)n));
  LLVMValueRef made = LLVMInstructionClone(old);
  for (int n = 0; n < count; n++) LLVMSetOperand(made, (unsigned)n, operands[n]);
  LLVMInsertIntoBuilder(t->b, made);
  if (t->buffers[i]) LLVMBuildStore(t->b, made, place_in_buffer(t, in, i));
  return made;
}

/* The copy of a value in the group's loop; the builder is at the loop's end. */
static LLVMValueRef copy_of(blocking *t, group *in, LLVMValueRef value) {
  int i = item_of(t, value);
  if (i == NONE) return t->reroll.all && in == &t->list[1] ? live_in_now(t, value) : value;
  if (in->made[i]) return in->made[i];
  if (i < t->phi_count) return copy_induction(t, in, i);
  bool is_buffered = t->buffers[i] && &t->list[first_group(t, i)] != in;
  LLVMValueRef made =
      is_buffered ? LLVMBuildLoad2(t->b, LLVMTypeOf(value), place_in_buffer(t, in, i), "") : copy(t, in, i);
  return in->made[i] = made;
}

/* An accumulator's place between groups. Groups that are one loop have theirs in an array. */
static LLVMValueRef place_of_accumulator(const blocking *t, const group *in, int k) {
  const reroll *a = &t->reroll;
  if (!a->all || in != &t->list[1]) return t->memory[k];
  LLVMValueRef each = constant_i64(t->p, (uint64_t)a->each), at = constant_i64(t->p, (uint64_t)(k - a->first));
  at = LLVMBuildAdd(t->b, LLVMBuildMul(t->b, a->which, each, ""), at, "");
  return LLVMBuildGEP2(t->b, LLVMTypeOf(t->items[t->carried[k]]), a->vectors, &at, 1, "");
}

/* Load a group's accumulators before its loop, and store them after it. */
static void load_accumulators(blocking *t, group *in) {
  for (int k = 0; k < t->carried_count; k++) {
    if (!(in->carried & bit(k))) continue;
    int i = t->carried[k];
    LLVMTypeRef type = LLVMTypeOf(t->items[i]);
    LLVMPositionBuilderAtEnd(t->b, in->before);
    LLVMValueRef now = LLVMBuildLoad2(t->b, type, place_of_accumulator(t, in, k), "");
    LLVMPositionBuilderAtEnd(t->b, in->loop);
    in->made[i] = LLVMBuildPhi(t->b, type, "");
    LLVMAddIncoming(in->made[i], &now, &in->before, 1);
  }
}

static void store_accumulators(blocking *t, group *in, LLVMBasicBlockRef after) {
  LLVMPositionBuilderAtEnd(t->b, after);
  for (int k = 0; k < t->carried_count; k++)
    if (in->carried & bit(k))
      LLVMBuildStore(t->b, in->made[item_of(t, next_of(t, t->carried[k]))], place_of_accumulator(t, in, k));
}

/* The iterations of a strip for one group. The first group counts them; it returns whether iterations remain, and the
   number of iterations in *iterations. */
static LLVMValueRef build_group(blocking *t, group *in, LLVMBasicBlockRef after, LLVMValueRef *iterations) {
  bool first = in == &t->list[0];
  LLVMValueRef remain = NULL, end = t->items[t->count - 1], zero = constant_i64(t->p, 0);
  in->made = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  load_accumulators(t, in);
  in->iteration = LLVMBuildPhi(t->b, t->p->i64, "");
  for (int i = 0; i < t->count - 1; i++)
    if (first && (is_prefetch(t->items[i]) || (!is_vector_type(LLVMTypeOf(t->items[i])) && is_used_after(t, i))))
      copy_of(t, in, t->items[i]);
  for (int k = 0; k < t->carried_count; k++) {
    if (!(in->carried & bit(k))) continue;
    LLVMValueRef next = copy_of(t, in, next_of(t, t->carried[k]));
    LLVMAddIncoming(in->made[t->carried[k]], &next, &in->loop, 1);
  }
  if (first) remain = copy_of(t, in, LLVMGetCondition(end));
  if (first && LLVMGetSuccessor(end, 0) != t->block) remain = LLVMBuildNot(t->b, remain, "");
  LLVMValueRef next = LLVMBuildAdd(t->b, in->iteration, constant_i64(t->p, 1), "");
  LLVMAddIncoming(in->iteration, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){in->before, in->loop}, 2);
  LLVMValueRef more = LLVMBuildICmp(t->b, LLVMIntULT, next, first ? constant_i64(t->p, t->strip) : *iterations, "");
  if (first) more = LLVMBuildAnd(t->b, remain, more, ""), *iterations = next;
  LLVMBuildCondBr(t->b, more, in->loop, after);
  LLVMPositionBuilderAtEnd(t->b, in->before);
  LLVMBuildBr(t->b, in->loop);
  store_accumulators(t, in, after);
  return remain;
}

static LLVMBasicBlockRef new_block(const blocking *t, const char *name) {
  return LLVMInsertBasicBlockInContext(t->p->context, t->block, name);
}

/* After the loop, the final vectors are loaded from memory, and scalars are those of the first group. The original
   block remains, otherwise empty: phis of other blocks refer to it. */
static void replace_loop(blocking *t) {
  LLVMValueRef *stands = mw_alloc((size_t)t->count * sizeof *stands);
  LLVMValueRef old = t->items[t->count - 1], jump;
  LLVMPositionBuilderAtEnd(t->b, t->block);
  jump = LLVMBuildBr(t->b, t->exit);
  LLVMPositionBuilderBefore(t->b, jump);
  for (int k = 0; k < t->carried_count; k++) {
    int next = item_of(t, next_of(t, t->carried[k]));
    if (is_used_after(t, next)) stands[next] = LLVMBuildLoad2(t->b, LLVMTypeOf(t->items[next]), t->memory[k], "");
  }
  for (int i = 0; i < t->count - 1; i++) {
    LLVMValueRef now = stands[i] ? stands[i] : t->list[0].made[i];
    if (LLVMGetTypeKind(LLVMTypeOf(t->items[i])) == LLVMVoidTypeKind) continue;
    LLVMReplaceAllUsesWith(t->items[i], now ? now : LLVMGetPoison(LLVMTypeOf(t->items[i])));
  }
  LLVMInstructionEraseFromParent(old);
  for (int i = t->count - 2; i >= 0; i--) LLVMInstructionEraseFromParent(t->items[i]);
  free(stands);
}

/* Memory for the accumulators between groups, initialised before the first one. */
static void make_memory(blocking *t, LLVMBasicBlockRef enter) {
  const reroll *a = &t->reroll;
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t->function)));
  if (a->all) make_live_in_arrays(t);
  for (int k = 0; k < t->carried_count; k++) {
    LLVMTypeRef type = LLVMTypeOf(t->items[t->carried[k]]);
    LLVMValueRef at = constant_i64(t->p, (uint64_t)(k - a->first));
    t->memory[k] = a->all && k >= a->first ? LLVMBuildGEP2(t->b, type, a->vectors, &at, 1, "") : new_memory(t, type);
  }
  LLVMPositionBuilderAtEnd(t->b, enter);
  for (int k = 0; k < t->carried_count; k++) LLVMBuildStore(t->b, incoming(t, t->carried[k], false), t->memory[k]);
  if (a->all) fill_live_in_arrays(t);
}

/* The groups after the first, as a loop over them. */
static void build_rerolled(blocking *t, LLVMBasicBlockRef others, LLVMBasicBlockRef last, LLVMValueRef *iterations) {
  reroll *a = &t->reroll;
  group *in = &t->list[1];
  LLVMBasicBlockRef next = LLVMInsertBasicBlockInContext(t->p->context, last, "next");
  LLVMValueRef others_count = constant_i64(t->p, (uint64_t)t->group_count - 1), zero = constant_i64(t->p, 0);
  LLVMPositionBuilderAtEnd(t->b, others);
  LLVMBuildBr(t->b, in->before);
  LLVMPositionBuilderAtEnd(t->b, in->before);
  a->which = LLVMBuildPhi(t->b, t->p->i64, "");
  load_live_ins(t);
  build_group(t, in, next, iterations);
  LLVMPositionBuilderAtEnd(t->b, next);
  LLVMValueRef following = LLVMBuildAdd(t->b, a->which, constant_i64(t->p, 1), "");
  LLVMAddIncoming(a->which, (LLVMValueRef[]){zero, following}, (LLVMBasicBlockRef[]){others, next}, 2);
  LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntULT, following, others_count, ""), in->before, last);
}

static void build_groups(blocking *t) {
  LLVMBasicBlockRef enter = new_block(t, "groups"), others = NULL, last = NULL;
  LLVMValueRef remain = NULL, iterations = NULL, end = LLVMGetBasicBlockTerminator(t->before);
  bool rerolls = find_reroll(t);
  int built = rerolls ? 2 : t->group_count;
  for (int n = 0; n < built; n++) {
    if (n == 1 && rerolls) others = new_block(t, "others");
    t->list[n].before = new_block(t, "group"), t->list[n].loop = new_block(t, "iterations");
  }
  last = new_block(t, "strip");
  make_memory(t, enter);
  LLVMBuildBr(t->b, t->list[0].before);
  for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
    if (LLVMGetSuccessor(end, s) == t->block) LLVMSetSuccessor(end, s, enter);
  remain = build_group(t, &t->list[0], rerolls ? others : t->list[1].before, &iterations);
  if (rerolls) build_rerolled(t, others, last, &iterations);
  for (int n = 1; n < t->group_count && !rerolls; n++)
    build_group(t, &t->list[n], n + 1 < t->group_count ? t->list[n + 1].before : last, &iterations);
  LLVMPositionBuilderAtEnd(t->b, last);
  LLVMBuildCondBr(t->b, remain, t->list[0].before, t->block);
  for (int i = 0; i < t->phi_count; i++) {
    if (!t->begins[i]) continue;
    LLVMValueRef values[] = {incoming(t, i, false), t->continues[i]};
    LLVMAddIncoming(t->begins[i], values, (LLVMBasicBlockRef[]){enter, last}, 2);
  }
  replace_loop(t);
}

static void free_blocking(blocking *t) {
  for (int n = 0; n < t->group_count; n++) free(t->list[n].made);
  free(t->items);
  free(t->needed);
  free(t->buffers);
  free(t->begins);
  free(t->continues);
}

static bool carries_many(const program *p, LLVMBasicBlockRef block) {
  int vectors = 0, count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
    if (is_vector_type(LLVMTypeOf(i))) vectors++, count += registers_of_type(p, LLVMTypeOf(i));
  return count + 1 > vector_registers(p) || vectors > MOST_ROWS;
}

void block_registers(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    bool suits = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, REGISTER_BLOCKED,
                                               (unsigned)strlen(REGISTER_BLOCKED));
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); suits && block; block = LLVMGetNextBasicBlock(block)) {
      blocking t = {.p = p, .b = b, .function = f, .block = block};
      if (!is_own_loop(block, &t.before, &t.exit) || !carries_many(p, block)) continue;
      if (read_loop(&t) && find_needs(&t) && are_independent(&t) && has_only_final_values_used(&t) &&
          choose_groups(&t) && choose_strip(&t))
        build_groups(&t);
      free_blocking(&t);
    }
  }
  LLVMDisposeBuilder(b);
}
