/* The emission of one SIMD block function: the state that the files of widen/flow share. Values and masks are in
 * widen.h, the linearisation of control flow in linearization.h.
 *
 *   vectorizer.c           the function and its barrier regions
 *   block_loop.c           the loop over blocks
 *   gang_loop.c            the loops over a block's gangs, and gangs that workers share
 *   grid_stride_loop.c     the loops around these, for the iterations of a grid-stride loop
 *   control_flow.c         the control flow of a region for one gang: masks, edges, guards, loops
 *   phi_blend.c            phis as blends
 *   speculative_path.c     the paths of a gang: whole, or row by row
 *   counted_loops.c        loops whose next mask is their condition
 *   uniform_path.c         the uniform path of a region
 *   divergent_fallback.c   the outlined function for gangs that leave a fast path
 *   barrier_regions.c      which regions there are, and which can follow which
 *   barrier_state.c        what gangs save at barriers, and the votes of counting barriers
 *   block_packing.c        gangs of several small blocks
 *   variants.c             which variants a kernel has, and how its blocks are cut
 *   variant_dispatch.c     the choice between variants at a launch
 *
 * Invariants. A region is emitted as one or two paths, each with a plan and LLVM blocks of its own, over the same
 * slots: so control may switch between them at any node. A block of a path is emitted when something branches to it,
 * and dropped if nothing does. `w.stamp` changes whenever the builder moves to code that earlier code need not
 * dominate: forms of values in registers are valid for one stamp only. */
#ifndef EMISSION_H
#define EMISSION_H

#include "mwcc/widen/widen.h"

enum { STATE_EXIT = -1, STATE_OPEN = -2 };
enum { SAVED_FOR_FALLBACK = 5 }; /* frame, worker and blockIdx */

/* The code of one region. There may be two paths: the general one for any mask, and the uniform one
   (uniform_path.c). */
typedef struct path {
  plan plan;
  bool *divergent;       /* by node: the branches that the plan takes as divergent */
  bool *assumed_uniform; /* uniform path: by node, whether its branch is assumed uniform, and tested; or NULL */
  mask root;             /* the lanes that enter the region */
  vectors *masks;        /* by class: slots, for LED and LOOP */
  vectors *loop_next;    /* by loop: the lanes of the next iteration (slots) */
  LLVMValueRef *again;   /* by loop: whether there are any (slot); NULL: `loop_next` is tested */
  LLVMBasicBlockRef *bodies, *enters, *latches, *guards; /* by node, loop, loop, class */
} path;

typedef struct emission {
  widener w;
  int *regions, region_count; /* the nodes where regions begin */
  int *then;               /* by region: the only one that can follow it, STATE_EXIT, or STATE_OPEN: known at its end */
  bool can_die;            /* lanes may return while others continue to a barrier */
  LLVMValueRef alive;      /* by gang, saved: a mask for each vector */
  vectors alive_new;       /* of this gang (slots) */
  LLVMValueRef next_state; /* slot */
  bool may_disagree;       /* a data race may lead gangs to different barriers: then each has a state of its own */
  LLVMValueRef states;     /* by gang: the region that it continues with, STATE_EXIT for none; or NULL */
  LLVMValueRef state;      /* the gang's (slot), if there are `states`; else next_state */
  LLVMValueRef *votes;     /* by node: the running result of a counting barrier (slot), and the last finished */
  LLVMValueRef *voted;
  LLVMMetadataRef scope; /* for source positions */
  const speculation *speculation;
  LLVMValueRef first_block, end_block; /* the blocks to run, end_block excluded */
  unsigned shared_gangs; /* gangs of a block, if the function is called for a range of gangs (gang_loop.c); else 0 */
  LLVMValueRef first_gang, end_gang; /* then: the gangs of the block to run, end_gang excluded */
  bool tries_uniform_path;           /* whether to emit uniform paths */
  bool has_fallback;                 /* gangs may start over in the fallback */
  LLVMValueRef saved_for_fallback[SAVED_FOR_FALLBACK];
  LLVMValueRef fallback; /* the fallback, once something calls it */
  /* of the region being emitted */
  path paths[2], *path;  /* the general and the uniform one; the one being emitted */
  LLVMBasicBlockRef end; /* of the gang's region */
  bool falls_back; /* gangs that leave the uniform path call the fallback, and do not switch to the general path */
  bool too_long;   /* loops were left out of the uniform path because of their length */
  /* where blocks run as one row of threads (block_loop.c): the loop's block and the end of the blocks, and how many blocks
     after that one have been begun (slot); else NULLs */
  LLVMValueRef block, last_block, begun;
  /* where a row of blocks is run together (block_loop.c): the current one (slot), how many there are; the first and
     its blockIdx.x */
  LLVMValueRef row_of_blocks, row_count, row_first, row_column;
} emission;

