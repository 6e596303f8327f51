/* Sync dependence of a branch (LLVM: SyncDependenceAnalysis): where lanes that diverged at it reconverge.
 *
 * Each successor of the branch is a label that moves along the edges. A node that two different labels reach is a
 * join: its phis choose by the path that a lane took. After a join its own name is the label, so when all labels
 * have become one, all lanes have reconverged. A back edge ends a label's propagation but is noted, as is each edge
 * that leaves a loop. If the labels that continue in the loop differ from those that leave, lanes leave it in
 * different iterations (temporal divergence). Then each exit of that loop is a path of its own, which joins_of_loop
 * follows.
 *
 * The graph has to be reducible: then all paths into a loop go through its header, and labels inside never differ
 * unless the branch is inside. */
#include "vector_shape.h"

#include <stdlib.h>

enum { NONE = -1, SEVERAL = -2 };

typedef struct propagation {
  const graph *g;
  const order *o;
  joins *out;
  int *label;        /* by node */
  int *back, *leave; /* by loop: the label of its back edges, and the one that leaves */
  int first, last;   /* the range of reverse postorder in which labels still move */
  int pending;
} propagation;

static void add(int **list, int *count, int item) {
  for (int i = 0; i < *count; i++)
    if ((*list)[i] == item) return;
  *list = mw_realloc(*list, (size_t)(*count + 1) * sizeof **list);
  (*list)[(*count)++] = item;
}

static void note(int *slot, int label) { *slot = *slot == NONE || *slot == label ? label : SEVERAL; }

/* Lanes that reach a trap end there; nothing can differ for them later. */
static bool is_dead_end(const graph *g, int n) { return g->nodes[n].succ_count == 0 && !g->nodes[n].returns; }

static void move_label(propagation *p, int from, int to, int label) {
  const order *o = p->o;
  if (is_dead_end(p->g, to)) return;
  for (int l = o->innermost[from]; l >= 0 && !o->loops[l].contains[to]; l = o->loops[l].parent)
    note(&p->leave[l], label);
  if (o->index[to] <= o->index[from]) {
    for (int l = o->innermost[from]; l >= 0; l = o->loops[l].parent)
      if (o->loops[l].header == to) note(&p->back[l], label);
    return;
  }
  if (p->label[to] == NONE) {
    p->label[to] = label;
    p->pending++;
    if (o->index[to] < p->first) p->first = o->index[to];
    if (o->index[to] > p->last) p->last = o->index[to];
  } else if (p->label[to] != label) {
    p->label[to] = to;
    add(&p->out->nodes, &p->out->node_count, to);
  }
}

/* Whether nothing more can differ once one label is left: not inside a loop that lanes continued in or left. */
static bool is_settled(const propagation *p, int n) {
  for (int l = p->o->innermost[n]; l >= 0; l = p->o->loops[l].parent)
    if (p->back[l] != NONE || p->leave[l] != NONE) return false;
  return true;
}

static void run(propagation *p) {
  for (int place = p->first; place <= p->last; place++) {
    int n = p->o->rpo[place];
    if (p->label[n] == NONE) continue;
    if (--p->pending == 0 && is_settled(p, n)) break;
    const node *here = &p->g->nodes[n];
    for (int s = 0; s < here->succ_count; s++) move_label(p, n, here->succs[s], p->label[n]);
  }
}

static void judge_loops(propagation *p) {
  for (int l = 0; l < p->o->loop_count; l++) {
    int back = p->back[l], leave = p->leave[l];
    if (back == SEVERAL) add(&p->out->nodes, &p->out->node_count, p->o->loops[l].header);
    if (back != NONE && leave != NONE && (back == SEVERAL || back != leave)) add(&p->out->left, &p->out->left_count, l);
  }
}

static int *filled(int count) {
  int *list = mw_alloc((size_t)(count + 1) * sizeof *list);
  for (int i = 0; i < count; i++) list[i] = NONE;
  return list;
}

static propagation begin(const graph *g, const order *o, joins *out) {
  return (propagation){.g = g,
                       .o = o,
                       .out = out,
                       .label = filled(g->count),
                       .back = filled(o->loop_count),
                       .leave = filled(o->loop_count),
                       .first = o->rpo_count,
                       .last = -1};
}

static void finish(propagation *p) {
  run(p);
  judge_loops(p);
  free(p->label);
  free(p->back);
  free(p->leave);
}

void joins_of_branch(const graph *g, const order *o, int at, joins *out) {
  propagation p = begin(g, o, out);
  const node *here = &g->nodes[at];
  for (int s = 0; s < here->succ_count; s++) move_label(&p, at, here->succs[s], here->succs[s]);
  finish(&p);
}

/* Every exit is a path of its own, and an exit that several edges take is a join, since lanes may have taken different
   ones. */
void joins_of_loop(const graph *g, const order *o, int which, joins *out) {
  propagation p = begin(g, o, out);
  int *edges = filled(g->count);
  for (int i = 0; i < o->rpo_count; i++) {
    int n = o->rpo[i];
    const node *here = &g->nodes[n];
    for (int s = 0; o->loops[which].contains[n] && s < here->succ_count; s++) {
      int to = here->succs[s];
      if (o->loops[which].contains[to]) continue;
      if (edges[to] != NONE && edges[to] != n) add(&out->nodes, &out->node_count, to);
      edges[to] = n;
      move_label(&p, n, to, to);
    }
  }
  p.leave[which] = NONE; /* the source itself */
  free(edges);
  finish(&p);
}
