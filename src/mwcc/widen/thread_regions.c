/* Gangs of one lane: up to the next barrier, one thread after the other (pocl: work-item loops).
 *
 * For kernels with barriers whose accesses would mostly be gathers (thread_cost.c). A gang of one lane has neither
 * masks nor gathers: its values are scalars and its branches are branches, since all shapes of one lane are uniform.
 * Regions and barrier state are as for other gangs: the gangs of a block run a region before any begins the next. So
 * each thread does the same operations in the same order. LLVM's whole pipeline then optimises the code, without its
 * vectoriser of straight-line code (codegen.c).
 *
 * Rematerialisation. Values that are live across a barrier are saved for each thread of the block, and loaded again.
 * Most are indices and addresses that are computed from ids, parameters and constants by a few operations, which cost
 * less than the loads. Their users in other nodes get copies of their own. A copy has the same value wherever it
 * stands, since ids, parameters and constants do not change while a thread runs. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "mwcc/widen/widen.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_OPERATIONS = 12, MOST_COPIES = 2000 };

typedef struct copy {
  LLVMValueRef value, made;
  int where; /* a node */
} copy;

typedef struct copies {
  const graph *g;
  LLVMBuilderRef b;
  copy *items;
  size_t count;
} copies;

/* The number of operations that compute the value from ids, parameters and constants; more than `most` if it depends on
   other values, or takes too many. */
static int operations_to_compute(LLVMValueRef value, int most) {
  if (!LLVMIsAInstruction(value)) return 0;
  if (LLVMIsACallInst(value)) return starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.") ? 1 : most + 1;
  bool simple = is_integer_operation(value) || LLVMIsAGetElementPtrInst(value) || LLVMIsAAddrSpaceCastInst(value);
  int sum = 1;
  for (int i = 0; simple && i < LLVMGetNumOperands(value) && sum <= most; i++)
    sum += operations_to_compute(LLVMGetOperand(value, (unsigned)i), most - sum);
  return simple ? sum : most + 1;
}

static bool is_simple(LLVMValueRef value) {
  return LLVMIsAInstruction(value) && operations_to_compute(value, MOST_OPERATIONS) <= MOST_OPERATIONS;
}

/* The value's copy in the node, where its users follow: at its beginning, after the copies of its operands. */
static LLVMValueRef copy_in(copies *c, LLVMValueRef value, int where, LLVMValueRef before) {
  if (!LLVMIsAInstruction(value)) return value;
  for (size_t i = 0; i < c->count; i++)
    if (c->items[i].value == value && c->items[i].where == where) return c->items[i].made;
  LLVMValueRef made = LLVMInstructionClone(value);
  for (int i = 0; !LLVMIsACallInst(value) && i < LLVMGetNumOperands(value); i++)
    LLVMSetOperand(made, (unsigned)i, copy_in(c, LLVMGetOperand(value, (unsigned)i), where, before));
  LLVMPositionBuilderBefore(c->b, before);
  LLVMInsertIntoBuilder(c->b, made);
  c->items = mw_realloc(c->items, (c->count + 1) * sizeof *c->items);
  c->items[c->count++] = (copy){value, made, where};
  return made;
}

/* The instruction before which copies for a user in the node stand, in the order in which they are made. */
static LLVMValueRef beginning_of(const graph *g, int where) {
  LLVMValueRef at = g->nodes[where].first;
  while (LLVMIsAPHINode(at) || graph_number(g, at) < 0) at = LLVMGetNextInstruction(at);
  return at;
}

static void copy_for(copies *c, LLVMValueRef user, LLVMValueRef value) {
  const graph *g = c->g;
  int home = graph_node_of(g, value);
  for (int i = 0; i < LLVMGetNumOperands(user); i++) {
    if (LLVMGetOperand(user, (unsigned)i) != value) continue;
    bool phi = LLVMIsAPHINode(user);
    int where = phi ? graph_incoming(g, user, (unsigned)i) : graph_node_of(g, user);
    if (where == home || where < 0) continue;
    LLVMSetOperand(user, (unsigned)i, copy_in(c, value, where, beginning_of(g, where)));
  }
}

static void rematerialize_after_barriers(const graph *g, const liveness *live) {
  copies c = {.g = g, .b = LLVMCreateBuilderInContext(g->program->context)};
  for (int n = 0; n < g->count; n++) {
    const live_set *across = &live->across[n];
    for (size_t i = 0; i < across->count && c.count < MOST_COPIES; i++) {
      LLVMValueRef value = across->values[i];
      if (!is_simple(value)) continue;
      /* copying changes the list of uses */
      size_t count = 0, at = 0;
      for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) count++;
      LLVMValueRef *users = mw_alloc((count + 1) * sizeof *users);
      for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) users[at++] = LLVMGetUser(use);
      for (at = 0; at < count; at++)
        if (graph_number(g, users[at]) >= 0) copy_for(&c, users[at], value);
      free(users);
    }
  }
  free(c.items);
  LLVMDisposeBuilder(c.b);
}

/* ---- the decision ---- */

/* Whether gangs may have one lane: in code for one block size. */
static bool may_run_by_threads(const program *p, const kernel *k) {
  const options *all = p->options;
  if (!all->launch_kernel || all->level == 0 || all->checks || all->observe) return false;
  return k->waits && !k->sees_warp && !k->has_block_wait;
}

/* Whether threads are clearly cheaper than lanes. The estimate is rough, and rougher where blocks have several gangs;
   in doubt, long launches measure both. */
static bool prefers_threads(const program *p, kernel *k, const graph *g, const liveness *live, int lanes) {
  enum { ONE_GANG = 13, SEVERAL = 20, DOUBTFUL = 7 }; /* tenths */
  long by_lanes, by_threads;
  flow f = graph_flow(g);
  order o = order_of(&f);
  shapes s = shapes_at_best(g, &o, cut_block(p->block, lanes, 1));
  bool one_gang = estimate_threads(g, &o, &s, live, &by_lanes, &by_threads);
  if (p->options->report)
    printf("kernel %s: about %ld cycles for %d threads as lanes, %ld for one after the other\n", k->name, by_lanes / 10,
           s.cut.lanes, by_threads / 10);
  shapes_free(&s);
  order_free(&o);
  k->threads_may_pay = by_lanes * 10 > DOUBTFUL * by_threads;
  return by_lanes * 10 > (one_gang ? ONE_GANG : SEVERAL) * by_threads;
}

bool run_by_threads(program *p, kernel *k, int lanes) {
  graph g;
  const char *why;
  if (!may_run_by_threads(p, k) || (lanes > 1 && (p->options->width || !has_pass(p, PASS_THREAD_REGIONS))))
    return false;
  if (!graph_build(p, k->body, false, &g, &why)) return false;
  liveness live = liveness_of(&g);
  bool chosen = lanes == 1 || prefers_threads(p, k, &g, &live, lanes);
  if (chosen) rematerialize_after_barriers(&g, &live);
  liveness_free(&g, &live);
  graph_free(&g);
  return chosen;
}
