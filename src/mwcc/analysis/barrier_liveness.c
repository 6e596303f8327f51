/* Liveness across barriers: the values that a gang saves while other gangs run.
 *
 * For each value, a backward search from its uses to its definition visits the nodes at whose start it is live; the
 * cost is the sum of all live ranges. Parameters and constants are not listed since they are always available, nor is
 * the result of the barrier itself, which is defined after it. */
#include "simt.h"
#include "analysis.h"

#include <stdlib.h>

typedef struct search {
  const graph *g;
  liveness *out;
  LLVMValueRef value;
  int home;  /* the node that computes it */
  int *seen; /* by node: the number of the last value that was live there */
  int *stack, depth, number;
} search;

static void add_live(search *s, int barrier) {
  live_set *set = &s->out->across[barrier];
  if (s->g->nodes[barrier].last == s->value) return;
  if ((set->count & (set->count - 1)) == 0)
    set->values = mw_realloc(set->values, (set->count ? 2 * set->count : 1) * sizeof *set->values);
  set->values[set->count++] = s->value;
}

static void live_at_start(search *s, int n) {
  const node *here = &s->g->nodes[n];
  if (n == s->home || s->seen[n] == s->number) return;
  s->seen[n] = s->number;
  s->stack[s->depth++] = n;
  if (here->pred_count == 1 && s->g->nodes[here->preds[0]].barrier) add_live(s, here->preds[0]);
}

static void search_use(search *s, LLVMValueRef user) {
  if (!LLVMIsAPHINode(user)) {
    live_at_start(s, graph_node_of(s->g, user));
    return;
  }
  for (unsigned i = 0; i < LLVMCountIncoming(user); i++) /* used at the end of the incoming block */
    if (LLVMGetIncomingValue(user, i) == s->value) live_at_start(s, graph_incoming(s->g, user, i));
}

liveness liveness_of(const graph *g) {
  liveness l = {.across = mw_alloc((size_t)(g->count + 1) * sizeof *l.across)};
  search s = {.g = g,
              .out = &l,
              .seen = mw_alloc((size_t)(g->count + 1) * sizeof *s.seen),
              .stack = mw_alloc((size_t)(g->count + 1) * sizeof *s.stack)};
  for (int number = 0; number < g->value_count; number++) {
    s.value = g->values[number];
    s.home = g->node_of[number];
    s.number = number + 1;
    for (LLVMUseRef use = LLVMGetFirstUse(s.value); use; use = LLVMGetNextUse(use)) search_use(&s, LLVMGetUser(use));
    while (s.depth) {
      const node *here = &g->nodes[s.stack[--s.depth]];
      for (int i = 0; i < here->pred_count; i++) live_at_start(&s, here->preds[i]);
    }
  }
  free(s.seen);
  free(s.stack);
  return l;
}

void liveness_free(const graph *g, liveness *l) {
  for (int n = 0; n < g->count; n++) free(l->across[n].values);
  free(l->across);
  l->across = NULL;
}
