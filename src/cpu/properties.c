/* What the CPU device says of itself: the figures of a current compute capability where kernels can tell, those of the
 * machine where they cannot. */
#include "cpu/heap.h"
#include "cpu/processor.h"

#include <stdio.h>

int cpu_properties(void *argument, mw_properties *out) {
  const cpu_device *device = argument;
  char name[200];
  mw_memory memory;
  processor_name(name, sizeof name);
  cpu_heap_usage(device->heap, &memory);
  *out = (mw_properties){
      .driver = "cpu",
      .major = 8,
      .minor = 0,
      .multiprocessors = device->workers,
      .warp_size = 32,
      .max_threads_per_block = CPU_MAX_THREADS,
      .max_block = {1024, 1024, 64},
      .max_grid = {INT32_MAX, 65535, 65535},
      .shared_per_block = CPU_SHARED_DEFAULT,
      .shared_per_block_optin = CPU_SHARED_MAX,
      .total_constant = 64 << 10,
      .total_memory = memory.total,
      .registers_per_block = 65536,
      .clock_khz = processor_clock_khz(),
      .memory_pitch = INT32_MAX,
      .texture_alignment = 256,
      .texture_pitch_alignment = 4,
  };
  snprintf(out->name, sizeof out->name, "%s (%d core%s)", name, device->workers, device->workers == 1 ? "" : "s");
  return MW_SUCCESS;
}
