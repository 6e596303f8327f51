/* Kernels brought into normal form, and what is decided about them as a whole. */
#ifndef MWCC_PREPARE_PREPARE_H
#define MWCC_PREPARE_PREPARE_H

#include "mwcc/mwcc.h"

void retarget(program *p);
/* A class's table of virtual functions names these where there is none: they trap. */
void define_pure_virtual(program *p);
void mark_pure_helpers(program *p); /* before anything is inlined; helper_cse.c */
/* cold_helpers.c: helpers that lanes call; before anything is inlined, and when lanes are vectors. */
void mark_cold_helpers(program *p);
void inline_cold(program *p);
bool call_once(program *p); /* when all but those are; true: all is in registers since */
void choose_tiers(program *p);
void keep_launched(program *p);    /* only that kernel is one any more */
void fix_block(program *p);        /* blockDim is a constant; of a grid of one block all but threadIdx */
void merge_blocks(program *p);     /* block_merge.c: two of a row as one, where that pays */
void drop_scalar_code(program *p); /* what the kernel was before it became lanes: no launch runs it */
/* False where nothing can be wrong, or nothing is known to be checked. */
bool find_accessed(const program *p, LLVMValueRef address, accessed *out);
void check_memory(program *p);

#endif
