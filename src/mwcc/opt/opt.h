/* Passes over lanes' code: memory and loops. */
#ifndef MWCC_OPT_OPT_H
#define MWCC_OPT_OPT_H

#include "mwcc/mwcc.h"

void convert_all_stores(program *p);    /* store_if_conversion.c: of kernels that do little but gather */
void prefetch_sparse_loops(program *p); /* sparse_prefetch.c: of the same */
void forward_stores(program *p);        /* to vector loads of parts of them */
/* dead_shared_stores.c: stores to shared memory that nothing reads before the block ends */
void forget_shared(program *p);
void load_overlaps_once(program *p); /* predictive_commoning.c: of the rounds of a loop */
void block_registers(program *p);    /* register_blocking.c: loops with more accumulators than registers */
void sink_loads(program *p);         /* load_sinking.c: vector loads, down to their first uses */

#endif
