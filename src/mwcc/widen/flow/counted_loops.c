/* Counted loops: the exit condition as the active-lane mask, as in `for (i = threadIdx.x; i < n; i += 256)`.
 *
 * In general a lane's mask for the next iteration is its mask in this one and the loop's condition, and the masks of
 * all vectors together decide whether there is a next iteration. Here the index only grows and the limit is
 * loop-invariant, so the condition alone is false in a lane that has left the loop, in this iteration and in all
 * later ones. Hence the condition is the mask. The gang's lane 0, whose index is the least, decides whether there is
 * a next iteration. No mask is made from another one, which in blocks of many vectors is half of such a loop's
 * instructions.
 *
 * Required: exactly those lanes enter the loop for which the comparison holds of the initial index, the loop has one
 * exit, and the comparison is correct for lanes that have left, whose index continues to grow. */
#include "emission.h"

/* index < limit, or index <= limit */
typedef struct comparison {
  LLVMValueRef index, limit;
  bool or_equal;
} comparison;

/* The comparison that holds on the edge from node n to the successor; false: it is not of that form. */
static bool holds_on_edge(const widener *w, const node *n, int successor, comparison *out) {
  LLVMValueRef condition = LLVMGetCondition(n->last);
  if (!LLVMIsAICmpInst(condition)) return false;
  LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
  bool less = p == LLVMIntSLT || p == LLVMIntSLE, equal = p == LLVMIntSLE || p == LLVMIntSGE;
  if (p < LLVMIntSGT || LLVMTypeOf(LLVMGetOperand(condition, 0)) != w->p->i32) return false;
  if (n->succs[1] == successor) less = !less, equal = !equal;
  *out = (comparison){LLVMGetOperand(condition, less ? 0 : 1), LLVMGetOperand(condition, less ? 1 : 0), equal};
  return true;
}

static bool is_outside(const widener *w, const loop *l, LLVMValueRef value) {
  int at = graph_node_of(w->g, value);
  return at < 0 || !l->contains[at];
}

/* Whether the next value is the phi plus a number that is not negative. The limit is far from the largest number
   (counts_towards), so the sum does not wrap in lanes that are in the loop. */
static bool grows(LLVMValueRef phi, LLVMValueRef next) {
  enum { MOST = 1 << 20 };
  if (!LLVMIsAInstruction(next) || LLVMGetInstructionOpcode(next) != LLVMAdd || LLVMGetOperand(next, 0) != phi)
    return false;
  LLVMValueRef by = LLVMGetOperand(next, 1);
  return LLVMIsAConstantInt(by) && LLVMConstIntGetSExtValue(by) >= 0 && LLVMConstIntGetSExtValue(by) <= MOST;
}

/* The initial index of the loop whose phi the index is or is made from; NULL: it is no such index. */
static LLVMValueRef first_index(const widener *w, const loop *l, LLVMValueRef index) {
  const node *header = &w->g->nodes[l->header];
  for (LLVMValueRef phi = header->first; LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
    LLVMValueRef next = NULL, first = NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
      LLVMValueRef incoming = LLVMGetIncomingValue(phi, i);
      if (l->contains[graph_incoming(w->g, phi, i)])
        next = incoming;
      else
        first = incoming;
    }
    if (next && (index == phi || index == next) && grows(phi, next)) return first;
  }
  return NULL;
}

/* Whether a loop is left at node n alone, and all lanes that begin an iteration reach n. */
static bool is_left_at(const emission *e, int l, int n) {
  const plan *p = &e->path->plan;
  const loop *here = &p->order.loops[l];
  if (p->class_of[n] != p->class_of[here->header]) return false;
  for (int i = 0; i < p->order.rpo_count; i++) {
    int succs[2], from = p->order.rpo[i], count = p->flow.succs(e->w.g, from, succs);
    for (int s = 0; s < count && here->contains[from] && from != n; s++)
      if (!here->contains[succs[s]] || succs[s] == here->header) return false;
  }
  return true;
}

static int only_pred(const node *n) { return n->pred_count == 1 ? n->preds[0] : -1; }

/* Whether exactly those lanes enter the loop for which the comparison holds. */
static bool all_enter(emission *e, int l, const comparison *c, LLVMValueRef first) {
  const plan *p = &e->path->plan;
  const graph *g = e->w.g;
  const loop *here = &p->order.loops[l];
  int from = -1, to = here->header;
  if (class_mask(e, p->item_class[l]).all) return true;
  for (int i = 0; i < g->nodes[to].pred_count; i++) {
    int pred = g->nodes[to].preds[i];
    if (here->contains[pred]) continue;
    if (from >= 0) return false;
    from = pred;
  }
  while (from >= 0 && !g->nodes[from].barrier && g->nodes[from].succ_count == 1)
    to = from, from = only_pred(&g->nodes[from]);
  comparison before;
  if (from < 0 || g->nodes[from].barrier || g->nodes[from].succ_count != 2) return false;
  if (p->order.innermost[from] != here->parent || !class_mask(e, p->class_of[from]).all) return false;
  return holds_on_edge(&e->w, &g->nodes[from], to, &before) && before.index == first && before.limit == c->limit &&
         before.or_equal == c->or_equal;
}

LLVMValueRef counted_loop_continues(emission *e, int n) {
  widener *w = &e->w;
  const plan *p = &e->path->plan;
  const node *here = &w->g->nodes[n];
  int l = p->order.innermost[n];
  comparison c;
  if (!has_pass(w->p, PASS_COUNTED_LOOPS)) return NULL;
  if (l < 0 || !p->divergent_loop[l] || here->barrier || here->succ_count != 2) return NULL;
  const loop *in = &p->order.loops[l];
  if (here->succs[0] != in->header && here->succs[1] != in->header) return NULL;
  if (graph_node_of(w->g, LLVMGetCondition(here->last)) != n) return NULL;
  if (!is_left_at(e, l, n) || !holds_on_edge(w, here, in->header, &c)) return NULL;
  LLVMValueRef first =
      is_outside(w, in, c.limit) && counts_towards(w->shapes, c.index, c.limit) ? first_index(w, in, c.index) : NULL;
  if (!first || !all_enter(e, l, &c, first)) return NULL;
  return LLVMBuildICmp(w->b, c.or_equal ? LLVMIntSLE : LLVMIntSLT, value_scalar(w, c.index), value_scalar(w, c.limit),
                       "again");
}
