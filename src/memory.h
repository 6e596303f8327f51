/* Memory by address, as memory.c (the register) and transfer.c (copies and fills) share it. */
#ifndef MW_MEMORY_H
#define MW_MEMORY_H

#include "core.h"

/* A piece of memory, held: it does not go while it is. */
typedef struct mw_piece {
  mw_memory_info info;
  mw_buffer *buffer; /* a use is taken, or NULL */
} mw_piece;

/* Find and hold what lies at `address`; UNKNOWN holds nothing. */
void mw_piece_hold(mw_device *device, uint64_t address, mw_piece *out);
void mw_piece_drop(mw_piece *piece);

/* Let a buffer's memory be found by address, without being anybody's to free; and no more. */
void mw_memory_lend(mw_buffer *buffer);
void mw_memory_unlend(uint64_t address);

#endif
