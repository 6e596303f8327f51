/* Loops that carry more vectors from round to round than the processor has registers, in turns.
 *
 * In a product of matrices each thread of a block adds up a number of its own, and all rows of the block multiply with the
 * same vector that a round loads. With sixteen rows there are more sums than registers: each round then brings some back from
 * the stack and puts them there again, and waits for that. With fewer rows what all of them share is loaded anew for each
 * gang, from far away where a column's lines get into each other's way in the caches. Where there are vector registers for
 * all sums (AVX-512), there are not enough others for the addresses of as many rows.
 *
 * But sums do not know of each other. So a stretch of rounds is run for some of them, whose number registers suffice for,
 * then the same rounds for the next ones, and so on; then comes the next stretch. What several turns need, the first one
 * of them computes and leaves in a buffer, where the others find it in the nearest cache, one behind the other. Addresses
 * and numbers that all lanes have are computed again in each.
 *
 * Turns behind the first that do the same with other rows are one loop over them (register_blocking_reroll.c), so that a gang of many rows
 * is not much more code than one of two turns.
 *
 * That pays where what is shared is little beside what is carried: one vector, or a few. suits_turns (cost_model.c) tells which
 * kernels are meant. Such a loop is one basic block that stores nothing, and what its vectors become does not decide about
 * its end. Each sum is made in the same order as before.
 *
 * Runs behind the optimiser, which would not know what to do with that many loops. */
#include "register_blocking.h"
#include "opt.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

enum {
  MOST_ITEMS = 400, /* instructions of a round */
  STRETCH = 64,     /* rounds, at most */
  LEAST_STRETCH = 8,
  BUFFER = 4096, /* bytes: some of the nearest cache */
  MOST_ROWS = 8  /* vectors of a turn: each meets a number of its own row, whose address takes a general register */
};

static bool is_vector(LLVMTypeRef type) { return LLVMGetTypeKind(type) == LLVMVectorTypeKind; }

static uint64_t bit(int n) { return (uint64_t)1 << n; }

/* Registers that a value takes. */
static int registers(const program *p, LLVMTypeRef type) {
  int bytes = (int)LLVMABISizeOfType(p->layout, type), each = register_lanes(p) * (int)sizeof(float);
  return (bytes + each - 1) / each;
}

int item_of(const turns *t, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != t->block) return NONE;
  for (int i = 0; i < t->count; i++)
    if (t->items[i] == value) return i;
  return NONE;
}

static bool is_prefetch(LLVMValueRef i) { return LLVMIsACallInst(i) && starts_with(callee_name(i), "llvm.prefetch"); }

static LLVMValueRef incoming(const turns *t, int phi, bool again) {
  for (unsigned n = 0; n < 2; n++)
    if ((LLVMGetIncomingBlock(t->items[phi], n) == t->block) == again) return LLVMGetIncomingValue(t->items[phi], n);
  return NULL;
}

LLVMValueRef next_of(const turns *t, int phi) { return incoming(t, phi, true); }

static bool is_used_behind(const turns *t, int i) {
  for (LLVMUseRef use = LLVMGetFirstUse(t->items[i]); use; use = LLVMGetNextUse(use))
    if (LLVMGetInstructionParent(LLVMGetUser(use)) != t->block) return true;
  return false;
}

LLVMValueRef new_memory(const turns *t, LLVMTypeRef type) {
  enum { LINE = 64 };
  LLVMValueRef memory = LLVMBuildAlloca(t->b, type, "");
  LLVMSetAlignment(memory, LINE);
  return memory;
}

/* ---- which loops ---- */

static bool read_loop(turns *t) {
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
      if (!is_vector(LLVMTypeOf(i))) continue;
      if (LLVMGetElementType(LLVMTypeOf(i)) == t->p->i1 || t->carried_count == MOST_CARRIED) return false;
      t->carried[t->carried_count++] = number;
    } else if (!LLVMIsATerminatorInst(i)) {
      good = good && (is_pure(i) || is_prefetch(i));
    }
  }
  return good;
}

