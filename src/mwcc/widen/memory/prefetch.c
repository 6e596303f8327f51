/* Memory that a later round of a loop is going to load, asked for ahead.
 *
 * Processors see loads ahead where addresses move on by little. In a grid-stride loop, or one down the rows of a matrix, each
 * round is far from the one before: then every round waits for memory, unless it is short enough for the processor to look
 * into the next ones. So where a round is long, what its loads will ask for some rounds later is asked for here (address_stride.c knows
 * how far an address moves in a round). Asking for what nobody comes for, behind an array's end or a last round, does no harm.
 * Where lanes do something with what is loaded one after the other, they ask for a line each as they get to it: asked for all at
 * once, lines wait for each other.
 * A round of some hundred instructions is more than processors look ahead; then the next rounds' loads are asked for where they
 * are near, too, if the array is not one that a loop before this one has been through. (exp of numbers by rows, on a Zen 5:
 * a fourth of the time.)
 *
 * Short rounds are another matter: there memory itself is what takes time, and it is quickest where much is asked for in one
 * place. Where neighbouring gangs load from neighbouring places, each asks for what a gang a little later will load in the
 * same round: so memory is read in stretches as long as if there were no rounds, and what was asked for waits in the caches
 * for as long as a gang or two take. With very many rounds it would not be there any more. Then, where a block is one gang,
 * every second block asks for what it will load itself some rounds later, and for what the one behind it will.
 * (Measured: sums of columns take half the time or less.) Not so where vectors are shorter than a line, and a block is one
 * gang: such processors' caches are smaller, and its own rounds are asked for as if they were long. (Zen 3 adds up 2^24
 * numbers in a fifth less time.)
 *
 * And where each line that is loaded meets numbers of many rows, as in a product of matrices, memory would be quick enough if
 * only it were asked in time: of a matrix whose rows are a power of two long, few lines of a column fit into the near caches.
 * So a line of each vector that a gang's row has is asked for. (Where rows are two vectors, products of 2048 x 2048 take a third
 * to two thirds less time on a Zen 4 for it.)
 *
 * Where a round puts rows of a matrix into shared memory and works on them there, behind a barrier, what it asked for where it
 * loads would wait for what it loads itself: processors wait for some lines at a time only. So the next round's rows are
 * asked for one by one, with the loads from shared memory. That is where a row is a vector and a block one gang, as it is
 * with AVX-512; with smaller registers a block is several gangs, and where these load, asking gained nothing. (Products by
 * tiles on a Xeon: 22 ms became 17.)
 *
 * Blocks that wait at barriers mostly load first, and are long at work then without a look at memory: what they load
 * outside of loops they ask for on behalf of the next one. (Fourier transforms of 512 numbers, one a block: 11.4 ms
 * became 9.5.)
 *
 * And where a thread loads a few elements of one array, those of its neighbours above and below, say, there are more rows than
 * processors follow by themselves: a page ahead in each is asked for, for the blocks to come. (A step of the heat equation in
 * space on a Zen 5: 4.3 ms became 2.5, of sorting by comparisons with a partner 1.5 became 1.1.) */
#include "address_stride.h"
#include "mwcc/target/tuning.h"
#include "mwcc/target/target.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, NEAR = TUNE_PREFETCH_NEAR };

/* Instructions of a round, for all lanes. */
static int length_of_round(const widener *w, int which) {
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    if (!w->shapes->order->loops[which].contains[w->g->node_of[i]]) continue;
    bool by_lanes = LLVMIsAAtomicRMWInst(w->g->values[i]) || LLVMIsAAtomicCmpXchgInst(w->g->values[i]);
    count += (by_lanes ? 3 * w->width : 1) * (is_uniform(w, w->g->values[i]) ? 1 : w->parts);
  }
  return count;
}

/* Whether a block, of one row of threads, is one gang. */
static bool is_whole_block(const widener *w) { return w->p->block[0] == (unsigned)(w->width * w->parts); }

static LLVMValueRef ask(widener *w, LLVMValueRef first, LLVMValueRef distance) {
  enum { READ = 0, SECOND_LEVEL = 2, DATA = 1 }; /* the nearest cache would lose what is needed at once */
  LLVMValueRef at = LLVMBuildGEP2(w->b, w->p->i8, first, &distance, 1, "");
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(at))) at = LLVMBuildAddrSpaceCast(w->b, at, w->p->pointer, "");
  LLVMValueRef arguments[] = {at, constant_i32(w->p, READ), constant_i32(w->p, SECOND_LEVEL), constant_i32(w->p, DATA)};
  return call_intrinsic(w->p, w->b, "llvm.prefetch", &w->p->pointer, 1, arguments, 4);
}

