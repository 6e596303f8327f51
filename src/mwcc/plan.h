/* How the control flow of one barrier region is run by a gang: which nodes share a mask, which edges stay real branches,
 * and in which order the rest is run.
 *
 * The region's nodes fall into levels: the region itself, and the body of each loop. A level, with the loops inside it
 * seen as single items and its back edges cut, is acyclic. In a level every item has a class: items of one class are run
 * by the same lanes whenever control is there.
 *
 *   An item is of the class of its predecessors, where they all are of one class and branch uniformly.
 *   An item that post-dominates its immediate dominator is of the dominator's class: the lanes meet again.
 *   Any other item leads a class of its own, whose mask is gathered from the edges that enter it. Its owner is its
 *   immediate dominator.
 *
 * Within a class branches are real. Where lanes go apart, the classes that they may go to are run one after the other in
 * reverse postorder (the chain), each skipped where no lane wants it; then control goes on at the branch's
 * post-dominator, or, where that is not of its class, as the class of the branch itself goes on.
 *
 * A loop whose lanes may leave at different times has a mask of its own, the lanes still in it. */
#ifndef PLAN_H
#define PLAN_H

#include "simt.h"

typedef enum class_kind {
  CLASS_REGION, /* all lanes that entered the region */
  CLASS_LOOP,   /* the lanes still in a divergent loop */
  CLASS_SAME,   /* the body of a uniform loop: the class of the loop, seen as an item of its level */
  CLASS_LED     /* gathered at a leader */
} class_kind;

typedef struct mask_class {
  class_kind kind;
  int level;  /* the loop it is in, or -1 */
  int leader; /* LED: the item that is entered; LOOP, SAME: the loop's header */
  int owner;  /* LED: the item before the lanes went apart, the leader's immediate dominator */
} mask_class;

typedef struct plan {
  const graph *graph;
  const bool *divergent; /* by node */
  flow flow;             /* the region: barriers end it */
  order order;           /* of the region */
  bool *divergent_loop;  /* by loop */
  order *levels; /* by loop + 1: order of the level's items; nodes count and count+1 stand for leaving the loop and
                              for its back edge */
  struct level_edges *edges; /* by loop + 1: the level's edges between items */
  mask_class *classes;
  int class_count;
  int *class_of;   /* by node: its class in its own level */
  int *item_class; /* by loop: the class of the loop as an item of the level around it */
} plan;

/* Plan the region that begins at node `entry`. False, with *why, where it has control flow that chains cannot run. */
bool plan_region(const graph *g, const bool *divergent, int entry, plan *out, const char **why);
void plan_free(plan *p);

/* The item of level `loop` that holds the node: itself, or the header of the inner loop it is in. -1 where outside. */
int plan_item(const plan *p, int level, int n);
bool plan_is_loop_item(const plan *p, int level, int item); /* an inner loop rather than a node */
int plan_loop_at(const plan *p, int level, int item);       /* that inner loop's index */
bool plan_item_divergent(const plan *p, int level, int item);
/* The item behind which all that start at `item` meet again; graph->count or more where that is outside the level; -1:
   nowhere but at the region's end. */
int plan_postdominator(const plan *p, int level, int item);
int plan_class_of_item(const plan *p, int level, int item);
/* The chain that an item starts: the classes to be run behind it, in order; returns how many. Those it owns, and those
   owned by an item of its class that it can also send lanes to. */
int plan_chain(const plan *p, int level, int item, int *classes);

#endif