/* Backwards from the last instruction: for which carried vectors each is computed. The loop's end, and the numbers that are
   not vectors, must do without any. */
static bool find_needs(turns *t) {
  bool *scalar = mw_alloc((size_t)t->count * sizeof *scalar), good = true;
  t->needed = mw_alloc((size_t)t->count * sizeof *t->needed);
  t->begins = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  t->goes_on = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  for (int i = 0; i < t->phi_count; i++) {
    int next = item_of(t, next_of(t, i));
    if (next != NONE && !is_vector(LLVMTypeOf(t->items[i]))) scalar[next] = true;
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
    if (is_prefetch(t->items[i])) t->needed[i] = bit(0); /* by the first turn */
    for (int n = 0; n < operands; n++) {
      LLVMValueRef operand = LLVMGetOperand(t->items[i], (unsigned)n);
      int from = LLVMValueIsBasicBlock(operand) ? NONE : item_of(t, operand);
      if (from == NONE) continue;
      t->needed[from] |= t->needed[i];
      scalar[from] = scalar[from] || scalar[i];
    }
  }
  for (int i = 0; i < t->count; i++) good = good && !(scalar[i] && is_vector(LLVMTypeOf(t->items[i])));
  free(scalar);
  return good;
}

/* Of what is used behind the loop, carried vectors have to be what the last round leaves. */
static bool is_used_well_behind(const turns *t) {
  for (int i = 0; i < t->count; i++) {
    if (!is_vector(LLVMTypeOf(t->items[i]))) continue;
    bool carried = false;
    for (int k = 0; k < t->carried_count; k++) carried = carried || next_of(t, t->carried[k]) == t->items[i];
    if (!carried && is_used_behind(t, i)) return false;
  }
  return true;
}

/* ---- who takes turns with whom ---- */

/* Whether no vector is computed from another one. */
static bool are_independent(const turns *t) {
  for (int k = 0; k < t->carried_count; k++)
    if (t->needed[t->carried[k]] & ~bit(k)) return false;
  return true;
}

/* A vector for which a turn looks into the buffer: not what is made of a number in one instruction, and no mask. */
static bool is_worth_keeping(const turns *t, int i) {
  LLVMValueRef value = t->items[i];
  LLVMTypeRef type = LLVMTypeOf(value);
  if (i < t->phi_count || !is_vector(type) || LLVMGetElementType(type) == t->p->i1 || LLVMIsAInsertElementInst(value))
    return false;
  return !LLVMIsAShuffleVectorInst(value) || !LLVMIsAInsertElementInst(LLVMGetOperand(value, 0));
}

/* Registers for the largest vector that is shared, and one for what is being computed. */
static int registers_besides(const turns *t) {
  int most = 0;
  for (int i = t->phi_count; i < t->count - 1; i++) {
    bool several = (t->needed[i] & (t->needed[i] - 1)) && is_worth_keeping(t, i);
    int count = several ? registers(t->p, LLVMTypeOf(t->items[i])) : 0;
    if (count > most) most = count;
  }
  return most + 1;
}

static int registers_of(const turns *t, int k) { return registers(t->p, LLVMTypeOf(t->items[t->carried[k]])); }

/* Vectors of a turn, where all are of one size: as many as there is room for, but for the first turn, which has what is
   left, to be no less than half. The others may be alike then. 0: they are of different sizes. */
static int vectors_of_turn(const turns *t, int room) {
  int weight = registers_of(t, 0), each = room / weight;
  for (int k = 1; k < t->carried_count; k++)
    if (registers_of(t, k) != weight) return 0;
  while (each > 1 && t->carried_count % each && 2 * (t->carried_count % each) < each) each--;
  return each;
}

