/* Levels, classes and chains of a barrier region: see plan.h. */
#include "plan.h"

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

/* ---- a level's flow ----
   An inner loop can leave for more places than two, so the edges of a level are collected once into lists. */

struct level_edges {
  const plan *plan;
  int level;
  int **succs, *succ_count;
};
typedef struct level_edges level_edges;

enum { LEAVE = 0, BACK = 1 }; /* virtual items behind the nodes */

static void add_edge(level_edges *v, int from, int to) {
  for (int i = 0; i < v->succ_count[from]; i++)
    if (v->succs[from][i] == to) return;
  v->succs[from] = mw_realloc(v->succs[from], (size_t)(v->succ_count[from] + 1) * sizeof(int));
  v->succs[from][v->succ_count[from]++] = to;
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

/* order_of takes two edges a node at most: an item with more is spread over a chain of virtual nodes behind it. Such
   nodes are numbered from count + 2 on and belong to no item. */
typedef struct spread {
  const level_edges *of;
  int base, *owner, *offset, count;
} spread;

static int spread_succs(const void *context, int n, int out[2]) {
  const spread *s = context;
  int item = n, from = 0;
  if (n >= s->base) item = s->owner[n - s->base], from = s->offset[n - s->base];
  if (item >= s->of->plan->graph->count) return 0;
  int left = s->of->succ_count[item] - from;
  if (left <= 0) return 0;
  out[0] = s->of->succs[item][from];
  if (left == 1) return 1;
  if (left == 2) {
    out[1] = s->of->succs[item][from + 1];
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
    for (int from = 1; from <= v->succ_count[n] - 2; from++) {
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

/* The class that all edges into the item agree on, or -1. */
static int class_of_predecessors(const plan *p, const level_edges *v, const order *o, int item) {
  int found = -1;
  for (int i = 0; i < o->rpo_count; i++) {
    int from = o->rpo[i];
    if (from >= p->graph->count) continue;
    for (int s = 0; s < v->succ_count[from]; s++) {
      if (v->succs[from][s] != item) continue;
      int class = plan_class_of_item(p, v->level, from);
      bool apart = v->succ_count[from] > 1 && plan_item_divergent(p, v->level, from);
      if (apart || (found >= 0 && found != class)) return -1;
      found = class;
    }
  }
  return found;
}

/* The items of spread-out edges are no nodes: the nearest dominator that is one. */
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

int plan_postdominator(const plan *p, int level, int item) {
  return real_postdominator(p, &p->levels[level + 1], item);
}

static void assign_classes(plan *p, const level_edges *v, int root) {
  const order *o = &p->levels[v->level + 1];
  for (int i = 0; i < o->rpo_count; i++) {
    int item = o->rpo[i];
    if (item >= p->graph->count) continue;
    if (i == 0) {
      set_class(p, v->level, item, root);
      continue;
    }
    int class = class_of_predecessors(p, v, o, item), dominator = real_dominator(p, o, item);
    if (class < 0 && real_postdominator(p, o, dominator) == item) class = plan_class_of_item(p, v->level, dominator);
    if (class < 0)
      class = new_class(p, (mask_class){.kind = CLASS_LED, .level = v->level, .leader = item, .owner = dominator});
    set_class(p, v->level, item, class);
  }
}

/* ---- chains ---- */

/* Whether control can come from one item to another before the first one's post-dominator. */
static bool in_section(const plan *p, int level, int from, int target) {
  const level_edges *v = &p->edges[level + 1];
  int count = p->graph->count, stop = plan_postdominator(p, level, from), top = 0;
  bool *seen = mw_alloc((size_t)count + 1), found = false;
  int *stack = mw_alloc((size_t)(count + 1) * sizeof(int));
  stack[top++] = from;
  while (top && !found) {
    int item = stack[--top];
    for (int s = 0; s < v->succ_count[item]; s++) {
      int next = v->succs[item][s];
      if (next >= count || next == stop || seen[next]) continue;
      if (next == target) found = true;
      seen[next] = true;
      stack[top++] = next;
    }
  }
  free(seen);
  free(stack);
  return found;
}

static bool is_led_by(const plan *p, int level, int c) {
  return p->classes[c].kind == CLASS_LED && p->classes[c].level == level;
}

/* A class may gather lanes from several items of its owner's class, each of which then runs it in its own chain. What
   comes behind the class is the owner's affair, so all must go on at the same place. Where the owner branches uniformly, lanes
   that come directly and lanes that come through a divergent branch would need different places: refused. */
static bool chains_agree(const plan *p, int level) {
  const order *o = &p->levels[level + 1];
  for (int c = 0; c < p->class_count; c++) {
    if (!is_led_by(p, level, c)) continue;
    int owner = p->classes[c].owner, class = plan_class_of_item(p, level, owner);
    if (!plan_item_divergent(p, level, owner)) return false;
    for (int i = o->index[owner] + 1; i < o->rpo_count; i++) {
      int item = o->rpo[i];
      if (item >= p->graph->count || plan_class_of_item(p, level, item) != class) continue;
      if (p->edges[level + 1].succ_count[item] < 2 || !plan_item_divergent(p, level, item)) continue;
      if (plan_postdominator(p, level, item) == plan_postdominator(p, level, owner)) continue;
      if (in_section(p, level, item, p->classes[c].leader)) return false;
    }
  }
  return true;
}

/* A loop is divergent where some lanes may leave it, or go round, without the others: an edge out of it or back that is
   not taken by all lanes in it together. Judged with the classes of its level, whose root is all lanes in it. */
static bool leaves_apart(const plan *p, const level_edges *v, int root) {
  int count = p->graph->count;
  const order *o = &p->levels[v->level + 1];
  for (int i = 0; i < o->rpo_count; i++) {
    int item = o->rpo[i];
    if (item >= count) continue;
    for (int s = 0; s < v->succ_count[item]; s++) {
      if (v->succs[item][s] < count) continue;
      if (plan_class_of_item(p, v->level, item) != root) return true;
      if (v->succ_count[item] > 1 && plan_item_divergent(p, v->level, item)) return true;
    }
    /* a lane that ends inside (at a return or a barrier) does not go round with the others */
    if (v->succ_count[item] == 0) return true;
  }
  return false;
}

static bool plan_level(plan *p, int level, const char **why) {
  level_edges *v = &p->edges[level + 1];
  int nodes = p->graph->count;
  *v = (level_edges){.plan = p, .level = level};
  v->succs = mw_alloc((size_t)(nodes + 1) * sizeof *v->succs);
  v->succ_count = mw_alloc((size_t)(nodes + 1) * sizeof *v->succ_count);
  collect_edges(v);
  p->levels[level + 1] = level_order(v);
  int header = level >= 0 ? p->order.loops[level].header : -1;
  int root =
      new_class(p, (mask_class){.kind = level < 0 ? CLASS_REGION : CLASS_SAME, .level = level, .leader = header});
  assign_classes(p, v, root);
  if (!chains_agree(p, level)) {
    *why = "lanes of different branches meet before their branches do";
    return false;
  }
  if (level >= 0 && leaves_apart(p, v, root)) {
    p->divergent_loop[level] = true;
    p->classes[root].kind = CLASS_LOOP;
  }
  return true;
}

static int by_place(const order *o, const mask_class *a, const mask_class *b) {
  return o->index[a->leader] - o->index[b->leader];
}

int plan_chain(const plan *p, int level, int item, int *classes) {
  int count = 0, class = plan_class_of_item(p, level, item);
  const order *o = &p->levels[level + 1];
  for (int c = 0; c < p->class_count; c++) {
    if (!is_led_by(p, level, c)) continue;
    int owner = p->classes[c].owner;
    if (owner != item &&
        (plan_class_of_item(p, level, owner) != class || !in_section(p, level, item, p->classes[c].leader)))
      continue;
    int at = count++;
    for (; at > 0 && by_place(o, &p->classes[classes[at - 1]], &p->classes[c]) > 0; at--) classes[at] = classes[at - 1];
    classes[at] = c;
  }
  return count;
}

/* Inner loops first: whether they are divergent decides the classes around them. Deeper loops come first. */
bool plan_region(const graph *g, const bool *divergent, int entry, plan *out, const char **why) {
  plan *p = out;
  *p = (plan){.graph = g, .divergent = divergent};
  p->flow = (flow){.count = g->count, .entry = entry, .succs = region_succs, .context = g};
  p->order = order_of(&p->flow);
  if (!p->order.reducible) {
    *why = "a loop is entered in its middle, behind a barrier";
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
  bool done = true;
  for (int l = 0; l < loops; l++)
    if (p->order.loops[l].depth > deepest) deepest = p->order.loops[l].depth;
  for (int depth = deepest; done && depth > 0; depth--)
    for (int l = 0; done && l < loops; l++)
      if (p->order.loops[l].depth == depth) done = plan_level(p, l, why);
  if (done) done = plan_level(p, -1, why);
  if (!done) plan_free(p);
  return done;
}

void plan_free(plan *p) {
  for (int l = 0; p->levels && l <= p->order.loop_count; l++) {
    order_free(&p->levels[l]);
    for (int i = 0; p->edges[l].succs && i < p->graph->count; i++) free(p->edges[l].succs[i]);
    free(p->edges[l].succs);
    free(p->edges[l].succ_count);
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
