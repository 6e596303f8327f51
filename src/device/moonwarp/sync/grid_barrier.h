/* Barriers of the whole grid on a GPU, in a cooperative launch. For such a launch the driver passes memory to the grid,
 * whose address is in two special registers; otherwise they are 0. */
#ifndef MOONWARP_GRID_BARRIER_H
#define MOONWARP_GRID_BARRIER_H

#include "moonwarp/guard.h"

__mw_device unsigned int __mw_is_cooperative() {
  unsigned int low, high;
  asm("mov.u32 %0, %%envreg1;" : "=r"(low));
  asm("mov.u32 %0, %%envreg2;" : "=r"(high));
  return low | high;
}
/* The low bits count the blocks that have arrived. The top bit flips when all have: the first block adds the difference
   to 2^31 instead of 1. A grid that ends before all blocks have arrived leaves its count, so each grid has a word of
   its own, which the host clears. */
__mw_cold_function void __mw_grid_wait(unsigned int) {
  if (!__mw_is_cooperative() || !__mw_guard.words) __mw_fail_trap(0, 0, 0);
  unsigned int *word = &__mw_guard_shared()->barriers[__mw_grid_id() % MW_GUARD_LAUNCHES];
  unsigned int blocks = gridDim.x * gridDim.y * gridDim.z, before;
  bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
  __threadfence();
  asm volatile("atom.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(first ? 0x80000000u - (blocks - 1) : 1)
               : "memory");
  while (!((before ^ *(volatile unsigned int *)word) & 0x80000000u)) __mw_poll();
  __threadfence();
}

#endif
