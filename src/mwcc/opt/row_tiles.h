/* Lane-owned rows: loops in which each lane walks a row of its own, as in `for (k…) sum += a[i * n + k] * x[k]` with the
 * thread in i. In the loop that is a gather in every iteration, of elements that lie next to those of the iterations
 * before and after it.
 *
 *   for (; k < n; k++) use(gather(rows + k))
 * ->
 *   if (what has to hold)
 *     for (; k + STRIP <= n; k += STRIP) {
 *       v[0 … STRIP - 1] = transpose(a vector of 16 bytes of each lane's row, or several)
 *       use(v[0]) … use(v[STRIP - 1])
 *     }
 *   for (; k < n; k++) use(gather(rows + k))
 *
 * row_tiles.c finds such loops, row_tiles_checks.c emits the test before the loop, row_tiles_strip.c the strip loop, and
 * widen/values/transpose.c transposes.
 *
 * Why the result is the same for every input:
 *   - A strip only runs if all of its iterations do: the loop has one exit, on a counter whose step is constant and whose
 *     limit is loop-invariant, so the number of iterations is known before. Masks are loop-invariant.
 *   - A tile has exactly the elements that the gathers of these iterations load. Addresses have a constant step; where an
 *     index of 32 bits is extended in the loop, the test compares each active lane's last address with its first one, so
 *     that no index wraps in between. An inactive lane reads an active lane's row instead of its own.
 *   - Where rows seem to have the same distance, the test confirms it: then a few registers have all rows' addresses.
 *   - Iterations run in their order, with the same operations: sums are rounded as before.
 *   - Tiles are loaded before the strip's stores. For each store that could be the same thread's, the test excludes that
 *     it writes an element that the strip reads after it, in a later iteration or in the same one. (What another thread
 *     writes in the loop, without a barrier, may be read before or after that.) */
#ifndef ROW_TILES_H
#define ROW_TILES_H

#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/widen/values/transpose.h"
#include "opt.h"

enum {
  MOST_ROW_STREAMS = 16,
  MOST_ROW_STORES = 8,
  MOST_ROW_BODY = 160, /* instructions of an iteration */
  MOST_STRIP = 16,     /* iterations of a strip */
  EVEN_ROWS = 3
};

/* A value that each iteration loads from the lanes' rows. */
typedef struct row_stream {
  LLVMValueRef gather;  /* the call, or the last insertelement of a chain */
  LLVMValueRef *places; /* a chain's pointers, by lane; NULL: a gather */
  LLVMTypeRef element;
  int lanes, columns; /* columns: elements of a chunk */
  int64_t step;       /* bytes from one iteration's address to the next one's: an element, or minus one */
  bool may_wrap;      /* the address contains an index that is extended in the loop */
  unsigned align;
  bool even;                           /* rows have the same distance, which the test confirms */
  LLVMValueRef first;                  /* before the loop: the vector of pointers */
  LLVMValueRef rows[MOST_LANES];       /* and each lane's pointer; of even rows only the first, */
  LLVMValueRef distances[EVEN_ROWS];   /* and the distances to the second, to the fourth, and to the fifth */
  LLVMValueRef begin;                  /* in the strip: where the first row begins */
  LLVMValueRef tile[MOST_CHUNK_ITEMS]; /* in the strip: the columns that were loaded last */
} row_stream;

typedef struct row_loop {
  program *p;
  LLVMBuilderRef b;
  LLVMBasicBlockRef block, before, exit;
  LLVMValueRef body[MOST_ROW_BODY + 1];
  int count, phi_count; /* the branch is body[count] */
  row_stream streams[MOST_ROW_STREAMS];
  int stream_count;
  LLVMValueRef stores[MOST_ROW_STORES];
  int store_count;
  int strip; /* iterations */
  /* the exit: the loop continues while `predicate` holds between the counter and the limit */
  LLVMValueRef counter, limit;
  LLVMIntPredicate predicate;
  int64_t counts; /* the counter's step */
} row_loop;

/* row_tiles.c */
int row_item(const row_loop *l, LLVMValueRef value); /* its number in the body, or -1: from outside */
/* Whether the value has a constant step, in its own width; `may_wrap` is set if a number with a step is extended. */
bool row_step(const row_loop *l, LLVMValueRef value, int64_t *step, bool *may_wrap);
LLVMValueRef row_begin(const row_loop *l, LLVMValueRef phi); /* the phi's values from before the loop and from */
LLVMValueRef row_next(const row_loop *l, LLVMValueRef phi);  /* the latch */

/* row_tiles_checks.c: at the builder's position, in a new block before the loop. `iterations` is an i64. */
LLVMValueRef count_iterations(row_loop *l, LLVMValueRef *known);
LLVMValueRef check_rows(row_loop *l, LLVMValueRef iterations);

/* row_tiles_strip.c */
void strip_rows(row_loop *l);

#endif
