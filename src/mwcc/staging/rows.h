/* Lines in shared memory that are read where they came from: what rows.c, which finds and changes them, and
 * rows_elements.c, which knows their elements, share. */
#ifndef UNSTAGE_LINES_H
#define UNSTAGE_LINES_H

#include "staging.h"

enum { MOST_BLOCKS = 64, MOST_PIECES = 16, MOST_READS = 256 };

/* What each thread puts into its element of an array, from that place of it on: so many bytes from an address. */
typedef struct piece {
  LLVMValueRef array, store; /* a store, or a call of memcpy */
  uint64_t at, bytes;
  LLVMValueRef from, load; /* load: what is stored; else NULL */
  unsigned align;          /* of `from` */
} piece;

/* Of an array. */
typedef struct place {
  LLVMValueRef array, index; /* index: of the element, an instruction; or NULL */
  uint64_t number, at;       /* without it the element's number; bytes behind its start */
} place;

/* A load of a part of an element. */
typedef struct line_read {
  LLVMValueRef load;
  place place;
  const piece *of;
} line_read;

typedef struct line_loop {
  tile_loop t; /* its function and head */
  LLVMBasicBlockRef blocks[MOST_BLOCKS];
  int block_count;
  LLVMBasicBlockRef latch;
  piece pieces[MOST_PIECES];
  int piece_count;
  line_read *reads;
  int read_count;
} line_loop;

/* Whether it is made of what all threads of the grid have, of the id and of constants. */
bool goes_by_id(const line_loop *l, LLVMValueRef value);

/* ---- rows_elements.c: of the loop, as far as the instruction is one ---- */

bool note_line_store(line_loop *l,
                     LLVMValueRef store); /* in the head: of what is loaded there by the id, to the id's element */
bool note_line_copy(line_loop *l, LLVMValueRef call); /* the same, of a struct */
bool note_line_read(line_loop *l, LLVMValueRef load); /* of what was stored for one of the block's ids */

#endif
