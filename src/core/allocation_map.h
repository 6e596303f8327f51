/* Memory by address, as allocation_map.c (the register) and memcpy.c (copies and fills) share it. */
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

/* A reference to the buffer of the register that the address lies in, or NULL. */
mw_buffer *mw_memory_buffer(uint64_t address);

/* Whether a copy or a fill is one of bytes behind each other, between memory of the register that is the device's, and
   would be accepted now; then references to what it reaches, target first, are yours. (memcpy.c) */
bool mw_copy_flat(mw_device *device, const mw_copy *copy, mw_buffer *buffers[2]);
bool mw_fill_flat(mw_device *device, const mw_fill *fill, mw_buffer **buffer);

/* Let a buffer's memory be found by address, without being anybody's to free; and no more. */
void mw_memory_lend(mw_buffer *buffer);
void mw_memory_unlend(uint64_t address);

#endif
