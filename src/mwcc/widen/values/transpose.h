/* Tiles of a few elements of each lane, transposed in registers: rows are lanes', columns are vectors of all lanes. */
#ifndef TRANSPOSE_H
#define TRANSPOSE_H

#include "mwcc/analysis/simt.h"

enum {
  CHUNK = 16, /* bytes of a row that are accessed at once: lanes of AVX registers, where shuffles are cheapest */
  MOST_CHUNK_ITEMS = 16, /* elements of a chunk */
};

/* `columns` elements of each of the lanes' rows, from the pointers on, as vectors of lanes. */
void load_tile(program *p, LLVMBuilderRef b, LLVMTypeRef element, int lanes, int columns, unsigned align,
               const LLVMValueRef *rows, LLVMValueRef *tile);
/* The same of chunks that have been loaded, by lane; and the reverse, for at least as many lanes as columns. */
void columns_of_chunks(program *p, LLVMBuilderRef b, int lanes, int columns, const LLVMValueRef *chunks,
                       LLVMValueRef *tile);
void chunks_of_columns(program *p, LLVMBuilderRef b, int lanes, int columns, const LLVMValueRef *tile,
                       LLVMValueRef *chunks);

#endif
