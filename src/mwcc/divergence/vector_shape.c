/* The fixpoint of the divergence analysis.
 *
 * Optimistic: every value starts as undefined and every branch as uniform. Passes over the nodes in reverse
 * postorder compute shapes from operands (vector_shape_transfer.c) until nothing changes. A branch whose condition
 * turns out to be varying makes the phis varying where its lanes reconverge (sync_dependence.c), and values of a
 * loop that lanes leave in different iterations are varying after it (temporal divergence). Phis and branches only
 * ever get worse, so it terminates.
 *
 * The same is done one level up for the gangs of a block: a condition on which gangs disagree makes phis at best
 * gang-uniform. */
#include "vector_shape.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

/* ---- temporal divergence ---- */

/* Whether an instruction is loop-invariant: simple arithmetic of values from outside. */
static bool is_fixed_in(const shapes *s, LLVMValueRef value, const loop *l, int depth) {
  int at = graph_node_of(s->graph, value);
  if (at < 0 || !l->contains[at]) return true;
  if (depth == 0 || LLVMIsAPHINode(value)) return false;
  bool simple = LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) || LLVMIsAGetElementPtrInst(value) ||
                LLVMIsAICmpInst(value) || LLVMIsASelectInst(value);
  if (LLVMIsACallInst(value))
    simple = starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.ntid") ||
             starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.nctaid") ||
             starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.tid") ||
             starts_with(callee_name(value), "llvm.nvvm.read.ptx.sreg.ctaid");
  if (!simple) return false;
  int count = LLVMIsACallInst(value) ? 0 : LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++)
    if (!is_fixed_in(s, LLVMGetOperand(value, (unsigned)i), l, depth - 1)) return false;
  return true;
}

/* How far a value diverges on its way from one node to another because of the divergent loops that it leaves. */
static shape_kind divergence_through_loops(const shapes *s, LLVMValueRef value, int from, int to) {
  enum { DEEPEST = 6 };
  const order *o = s->order;
  shape_kind worst = SHAPE_UNDEFINED;
  for (int l = o->innermost[from]; l >= 0 && !o->loops[l].contains[to]; l = o->loops[l].parent) {
    shape_kind left = (shape_kind)s->table->left[l];
    if (left > worst && !is_fixed_in(s, value, &o->loops[l], DEEPEST)) worst = left;
  }
  return worst;
}

/* ---- phis ---- */

static shape_kind at_least(shape_kind kind, shape_kind least) { return kind > least ? kind : least; }

static view join_incoming(const shapes *s, LLVMValueRef phi, int at) {
  view v = {.base = {1, 0}};
  LLVMValueRef only = NULL;
  bool one_value = true;
  shape_kind least = SHAPE_UNDEFINED;
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMValueRef value = LLVMGetIncomingValue(phi, i);
    int from = graph_incoming(s->graph, phi, i);
    if (value == phi || s->order->index[from] < 0) continue;
    if (only && value != only) one_value = false;
    only = value;
    view in = view_of(s, value);
    if (in.shape.kind == SHAPE_UNDEFINED) continue;
    least = at_least(least, divergence_through_loops(s, value, from, at));
    v.base = v.base.low > v.base.high ? in.base
                                      : (range){in.base.low < v.base.low ? in.base.low : v.base.low,
                                                in.base.high > v.base.high ? in.base.high : v.base.high};
    v.shape = join_shapes(v.shape, in.shape);
  }
  if (v.shape.kind == SHAPE_UNDEFINED) return v;
  if (!one_value) least = at_least(least, (shape_kind)s->table->join[at]);
  v.shape.kind = at_least(v.shape.kind, least);
  return v;
}

static view phi_shape(const shapes *s, LLVMValueRef phi, int at) {
  view v = join_incoming(s, phi, at);
  if (v.shape.kind != SHAPE_VECTOR_AFFINE) return v;
  shapes of_vector = shapes_of_vector(s); /* the bases of each vector */
  return view_of_vectors(join_incoming(&of_vector, phi, at));
}

/* A phi's shape never gets better, and the range of lane 0's number is widened to its limit after few sweeps. */
static view worsened(view old, view new, int sweep) {
  enum { PATIENCE = 3 };
  if (old.shape.kind == SHAPE_UNDEFINED) return new;
  view v = {.shape = join_shapes(old.shape, new.shape), .base = new.base};
  if (old.base.low < v.base.low) v.base.low = old.base.low;
  if (old.base.high > v.base.high) v.base.high = old.base.high;
  if (sweep > PATIENCE && v.base.low < old.base.low) v.base.low = v.base.low >= 0 ? 0 : INT64_MIN;
  if (sweep > PATIENCE && v.base.high > old.base.high) v.base.high = INT64_MAX;
  return v;
}

/* ---- branches ---- */