/* As many turns as it takes, of about as many registers each: what the first one computes for the others counts there, too. */
static bool choose_turns(turns *t) {
  int besides = registers_besides(t), all = 0, largest = 1, taken = besides - 1;
  for (int k = 0; k < t->carried_count; k++) {
    all += registers_of(t, k);
    if (registers_of(t, k) > largest) largest = registers_of(t, k);
  }
  int room = (vector_registers(t->p) - besides) / largest * largest;
  if (room > MOST_ROWS * largest) { /* then there are registers for what is shared besides */
    room = MOST_ROWS * largest;
    taken = 0;
  }
  if (room < 1 || all <= room) return false;
  all += taken;
  int wanted = (all + room - 1) / room, each = vectors_of_turn(t, room), left = each ? t->carried_count % each : 0;
  for (int k = 0; k < t->carried_count; k++) {
    int weight = registers_of(t, k);
    /* The next turn begins where this one and those before have their share of all. */
    bool next = each ? (k - left) % each == 0 : (taken + weight) * wanted > all * t->turn_count;
    if (!t->turn_count || next) {
      if (t->turn_count == MOST_TURNS) return false;
      t->turn_count++;
    }
    t->list[t->turn_count - 1].carried |= bit(k);
    taken += weight;
  }
  return t->turn_count > 1;
}

int first_turn(const turns *t, int i) {
  int n = 0;
  while (n < t->turn_count && !(t->needed[i] & t->list[n].carried)) n++;
  return n;
}

/* Whether the turn computes it, rather than finding it in the buffer. */
static bool computes(const turns *t, int which, int i) {
  return (t->needed[i] & t->list[which].carried) && (!is_worth_keeping(t, i) || first_turn(t, i) == which);
}

/* Whether a later turn than the first that needs it computes something from it, or carries it. */
static bool is_left_in_buffer(const turns *t, int i) {
  if (!is_worth_keeping(t, i)) return false;
  for (int n = first_turn(t, i) + 1; n < t->turn_count; n++) {
    for (int k = 0; k < t->carried_count; k++)
      if ((t->list[n].carried & bit(k)) && next_of(t, t->carried[k]) == t->items[i]) return true;
    for (LLVMUseRef use = LLVMGetFirstUse(t->items[i]); use; use = LLVMGetNextUse(use)) {
      int user = item_of(t, LLVMGetUser(use));
      if (user >= t->phi_count && computes(t, n, user)) return true;
    }
  }
  return false;
}

/* The buffers, and for how many rounds they suffice. */
static bool choose_stretch(turns *t) {
  uint64_t bytes = 0, rounds = STRETCH;
  bool *left = mw_alloc((size_t)t->count * sizeof *left);
  for (int i = 0; i < t->count; i++) {
    left[i] = is_left_in_buffer(t, i);
    if (left[i]) bytes += LLVMABISizeOfType(t->p->layout, LLVMTypeOf(t->items[i]));
  }
  while (bytes * rounds > BUFFER) rounds /= 2;
  t->stretch = rounds;
  t->buffers = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t->function)));
  for (int i = 0; i < t->count && rounds >= LEAST_STRETCH; i++)
    if (left[i]) t->buffers[i] = new_memory(t, LLVMArrayType2(LLVMTypeOf(t->items[i]), rounds));
  free(left);
  return rounds >= LEAST_STRETCH;
}

/* ---- the turns ---- */

static LLVMValueRef made_for(turns *t, turn *in, LLVMValueRef value);

static LLVMValueRef place_in_buffer(turns *t, const turn *in, int i) {
  return LLVMBuildGEP2(t->b, LLVMTypeOf(t->items[i]), t->buffers[i], (LLVMValueRef[]){in->round}, 1, "");
}