/* How many parts that are `step` bytes apart load from one line. */
static int parts_of_line(const widener *w, uint64_t bytes, int64_t step) {
  uint64_t part = bytes * (uint64_t)w->width;
  return step == (int64_t)part && part < LINE ? (int)(LINE / part) : 1;
}

/* For all that the gang loads, one stretch of so many bytes; but so far from there. */
static void ask_for_stretch(widener *w, LLVMValueRef address, uint64_t whole, LLVMValueRef distance) {
  LLVMValueRef first = part_scalar(w, address, 0);
  for (uint64_t at = 0; at < whole; at += LINE) ask(w, first, LLVMBuildAdd(w->b, distance, constant_i64(w->p, at), ""));
}

/* Every second block: a block is one gang. */
static void ask_for_blocks(widener *w, LLVMValueRef address, LLVMValueRef round, uint64_t whole, LLVMBasicBlockRef on) {
  enum { BLOCKS = TUNE_PREFETCH_BLOCKS, ROUNDS = TUNE_PREFETCH_BLOCK_ITERATIONS };
  LLVMBasicBlockRef asks = LLVMAppendBasicBlockInContext(w->p->context, w->function, "ahead");
  LLVMValueRef block = LLVMBuildLoad2(w->b, w->p->i32, w->ctaid[0], "");
  LLVMValueRef rest = LLVMBuildAnd(w->b, block, constant_i32(w->p, BLOCKS - 1), "");
  LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntEQ, rest, constant_i32(w->p, 0), ""), asks, on);
  LLVMPositionBuilderAtEnd(w->b, asks);
  ask_for_stretch(w, address, BLOCKS * whole, LLVMBuildMul(w->b, round, constant_i64(w->p, ROUNDS), ""));
  LLVMBuildBr(w->b, on);
}

static void count_asks(widener *w) {
  LLVMValueRef zero = constant_i32(w->p, 0);
  w->asks = LLVMBuildAlloca(w->entry, w->p->i32, "asks");
  w->most_asks = LLVMBuildAlloca(w->entry, w->p->i32, "asks.most");
  LLVMBuildStore(w->entry, zero, w->most_asks);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(w->p->context);
  LLVMPositionBuilder(b, w->gang_begins, LLVMGetFirstInstruction(w->gang_begins));
  LLVMBuildStore(b, zero, w->asks);
  LLVMDisposeBuilder(b);
}

/* Whether this gang has asked a few times only, and those before it, too. */
static LLVMValueRef asks_rarely(widener *w, uint64_t few) {
  if (!w->asks) count_asks(w);
  LLVMValueRef count = LLVMBuildAdd(w->b, LLVMBuildLoad2(w->b, w->p->i32, w->asks, ""), constant_i32(w->p, 1), "");
  LLVMValueRef before = LLVMBuildLoad2(w->b, w->p->i32, w->most_asks, "");
  LLVMValueRef more = LLVMBuildICmp(w->b, LLVMIntUGT, count, before, "");
  LLVMValueRef most = LLVMBuildSelect(w->b, more, count, before, "");
  LLVMBuildStore(w->b, count, w->asks);
  LLVMBuildStore(w->b, most, w->most_asks);
  return LLVMBuildICmp(w->b, LLVMIntULE, most, constant_i32(w->p, (unsigned)few), "");
}

static void ask_for_gangs(widener *w, LLVMValueRef address, LLVMValueRef round, uint64_t whole) {
  enum { LEAST = TUNE_PREFETCH_LEAST, KEPT = TUNE_PREFETCH_KEPT };
  uint64_t distance = 2 * whole > LEAST ? 2 * whole : LEAST;
  LLVMBasicBlockRef near = LLVMAppendBasicBlockInContext(w->p->context, w->function, "near"),
                    far = LLVMAppendBasicBlockInContext(w->p->context, w->function, "far"),
                    on = LLVMAppendBasicBlockInContext(w->p->context, w->function, "on");
  value_kept(w, address); /* what is at hand in the one is so behind it */
  part_scalar(w, address, 0);
  LLVMBuildCondBr(w->b, asks_rarely(w, KEPT / distance), near, far);
  LLVMPositionBuilderAtEnd(w->b, near);
  ask_for_stretch(w, address, whole, constant_i64(w->p, distance));
  LLVMBuildBr(w->b, on);
  LLVMPositionBuilderAtEnd(w->b, far);
  if (is_whole_block(w))
    ask_for_blocks(w, address, round, whole, on);
  else
    LLVMBuildBr(w->b, on);
  LLVMPositionBuilderAtEnd(w->b, on);
}