static void mark_loop(shapes *s, int l, shape_kind level);

static void mark(shapes *s, joins *met, shape_kind level) {
  for (int i = 0; i < met->node_count; i++)
    if (s->table->join[met->nodes[i]] < level) s->table->join[met->nodes[i]] = (unsigned char)level;
  for (int i = 0; i < met->left_count; i++) mark_loop(s, met->left[i], level);
  free(met->nodes);
  free(met->left);
}

static void mark_loop(shapes *s, int l, shape_kind level) {
  if (s->table->left[l] >= level) return;
  s->table->left[l] = (unsigned char)level;
  joins met = {0};
  joins_of_loop(s->graph, s->order, l, &met);
  mark(s, &met, level);
}

/* Gangs disagree about a barrier: those in a loop may be in different iterations from then on. */
static void mark_out_of_step(shapes *s, int at) {
  const node *here = &s->graph->nodes[at];
  for (int l = s->order->innermost[at]; l >= 0; l = s->order->loops[l].parent) {
    const loop *around = &s->order->loops[l];
    /* gangs that leave the loop do not return to it */
    if (!around->contains[here->succs[0]] || !around->contains[here->succs[1]]) continue;
    s->table->out_of_step[l] = true;
    if (s->table->join[around->header] < SHAPE_RACED) s->table->join[around->header] = SHAPE_RACED;
  }
}

/* True if the branch is worse than before. */
static bool diverge_at(shapes *s, int at) {
  const node *here = &s->graph->nodes[at];
  if (here->succ_count != 2 || here->succs[0] == here->succs[1]) return false;
  shape_kind kind = view_of(s, LLVMGetCondition(here->last)).shape.kind;
  /* vectors that diverge count as lanes that diverge */
  shape_kind level = kind >= SHAPE_AFFINE ? SHAPE_VARYING : kind;
  if (level < SHAPE_RACED || s->table->diverged[at] >= level) return false;
  s->table->diverged[at] = (unsigned char)level;
  s->divergent[at] = level == SHAPE_VARYING;
  joins met = {0};
  joins_of_branch(s->graph, s->order, at, &met);
  mark(s, &met, level);
  if (level == SHAPE_RACED && diverges_at_barriers(s->graph, s->order, at)) mark_out_of_step(s, at);
  return true;
}

/* ---- the fixpoint ---- */

static bool same_view(view a, view b) {
  return a.shape.kind == b.shape.kind && a.shape.stride == b.shape.stride && a.shape.step == b.shape.step &&
         a.shape.align == b.shape.align && a.shape.no_wrap == b.shape.no_wrap && a.shape.positive == b.shape.positive &&
         a.base.low == b.base.low && a.base.high == b.base.high;
}

static bool sweep_shapes(shapes *s, int sweep) {
  const graph *g = s->graph;
  bool changed = false;
  for (int i = 0; i < s->order->rpo_count; i++) {
    int at = s->order->rpo[i], number = graph_number(g, g->nodes[at].first);
    for (; number < g->value_count && g->node_of[number] == at; number++) {
      LLVMValueRef value = g->values[number];
      if (s->table->given[number] || LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVoidTypeKind) continue;
      view old = s->table->of[number], new;
      if (LLVMIsAPHINode(value)) {
        new = settle(s, value, phi_shape(s, value, at));
        new = settle(s, value, worsened(old, new, sweep));
      } else {
        new = transfer_shape(s, value, at);
      }
      if (same_view(old, new)) continue;
      s->table->of[number] = new;
      changed = true;
    }
    changed = diverge_at(s, at) || changed;
  }
  return changed;
}

typedef struct shape_query {
  const graph *graph;
  const order *order;
  cut cut;
  const given *list;
  int count;
  const shapes *like; /* shapes whose assumptions are made in any case; or NULL */
} shape_query;

static shapes shapes_assuming(const shape_query *q, uint64_t assumed) {
  const graph *g = q->graph;
  const order *o = q->order;
  shapes s = {.graph = g, .order = o, .cut = q->cut, .needed = assumed};
  s.divergent = mw_alloc((size_t)g->count + 1);
  s.table = mw_alloc(sizeof *s.table);
  *s.table = (struct shape_table){.ranges = ranges_of(g, o, assumed),
                                  .of = mw_alloc(((size_t)g->value_count + 1) * sizeof(view)),
                                  .given = mw_alloc((size_t)g->value_count + 1),
                                  .join = mw_alloc((size_t)g->count + 1),
                                  .left = mw_alloc((size_t)o->loop_count + 1),
                                  .out_of_step = mw_alloc((size_t)o->loop_count + 1),
                                  .diverged = mw_alloc((size_t)g->count + 1)};
  for (int i = 0; i < q->count; i++) {
    int number = graph_number(g, q->list[i].value);
    bool small = q->list[i].shape.no_wrap;
    view known = {.shape = q->list[i].shape, .base = {INT64_MIN, INT64_MAX}};
    if (small) known.base = (range){-BOUND_EXTENT, BOUND_EXTENT};
    s.table->of[number] = settle(&s, q->list[i].value, known);
    s.table->given[number] = true;
  }
  for (int sweep = 0; sweep_shapes(&s, sweep);) sweep++;
  s.assumptions = s.table->ranges.assumptions;
  s.assumption_count = s.table->ranges.assumption_count;
  s.extent = s.table->ranges.extent;
  return s;
}