/* A number that the rounds count: at the beginning of a stretch as the rounds before left it. */
static LLVMValueRef count_again(turns *t, turn *in, int i) {
  LLVMTypeRef type = LLVMTypeOf(t->items[i]);
  if (!t->begins[i]) {
    LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(t->list[0].before));
    t->begins[i] = LLVMBuildPhi(t->b, type, "");
  }
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(in->loop));
  LLVMValueRef phi = in->made[i] = LLVMBuildPhi(t->b, type, "");
  LLVMPositionBuilderAtEnd(t->b, in->loop);
  LLVMValueRef next = made_for(t, in, next_of(t, i));
  LLVMAddIncoming(phi, (LLVMValueRef[]){t->begins[i], next}, (LLVMBasicBlockRef[]){in->before, in->loop}, 2);
  if (!t->goes_on[i]) t->goes_on[i] = next;
  return phi;
}

static LLVMValueRef copy(turns *t, turn *in, int i) {
  LLVMValueRef old = t->items[i], operands[MOST_OPERANDS];
  int count = LLVMGetNumOperands(old);
  for (int n = 0; n < count; n++) operands[n] = made_for(t, in, LLVMGetOperand(old, (unsigned)n));
  LLVMValueRef made = LLVMInstructionClone(old);
  for (int n = 0; n < count; n++) LLVMSetOperand(made, (unsigned)n, operands[n]);
  LLVMInsertIntoBuilder(t->b, made);
  if (t->buffers[i]) LLVMBuildStore(t->b, made, place_in_buffer(t, in, i));
  return made;
}

/* What stands for a value of the old loop in the turn's, whose end the builder is at. */
static LLVMValueRef made_for(turns *t, turn *in, LLVMValueRef value) {
  int i = item_of(t, value);
  if (i == NONE) return t->alike.all && in == &t->list[1] ? outside_now(t, value) : value;
  if (in->made[i]) return in->made[i];
  if (i < t->phi_count) return count_again(t, in, i);
  bool kept = t->buffers[i] && &t->list[first_turn(t, i)] != in;
  LLVMValueRef made = kept ? LLVMBuildLoad2(t->b, LLVMTypeOf(value), place_in_buffer(t, in, i), "") : copy(t, in, i);
  return in->made[i] = made;
}

/* Where a vector is between turns: turns that are alike have theirs one behind the other. */
static LLVMValueRef memory_of_vector(const turns *t, const turn *in, int k) {
  const alike *a = &t->alike;
  if (!a->all || in != &t->list[1]) return t->memory[k];
  LLVMValueRef each = constant_i64(t->p, (uint64_t)a->each), at = constant_i64(t->p, (uint64_t)(k - a->first));
  at = LLVMBuildAdd(t->b, LLVMBuildMul(t->b, a->which, each, ""), at, "");
  return LLVMBuildGEP2(t->b, LLVMTypeOf(t->items[t->carried[k]]), a->vectors, &at, 1, "");
}

/* The vectors of a turn are brought from memory, or put there. */
static void bring(turns *t, turn *in) {
  for (int k = 0; k < t->carried_count; k++) {
    if (!(in->carried & bit(k))) continue;
    int i = t->carried[k];
    LLVMTypeRef type = LLVMTypeOf(t->items[i]);
    LLVMPositionBuilderAtEnd(t->b, in->before);
    LLVMValueRef now = LLVMBuildLoad2(t->b, type, memory_of_vector(t, in, k), "");
    LLVMPositionBuilderAtEnd(t->b, in->loop);
    in->made[i] = LLVMBuildPhi(t->b, type, "");
    LLVMAddIncoming(in->made[i], &now, &in->before, 1);
  }
}

static void put(turns *t, turn *in, LLVMBasicBlockRef behind) {
  LLVMPositionBuilderAtEnd(t->b, behind);
  for (int k = 0; k < t->carried_count; k++)
    if (in->carried & bit(k))
      LLVMBuildStore(t->b, in->made[item_of(t, next_of(t, t->carried[k]))], memory_of_vector(t, in, k));
}

/* The rounds of a stretch for some vectors. The first turn finds out how many there are; it returns whether rounds remain,
   and their number in `rounds`. */
