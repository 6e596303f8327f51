/* Staged rows: elements of an array that a block copies to shared memory, one for each thread, and that all its
 * threads read. rows.c finds and rewrites the loop, rows_elements.c matches what is stored and read. */
#ifndef MWCC_STAGING_ROWS_H
#define MWCC_STAGING_ROWS_H

#include "staging.h"

enum { MOST_BLOCKS = 64, MOST_COPIES = 16, MOST_READS = 256 };

/* A copy that each thread makes into its element of an array: `bytes` bytes from the address `from` to offset `at`. */
typedef struct piece {
  LLVMValueRef array, store; /* store: a store, or a call of memcpy */
  uint64_t at, bytes;
  LLVMValueRef from, load; /* load: the stored value; NULL for memcpy */
  unsigned align;          /* of `from` */
} piece;

/* A place in an array. */
typedef struct place {
  LLVMValueRef array, index; /* index: of the element, an instruction; NULL: it is `number` */
  uint64_t number, at;       /* at: offset in the element, in bytes */
} place;

/* A load of a part of an element. */
typedef struct row_read {
  LLVMValueRef load;
  place place;
  const piece *of;
} row_read;

typedef struct row_loop {
  tile_loop t; /* its function and head */
  LLVMBasicBlockRef blocks[MOST_BLOCKS];
  int block_count;
  LLVMBasicBlockRef latch;
  piece pieces[MOST_COPIES];
  int piece_count;
  row_read *reads;
  int read_count;
} row_loop;

/* Whether the value depends on grid-uniform values, threadIdx.x and constants only. */
bool depends_on_id(const row_loop *l, LLVMValueRef value);

/* ---- rows_elements.c: record the instruction in the loop if it matches, else return false ---- */

bool match_row_store(row_loop *l,
                     LLVMValueRef store); /* in the header: of a value loaded there by the id, to the id's element */
bool match_row_copy(row_loop *l, LLVMValueRef call); /* the same, of a struct */
bool match_row_read(row_loop *l, LLVMValueRef load); /* of an element of one of the block's threads */

#endif
