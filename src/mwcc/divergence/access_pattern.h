/* Permuted accesses: accesses of one node whose lanes are at constant distances from lane 0's, near each other
 * (widen/memory/permuted.c). */
#ifndef MWCC_ACCESS_PATTERN_H
#define MWCC_ACCESS_PATTERN_H

#include "address_form.h"

enum { PATTERN_VECTORS = 4, MOST_MEMBERS = 4 };

typedef struct pattern {
  form form;
  int64_t distances[MOST_LANES]; /* by lane, from lane 0 */
  /* of all members: the first byte and the one after the last, relative to the sum of the form's terms */
  int64_t low, high;
  int64_t bytes;                      /* of an element */
  LLVMValueRef members[MOST_MEMBERS]; /* of stores */
  int64_t offsets[MOST_MEMBERS];
  int member_count;
  LLVMValueRef first, last; /* of the members, in the code */
} pattern;

/* Whether whole vectors and shuffles can do the access; `member` and `lane`: those that store each element. */
bool loads_in_pattern(const shapes *s, LLVMValueRef load, pattern *p);
/* Whether `i` loads from other memory than that of the address: one is shared memory, the other is reached through a
   kernel's parameter. */
bool reads_elsewhere(LLVMValueRef i, LLVMValueRef address);
bool stores_in_pattern(const shapes *s, LLVMValueRef store, pattern *p, int *member, int *lane);

#endif
