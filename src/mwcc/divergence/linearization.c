/* Levels, their sequences and classes of a barrier region: see linearization.h. */
#include "linearization.h"

#include <stdlib.h>
#include <string.h>

/* ---- the region as a flow ---- */

static int region_succs(const void *context, int n, int out[2]) {
  const graph *g = context;
  const node *here = &g->nodes[n];
  if (here->barrier) return 0;
  for (int i = 0; i < here->succ_count; i++) out[i] = here->succs[i];
  return here->succ_count;
}

/* ---- items ---- */

int plan_item(const plan *p, int level, int n) {
  int l = p->order.innermost[n], item = n;
  while (l != level) {
    if (l < 0) return -1;
    item = p->order.loops[l].header;
    l = p->order.loops[l].parent;
  }
  return item;
}

int plan_loop_at(const plan *p, int level, int item) {
  int l = p->order.innermost[item];
  while (l >= 0 && p->order.loops[l].parent != level) l = p->order.loops[l].parent;
  return l;
}

bool plan_is_loop_item(const plan *p, int level, int item) { return p->order.innermost[item] != level; }

int plan_class_of_item(const plan *p, int level, int item) {
  return plan_is_loop_item(p, level, item) ? p->item_class[plan_loop_at(p, level, item)] : p->class_of[item];
}

bool plan_item_divergent(const plan *p, int level, int item) {
  return plan_is_loop_item(p, level, item) ? p->divergent_loop[plan_loop_at(p, level, item)] : p->divergent[item];
}

/* ---- a level's flow ---- */

/* An inner loop can leave to more than two places, so the edges of a level are collected once into lists. */

typedef struct items {
  int *list, count;
} items;

struct level_edges {
  const plan *plan;
  int level;
  items *succs;   /* by item */
  items *pending; /* by item: what may be pending when control is there, in the order of the sequence */
  int *sequence, *place, length;
};
typedef struct level_edges level_edges;

enum { LEAVE = 0, BACK = 1 }; /* virtual items after the nodes */

static void insert_item(items *to, int at, int item) {
  to->list = mw_realloc(to->list, (size_t)(to->count + 1) * sizeof(int));
  for (int i = to->count++; i > at; i--) to->list[i] = to->list[i - 1];
  to->list[at] = item;
}

static void add_edge(level_edges *v, int from, int to) {
  items *succs = &v->succs[from];
  for (int i = 0; i < succs->count; i++)
    if (succs->list[i] == to) return;
  insert_item(succs, succs->count, to);
}

static void collect_edges(level_edges *v) {
  const plan *p = v->plan;
  int count = p->graph->count;
  for (int i = 0; i < p->order.rpo_count; i++) {
    int n = p->order.rpo[i], succs[2], from = plan_item(p, v->level, n);
    if (from < 0) continue;
    int succ_count = region_succs(p->graph, n, succs);
    for (int s = 0; s < succ_count; s++) {
      if (v->level >= 0 && succs[s] == p->order.loops[v->level].header) {
        add_edge(v, from, count + BACK);
        continue;
      }
      int to = plan_item(p, v->level, succs[s]);
      if (to < 0)
        add_edge(v, from, count + LEAVE);
      else if (to != from)
        add_edge(v, from, to);
    }
  }
}

/* order_of takes at most two edges for each node: an item with more is spread over a chain of virtual nodes. Those are
   numbered from count + 2 on and belong to no item. */
typedef struct spread {
  const level_edges *of;
  int base, *owner, *offset, count;
} spread;

static int spread_succs(const void *context, int n, int out[2]) {
  const spread *s = context;
  int item = n, from = 0;
  if (n >= s->base) item = s->owner[n - s->base], from = s->offset[n - s->base];
  if (item >= s->of->plan->graph->count) return 0;
  const items *succs = &s->of->succs[item];
  int left = succs->count - from;
  if (left <= 0) return 0;
  out[0] = succs->list[from];
  if (left == 1) return 1;
  if (left == 2) {
    out[1] = succs->list[from + 1];
    return 2;
  }
  for (int i = 0; i < s->count; i++)
    if (s->owner[i] == item && s->offset[i] == from + 1) out[1] = s->base + i;
  return 2;
}