static inline LLVMBasicBlockRef new_block(emission *e, const char *name) {
  return LLVMAppendBasicBlockInContext(e->w.p->context, e->w.function, name);
}
static inline void continue_at(emission *e, LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(e->w.b, block); }
static inline LLVMValueRef load_slot(emission *e, LLVMTypeRef type, LLVMValueRef slot) {
  return LLVMBuildLoad2(e->w.b, type, slot, "");
}
static inline LLVMTypeRef mask_type(emission *e) { return vector_type(&e->w, e->w.p->i1); }
static inline vectors load_mask(emission *e, vectors slots) {
  return load_slots(&e->w, mask_type(e), slots, e->w.vectors);
}
static inline void store_mask(emission *e, vectors lanes, vectors slots) {
  store_slots(&e->w, lanes, slots, e->w.vectors);
}

/* ---- vectorizer.c ---- */

/* for (slot = 0; slot < limit; slot += step): begin leaves the builder in the body, end after the loop. */
typedef struct counted {
  LLVMBasicBlockRef head, done;
  LLVMValueRef slot;
  unsigned step;
} counted;
void begin_function(
    emission *e); /* of e->w.function, which was declared: its start, and values that all its code uses */
counted begin_counted(emission *e, LLVMValueRef slot, LLVMValueRef limit, unsigned step);
void end_counted(emission *e, counted c);
/* A gang of the region starts here. Returns the instruction for empty_slots. */
LLVMValueRef begin_gang(emission *e);
LLVMValueRef count_threads(widener *w); /* of a block */

/* ---- speculative_path.c ---- */
void emit_gang(emission *e, int entry); /* all paths of a gang of the region, from there */

/* ---- grid_stride_loop.c ---- */

/* When the blocks of a strip are done: adds their privatised sums to memory. */
void end_private_adds(emission *e);

typedef struct iteration_loop {
  LLVMBasicBlockRef head, done; /* NULL: the kernel's loop is not interchanged */
  LLVMValueRef slot, iteration;
  LLVMValueRef first,
      end; /* where iterations are parallel (parallel_iterations.c): the blocks of the current one (slots) */
  LLVMBasicBlockRef groups, groups_done; /* where a few blocks at a time are run; else NULL */
  LLVMValueRef group;                    /* the first of these blocks (slot) */
} iteration_loop;
/* Around the blocks e->first_block to e->end_block, or a part of them: then these two are set to it. */
void begin_iterations(emission *e, iteration_loop *l);
void end_iterations(emission *e, const iteration_loop *l);

/* ---- block_loop.c ---- */

typedef struct block_loop {
  LLVMBasicBlockRef head, done;
  LLVMValueRef slot, count; /* the first block of the current row, and how many it has */
  LLVMValueRef ids[3];      /* its blockIdx (slots), where it is counted up; or NULL */
} block_loop;
void begin_blocks(emission *e, block_loop *l);
void end_blocks(emission *e, const block_loop *l);
/* block_guard.c: i1, false if no thread of the block has anything to do; NULL: not known, or a test would not pay. */
LLVMValueRef build_block_guard(widener *w, LLVMValueRef ctaid[3]);
/* Adjacent blocks that run as one row of threads, from a gang of the loop's current block on. */
typedef struct joined_blocks {
  LLVMValueRef at;      /* the number of the row's next thread, from the first block's on (slot) */
  LLVMValueRef threads; /* of the row (i32) */
  LLVMValueRef count, first, begun, column;
} joined_blocks;
LLVMValueRef can_be_joined(emission *e); /* i1: all their indices are at most BOUND_EXTENT */
void begin_joined(emission *e, joined_blocks *j);
void enter_joined(emission *e, const joined_blocks *j,
                  LLVMValueRef thread);               /* the block of that thread is the current one */
void end_joined(emission *e, const joined_blocks *j); /* all have run */
/* The loop over the adjacent blocks that run together, around the gangs of a row. */
counted begin_adjacent_blocks(emission *e);
void end_adjacent_blocks(emission *e, counted c);

