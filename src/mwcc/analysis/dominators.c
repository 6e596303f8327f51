/* Orders and trees of a graph of integers: reverse postorder, dominators, post-dominators, natural loops.
 *
 * Dominators by Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001); post-dominators are the
 * dominators of the reversed graph, from a virtual end. Every traversal has an explicit stack,
 * since a kernel may have a path of thousands of nodes. */
#include "simt.h"
#include "analysis.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists of edges, both ways ---- */

typedef struct edges {
  int *first, *items; /* those of n: items[first[n]] .. items[first[n + 1] - 1] */
} edges;

static int *new_ints(int count, int value) {
  int *list = mw_alloc((size_t)(count + 1) * sizeof *list);
  for (int i = 0; i <= count; i++) list[i] = value;
  return list;
}

static edges forward_edges(const flow *f) {
  edges e = {.first = new_ints(f->count + 1, 0), .items = new_ints(2 * f->count, 0)};
  int used = 0, out[2];
  for (int n = 0; n < f->count; n++) {
    int succs = f->succs(f->context, n, out);
    e.first[n] = used;
    for (int i = 0; i < succs; i++) e.items[used++] = out[i];
  }
  e.first[f->count] = used;
  return e;
}

static edges reversed(const edges *from, int count) {
  int total = from->first[count];
  edges e = {.first = new_ints(count + 1, 0), .items = new_ints(total, 0)};
  for (int i = 0; i < total; i++) e.first[from->items[i] + 1]++;
  for (int n = 0; n < count; n++) e.first[n + 1] += e.first[n];
  int *next = new_ints(count, 0);
  memcpy(next, e.first, (size_t)count * sizeof *next);
  for (int n = 0; n < count; n++)
    for (int i = from->first[n]; i < from->first[n + 1]; i++) e.items[next[from->items[i]]++] = n;
  free(next);
  return e;
}

static void free_edges(edges *e) {
  free(e->first);
  free(e->items);
}

/* ---- reverse postorder ---- */

typedef struct walk {
  int *stack, *cursor, depth;
  int *post, count; /* nodes as they are finished */
  bool *seen;
} walk;

static walk new_walk(int count) {
  return (walk){.stack = new_ints(count, 0),
                .cursor = new_ints(count, 0),
                .post = new_ints(count, 0),
                .seen = mw_alloc((size_t)count + 1)};
}

static void free_walk(walk *w) {
  free(w->stack);
  free(w->cursor);
  free(w->post);
  free(w->seen);
}

static void push(walk *w, const edges *e, int n) {
  w->seen[n] = true;
  w->cursor[n] = e->first[n + 1]; /* the last edge first: then a branch's first side comes first in the reverse order */
  w->stack[w->depth++] = n;
}

static void walk_from(walk *w, const edges *e, int root) {
  if (w->seen[root]) return;
  push(w, e, root);
  while (w->depth) {
    int n = w->stack[w->depth - 1];
    if (w->cursor[n] == e->first[n]) {
      w->post[w->count++] = n;
      w->depth--;
      continue;
    }
    int to = e->items[--w->cursor[n]];
    if (!w->seen[to]) push(w, e, to);
  }
}

/* ---- dominators ---- */

static int meet(const int *idom, const int *place, int a, int b) {
  while (a != b) {
    while (place[a] > place[b]) a = idom[a];
    while (place[b] > place[a]) b = idom[b];
  }
  return a;
}

/* rpo[0] is the root; place is rpo's inverse, -1 where unreachable. */
static int *dominators(const edges *preds, const int *rpo, const int *place, int rpo_count, int count) {
  int *idom = new_ints(count, -1);
  if (!rpo_count) return idom;
  idom[rpo[0]] = rpo[0];
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 1; i < rpo_count; i++) {
      int n = rpo[i], best = -1;
      for (int e = preds->first[n]; e < preds->first[n + 1]; e++) {
        int from = preds->items[e];
        if (place[from] < 0 || idom[from] < 0) continue;
        best = best < 0 ? from : meet(idom, place, from, best);
      }
      if (best == idom[n]) continue;
      idom[n] = best;
      changed = true;
    }
  }
  return idom;
}

/* Numbers the tree so that a is above b exactly if enter[a] <= enter[b] and leave[b] <= leave[a]. */
static void number_tree(const int *parent, int root, int count, int **enter, int **leave) {
  int *child = new_ints(count, -1), *sibling = new_ints(count, -1), *stack = new_ints(count, 0);
  int depth = 0, clock = 0;
  *enter = new_ints(count, -1);
  *leave = new_ints(count, -1);
  for (int n = count - 1; n >= 0; n--) {
    if (parent[n] < 0 || n == root) continue;
    sibling[n] = child[parent[n]];
    child[parent[n]] = n;
  }
  stack[depth++] = root;
  (*enter)[root] = clock++;
  while (depth) {
    int n = stack[depth - 1], c = child[n];
    if (c < 0) {
      (*leave)[n] = clock++;
      depth--;
      continue;
    }
    child[n] = sibling[c];
    (*enter)[c] = clock++;
    stack[depth++] = c;
  }
  free(child);
  free(sibling);
  free(stack);
}

static bool above(const int *enter, const int *leave, int a, int b) {
  return enter[a] >= 0 && enter[b] >= 0 && enter[a] <= enter[b] && leave[b] <= leave[a];
}

/* ---- post-dominators ---- */

/* The graph with a virtual end after every node without successors. Infinite loops get an edge to it from their last
   node in the order, which is on the cycle. */