static bool is_number(LLVMValueRef value, uint64_t number) {
  return value && LLVMIsAConstantInt(value) && LLVMConstIntGetZExtValue(value) == number;
}

static bool reads_register(const widener *w, const char *name) {
  for (int i = 0; i < w->g->value_count; i++) {
    const char *read = register_of(w->g->values[i]);
    if (read && strcmp(read, name) == 0) return true;
  }
  return false;
}

/* Whether a gang loads from where the one before it did, and a block from where the one before it did. */
static bool follows_neighbour(question q, LLVMValueRef address, uint64_t bytes) {
  const widener *w = q.w;
  const unsigned *block = w->p->block;
  if (w->shapes->cut.kind != CUT_ROWS && !is_whole_block(w)) return false;
  if (block[1] * block[2] > 1 || shape_of(w->shapes, address).step != (int64_t)bytes * w->width) return false;
  return is_number(growth_along(q.w, "tid.x", address), bytes) &&
         is_number(growth_along(q.w, "ctaid.x", address), bytes * block[0]);
}

/* Whether other rows of blocks, or other rounds of a loop around this one, load the same, so that it may well be in a cache. */
static bool is_loaded_again(question q, LLVMValueRef address) {
  static const char *const others[] = {"ctaid.y", "ctaid.z"};
  const order *o = q.w->shapes->order;
  for (size_t i = 0; i < MW_COUNT(others); i++)
    if (reads_register(q.w, others[i]) && is_number(growth_along(q.w, others[i], address), 0)) return true;
  for (q.loop = o->loops[q.loop].parent; q.loop >= 0; q.loop = o->loops[q.loop].parent) {
    growth g = growth_of(&q, address);
    if (!g.known || !g.by) return true;
  }
  return false;
}

/* Whether memory that others have, too, is loaded in a loop that is code of its own. */
static bool may_ask(const widener *w, const question *q, LLVMValueRef address) {
  if (!has_pass(w->p, PASS_PREFETCH)) return false;
  if (!w->p->options->launch_kernel || (w->several_regions && !w->k->reads_tiles) || q->loop < 0) return false;
  if (w->k->keeps_sums && !w->k->keeps_shared)
    return false; /* memory is read in long stretches already: reduction_state.c */
  return memory_of(address) != MEMORY_SHARED && memory_of(address) != MEMORY_LOCAL;
}

/* Whether the next round loads where processors do not look by themselves. */
static bool is_far(growth round) {
  if (!round.known || !round.by) return false;
  return !LLVMIsAConstantInt(round.by) || llabs(LLVMConstIntGetSExtValue(round.by)) >= NEAR;
}

/* Whether something has to do with the same array before the load's loop. */
static bool is_met_before(const question *q, LLVMValueRef load) {
  const graph *g = q->w->g;
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  for (int i = 0; i < graph_number(g, load); i++) {
    LLVMValueRef other = g->values[i];
    bool loads = LLVMIsALoadInst(other) != NULL;
    if ((!loads && !LLVMIsAStoreInst(other)) || is_inside(q, other)) continue;
    if (root_of(LLVMGetOperand(other, loads ? 0 : 1)) == root) return true;
  }
  return false;
}

/* What all lanes of a round calculate, in instructions; 0 where they wait for each other in it, too. */
static int arithmetic_of_round(const widener *w, int which) {
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    LLVMValueRef value = w->g->values[i];
    if (!w->shapes->order->loops[which].contains[w->g->node_of[i]]) continue;
    if (is_barrier(value)) return 0;
    count += is_varying(w, value) && (LLVMIsABinaryOperator(value) || LLVMIsACallInst(value) || LLVMIsAFCmpInst(value));
  }
  return count * w->parts;
}

/* Whether rounds that load near each other are too long for processors to see the next one's loads in time. */
static bool is_out_of_sight(const question *q, LLVMValueRef load, growth round) {
  enum { IN_SIGHT = TUNE_PREFETCH_IN_SIGHT };
  if (!round.known || !round.by || is_far(round) || arithmetic_of_round(q->w, q->loop) <= IN_SIGHT) return false;
  return !is_met_before(q, load);
}

