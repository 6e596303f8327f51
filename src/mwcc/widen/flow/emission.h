/* One SIMD block function being emitted: what vectorizer.c, control_flow.c and barrier_state.c share. See widen.h and linearization.h.
 *
 *   vectorizer.c    the function and its barrier regions
 *   block_loop.c   the loop over blocks
 *   gang_loop.c    those over a block's gangs, and blocks that workers share
 *   grid_stride_loop.c  the loops around it, where blocks are run round by round
 *   control_flow.c     the control flow of a region for one gang: masks, edges, guards, loops
 *   counted_loops.c loops whose masks are their conditions
 *   uniform_path.c the same for gangs whose lanes all go the same way
 *   divergent_fallback.c   a function for the other gangs
 *   barrier_regions.c  which regions there are, and who goes on where
 *   barrier_state.c    what gangs keep while others run, and what they vote for at barriers */
#ifndef EMISSION_H
#define EMISSION_H

#include "mwcc/widen/widen.h"

enum { STATE_EXIT = -1, STATE_OPEN = -2 };
enum { FOR_STRAYS = 5 }; /* frame, worker and blockIdx */

/* Code for one region. There may be two: one for any lanes, and one for gangs whose lanes all go the same way (uniform_path.c).
 */
typedef struct way {
  plan plan;
  bool *divergent; /* by node: of the plan */
  bool
      *together; /* by node: the branch is taken by all lanes together, or the gang changes to the other way; or NULL */
  mask root;     /* the lanes that enter the region */
  parts *masks;  /* by class: slots, for LED and LOOP */
  parts *loop_next;                                      /* by loop: lanes that go round (slots) */
  LLVMValueRef *again;                                   /* by loop: whether there are any (slot); or NULL: ask them */
  LLVMBasicBlockRef *bodies, *enters, *latches, *guards; /* by source, loop, loop, class */
} way;

typedef struct emission {
  widener w;
  int *regions, region_count; /* the nodes where regions begin */
  int *then;               /* by region: the only one that can follow it, STATE_EXIT, or STATE_OPEN: known at its end */
  bool can_die;            /* lanes may return while others go on to a barrier */
  LLVMValueRef alive;      /* by gang, saved: a mask a part */
  parts alive_new;         /* of this gang (slots) */
  LLVMValueRef next_state; /* slot */
  bool may_disagree;       /* a data race may lead gangs to different barriers: then each has a state of its own */
  LLVMValueRef states;     /* by gang: the region that it goes on with, STATE_EXIT for none; or NULL */
  LLVMValueRef state;      /* the gang's (slot), where there are such; else next_state */
  LLVMValueRef *votes;     /* by node: the running result of a counting barrier (slot), and the last finished */
  LLVMValueRef *voted;
  LLVMMetadataRef scope; /* for source positions */
  const expectation *expected;
  LLVMValueRef first_block, end_block; /* to be run, end_block not */
  unsigned shared_gangs;             /* how many each block has, where those are what is counted; else 0: gang_loop.c */
  LLVMValueRef first_gang, end_gang; /* there: of the block, to be run, end_gang not */
  bool asks;                         /* whether lanes agree: uniform_path.c */
  bool single; /* gangs that do not go the way of most may begin again, part by part: divergent_fallback.c */
  LLVMValueRef for_strays[FOR_STRAYS];
  LLVMValueRef strays; /* the function for that, once it is called */
  /* of the region being emitted */
  way ways[2], *way;     /* for any lanes, and for lanes that stay together; the one being emitted */
  LLVMBasicBlockRef end; /* of the gang's region */
  bool begins_again;     /* of lanes that part in the second way: they do not come to the first one */
  bool too_long; /* there are branches that lanes mostly take together, but the code is not there once more for that */
  /* where a row of blocks is run together (block_loop.c): which of them is (slot), how many there are; the first and its blockIdx.x
   */
  LLVMValueRef row_of_blocks, row_count, row_first, row_column;
} emission;

static inline LLVMBasicBlockRef new_block(emission *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->w.p->context, e->w.function, name);
}
static inline void go_on_at(emission *e, LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(e->w.b, block); }
static inline LLVMValueRef load_slot(emission *e, LLVMTypeRef type, LLVMValueRef slot) {
  return LLVMBuildLoad2(e->w.b, type, slot, "");
}
static inline LLVMTypeRef mask_type(emission *e) { return vector_type(&e->w, e->w.p->i1); }
static inline parts load_mask(emission *e, parts slots) { return load_slots(&e->w, mask_type(e), slots, e->w.parts); }
static inline void store_mask(emission *e, parts lanes, parts slots) { store_slots(&e->w, lanes, slots, e->w.parts); }

/* ---- vectorizer.c ---- */

/* for (slot = 0; slot < limit; slot += step): the builder is left inside, and behind it. */
typedef struct counted {
  LLVMBasicBlockRef head, done;
  LLVMValueRef slot;
  unsigned step;
} counted;
void begin_function(emission *e); /* of e->w.function, which was declared: its start, and what all its code uses */
counted begin_counted(emission *e, LLVMValueRef slot, LLVMValueRef limit, unsigned step);
void end_counted(emission *e, counted c);
/* A gang of the region starts here. Returns what empty_slots wants. */
LLVMValueRef begin_gang(emission *e);
LLVMValueRef count_threads(widener *w); /* of a block */

/* ---- privatized_atomics.c ---- */