static order level_order(const level_edges *v) {
  int nodes = v->plan->graph->count;
  spread s = {.of = v, .base = nodes + 2};
  for (int n = 0; n < nodes; n++)
    for (int from = 1; from <= v->succs[n].count - 2; from++) {
      s.owner = mw_realloc(s.owner, (size_t)(s.count + 1) * sizeof(int));
      s.offset = mw_realloc(s.offset, (size_t)(s.count + 1) * sizeof(int));
      s.owner[s.count] = n, s.offset[s.count++] = from;
    }
  int entry = v->level < 0 ? v->plan->flow.entry : v->plan->order.loops[v->level].header;
  if (v->level < 0) entry = plan_item(v->plan, -1, entry);
  flow f = {.count = s.base + s.count, .entry = entry, .succs = spread_succs, .context = &s};
  order o = order_of(&f);
  free(s.owner);
  free(s.offset);
  return o;
}

/* ---- the sequence of a level, and what is pending in it ---- */

/* The dominator tree from its root, siblings in reverse postorder: an edge from below one sibling to another goes
   forward in that order. */
static void find_sequence(level_edges *v, const order *o) {
  int *child = mw_alloc((size_t)(o->count + 1) * sizeof(int)),
      *sibling = mw_alloc((size_t)(o->count + 1) * sizeof(int));
  int *stack = mw_alloc((size_t)(o->count + 1) * sizeof(int)), depth = 0, nodes = v->plan->graph->count;
  v->sequence = mw_alloc((size_t)(nodes + 1) * sizeof(int));
  v->place = mw_alloc((size_t)(nodes + 1) * sizeof(int));
  for (int n = 0; n < o->count; n++) child[n] = sibling[n] = -1;
  for (int i = o->rpo_count - 1; i > 0; i--) {
    int n = o->rpo[i], parent = o->idom[n];
    sibling[n] = child[parent];
    child[parent] = n;
  }
  if (o->rpo_count) stack[depth++] = o->rpo[0];
  while (depth) {
    int n = stack[--depth];
    if (n < nodes) {
      v->place[n] = v->length;
      v->sequence[v->length++] = n;
    }
    if (sibling[n] >= 0) stack[depth++] = sibling[n];
    if (child[n] >= 0) stack[depth++] = child[n];
  }
  free(child);
  free(sibling);
  free(stack);
}

static void add_pending(const level_edges *v, items *to, int item) {
  int at = 0;
  while (at < to->count && v->place[to->list[at]] < v->place[item]) at++;
  if (at < to->count && to->list[at] == item) return;
  insert_item(to, at, item);
}

static items copy_of(const items *from) {
  items made = {.list = mw_alloc((size_t)(from->count + 1) * sizeof(int)), .count = from->count};
  for (int i = 0; i < from->count; i++) made.list[i] = from->list[i];
  return made;
}

/* ---- classes ---- */

static int new_class(plan *p, mask_class made) {
  p->classes = mw_realloc(p->classes, (size_t)(p->class_count + 1) * sizeof *p->classes);
  p->classes[p->class_count] = made;
  return p->class_count++;
}

static void set_class(plan *p, int level, int item, int class) {
  if (plan_is_loop_item(p, level, item))
    p->item_class[plan_loop_at(p, level, item)] = class;
  else
    p->class_of[item] = class;
}

/* The nearest dominator that is a node: items of spread-out edges are not. */
static int real_dominator(const plan *p, const order *o, int item) {
  int d = o->idom[item];
  while (d >= p->graph->count && d != o->idom[d]) d = o->idom[d];
  return d;
}

static int real_postdominator(const plan *p, const order *o, int item) {
  int d = o->ipdom[item];
  while (d >= p->graph->count + 2) d = o->ipdom[d];
  return d;
}

/* How control reaches an item. */
typedef struct entries {
  int class;  /* of all items that branch to it; -1: they differ, or a branch is not real */
  bool known; /* at least one was seen */
  bool sure;  /* all are real branches */
} entries;