bool counts_towards(const shapes *s, LLVMValueRef index, LLVMValueRef limit) {
  shape counts = view_of(s, index).shape, to = view_of(s, limit).shape;
  /* lanes that are past the limit must not wrap until lane 0 is */
  if (span_of(s, counts).high > BOUND_EXTENT / 2) return false;
  if (counts.kind != SHAPE_AFFINE || counts.stride < 0 || counts.step < 0 || !counts.no_wrap) return false;
  return is_uniform_kind(to.kind) && range_of(&s->table->ranges, limit).high <= BOUND_EXTENT;
}

/* Whether a loop of many vectors compares its index with a limit: see counted_loops.c. */
static bool counts_in_loop(const shapes *s, int number) {
  enum { MANY = TUNE_COUNTED_VECTORS };
  LLVMValueRef i = s->graph->values[number];
  if (s->cut.vectors < MANY || s->order->innermost[s->graph->node_of[number]] < 0 || !LLVMIsAICmpInst(i)) return false;
  if (LLVMGetICmpPredicate(i) < LLVMIntSGT) return false;
  LLVMValueRef a = LLVMGetOperand(i, 0), b = LLVMGetOperand(i, 1);
  return counts_towards(s, a, b) || counts_towards(s, b, a);
}

static bool same_shapes(const shapes *a, const shapes *b) {
  for (int i = 0; i < a->graph->value_count; i++) {
    shape x = a->table->of[i].shape, y = b->table->of[i].shape;
    if (x.kind != y.kind || x.stride != y.stride || x.step != y.step) return false;
    if (counts_in_loop(a, i) != counts_in_loop(b, i)) return false;
  }
  return true;
}

/* Assumptions restrict the launches for which the code is valid, so an assumption is made only if a shape is worse
   without it. First all are left out together, then all but those already made, then one at a time. */
static shapes shapes_of_query(const shape_query *q) {
  enum { MOST_TRIALS = 6 };
  uint64_t needed = ~0ull;
  /* with the needed assumptions */
  shapes best = shapes_assuming(q, needed), trial = shapes_assuming(q, 0), last = best;
  if (same_shapes(&best, &trial)) {
    shapes_free(&best);
    return trial;
  }
  shapes_free(&trial);
  if (q->like) {
    trial = shapes_assuming(q, q->like->needed);
    if (same_shapes(&best, &trial)) {
      shapes_free(&best);
      return trial;
    }
    shapes_free(&trial);
  }
  int parameters = best.assumption_count < MOST_TRIALS ? best.assumption_count : MOST_TRIALS;
  for (int i = 0; i <= parameters; i++) {
    uint64_t one = i == parameters ? ASSUME_TIGHT : 1ull << best.assumptions[i].parameter;
    trial = shapes_assuming(q, needed & ~one);
    bool same = same_shapes(&last, &trial);
    shapes_free(same ? &last : &trial);
    if (same) last = trial, needed &= ~one;
  }
  return last;
}

shapes shapes_given(const graph *g, const order *o, cut c, const given *list, int count, const shapes *like) {
  return shapes_of_query(&(shape_query){g, o, c, list, count, like});
}

shapes shapes_of(const graph *g, const order *o, cut c) { return shapes_given(g, o, c, NULL, 0, NULL); }

shapes shapes_at_best(const graph *g, const order *o, cut c) {
  return shapes_assuming(&(shape_query){g, o, c, NULL, 0, NULL}, ~0ull);
}

void shapes_free(shapes *s) {
  free(s->table->of);
  free(s->table->join);
  free(s->table->left);
  free(s->table->out_of_step);
  free(s->table->given);
  free(s->table->diverged);
  free(s->table);
  free(s->divergent);
  *s = (shapes){0};
}

shape shape_of(const shapes *s, LLVMValueRef value) { return view_of(s, value).shape; }

range range_in_node(const shapes *s, LLVMValueRef value, int at) { return range_at(&s->table->ranges, value, at); }

range range_where_used(const shapes *s, LLVMValueRef i, unsigned operand) {
  return range_in_node(s, LLVMGetOperand(i, operand), graph_node_of(s->graph, i));
}

bool leaves_one_by_one(const shapes *s, int l) { return s->table->left[l] == SHAPE_VARYING; }