static LLVMValueRef build_turn(turns *t, turn *in, LLVMBasicBlockRef behind, LLVMValueRef *rounds) {
  bool first = in == &t->list[0];
  LLVMValueRef remain = NULL, end = t->items[t->count - 1], zero = constant_i64(t->p, 0);
  in->made = mw_alloc((size_t)t->count * sizeof(LLVMValueRef));
  bring(t, in);
  in->round = LLVMBuildPhi(t->b, t->p->i64, "");
  for (int i = 0; i < t->count - 1; i++)
    if (first && (is_prefetch(t->items[i]) || (!is_vector(LLVMTypeOf(t->items[i])) && is_used_behind(t, i))))
      made_for(t, in, t->items[i]);
  for (int k = 0; k < t->carried_count; k++) {
    if (!(in->carried & bit(k))) continue;
    LLVMValueRef next = made_for(t, in, next_of(t, t->carried[k]));
    LLVMAddIncoming(in->made[t->carried[k]], &next, &in->loop, 1);
  }
  if (first) remain = made_for(t, in, LLVMGetCondition(end));
  if (first && LLVMGetSuccessor(end, 0) != t->block) remain = LLVMBuildNot(t->b, remain, "");
  LLVMValueRef next = LLVMBuildAdd(t->b, in->round, constant_i64(t->p, 1), "");
  LLVMAddIncoming(in->round, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){in->before, in->loop}, 2);
  LLVMValueRef more = LLVMBuildICmp(t->b, LLVMIntULT, next, first ? constant_i64(t->p, t->stretch) : *rounds, "");
  if (first) more = LLVMBuildAnd(t->b, remain, more, ""), *rounds = next;
  LLVMBuildCondBr(t->b, more, in->loop, behind);
  LLVMPositionBuilderAtEnd(t->b, in->before);
  LLVMBuildBr(t->b, in->loop);
  put(t, in, behind);
  return remain;
}

static LLVMBasicBlockRef new_block(const turns *t, const char *name) {
  return LLVMInsertBasicBlockInContext(t->p->context, t->block, name);
}

/* What comes behind the loop finds the vectors in memory, and numbers where the first turn made them. The old block remains,
   without anything else: other blocks' phis know it. */
static void leave(turns *t) {
  LLVMValueRef *stands = mw_alloc((size_t)t->count * sizeof *stands);
  LLVMValueRef old = t->items[t->count - 1], jump;
  LLVMPositionBuilderAtEnd(t->b, t->block);
  jump = LLVMBuildBr(t->b, t->exit);
  LLVMPositionBuilderBefore(t->b, jump);
  for (int k = 0; k < t->carried_count; k++) {
    int next = item_of(t, next_of(t, t->carried[k]));
    if (is_used_behind(t, next)) stands[next] = LLVMBuildLoad2(t->b, LLVMTypeOf(t->items[next]), t->memory[k], "");
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

/* Memory for the vectors between turns, which get there before the first one. */
static void make_memory(turns *t, LLVMBasicBlockRef enter) {
  const alike *a = &t->alike;
  LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(t->function)));
  if (a->all) make_alike_memory(t);
  for (int k = 0; k < t->carried_count; k++) {
    LLVMTypeRef type = LLVMTypeOf(t->items[t->carried[k]]);
    LLVMValueRef at = constant_i64(t->p, (uint64_t)(k - a->first));
    t->memory[k] = a->all && k >= a->first ? LLVMBuildGEP2(t->b, type, a->vectors, &at, 1, "") : new_memory(t, type);
  }
  LLVMPositionBuilderAtEnd(t->b, enter);
  for (int k = 0; k < t->carried_count; k++) LLVMBuildStore(t->b, incoming(t, t->carried[k], false), t->memory[k]);
  if (a->all) fill_alike_memory(t);
}