static void note_entry(entries *e, int class, bool real) {
  if (!e->known) *e = (entries){.class = class, .known = true, .sure = true};
  if (!real) e->sure = false;
  if (!real || e->class != class) e->class = -1;
}

static void assign_class(plan *p, const level_edges *v, const entries *in, int item) {
  const order *o = &p->levels[v->level + 1];
  int dominator = real_dominator(p, o, item), class;
  if (real_postdominator(p, o, dominator) == item)
    class = plan_class_of_item(p, v->level, dominator);
  else if (in[item].class >= 0)
    class = in[item].class;
  else
    class = new_class(p, (mask_class){.kind = CLASS_LED, .level = v->level, .leader = item, .sure = in[item].sure});
  set_class(p, v->level, item, class);
}

/* Control continues to the first of `waiting`, and the rest stays pending. `target`: where the lanes went, if all went
   to one place. */
static void continue_to_pending(const plan *p, level_edges *v, entries *in, int from, const items *waiting,
                                int target) {
  if (!waiting->count) return;
  int next = waiting->list[0];
  note_entry(&in[next], plan_class_of_item(p, v->level, from), next == target);
  for (int i = 1; i < waiting->count; i++) add_pending(v, &v->pending[next], waiting->list[i]);
}

/* Whether all lanes of the item continue to the same successor. */
static bool is_uniform_item(const plan *p, const level_edges *v, int item) {
  return v->succs[item].count < 2 || !plan_item_divergent(p, v->level, item);
}

/* One pass along the sequence suffices: all items from which control reaches an item precede it. */
static void assign_classes(plan *p, level_edges *v, int root) {
  int count = p->graph->count;
  entries *in = mw_alloc((size_t)(count + 1) * sizeof *in);
  for (int i = 0; i < v->length; i++) {
    int item = v->sequence[i];
    if (i == 0)
      set_class(p, v->level, item, root);
    else
      assign_class(p, v, in, item);
    bool together = is_uniform_item(p, v, item);
    items waiting = copy_of(&v->pending[item]);
    for (int s = 0; s < v->succs[item].count; s++) {
      int to = v->succs[item].list[s];
      if (to < count) add_pending(v, &waiting, to);
      if (!together) continue;
      continue_to_pending(p, v, in, item, &waiting, to);
      free(waiting.list);
      waiting = copy_of(&v->pending[item]);
    }
    if (!together || v->succs[item].count == 0) continue_to_pending(p, v, in, item, &waiting, -1);
    if (plan_class_led(p, v->level, item) >= 0)
      continue_to_pending(p, v, in, item, &v->pending[item], -1); /* skipped */
    free(waiting.list);
  }
  free(in);
}

/* ---- where control goes ---- */

int plan_next(const plan *p, int level, int item, int target) {
  const level_edges *v = &p->edges[level + 1];
  const items *pending = &v->pending[item];
  if (!pending->count) return target;
  return target >= 0 && v->place[target] < v->place[pending->list[0]] ? target : pending->list[0];
}

int plan_next_divergent(const plan *p, int level, int item) {
  const level_edges *v = &p->edges[level + 1];
  int next = plan_next(p, level, item, -1);
  for (int s = 0; s < v->succs[item].count; s++) {
    int to = v->succs[item].list[s];
    if (to < p->graph->count && (next < 0 || v->place[to] < v->place[next])) next = to;
  }
  return next;
}

bool plan_is_first(const plan *p, int level, int source, int target) {
  const level_edges *v = &p->edges[level + 1];
  const node *join = &p->graph->nodes[target];
  int to = plan_item(p, level, target);
  if (p->order.innermost[source] != level) return false;
  for (int i = 0; i < join->pred_count; i++) {
    int from = plan_item(p, level, join->preds[i]);
    if (from >= 0 && from != to && v->place[from] < v->place[source]) return false;
  }
  return true;
}

bool plan_alone(const plan *p, int level, int item) { return !p->edges[level + 1].pending[item].count; }

