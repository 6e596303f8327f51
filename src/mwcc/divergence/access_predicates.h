/* Declarations that access_predicates.c and the emission of atomics share. */
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

#endif
