/* Where the lanes of a warp come together again, as with a stack of masks: at a block that all of them reach after they
 * have passed another one, its dominator, whatever branches are between the two.
 *
 *   if (a) {            from: the branch's block
 *     if (b) break;     lanes that leave do not come
 *     x;
 *   }
 *   y;                  at: here lanes of both sides meet
 *
 * Lanes that have left the innermost loop around `at`, and those on a path that does not lead here, say so and are not
 * waited for. Of two points where lanes of each would wait for the other's only the inner one stays, as in a || b; at
 * blocks without one, lanes that come by one edge at one time are a group. Nor do lanes meet across a loop in which one
 * may wait for another that has left it, as at a spin lock, since that one would wait here. All this is what an H100
 * does with nvcc's code, as far as Nsight Compute's counts tell. */
#include "convergence.h"

#include <stdlib.h>
#include <string.h>

/* ---- the graph ---- */

static int block_succs(const void *context, int n, int out[2]) {
  const convergence *c = context;
  for (int i = 0; i < c->succ_count[n]; i++) out[i] = c->succs[n][i];
  return c->succ_count[n];
}

int convergence_index(const convergence *c, LLVMBasicBlockRef block) {
  int n = 0;
  while (c->blocks[n] != block) n++;
  return n;
}

static bool *new_set(const convergence *c) { return mw_alloc((size_t)c->count + 1); }

static void add_edge(convergence *c, int from, int to) {
  c->succs[from][c->succ_count[from]++] = to;
  c->preds[to] = mw_realloc(c->preds[to], (size_t)(c->pred_count[to] + 1) * sizeof(int));
  c->preds[to][c->pred_count[to]++] = from;
}

static void read_graph(LLVMValueRef function, convergence *c) {
  c->count = (int)LLVMCountBasicBlocks(function);
  size_t room = (size_t)c->count + 1;
  c->blocks = mw_alloc(room * sizeof *c->blocks);
  c->succs = mw_alloc(room * sizeof *c->succs);
  c->succ_count = mw_alloc(room * sizeof *c->succ_count);
  c->preds = mw_alloc(room * sizeof *c->preds);
  c->pred_count = mw_alloc(room * sizeof *c->pred_count);
  c->point_of = mw_alloc(room * sizeof *c->point_of);
  LLVMGetBasicBlocks(function, c->blocks);
  for (int n = 0; n < c->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(c->blocks[n]);
    unsigned count = LLVMGetNumSuccessors(end);
    c->point_of[n] = -1;
    if (count > 1 && !LLVMIsABranchInst(end)) c->has_jumps = true;
    for (unsigned i = 0; i < count && !c->has_jumps; i++) {
      if (i && LLVMGetSuccessor(end, 0) == LLVMGetSuccessor(end, 1)) continue;
      add_edge(c, n, convergence_index(c, LLVMGetSuccessor(end, i)));
    }
  }
}

/* Add what is reachable from the block along the edges; `stop` is added and not passed, -1: none. */
static void reach(const convergence *c, int from, int stop, bool backwards, bool *out) {
  int *stack = mw_alloc((size_t)(c->count + 1) * sizeof *stack), depth = 0;
  stack[depth++] = from;
  while (depth > 0) {
    int n = stack[--depth], edges = backwards ? c->pred_count[n] : c->succ_count[n];
    for (int i = 0; i < edges && n != stop; i++) {
      int to = backwards ? c->preds[n][i] : c->succs[n][i];
      if (out[to]) continue;
      out[to] = true;
      stack[depth++] = to;
    }
  }
  free(stack);
}

/* ---- reconvergence points ---- */

bool leaves_point(const reconvergence *m, int block, int succ) {
  return (m->region[block] || block == m->from) && succ != m->at && !m->region[succ];
}

/* Whether nothing happens in the block but the function's end. */
static bool is_bare_end(const convergence *c, int block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(c->blocks[block]);
  if (LLVMIsAUnreachableInst(end)) return true;
  for (LLVMValueRef i = LLVMGetFirstInstruction(c->blocks[block]); i != end; i = LLVMGetNextInstruction(i))
    if (!LLVMIsAPHINode(i) && !starts_with(callee_name(i), "__mw_")) return false;
  return LLVMIsAReturnInst(end);
}

/* Whether everything after the block is a bare end, or is not after the point. */
static bool is_way_out(const convergence *c, int block, const bool *after) {
  bool *seen = new_set(c), is_out = true;
  seen[block] = true;
  reach(c, block, -1, false, seen);
  for (int n = 0; n < c->count && is_out; n++) is_out = !seen[n] || !after[n] || is_bare_end(c, n);
  free(seen);
  return is_out;
}

