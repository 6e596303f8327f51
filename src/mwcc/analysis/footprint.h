/* What a kernel reaches in memory, as far as that is elements of arrays that go by a number of the thread's: found when it is
 * compiled, compared when it is launched. */
#ifndef FOOTPRINT_H
#define FOOTPRINT_H

#include "mwcc/mwcc.h"
#include "analysis.h"

typedef struct footprint_search {
  const program *p;
  const kernel *k;
  bool (*is_number)(const void *context, LLVMValueRef value);
  const void *context;
  footprints *into;
} footprint_search;

enum { MOST_FOOTPRINTS = 16 };

/* Add what a load or a store reaches. False: it is volatile, or nothing of that kind; or a store to one place for all numbers. What
   nobody can change meanwhile, constants and local memory, needs no place in the list. */
bool add_footprint(const footprint_search *s, LLVMValueRef access);
/* Whether places that are stored to are reached with one number alone, as far as one parameter leads there. */
bool are_elements(const footprints *all);
/* At a launch, of whose parameters that is the block: whether there are not too many numbers, 0 to `last`, and memory that is
   stored to through one parameter is not reached through another one; or is at the same numbers. */
LLVMValueRef keep_apart(program *p, LLVMBuilderRef b, const kernel *k, const footprints *all, LLVMValueRef params,
                        LLVMValueRef last);

/* match.c: whether it is the thread's number in its row of the grid, blockIdx.x * blockDim.x + threadIdx.x. */
bool is_thread_number(const program *p, LLVMValueRef value);

#endif
