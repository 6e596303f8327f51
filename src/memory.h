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

#endif
