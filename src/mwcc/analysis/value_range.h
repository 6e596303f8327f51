/* Declarations that the files of the range analysis share.
 *
 *   value_range.c             the fixpoint iteration, and assumptions about parameters
 *   value_range_conditions.c  facts from branch conditions
 *   value_range_transfer.c    the transfer function: the range of an instruction from those of its operands */
#ifndef RANGE_H
#define RANGE_H

#include "simt.h"
#include "analysis.h"

__extension__ typedef __int128 wide; /* sums and products of 64-bit bounds */

/* ---- intervals (value_range.c) ---- */

/* The bits of an integer; 0: not an integer. */
unsigned integer_width(LLVMValueRef value);
bool has_range(LLVMValueRef value); /* an integer of at most 64 bits */
range full_range(unsigned width);
static const range never = {1, 0};
static inline bool is_never(range r) { return r.low > r.high; }
range join_ranges(range a, range b);
/* The intersection; `a` if it is empty, as on a path that is never taken. */
range meet_ranges(range a, range b);

/* ---- value_range_conditions.c ---- */

void read_facts(ranges *r);
/* The range of a value at a node if `condition` is `truth`, and on the edge between two nodes. */
range range_where(const ranges *r, LLVMValueRef value, int at, LLVMValueRef condition, bool truth);
range range_on_edge(const ranges *r, LLVMValueRef value, int from, int to);

/* ---- value_range_transfer.c ---- */

range transfer_range(const ranges *r, LLVMValueRef instruction, int at);

#endif
