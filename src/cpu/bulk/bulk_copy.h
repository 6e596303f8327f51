/* Bulk copies: what the files of their service share. bulk_copy.c has copies of memory and barriers, bulk_element.c
 * reductions of elements, tensor_map.c copies of tensors. */
#ifndef MW_CPU_BULK_COPY_H
#define MW_CPU_BULK_COPY_H

#include "cpu/execution/worker.h"

/* Bytes of an element. */
size_t cpu_bulk_size(mw_bulk_type type);
/* target = target op source, atomically. */
void cpu_bulk_update(void *target, const void *source, mw_bulk_operation operation, mw_bulk_type type);

/* End the launch unless the device's address range has these bytes; `which`: "reads", "writes". */
void cpu_bulk_check(mw_worker *worker, uint64_t address, uint64_t bytes, const char *which);
/* The same address in the shared memory of another block of the cluster. */
uint64_t cpu_bulk_at_rank(const mw_worker *worker, uint64_t address, uint32_t rank);
/* The barrier's bytes have been copied. */
void cpu_bulk_arrived(mw_worker *worker, uint64_t barrier, uint64_t bytes);

/* Where in a tensor: coordinates, as many as `dimensions`, and the offsets of im2col from the pixels, in 16 bits. */
typedef struct cpu_tensor_place {
  const mw_tensor_map *map;
  uint32_t dimensions, offsets;
  bool im2col;
  int32_t at[5];
} cpu_tensor_place;

/* Copy the box, or the pixels, between a tensor and shared memory. ranks: of a multicast, or 0. */
void cpu_tensor_load(mw_worker *worker, const cpu_tensor_place *place, uint64_t target, uint32_t ranks,
                     uint64_t barrier);
void cpu_tensor_store(mw_worker *worker, const cpu_tensor_place *place, uint64_t source, mw_bulk_operation operation);

/* The driver's tensor_map. */
int cpu_tensor_map(void *device, uint64_t address, const mw_tensor_layout *layout, unsigned char out[128]);

#endif