/* Loads of lanes' elements, one behind the other, from the array that the load is from. */
static int places_in_array(const widener *w, LLVMValueRef load, uint64_t bytes) {
  LLVMValueRef root = root_of(LLVMGetOperand(load, 0));
  int count = 0;
  for (int i = 0; i < w->g->value_count; i++) {
    LLVMValueRef other = w->g->values[i];
    if (!LLVMIsALoadInst(other) || root_of(LLVMGetOperand(other, 0)) != root) continue;
    count += has_stride(w, LLVMGetOperand(other, 0), (int64_t)bytes);
  }
  return count;
}

static void ask_for_parts(widener *w, LLVMValueRef address, uint64_t bytes, LLVMValueRef distance) {
  int64_t step = shape_of(w->shapes, address).step;
  int different = step ? w->parts : 1;
  for (int u = 0; u < different; u += parts_of_line(w, bytes, step))
    for (uint64_t at = 0; at < bytes * (uint64_t)w->width; at += LINE)
      ask(w, part_scalar(w, address, u), LLVMBuildAdd(w->b, distance, constant_i64(w->p, at), ""));
}

void ask_for_next_block(widener *w, LLVMValueRef load, uint64_t bytes) {
  enum { SEVERAL = TUNE_PREFETCH_PLACES, MOST = TUNE_PREFETCH_MOST_PLACES, AHEAD = TUNE_PREFETCH_AHEAD };
  LLVMValueRef address = LLVMGetOperand(load, 0);
  question q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  if (!has_pass(w->p, PASS_PREFETCH)) return;
  if (!w->p->options->launch_kernel || q.loop >= 0 || !is_affine(w, address)) return;
  if (memory_of(address) == MEMORY_SHARED || memory_of(address) == MEMORY_LOCAL) return;
  if (!w->k->waits) {
    int places = w->shapes->order->loop_count || w->strays ? 0 : places_in_array(w, load, bytes);
    if (places >= SEVERAL && places <= MOST) ask_for_parts(w, address, bytes, constant_i64(w->p, AHEAD));
    return;
  }
  LLVMValueRef distance = growth_along(q.w, "ctaid.x", address);
  if (!distance || !LLVMIsAConstantInt(distance) || llabs(LLVMConstIntGetSExtValue(distance)) < LINE) return;
  ask_for_parts(w, address, bytes, distance);
}

/* Whether it is a load from shared memory in that node. */
static bool is_of_work(const widener *w, LLVMValueRef value, int at) {
  return LLVMIsALoadInst(value) && w->g->node_of[graph_number(w->g, value)] == at &&
         memory_of(LLVMGetOperand(value, 0)) == MEMORY_SHARED;
}

/* For ask_beside: what the next round loads from rows that are a line each, behind which this one waits and works. */
static void ask_while_working(widener *w, LLVMValueRef load, uint64_t bytes, growth round) {
  const graph *g = w->g;
  int at = graph_node_of(g, load), works = 0, waits = 0;
  if (!g->seamless || register_lanes(w->p) * sizeof(float) < LINE || bytes * (uint64_t)w->width != LINE) return;
  if (!is_far(round) || w->parts == 1 || !is_parted(w, LLVMGetOperand(load, 0))) return;
  for (int i = graph_number(g, load); i < g->value_count && g->node_of[i] == at; i++) {
    waits += is_barrier(g->values[i]);
    works += waits && is_of_work(w, g->values[i], at);
  }
  memory_to_ask_for *a = &w->to_ask_for;
  if (a->stamp != w->stamp) *a = (memory_to_ask_for){.stamp = w->stamp};
  if (!works || a->count == (int)MW_COUNT(a->rows)) return;
  LLVMValueRef first = part_scalar(w, LLVMGetOperand(load, 0), 0), second = part_scalar(w, LLVMGetOperand(load, 0), 1);
  LLVMValueRef step = LLVMBuildSub(w->b, LLVMBuildPtrToInt(w->b, second, w->p->i64, ""),
                                   LLVMBuildPtrToInt(w->b, first, w->p->i64, ""), "");
  a->rows[a->count++] = (rows_to_ask_for){.at = LLVMBuildGEP2(w->b, w->p->i8, first, &round.by, 1, ""), .step = step};
  a->each = (a->count * w->parts + works - 1) / works;
}

