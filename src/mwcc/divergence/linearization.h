/* Partial control-flow linearisation (after Moll and Hack, "Partial Control-Flow Linearization", 2018): how a gang
 * runs the control flow of one barrier region. The plan says which nodes share a mask, which edges stay real
 * branches, and in which order the rest runs.
 *
 * Levels. The region's nodes fall into levels: the region itself, and the body of each loop. A level, with the loops
 * inside it seen as single items and its back edges cut, is acyclic. Its items form one sequence: each item after
 * its predecessors, and after each item those that it dominates, without others in between. Control only ever moves
 * forward in the sequence.
 *
 * Pending items. Items to which lanes have branched and that have not run are pending. From an item, control goes to
 * the first item that is pending then:
 *
 *   divergent branch   all targets become pending
 *   uniform branch     stays a real branch: only its target becomes pending, in addition to what already was, and
 *                      it is next unless a pending item precedes it
 *
 * What may be pending at an item is known statically, for all paths to it together. So the next item may be one that
 * no lane has reached this time; its mask shows that, and items with empty masks are skipped. This is correct for
 * every reducible region, and the fewer branches diverge the more of them stay real.
 *
 * Classes. The mask of an item is its class. Items of one class are run by the same lanes whenever control is there:
 *
 *   an item that post-dominates its immediate dominator             is of the dominator's class: the lanes
 *                                                                   reconverge
 *   an item entered only by real branches from items of one class   is of that class
 *   any other item                                                  leads a class of its own, whose mask is
 *                                                                   gathered from the edges that enter it
 *
 * The first rule finds exactly its dominator's lanes because of the sequence: dominators stay dominators in the
 * order in which control takes the items. (An item that becomes pending after d, and that d dominates, stands in the
 * sequence among those that d dominates, which control reaches only through d.)
 *
 * A loop that lanes may leave in different iterations has a mask of its own: the lanes still in it. */
#ifndef LINEARIZATION_H
#define LINEARIZATION_H

#include "mwcc/analysis/simt.h"

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
  bool sure;  /* LED: whenever control reaches the leader, it has lanes */
} mask_class;

typedef struct plan {
  const graph *graph;
  const bool *divergent; /* by node */
  flow flow;             /* the region: barriers end it */
  order order;           /* of the region */
  bool *divergent_loop;  /* by loop */
  /* by loop + 1: order of the level's items; nodes count and count + 1 stand for leaving the loop and for its back
     edge */
  order *levels;
  struct level_edges *edges; /* by loop + 1: the level's edges between items, and what is pending at each */
  mask_class *classes;
  int class_count;
  int *class_of;   /* by node: its class in its own level */
  int *item_class; /* by loop: the class of the loop as an item of the level around it */
} plan;

/* Plan the region that begins at node `entry`. False, with *why, where it is irreducible. */
bool plan_region(const graph *g, const bool *divergent, int entry, plan *out, const char **why);
void plan_free(plan *p);

/* The item of level `loop` that contains the node: itself, or the header of the inner loop that it is in. -1: it is
   outside. */
int plan_item(const plan *p, int level, int n);
bool plan_is_loop_item(const plan *p, int level, int item); /* an inner loop rather than a node */
int plan_loop_at(const plan *p, int level, int item);       /* that inner loop's index */
bool plan_item_divergent(const plan *p, int level, int item);
int plan_class_of_item(const plan *p, int level, int item);
/* The item that control goes to, or -1: this iteration of the level is done. plan_next: all lanes of the item
   continued to `target` (-1: none of them remains in the level, or the item was skipped). plan_next_divergent: they may
   have continued to different successors. */
int plan_next(const plan *p, int level, int item, int target);
int plan_next_divergent(const plan *p, int level, int item);
/* Whether no lane can have reached `target`, in this iteration of the level, before lanes of the node `source` do: all
   other edges start later in the sequence, or inside the loop that is entered. False if the node is in an inner loop,
   from which lanes leave in any iteration. */
bool plan_is_first(const plan *p, int level, int source, int target);
/* Whether nothing is pending when control is at the item. */
bool plan_alone(const plan *p, int level, int item);
/* The class that an item leads, or -1. */
int plan_class_led(const plan *p, int level, int item);

#endif
