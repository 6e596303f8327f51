/* How the control flow of one barrier region is run by a gang: which nodes share a mask, which edges stay real branches,
 * and in which order the rest is run.
 *
 * The region's nodes fall into levels: the region itself, and the body of each loop. A level, with the loops inside it
 * seen as single items and its back edges cut, is acyclic. Its items are put into one sequence: behind their predecessors,
 * and behind each item those that it dominates, without others in between. Control only ever moves forward in it.
 *
 * Items that lanes have been sent to and that have not been run are pending. Control goes from an item to the first of
 * those that are pending then:
 *
 *   Where lanes go apart, all targets become pending.
 *   Where they stay together, the branch is real: only the target becomes pending, beside what already was, and it is
 *   next unless something before it is.
 *
 * What may be pending is known beforehand, for all ways to an item together; so an item may be next that no lane has
 * come to this time. A mask that lanes gather in tells, and empty ones are skipped. This is right for every reducible
 * region, and the fewer lanes go apart the more of its branches stay as they were.
 *
 * The mask of an item is its class. Items of one class are run by the same lanes whenever control is there:
 *
 *   An item that post-dominates its immediate dominator is of the dominator's class: the lanes meet again.
 *   An item that control only comes to by real branches from items of one class is of that class.
 *   Any other item leads a class of its own, whose mask is gathered from the edges that enter it.
 *
 * That the first is sure to find its dominator's lanes, and no others, is due to the sequence: in the order of items that
 * control takes, dominators stay dominators. (An item that gets pending behind d, and that d dominates, stands in the
 * sequence among those that d dominates, where control does not get but through d.)
 *
 * A loop whose lanes may leave at different times has a mask of its own, the lanes still in it.
 *
 * The idea of the sequence is that of S. Moll and S. Hack, "Partial Control-Flow Linearization" (2018). */
#ifndef PLAN_H
#define PLAN_H

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
  bool sure;  /* LED: where control gets to the leader, there are lanes */
} mask_class;

typedef struct plan {
  const graph *graph;
  const bool *divergent; /* by node */
  flow flow;             /* the region: barriers end it */
  order order;           /* of the region */
  bool *divergent_loop;  /* by loop */
  order *levels; /* by loop + 1: order of the level's items; nodes count and count+1 stand for leaving the loop and
                              for its back edge */
  struct level_edges *edges; /* by loop + 1: the level's edges between items, and what is pending at each */
  mask_class *classes;
  int class_count;
  int *class_of;   /* by node: its class in its own level */
  int *item_class; /* by loop: the class of the loop as an item of the level around it */
} plan;

/* Plan the region that begins at node `entry`. False, with *why, where it is not reducible. */
bool plan_region(const graph *g, const bool *divergent, int entry, plan *out, const char **why);
void plan_free(plan *p);

/* The item of level `loop` that holds the node: itself, or the header of the inner loop it is in. -1 where outside. */
int plan_item(const plan *p, int level, int n);
bool plan_is_loop_item(const plan *p, int level, int item); /* an inner loop rather than a node */
int plan_loop_at(const plan *p, int level, int item);       /* that inner loop's index */
bool plan_item_divergent(const plan *p, int level, int item);
int plan_class_of_item(const plan *p, int level, int item);
/* The item that control goes to, or -1: this round of the level is done. Where all lanes of the item went on to `target`
   (-1: none of them is left in the level); and where each may have gone to another of its successors. Also from an item
   that was skipped: plan_next without a target. */
int plan_next(const plan *p, int level, int item, int target);
int plan_next_apart(const plan *p, int level, int item);
/* Whether no lane can have come to `target`, in this round of the level, when lanes of the node `source` go there: all other
   edges come from behind it in the sequence, or from inside of the loop that is entered. Not where the node is in an inner
   loop, which sends lanes round after round. */
bool plan_comes_first(const plan *p, int level, int source, int target);
/* Whether nothing is pending when control is at the item. */
bool plan_alone(const plan *p, int level, int item);
/* The class that an item leads, or -1. */
int plan_class_led(const plan *p, int level, int item);

#endif