/* Rows are mostly as far from each other as the first two: so one address is enough, and what is wrong does no harm. */
static void ask_for_row(widener *w, rows_to_ask_for *rows) {
  ask(w, rows->at, constant_i64(w->p, 0));
  rows->at = LLVMBuildGEP2(w->b, w->p->i8, rows->at, &rows->step, 1, "");
}

void ask_beside(widener *w, LLVMValueRef load) {
  memory_to_ask_for *a = &w->to_ask_for;
  int all = a->count * w->parts;
  if (a->next == all || a->stamp != w->stamp || !is_of_work(w, load, graph_node_of(w->g, load))) return;
  for (int n = 0; n < a->each && a->next < all; n++, a->next++) ask_for_row(w, &a->rows[a->next / w->parts]);
}

/* Whether rounds load a line far from the last one's, with whose numbers each of several rows has arithmetic enough for asking
   to be little beside it. */
static bool pays_for_rows(const widener *w, uint64_t bytes, int rows, growth round) {
  enum { FEWEST = 4 };
  return rows >= FEWEST && bytes * (uint64_t)w->width == LINE && is_far(round);
}

static void ask_some_rounds_ahead(widener *w, LLVMValueRef address, int u, growth round) {
  enum { ROUNDS = 16 };
  ask(w, part_scalar(w, address, u), LLVMBuildMul(w->b, round.by, constant_i64(w->p, ROUNDS), ""));
}

/* Where rows of a gang are several vectors: those of the first. */
static void ask_for_columns(widener *w, LLVMValueRef address, uint64_t bytes, growth round) {
  const cut *c = &w->shapes->cut;
  if (c->kind != CUT_PLANE || !pays_for_rows(w, bytes, w->parts / c->columns, round)) return;
  if (!is_parted(w, address) || !is_number(growth_along(w, "tid.y", address), 0)) return;
  for (int u = 0; u < c->columns; u++) ask_some_rounds_ahead(w, address, u, round);
}

void ask_ahead(widener *w, LLVMValueRef load, uint64_t bytes) {
  enum { LONG = 512, ROUNDS = 3 };
  LLVMValueRef address = LLVMGetOperand(load, 0);
  question q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  uint64_t part = bytes * (uint64_t)w->width, whole = part * (uint64_t)w->parts;
  if (!may_ask(w, &q, address) || whole < LINE) return;
  growth round = growth_of(&q, address);
  if (!is_affine(w, address)) {
    ask_while_working(w, load, bytes, round);
    ask_for_columns(w, address, bytes, round);
  }
  bool is_near = is_out_of_sight(&q, load, round), is_short = !is_near && length_of_round(w, q.loop) < LONG;
  if (!is_affine(w, address) || !(is_near || is_far(round))) return;
  if (is_short && (!w->gang_begins || !follows_neighbour(q, address, bytes) || is_loaded_again(q, address))) return;
  if (is_short && (part >= LINE || !is_whole_block(w))) {
    ask_for_gangs(w, address, round.by, whole);
    return;
  }
  int64_t step = shape_of(w->shapes, address).step;
  if (part < LINE && step != (int64_t)part) return;
  w->asked = (asked_memory){.load = load, .distance = LLVMBuildMul(w->b, round.by, constant_i64(w->p, ROUNDS), "")};
  for (int u = 0; u < w->parts; u += parts_of_line(w, bytes, step))
    w->asked.calls.of[w->asked.count++] = ask(w, part_scalar(w, address, u), w->asked.distance);
}

void ask_ahead_once(widener *w, LLVMValueRef load, uint64_t bytes) {
  LLVMValueRef address = LLVMGetOperand(load, 0);
  question q = {.w = w, .loop = w->shapes->order->innermost[graph_node_of(w->g, load)], .all = {.all = true}};
  if (!may_ask(w, &q, address) || is_varying(w, address)) return;
  growth round = growth_of(&q, address);
  if (!pays_for_rows(w, bytes, w->parts, round)) return;
  ask_some_rounds_ahead(w, address, 0, round);
}

void ask_by_lanes(widener *w, LLVMValueRef load, LLVMValueRef address) {
  asked_memory *a = &w->asked;
  if (a->load != load) return;
  while (a->count > 0) LLVMInstructionEraseFromParent(a->calls.of[--a->count]);
  if (w->lane_number * LLVMABISizeOfType(w->p->layout, LLVMTypeOf(load)) % LINE == 0) ask(w, address, a->distance);
}