/* Where blocks are done that took turns. */
void end_kept_adds(emission *e);

/* ---- grid_stride_loop.c ---- */

typedef struct round_loop {
  LLVMBasicBlockRef head, done; /* NULL: the kernel is not run round by round */
  LLVMValueRef slot, round;
  LLVMValueRef first, end; /* where rounds are free (parallel_iterations.c): slots, of this one's blocks */
  LLVMBasicBlockRef groups, groups_done; /* where a few blocks at a time are; else NULL */
  LLVMValueRef group;                    /* the first of these (slot) */
} round_loop;
/* Around the blocks e->first_block to e->end_block, or (then these change) some of them. */
void begin_rounds(emission *e, round_loop *l);
void end_rounds(emission *e, const round_loop *l);

/* ---- block_loop.c ---- */

typedef struct block_loop {
  LLVMBasicBlockRef head, done;
  LLVMValueRef slot, count; /* the first of the blocks that are run, and how many of them */
} block_loop;
void begin_blocks(emission *e, block_loop *l);
void end_blocks(emission *e, const block_loop *l);
/* Around the gangs of a row: the blocks beside each other, where they are run together. */
counted begin_beside(emission *e);
void end_beside(emission *e, counted c);

/* ---- gang_loop.c ---- */

typedef struct gang_loop {
  counted z, y, beside, x;
  LLVMBasicBlockRef head, done; /* of blocks that are shared */
} gang_loop;
void choose_sharing(emission *e); /* once its regions are known */
/* Of what is to be run the part that is of one block: which block, and how many gangs. */
LLVMValueRef begin_part(emission *e, LLVMValueRef at, LLVMValueRef end, LLVMValueRef *block);
void begin_gangs(emission *e, gang_loop *l);
void end_gangs(emission *e, const gang_loop *l);

/* ---- control_flow.c ---- */
mask class_mask(emission *e, int class);               /* of the way being emitted */
void add_lanes(emission *e, parts slots, parts lanes); /* to a mask in slots */
/* Plan the region that begins at the node, with the branches that part lanes (a copy is made), and make its LLVM blocks.
   False, with a refusal: it cannot be. */
bool begin_way(emission *e, way *to, const bool *divergent, int entry);
void forget_way(way *of);
void drop_way(way *of); /* which nobody comes to: its blocks are empty */
/* The code from the node `entry` to e->end, where the builder stands, for the lanes in the root mask: as far as is known to
   be reached; and when all ways are begun, what is reached besides. */
void emit_way(emission *e, int entry);
void emit_rest(emission *e);
void part_lanes(emission *e, int n, mask m); /* the end of node n, by whose branch lanes go different ways */
/* All lanes go on to a successor of n. Where control is to go. */
LLVMBasicBlockRef take_together(emission *e, int n, int target);

/* ---- counted_loops.c ---- */
/* At the end of node n: where the condition of its branch is the mask for the next round of its loop, whether there is one;
   else NULL. */
LLVMValueRef goes_on_counting(emission *e, int n);

/* ---- phi_blend.c ---- */
/* What the node at the end of an edge takes over. `blend`: the lanes for which the values are; `plain`: of the others nobody
   asks; `here`: all lanes that are at the source. */
void move_phis(emission *e, int source, int target, bool plain, mask blend, mask here);
void read_incoming(emission *e, int source, int target);
void empty_joins(emission *e, int l); /* at the start of each round of the loop */
void take_out(emission *e, int l);    /* at its end */

/* ---- uniform_path.c ---- */
/* Where the region has branches that all lanes of most gangs take alike, the way for gangs whose lanes do. */
bool begin_together(emission *e, int entry);
/* Whether all lanes are at an item of the region's level again whenever control is there. */
bool are_together_at(const emission *e, int item);
void end_together(emission *e, int n); /* the end of node n, by such a branch */

/* `a && b`, `a || b`, as clang writes them. NULL: it is neither. */
typedef struct logic {
  LLVMValueRef left, right;
  bool both; /* && */
} logic;
logic logic_of(LLVMValueRef condition);

/* ---- divergent_fallback.c ---- */
/* Whether gangs that part at the asked branches have changed nothing by then. */
bool can_begin_again(const emission *e, const bool *asked);
/* Where a block begins: what begin_again needs; and where nobody did, away with it. */
void keep_for_strays(emission *e);
void forget_for_strays(emission *e);
void begin_again(emission *e); /* at the end of a block, for the gang that is run */
/* The function for gangs of that cut; e->w's shapes are those of one part. */
void emit_strays(emission *e, const cut *gang);

/* ---- barrier_regions.c ---- */
void find_regions(emission *e); /* or a refusal */
/* Where gangs may disagree about barriers: the gang is passed over unless the region is the one that it goes on with. Returns
   the block where it is passed over. */
LLVMBasicBlockRef begin_if_next(emission *e, int region);
/* Its new state is noted, and the first state of any gang is the next. */
void end_if_next(emission *e, LLVMBasicBlockRef passed);

/* ---- barrier_state.c ---- */
int region_at(const emission *e, int n); /* the region that begins at the node, or STATE_EXIT */
void reach_barrier(emission *e, int n, mask m);
void load_saved(emission *e, int region); /* at a region's start, for one gang */
void begin_votes(emission *e);            /* before the first gang */
void publish_uniform(emission *e);        /* behind the last gang */

#endif
