/* Compares the costs of a gang's lanes and of its threads one after the other.
 *
 * With barriers: whether the regions between them are better run by one thread after the other, as gangs of one lane,
 * than in vectors. Without: whether loops mostly gather.
 *
 * A gather or scatter takes about the time of its lanes' accesses one by one, and waits longer: its indices are taken
 * from a register, and what was just stored by lanes is not forwarded to it. A scalar processor executes four
 * instructions at a time. So code that gathers as often as it computes is faster thread by thread: where threads own
 * rows of shared memory, walk along diagonals or look up tables, and where a block's rows fill a quarter of a register.
 *
 * The costs are tenths of cycles of a Zen 4, for the threads of one gang. Loops count eight times a level. Code after a
 * divergent branch is run by half of the threads; in a block of several gangs by half of these, as neighbours often
 * take the same branch. */
#include "access_pattern.h"
#include "access_predicates.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

enum {
  SCALAR = 3,
  VECTOR = 8,
  SHUFFLED = 20,
  GATHERED_LANE = 20,
  SCATTERED_LANE = 30,
  QUICK = 4, /* tenths, of a register's lanes on Intel's processors */
  LANE_OF_RECORD = 3,
  SAVED = 6,
  RESUMED = 10,
  IN_LOOP = 8,
  DEEPEST = 3,
  LARGE = 16
};

static bool is_free(LLVMValueRef i) {
  return LLVMIsAPHINode(i) || LLVMIsATerminatorInst(i) || LLVMIsACastInst(i) || LLVMIsAGetElementPtrInst(i) ||
         (LLVMIsACallInst(i) && (starts_with(callee_name(i), "llvm.nvvm.read.ptx.sreg.") || is_barrier(i)));
}

/* Whether it will be a shuffle of vectors that were stored before, mostly: in a block that is one gang. */
static bool may_be_forwarded(const shapes *s, const order *o, LLVMValueRef address, int n) {
  const unsigned *block = s->graph->program->block;
  return block[0] * block[1] * block[2] <= (unsigned)s->cut.lanes && has_constant_places(s->graph, o, address, n);
}

/* The cost of an access by lanes, in node n. */
static long cost_of_access(const shapes *s, const order *o, LLVMValueRef i, int n) {
  bool load = LLVMIsALoadInst(i) != NULL;
  LLVMTypeRef type = LLVMTypeOf(load ? i : LLVMGetOperand(i, 0));
  LLVMValueRef address = LLVMGetOperand(i, load ? 0 : 1);
  shape at = shape_of(s, address);
  int64_t bytes = (int64_t)LLVMABISizeOfType(s->graph->program->layout, type);
  if (is_uniform_kind(at.kind)) return SCALAR;
  if (memory_of(address) == MEMORY_LOCAL) return VECTOR;
  if (at.kind < SHAPE_VARYING && (at.stride == bytes || at.stride == 0)) return VECTOR;
  if (follows_pattern(s, i) || (at.kind < SHAPE_VARYING && llabs(at.stride) <= 4 * bytes)) return SHUFFLED;
  if (may_be_forwarded(s, o, address, n) || follows_unless_wrapped(s, i)) return SHUFFLED;
  selected_address places;
  if (load && selects_places(s, i, &places)) return SHUFFLED + VECTOR * places.count;
  if (is_member_of_record(s, i)) return SHUFFLED + s->cut.lanes * LANE_OF_RECORD;
  /* with full registers, code tests whether the addresses in shared memory are close together, and permutes one load */
  bool near = at.kind == SHAPE_VARYING && memory_of(address) == MEMORY_SHARED && s->cut.lanes >= LARGE;
  long each = load ? GATHERED_LANE : SCATTERED_LANE;
  if (s->cut.lanes >= LARGE && has_quick_gathers(s->graph->program)) each = each * QUICK / 10;
  return each * s->cut.lanes / (near ? 2 : 1);
}

