/* What the files of the range analysis share.
 *
 *   value_range.c             the sweeps, and what is assumed of parameters
 *   value_range_conditions.c  what branches say about values
 *   value_range_transfer.c    the range of one instruction from those of its operands */
#ifndef RANGE_H
#define RANGE_H

#include "simt.h"
#include "analysis.h"

__extension__ typedef __int128 wide; /* sums and products of 64-bit bounds */

/* ---- numbers of a width (value_range.c) ---- */

/* Bits of an integer, 0 for all else. */
unsigned integer_width(LLVMValueRef value);
bool has_range(LLVMValueRef value); /* an integer of at most 64 bits */
range full_range(unsigned width);
static const range never = {1, 0};
static inline bool is_never(range r) { return r.low > r.high; }
range join_ranges(range a, range b);
/* An empty intersection is a path that is never taken: then it is `a`. */
range meet_ranges(range a, range b);

/* ---- value_range_conditions.c ---- */

void read_facts(ranges *r);
/* The range of a value at a node where moreover `condition` is `truth`, and on the edge between two nodes. */
range range_where(const ranges *r, LLVMValueRef value, int at, LLVMValueRef condition, bool truth);
range range_on_edge(const ranges *r, LLVMValueRef value, int from, int to);

/* ---- value_range_transfer.c ---- */

range transfer_range(const ranges *r, LLVMValueRef instruction, int at);

#endif
