/* What is known about the addresses of accesses, and passes that make them simpler.
 *
 *   memory_place.h      alias analysis: whether two accesses may overlap
 *   accessed_object.c   the object that an address is derived from (LLVM's getUnderlyingObject)
 *   member_index.c      arrays within it that constant indices leave
 *   index_widening.c    extensions of 32-bit sums become 64-bit sums
 *   load_merging.c      loads of neighbouring bytes become one
 *   tile_layout.c       shared arrays whose rows lanes own are stored by columns
 *
 * Before and after: normal form. */
#ifndef MWCC_PREPARE_ADDRESSES_H
#define MWCC_PREPARE_ADDRESSES_H

#include "mwcc/mwcc.h"

/* False if the access cannot be out of bounds, or nothing is known to check it against. */
bool find_accessed(const program *p, LLVMValueRef address, accessed *out);
/* Whether the root of an address was, or may have been, converted from an integer. */
bool is_made_from_integer(LLVMValueRef root);
/* The innermost array of a struct or of an array of arrays that the address indexes, by a variable: the row in m[i][j],
   the member in s.cells[i]. Arrays of one element stand for as many as follow the struct. */
bool find_inner_array(program *p, LLVMBuilderRef b, LLVMValueRef address, accessed *inner);
/* The array of a struct or of an array of arrays that the address may leave, by constant indices or counters of loops to a
   constant. Before LLVM simplifies them. */
bool find_left_array(program *p, LLVMBuilderRef b, LLVMValueRef address, accessed *inner);
/* Whether the root of an address is a __shared__ variable. */
bool is_shared_variable(const program *p, LLVMValueRef root);
void widen_indices(program *p);
void merge_loads(program *p);
void lay_out_tiles(program *p);

#endif