/* The turns behind the first, as a loop over them. */
static void build_alike(turns *t, LLVMBasicBlockRef others, LLVMBasicBlockRef last, LLVMValueRef *rounds) {
  alike *a = &t->alike;
  turn *in = &t->list[1];
  LLVMBasicBlockRef next = LLVMInsertBasicBlockInContext(t->p->context, last, "next");
  LLVMValueRef turns_behind = constant_i64(t->p, (uint64_t)t->turn_count - 1), zero = constant_i64(t->p, 0);
  LLVMPositionBuilderAtEnd(t->b, others);
  LLVMBuildBr(t->b, in->before);
  LLVMPositionBuilderAtEnd(t->b, in->before);
  a->which = LLVMBuildPhi(t->b, t->p->i64, "");
  bring_outside(t);
  build_turn(t, in, next, rounds);
  LLVMPositionBuilderAtEnd(t->b, next);
  LLVMValueRef following = LLVMBuildAdd(t->b, a->which, constant_i64(t->p, 1), "");
  LLVMAddIncoming(a->which, (LLVMValueRef[]){zero, following}, (LLVMBasicBlockRef[]){others, next}, 2);
  LLVMBuildCondBr(t->b, LLVMBuildICmp(t->b, LLVMIntULT, following, turns_behind, ""), in->before, last);
}

static void build_turns(turns *t) {
  LLVMBasicBlockRef enter = new_block(t, "turns"), others = NULL, last = NULL;
  LLVMValueRef remain = NULL, rounds = NULL, end = LLVMGetBasicBlockTerminator(t->before);
  bool all_alike = find_alike(t);
  int built = all_alike ? 2 : t->turn_count;
  for (int n = 0; n < built; n++) {
    if (n == 1 && all_alike) others = new_block(t, "others");
    t->list[n].before = new_block(t, "turn"), t->list[n].loop = new_block(t, "rounds");
  }
  last = new_block(t, "stretch");
  make_memory(t, enter);
  LLVMBuildBr(t->b, t->list[0].before);
  for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
    if (LLVMGetSuccessor(end, s) == t->block) LLVMSetSuccessor(end, s, enter);
  remain = build_turn(t, &t->list[0], all_alike ? others : t->list[1].before, &rounds);
  if (all_alike) build_alike(t, others, last, &rounds);
  for (int n = 1; n < t->turn_count && !all_alike; n++)
    build_turn(t, &t->list[n], n + 1 < t->turn_count ? t->list[n + 1].before : last, &rounds);
  LLVMPositionBuilderAtEnd(t->b, last);
  LLVMBuildCondBr(t->b, remain, t->list[0].before, t->block);
  for (int i = 0; i < t->phi_count; i++) {
    if (!t->begins[i]) continue;
    LLVMValueRef values[] = {incoming(t, i, false), t->goes_on[i]};
    LLVMAddIncoming(t->begins[i], values, (LLVMBasicBlockRef[]){enter, last}, 2);
  }
  leave(t);
}

static void free_turns(turns *t) {
  for (int n = 0; n < t->turn_count; n++) free(t->list[n].made);
  free(t->items);
  free(t->needed);
  free(t->buffers);
  free(t->begins);
  free(t->goes_on);
}

static bool carries_many(const program *p, LLVMBasicBlockRef block) {
  int vectors = 0, count = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
    if (is_vector(LLVMTypeOf(i))) vectors++, count += registers(p, LLVMTypeOf(i));
  return count + 1 > vector_registers(p) || vectors > MOST_ROWS;
}

void carry_in_turns(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    bool suits = LLVMGetStringAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, TAKES_TURNS,
                                               (unsigned)strlen(TAKES_TURNS));
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); suits && block; block = LLVMGetNextBasicBlock(block)) {
      turns t = {.p = p, .b = b, .function = f, .block = block};
      if (!is_own_loop(block, &t.before, &t.exit) || !carries_many(p, block)) continue;
      if (read_loop(&t) && find_needs(&t) && are_independent(&t) && is_used_well_behind(&t) && choose_turns(&t) &&
          choose_stretch(&t))
        build_turns(&t);
      free_turns(&t);
    }
  }
  LLVMDisposeBuilder(b);
}
