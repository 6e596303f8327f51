/* Optimisations of widened code, which know what LLVM does not: gangs, shared memory's lifetime, and what later
 * blocks load.
 *
 *   store_if_conversion.c, sparse_prefetch.c           loops that do little but gather, in the loop tier
 *   store_to_load_forwarding.c, dead_shared_stores.c   shared memory of blocks that are one gang: loads become
 *                                                      shuffles, and unread stores are deleted
 *   lane_forwarding.c, shared_accesses.c               the same by lanes, whose places are constants
 *   predictive_commoning.c, commoned_loop_unroll.c     loops whose iterations load the same vectors: numbered,
 *                                                      unrolled and scheduled
 *   register_blocking.c, register_blocking_reroll.c    loops with more accumulators than registers
 *   store_sinking.c                                    where the zeros of masks are stored
 *   row_tiles.c, row_tiles_checks.c,
 *   row_tiles_strip.c                                  loops whose lanes walk rows: tiles instead of gathers
 *
 * The order is in passes.def. Forwarding makes stores dead, so it precedes their removal. Register blocking runs after
 * LLVM's optimiser, which does not handle that many loops well. */
#ifndef MWCC_OPT_OPT_H
#define MWCC_OPT_OPT_H

#include "mwcc/mwcc.h"

void convert_all_stores(program *p);    /* store_if_conversion.c: of kernels that do little but gather */
void prefetch_sparse_loops(program *p); /* sparse_prefetch.c: of the same */
void forward_stores(program *p);        /* to loads that straddle stored vectors */
void forward_lanes(program *p);         /* lane_forwarding.c: to gathers at constant places */
/* dead_shared_stores.c: stores to shared memory that nothing reads before the block ends */
void remove_dead_shared_stores(program *p);
void common_overlapping_loads(program *p); /* predictive_commoning.c: vectors that several iterations load */
void block_registers(program *p);          /* register_blocking.c: loops with more accumulators than registers */
void sink_stores(program *p);              /* store_sinking.c: of functions with many */
void tile_rows(program *p);                /* row_tiles.c: loops whose lanes walk rows of their own */

#endif