/* ---- gang_loop.c ---- */

typedef struct gang_loop {
  counted z, y, adjacent, x;
  LLVMBasicBlockRef head, done; /* around the blocks, where workers share their gangs */
} gang_loop;
void choose_sharing(emission *e); /* once its regions are known */
/* The range of gangs to run that belongs to one block: which block, and how many gangs. */
LLVMValueRef begin_block_range(emission *e, LLVMValueRef at, LLVMValueRef end, LLVMValueRef *block);
void begin_gangs(emission *e, gang_loop *l);
void end_gangs(emission *e, const gang_loop *l);

/* ---- control_flow.c ---- */
mask class_mask(emission *e, int class);                   /* on the path being emitted */
void add_lanes(emission *e, vectors slots, vectors lanes); /* to a mask in slots */
/* Plan the region that begins at the node, with these branches divergent (the array is copied), and make the path's
   LLVM blocks. False, with a refusal, where the region is irreducible. */
bool begin_path(emission *e, path *to, const bool *divergent, int entry);
void free_path(path *of);
void drop_path(path *of); /* delete the blocks that are empty, since nothing branches to them */
/* Emit the code from node `entry` to e->end at the builder's position, for the lanes in the root mask: as far as it is
   known to be reached. When all paths have begun, emit_rest emits what else is reached. */
void emit_path(emission *e, int entry);
void emit_rest(emission *e);
void divide_lanes(emission *e, int n, mask m); /* the end of node n, whose branch is divergent */
/* All lanes continue to a successor of n. Returns the block where control goes. */
LLVMBasicBlockRef take_uniform(emission *e, int n, int target);

/* ---- counted_loops.c ---- */
/* At the end of node n: if the condition of its branch is the mask of the loop's next iteration, whether that has
   lanes; else NULL. */
LLVMValueRef counted_loop_continues(emission *e, int n);

/* ---- phi_blend.c ---- */
/* Store the phi values of an edge. `blend`: the lanes for which they are stored; `plain`: the other lanes' values are
   not needed; `here`: all lanes at the source. */
void move_phis(emission *e, int source, int target, bool plain, mask blend, mask here);
void read_incoming(emission *e, int source, int target);
void poison_joins(emission *e, int l);      /* at the start of each iteration of the loop */
void store_exit_values(emission *e, int l); /* at its end */

/* ---- uniform_path.c ---- */
/* Begin the uniform path, if the region has branches that all lanes of most gangs take alike. */
bool begin_uniform_path(emission *e, int entry);
/* Whether all lanes have reconverged whenever control is at an item of the region's level. */
bool reconverged_at(const emission *e, int item);
void end_uniform_branch(emission *e, int n); /* the end of node n, whose branch is assumed uniform */

/* `a && b`, `a || b`, as clang writes them. left == NULL: it is neither. */
typedef struct logic {
  LLVMValueRef left, right;
  bool both; /* && */
} logic;
logic logic_of(LLVMValueRef condition);

/* ---- divergent_fallback.c ---- */
/* Whether gangs that disagree at the branches assumed uniform have had no effect by then. */
bool can_fall_back(const emission *e, const bool *assumed_uniform);
/* At the start of a block: save what call_fallback needs. At the end of the function: delete that if nothing calls the
   fallback. */
void save_for_fallback(emission *e);
void drop_saved_for_fallback(emission *e);
void call_fallback(emission *e); /* ends the LLVM block, for the current gang */
/* The fallback, for gangs of that cut. e->w's shapes are those of one vector. */
void emit_fallback(emission *e, const cut *gang);

/* ---- barrier_regions.c ---- */
void find_regions(emission *e); /* or a refusal */
/* Where gangs may disagree about barriers: the gang is skipped unless it continues with this region. Returns the block
   where it is skipped. */
LLVMBasicBlockRef begin_if_next(emission *e, int region);
/* Stores the gang's new state; the next region is the first state of any gang. */
void end_if_next(emission *e, LLVMBasicBlockRef passed);

/* ---- barrier_state.c ---- */
int region_at(const emission *e, int n); /* the region that begins at the node, or STATE_EXIT */
void reach_barrier(emission *e, int n, mask m);
void load_saved(emission *e, int region); /* at a region's start, for one gang */
void begin_votes(emission *e);            /* before the first gang */
void publish_uniform(emission *e);        /* after the last gang */

#endif
