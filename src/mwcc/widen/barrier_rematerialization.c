/* Rematerialisation after barriers.
 *
 * Values that are live across a barrier are saved for each thread of the block, or each gang, and loaded again. Many
 * are indices, addresses and conditions that a few operations compute from ids, parameters and constants. Their users in
 * other nodes get copies of their own. A copy has the same value wherever it stands, since ids, parameters and
 * constants do not change while a thread runs.
 *
 * For gangs it is less about the loads than about what is known of a value: the shape of an index that is recomputed is
 * exact (lane 0 is a multiple of the vector's width), and a condition `i < n` is two comparisons for a gang whose lanes
 * are all active. A mask that was loaded is only a mask. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/target/tuning.h"
#include "mwcc/widen/widen.h"

#include <stdlib.h>

enum { MOST_COPIES = 2000 };

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
  if (LLVMIsACallInst(value)) return is_launch_id(value) ? 1 : most + 1;
  bool simple = is_integer_operation(value) || LLVMIsAICmpInst(value) || LLVMIsAGetElementPtrInst(value) ||
                LLVMIsAAddrSpaceCastInst(value);
  int sum = 1;
  for (int i = 0; simple && i < LLVMGetNumOperands(value) && sum <= most; i++)
    sum += operations_to_compute(LLVMGetOperand(value, (unsigned)i), most - sum);
  return simple ? sum : most + 1;
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

void rematerialize_after_barriers(const graph *g, const liveness *live, int most) {
  copies c = {.g = g, .b = LLVMCreateBuilderInContext(g->program->context)};
  for (int n = 0; n < g->count; n++) {
    const live_set *across = &live->across[n];
    for (size_t i = 0; i < across->count && c.count < MOST_COPIES; i++) {
      LLVMValueRef value = across->values[i];
      if (!LLVMIsAInstruction(value) || operations_to_compute(value, most) > most) continue;
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

void rematerialize_in_gangs(program *p, kernel *k) {
  const options *all = p->options;
  graph g;
  const char *why;
  if (!k->waits || all->level == 0 || all->checks || all->observe || !has_pass(p, PASS_BARRIER_REMATERIALIZATION))
    return;
  if (!graph_build(p, k->body, false, &g, &why)) return;
  liveness live = liveness_of(&g);
  rematerialize_after_barriers(&g, &live, TUNE_REMATERIALIZED_IN_GANGS);
  liveness_free(&g, &live);
  graph_free(&g);
}