/* Whether lanes that take an edge away from the point leave for good. A path around it that the point does
   not reach is left to the lanes that take it; but not where they leave a loop, since each goes on by itself there. */
static bool may_leave(const convergence *c, const reconvergence *m, int to, const bool *after) {
  int around = c->order.innermost[m->at];
  if (around >= 0 && !c->order.loops[around].contains[to]) return true;
  if (!after[to] && c->order.idom[m->at] == m->from) return true;
  return is_way_out(c, to, after);
}

static bool all_come(const convergence *c, const reconvergence *m) {
  bool *after = new_set(c), do_come = true;
  reach(c, m->at, -1, false, after);
  for (int n = 0; n < c->count && do_come; n++)
    for (int i = 0; i < c->succ_count[n] && do_come; i++)
      do_come = !leaves_point(m, n, c->succs[n][i]) || may_leave(c, m, c->succs[n][i], after);
  free(after);
  return do_come;
}

static bool may_wait(const convergence *c, const reconvergence *m, const bool *waits) {
  for (int i = 0; i < c->order.loop_count; i++)
    if (waits[i] && m->region[c->order.loops[i].header] && !c->order.loops[i].contains[m->at]) return true;
  return false;
}

/* The nearest dominator in no other loops than the block; -1: none. */
static int find_origin(const convergence *c, int block) {
  const order *o = &c->order;
  int from = block;
  do {
    if (o->idom[from] == from) return -1;
    from = o->idom[from];
  } while (o->innermost[from] >= 0 && !o->loops[o->innermost[from]].contains[block]);
  return from;
}

static void try_point(convergence *c, int block, const bool *waits) {
  reconvergence m = {.at = block, .from = c->order.index[block] < 0 ? -1 : find_origin(c, block)};
  if (m.from < 0 || c->pred_count[block] == 0) return;
  if (c->order.innermost[m.from] != c->order.innermost[block]) return; /* the start of a loop */
  m.region = new_set(c);
  reach(c, block, m.from, true, m.region);
  m.region[m.from] = false;
  for (int n = 0; n < c->count; n++) m.size += m.region[n];
  bool is_one_edge = c->pred_count[block] == 1 && c->preds[block][0] == m.from; /* whose lanes are known */
  if (is_one_edge || m.region[block] || !all_come(c, &m) || may_wait(c, &m, waits)) {
    free(m.region);
    return;
  }
  c->points = mw_realloc(c->points, (size_t)(c->point_count + 1) * sizeof *c->points);
  c->points[c->point_count++] = m;
}

/* Whether a lane can be on a path to both points and reach only one of them. */
static bool compete(const convergence *c, const reconvergence *inner, const reconvergence *outer) {
  if (outer->region[inner->at]) return false;
  for (int n = 0; n < c->count; n++)
    if ((inner->region[n] || n == inner->from) && (outer->region[n] || n == outer->from)) return true;
  return false;
}

/* Of points that compete only one stays: two groups of lanes would wait for each other. */
static void drop_competing(convergence *c) {
  int kept = 0;
  for (int i = 0; i < c->point_count; i++) {
    bool stays = true;
    for (int k = 0; k < kept && stays; k++) stays = !compete(c, &c->points[k], &c->points[i]);
    if (stays)
      c->points[kept++] = c->points[i];
    else
      free(c->points[i].region);
  }
  c->point_count = kept;
}

static int by_size(const void *a, const void *b) {
  const reconvergence *x = a, *y = b;
  return x->size != y->size ? x->size - y->size : y->at - x->at;
}

void convergence_of(LLVMValueRef function, convergence *out) {
  *out = (convergence){0};
  read_graph(function, out);
  if (out->has_jumps) return;
  flow f = {.count = out->count, .succs = block_succs, .context = out};
  out->order = order_of(&f);
  bool *waits = mw_alloc((size_t)out->order.loop_count + 1);
  for (int i = 0; i < out->order.loop_count; i++) waits[i] = is_waiting_loop(out, &out->order.loops[i]);
  for (int n = 0; n < out->count; n++) try_point(out, n, waits);
  if (out->point_count) qsort(out->points, (size_t)out->point_count, sizeof *out->points, by_size);
  drop_competing(out);
  for (int i = 0; i < out->point_count; i++) out->point_of[out->points[i].at] = i;
  free(waits);
}

void convergence_free(convergence *c) {
  for (int i = 0; i < c->point_count; i++) free(c->points[i].region);
  for (int n = 0; n < c->count; n++) free(c->preds[n]);
  if (c->order.count) order_free(&c->order);
  free(c->blocks);
  free(c->succs);
  free(c->succ_count);
  free(c->preds);
  free(c->pred_count);
  free(c->points);
  free(c->point_of);
}