int plan_class_led(const plan *p, int level, int item) {
  int class = plan_class_of_item(p, level, item);
  const mask_class *c = &p->classes[class];
  return c->kind == CLASS_LED && c->level == level && c->leader == item ? class : -1;
}

/* A loop is divergent if some lanes may leave it, or continue, without the others: an edge out of it or back is not
   taken by all its lanes together. Judged with the classes of its level, whose root is all lanes in it. */
static bool is_divergent_level(const plan *p, const level_edges *v, int root) {
  for (int i = 0; i < v->length; i++) {
    int item = v->sequence[i];
    const items *succs = &v->succs[item];
    for (int s = 0; s < succs->count; s++) {
      if (succs->list[s] < p->graph->count) continue;
      if (plan_class_of_item(p, v->level, item) != root || !is_uniform_item(p, v, item)) return true;
    }
    /* a lane that ends inside (at a return or a barrier) does not continue with the others */
    if (succs->count == 0) return true;
  }
  return false;
}

static void plan_level(plan *p, int level) {
  level_edges *v = &p->edges[level + 1];
  int nodes = p->graph->count;
  *v = (level_edges){.plan = p, .level = level};
  v->succs = mw_alloc((size_t)(nodes + 1) * sizeof *v->succs);
  v->pending = mw_alloc((size_t)(nodes + 1) * sizeof *v->pending);
  collect_edges(v);
  p->levels[level + 1] = level_order(v);
  find_sequence(v, &p->levels[level + 1]);
  int header = level >= 0 ? p->order.loops[level].header : -1;
  int root =
      new_class(p, (mask_class){.kind = level < 0 ? CLASS_REGION : CLASS_SAME, .level = level, .leader = header});
  assign_classes(p, v, root);
  if (level >= 0 && is_divergent_level(p, v, root)) {
    p->divergent_loop[level] = true;
    p->classes[root].kind = CLASS_LOOP;
  }
}

/* Inner loops first: whether they are divergent decides the classes around them. Deeper loops precede in the list. */
bool plan_region(const graph *g, const bool *divergent, int entry, plan *out, const char **why) {
  plan *p = out;
  *p = (plan){.graph = g, .divergent = divergent};
  p->flow = (flow){.count = g->count, .entry = entry, .succs = region_succs, .context = g};
  p->order = order_of(&p->flow);
  if (!p->order.reducible) {
    *why = "a loop has a second entry, after a barrier (irreducible control flow)";
    order_free(&p->order);
    return false;
  }
  int loops = p->order.loop_count;
  p->divergent_loop = mw_alloc((size_t)(loops + 1) * sizeof(bool));
  p->item_class = mw_alloc((size_t)(loops + 1) * sizeof(int));
  p->class_of = mw_alloc((size_t)(g->count + 1) * sizeof(int));
  p->levels = mw_alloc((size_t)(loops + 1) * sizeof(order));
  p->edges = mw_alloc((size_t)(loops + 1) * sizeof *p->edges);
  int deepest = 0;
  for (int l = 0; l < loops; l++)
    if (p->order.loops[l].depth > deepest) deepest = p->order.loops[l].depth;
  for (int depth = deepest; depth > 0; depth--)
    for (int l = 0; l < loops; l++)
      if (p->order.loops[l].depth == depth) plan_level(p, l);
  plan_level(p, -1);
  return true;
}

static void free_edges(level_edges *v, int nodes) {
  for (int i = 0; i < nodes; i++) {
    free(v->succs[i].list);
    free(v->pending[i].list);
  }
  free(v->succs);
  free(v->pending);
  free(v->sequence);
  free(v->place);
}

void plan_free(plan *p) {
  for (int l = 0; p->levels && l <= p->order.loop_count; l++) {
    order_free(&p->levels[l]);
    free_edges(&p->edges[l], p->graph->count);
  }
  free(p->edges);
  order_free(&p->order);
  free(p->levels);
  free(p->divergent_loop);
  free(p->item_class);
  free(p->class_of);
  free(p->classes);
  *p = (plan){0};
}
