/* The CPU device's properties: those of its compute capability where kernels can observe them, else the machine's. */
#include "cpu/memory/heap.h"
#include "cpu/processor.h"
#include "mwo.h"

#include <stdio.h>

int cpu_properties(void *argument, mw_properties *out) {
  const cpu_device *device = argument;
  char name[200];
  mw_memory memory;
  processor_name(name, sizeof name);
  cpu_heap_usage(device->heap, &memory);
  const mw_capability *c = &device->capability;
  *out = (mw_properties){
      .driver = "cpu",
      .major = c->major,
      .minor = c->minor,
      .multiprocessors = device->workers,
      .warp_size = 32,
      .max_threads_per_block = c->threads_per_block,
      .max_block = {c->max_block[0], c->max_block[1], c->max_block[2]},
      .max_grid = {c->max_grid[0], c->max_grid[1], c->max_grid[2]},
      .shared_per_block = (size_t)c->shared_per_block,
      .shared_per_block_optin = (size_t)c->shared_per_block_optin,
      .total_constant = (size_t)c->total_constant,
      .total_memory = memory.total,
      .l2_cache = (size_t)device->cached,
      .registers_per_block = c->registers_per_block,
      .max_cluster = device->is_restricted && c->major < 9 ? 0 : MW_CLUSTER_MOST,
      .clock_khz = processor_clock_khz(),
      .memory_pitch = INT32_MAX,
      .texture_alignment = 256,
      .texture_pitch_alignment = 4,
      .textures = c->textures,
  };
  snprintf(out->name, sizeof out->name, "%s (%d core%s)", name, device->workers, device->workers == 1 ? "" : "s");
  return MW_SUCCESS;
}