/* By node: whether a divergent branch decides whether a thread runs it. */
static bool *find_conditional(const graph *g, const order *o, const shapes *s) {
  bool *found = mw_alloc((size_t)g->count + 1);
  for (int n = 0; n < g->count; n++) {
    if (!s->divergent[n]) continue;
    for (int i = 0; i < g->nodes[n].succ_count; i++)
      for (int at = g->nodes[n].succs[i], steps = 0; at >= 0 && at != o->ipdom[n] && steps < g->count; steps++) {
        found[at] = true;
        at = o->ipdom[at];
      }
  }
  return found;
}

static int depth_at(const order *o, int n) { return o->innermost[n] < 0 ? 0 : o->loops[o->innermost[n]].depth; }

/* The depth of the loop in which the value changes, at most that of the node where it is computed. */
static int depth_of_change(const graph *g, const order *o, LLVMValueRef value, int steps) {
  if (!LLVMIsAInstruction(value)) return 0;
  int home = graph_node_of(g, value), deepest = 0;
  if (steps == 0 || home < 0 || LLVMIsAPHINode(value) || LLVMIsALoadInst(value))
    return home < 0 ? 0 : depth_at(o, home);
  for (int i = 0; !LLVMIsACallInst(value) && i < LLVMGetNumOperands(value); i++) {
    int depth = depth_of_change(g, o, LLVMGetOperand(value, (unsigned)i), steps - 1);
    if (depth > deepest) deepest = depth;
  }
  return deepest;
}

static long times_at_depth(int depth) {
  long times = 1;
  for (int i = 0; i < depth && i < DEEPEST; i++) times *= IN_LOOP;
  return times;
}

static long times_at(const order *o, int n) { return times_at_depth(depth_at(o, n)); }

/* How often it is executed. A load is executed again only when its address changes, or in a loop with barriers, where
   other threads may store to its address. */
static long times_of(const graph *g, const order *o, LLVMValueRef i, int n) {
  enum { STEPS = 6 };
  if (!LLVMIsALoadInst(i)) return times_at(o, n);
  int l = o->innermost[n], changes = depth_of_change(g, o, LLVMGetOperand(i, 0), STEPS);
  while (l >= 0 && o->loops[l].depth > changes && !has_barriers(g, &o->loops[l])) l = o->loops[l].parent;
  return times_at_depth(l < 0 ? 0 : o->loops[l].depth);
}

bool estimate_threads(const graph *g, const order *o, const shapes *s, const liveness *live, long *lanes,
                      long *threads) {
  int count = s->cut.lanes;
  const unsigned *block = g->program->block;
  bool one_gang = block[0] * block[1] * block[2] <= (unsigned)count, *conditional = find_conditional(g, o, s);
  *lanes = *threads = 0;
  for (int n = 0; n < g->count; n++) {
    long by_lanes = 0, by_threads = 0;
    for (LLVMValueRef i = g->nodes[n].first;; i = LLVMGetNextInstruction(i)) {
      shape_kind kind = shape_of(s, i).kind;
      long times = times_of(g, o, i, n);
      if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) {
        by_lanes += times * cost_of_access(s, o, i, n), by_threads += times * SCALAR * count;
      } else if (!is_free(i) && kind > SHAPE_BLOCK) {
        by_lanes += times * (kind <= SHAPE_GANG ? SCALAR : VECTOR * operations_of(i));
        by_threads += times * SCALAR * count;
      }
      if (i == g->nodes[n].last) break;
    }
    if (conditional[n]) by_threads /= 2, by_lanes /= one_gang ? 1 : 2;
    for (size_t i = 0; g->nodes[n].barrier && i < live->across[n].count; i++)
      if (shape_of(s, live->across[n].values[i]).kind == SHAPE_VARYING) by_threads += times_at(o, n) * SAVED * count;
    if (g->nodes[n].barrier) by_threads += times_at(o, n) * RESUMED * count;
    *lanes += by_lanes, *threads += by_threads;
  }
  free(conditional);
  return one_gang;
}

/* ---- one thread after the other, without barriers ---- */

/* A gather costs about as much as its loads one by one, and the lanes of a divergent loop wait for the longest. So a
   loop that does little but gather is faster one thread after the other (sparse matrices, lists, trees). */

