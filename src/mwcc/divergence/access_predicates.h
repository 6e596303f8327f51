/* Declarations that access_predicates.c shares with widening and with the cost of threads. */
#ifndef MWCC_ACCESS_PREDICATES_H
#define MWCC_ACCESS_PREDICATES_H

#include "mwcc/analysis/simt.h"

typedef struct reduction {
  LLVMAtomicRMWBinOp op;
  const char *intrinsic;
  enum { ZERO, ONES, LEAST, MOST } neutral;
} reduction;

/* The reduction that combines the lanes' values, or NULL. */
const reduction *find_reduction(LLVMValueRef atomic);
bool is_sum_atomic(LLVMValueRef atomic);

/* Whether the address, used in that node, will be a constant place in shared memory for each lane, if the block is one
   gang: then most loads are shuffles of vectors that were stored before (opt/lane_forwarding.c). */
bool has_constant_places(const graph *g, const order *o, LLVMValueRef address, int node);

/* Whether the lanes of a load or store follow each other, unless a 32-bit index wraps, which is tested at run time
   (widen/memory/tested_access.c). */
bool follows_unless_wrapped(const shapes *s, LLVMValueRef access);

#endif