static edges with_end(const flow *f, const edges *succs, const edges *preds, const order *o) {
  walk back = new_walk(f->count);
  bool *ends = mw_alloc((size_t)f->count + 1);
  int added = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = o->rpo_count - 1; i >= 0; i--) {
      int n = o->rpo[i];
      if (back.seen[n] || (pass == 0 && succs->first[n] != succs->first[n + 1])) continue;
      ends[n] = true;
      added++;
      walk_from(&back, preds, n);
    }
  edges e = {.first = new_ints(f->count + 2, 0), .items = new_ints(succs->first[f->count] + added, 0)};
  int used = 0;
  for (int n = 0; n < f->count; n++) {
    e.first[n] = used;
    if (o->index[n] < 0) continue;
    for (int i = succs->first[n]; i < succs->first[n + 1]; i++) e.items[used++] = succs->items[i];
    if (ends[n]) e.items[used++] = f->count;
  }
  e.first[f->count] = e.first[f->count + 1] = used;
  free(ends);
  free_walk(&back);
  return e;
}

static void find_postdominators(order *o, const flow *f, const edges *succs, const edges *preds) {
  int count = f->count + 1, end = f->count;
  edges down = with_end(f, succs, preds, o), up = reversed(&down, count);
  walk w = new_walk(count);
  walk_from(&w, &up, end);
  int *rpo = new_ints(count, 0), *place = new_ints(count, -1);
  for (int i = 0; i < w.count; i++) {
    rpo[i] = w.post[w.count - 1 - i];
    place[rpo[i]] = i;
  }
  o->ipdom = dominators(&down, rpo, place, w.count, count);
  number_tree(o->ipdom, end, count, &o->post_enter, &o->post_leave);
  for (int n = 0; n < count; n++)
    if (o->ipdom[n] == end) o->ipdom[n] = -1;
  free(rpo);
  free(place);
  free_walk(&w);
  free_edges(&down);
  free_edges(&up);
}

/* ---- loops ---- */

/* All nodes from which `n` can be reached without passing the header. */
static void fill_loop(order *o, const edges *preds, loop *l, int n, int *stack) {
  int depth = 0;
  if (l->contains[n]) return;
  l->contains[n] = true;
  stack[depth++] = n;
  while (depth) {
    int here = stack[--depth];
    for (int e = preds->first[here]; e < preds->first[here + 1]; e++) {
      int from = preds->items[e];
      if (o->index[from] < 0 || l->contains[from]) continue;
      l->contains[from] = true;
      stack[depth++] = from;
    }
  }
}

/* In reverse postorder a loop's header precedes those of the loops in it. So outer loops come first in the list, and
   the parent of a new loop is the innermost loop so far that contains its header. */
static void find_loops(order *o, const edges *preds) {
  int *stack = new_ints(o->count, 0);
  o->innermost = new_ints(o->count, -1);
  o->reducible = true;
  for (int i = 0; i < o->rpo_count; i++) {
    int header = o->rpo[i];
    loop *l = NULL;
    for (int e = preds->first[header]; e < preds->first[header + 1]; e++) {
      int from = preds->items[e];
      if (o->index[from] < i) continue; /* not backwards, or unreachable */
      if (!dominates(o, header, from)) {
        o->reducible = false;
        continue;
      }
      if (!l) {
        o->loops = mw_realloc(o->loops, (size_t)(o->loop_count + 1) * sizeof *o->loops);
        l = &o->loops[o->loop_count++];
        *l = (loop){.header = header, .parent = o->innermost[header], .contains = mw_alloc((size_t)o->count + 1)};
        l->depth = l->parent < 0 ? 1 : o->loops[l->parent].depth + 1;
        l->contains[header] = true;
      }
      fill_loop(o, preds, l, from, stack);
    }
    for (int n = 0; l && n < o->count; n++)
      if (l->contains[n]) o->innermost[n] = o->loop_count - 1;
  }
  free(stack);
}

/* ---- all of it ---- */

order order_of(const flow *f) {
  order o = {.count = f->count, .index = new_ints(f->count, -1), .rpo = new_ints(f->count, 0)};
  edges succs = forward_edges(f), preds = reversed(&succs, f->count);
  walk w = new_walk(f->count);
  if (f->count) walk_from(&w, &succs, f->entry);
  o.rpo_count = w.count;
  for (int i = 0; i < w.count; i++) {
    o.rpo[i] = w.post[w.count - 1 - i];
    o.index[o.rpo[i]] = i;
  }
  o.idom = dominators(&preds, o.rpo, o.index, o.rpo_count, f->count);
  number_tree(o.idom, f->entry, f->count, &o.enter, &o.leave);
  find_postdominators(&o, f, &succs, &preds);
  find_loops(&o, &preds);
  free_walk(&w);
  free_edges(&succs);
  free_edges(&preds);
  return o;
}

void order_free(order *o) {
  int *lists[] = {o->rpo, o->index, o->idom, o->ipdom, o->innermost, o->enter, o->leave, o->post_enter, o->post_leave};
  for (size_t i = 0; i < MW_COUNT(lists); i++) free(lists[i]);
  for (int i = 0; i < o->loop_count; i++) free(o->loops[i].contains);
  free(o->loops);
  *o = (order){0};
}

bool dominates(const order *o, int a, int b) { return above(o->enter, o->leave, a, b); }
bool postdominates(const order *o, int a, int b) { return above(o->post_enter, o->post_leave, a, b); }