static bool is_gather(const shapes *s, LLVMValueRef i) {
  if (!LLVMIsALoadInst(i)) return false;
  shape at = shape_of(s, LLVMGetOperand(i, 0));
  return (at.kind == SHAPE_VARYING && !follows_unless_wrapped(s, i)) || at.stride > 8;
}

static bool is_arithmetic(LLVMValueRef i) {
  return !LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i) && !LLVMIsAGetElementPtrInst(i) && !LLVMIsACastInst(i) &&
         !LLVMIsAPHINode(i) && !LLVMIsATerminatorInst(i);
}

bool is_left_divergently(const graph *g, const shapes *s, const loop *l) {
  for (int n = 0; n < g->count; n++) {
    if (!l->contains[n] || !s->divergent[n]) continue;
    for (int i = 0; i < g->nodes[n].succ_count; i++)
      if (!l->contains[g->nodes[n].succs[i]]) return true;
  }
  return false;
}

/* Whether the value depends, within the iteration, on a load or (`through` false) on a phi of the loop's header whose
   next value does. */
static bool follows_load(const graph *g, const loop *l, LLVMValueRef value, bool through, int depth) {
  if (!LLVMIsAInstruction(value) || depth == 0) return false;
  int n = graph_node_of(g, value);
  if (n < 0 || !l->contains[n]) return false;
  if (LLVMIsALoadInst(value)) return through;
  if (!LLVMIsAPHINode(value)) {
    for (int o = 0; o < LLVMGetNumOperands(value); o++)
      if (follows_load(g, l, LLVMGetOperand(value, (unsigned)o), through, depth - 1)) return true;
    return false;
  }
  if (n != l->header || through) return false;
  for (unsigned i = 0; i < LLVMCountIncoming(value); i++)
    if (follows_load(g, l, LLVMGetIncomingValue(value, i), true, depth - 1)) return true;
  return false;
}

/* Whether the loop chases pointers, as along lists and down trees: each iteration waits for the load of the one before,
   but lanes wait together (0.3 to 0.5 of the time with AVX-512). */
static bool chases_pointers(const graph *g, const loop *l, LLVMValueRef gather) {
  return follows_load(g, l, LLVMGetOperand(gather, 0), false, 12);
}

bool mostly_gathers(kernel *k, const graph *g, const order *o, const shapes *s) {
  enum { WORTH = TUNE_GATHER_ARITHMETIC };
  for (int l = 0; l < o->loop_count; l++) {
    const loop *here = &o->loops[l];
    unsigned gathers = 0, arithmetic = 0, chasing = 0, nodes = 0;
    if (!is_left_divergently(g, s, here)) continue;
    for (int n = 0; n < g->count; n++) {
      if (!here->contains[n]) continue;
      nodes++;
      for (LLVMValueRef i = g->nodes[n].first;; i = LLVMGetNextInstruction(i)) {
        if (is_gather(s, i)) gathers++, chasing += chases_pointers(g, here, i);
        if (is_arithmetic(i)) arithmetic += (unsigned)operations_of(i);
        if (i == g->nodes[n].last) break;
      }
    }
    bool suits_lanes = has_mask_registers(g->program) && gathers == chasing;
    if (arithmetic < WORTH * gathers && !suits_lanes) return k->recurrent = chasing > 0 && nodes == 1, true;
  }
  return false;
}

uint64_t carried_words(const graph *g, const order *o, const shapes *s) {
  uint64_t most = 0;
  for (int l = 0; l < o->loop_count; l++) {
    uint64_t words = 0;
    int number = graph_number(g, g->nodes[o->loops[l].header].first);
    for (; number < g->value_count && LLVMIsAPHINode(g->values[number]); number++) {
      LLVMValueRef phi = g->values[number];
      if (g->node_of[number] != o->loops[l].header || shape_of(s, phi).kind != SHAPE_VARYING) continue;
      uint64_t bytes = LLVMABISizeOfType(g->program->layout, LLVMTypeOf(phi));
      words += bytes > sizeof(float) ? bytes / sizeof(float) : 1;
    }
    if (words > most) most = words;
  }
  return most;
}
