/* Memory by address: declarations shared by allocation_map.c (the map) and memcpy.c (copies and fills). */
#ifndef MW_MEMORY_H
#define MW_MEMORY_H

#include "core/core.h"

/* A piece of memory that is held: it is not freed meanwhile. */
typedef struct mw_piece {
  mw_memory_info info;
  mw_buffer *buffer; /* a use is taken, or NULL */
} mw_piece;

/* Find and hold the memory at `address`; for UNKNOWN nothing is held. */
void mw_piece_hold(mw_device *device, uint64_t address, mw_piece *out);
void mw_piece_drop(mw_piece *piece);

/* A reference to the map's buffer that contains the address, or NULL. */
mw_buffer *mw_memory_buffer(uint64_t address);

/* Whether a copy or a fill is contiguous, involves only device memory of the map, and would be accepted now; if so,
   references to that memory, target first, are yours. (memcpy.c) */
bool mw_copy_flat(mw_device *device, const mw_copy *copy, mw_buffer *buffers[2]);
bool mw_fill_flat(mw_device *device, const mw_fill *fill, mw_buffer **buffer);

/* Add a buffer's memory to the map, without allowing mw_memory_free for it; and remove it. */
void mw_memory_lend(mw_buffer *buffer);
void mw_memory_unlend(uint64_t address);

#endif
