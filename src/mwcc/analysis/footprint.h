/* Footprints: the array elements that a kernel accesses, as affine functions of a number of the thread. They are found
 * at compile time, and generated code compares them at launch (a run-time alias check). */
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

/* Add the footprint of a load or a store. False: it is volatile, not affine, or a store to one address for all numbers.
   Constants and local memory, which no other thread can change, are not listed. */
bool add_footprint(const footprint_search *s, LLVMValueRef access);
/* Whether each stored element is accessed for one number only, through any one parameter. */
bool are_elements(const footprints *all);
/* Code for a launch with the parameter block `params`: whether the numbers 0 to `last` are few enough, and memory that
   is stored to through one parameter is not accessed through another, or only for the same numbers. */
LLVMValueRef build_disjoint_test(program *p, LLVMBuilderRef b, const kernel *k, const footprints *all,
                                 LLVMValueRef params, LLVMValueRef last);

/* match.c: whether it is the thread's index in its row of the grid, blockIdx.x * blockDim.x + threadIdx.x. */
bool is_thread_number(const program *p, LLVMValueRef value);

#endif
