/* Barriers of the whole grid on a GPU, in a cooperative launch: the driver then gives the grid some memory, whose address
 * stands in two registers. */
#ifndef MOONWARP_GRID_BARRIER_H
#define MOONWARP_GRID_BARRIER_H

#include "moonwarp/guard.h"

__mw_device unsigned int __mw_is_cooperative() {
  unsigned int low, high;
  asm("mov.u32 %0, %%envreg1;" : "=r"(low));
  asm("mov.u32 %0, %%envreg2;" : "=r"(high));
  return low | high;
}
/* Blocks that have come are counted in the lowest bits; the highest turns over when all have, as one of them adds what is
   missing to that. A grid that ends before all have come leaves a count behind, which is why each has a word of its own:
   the host clears it. */
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
  while (!((before ^ *(volatile unsigned int *)word) & 0x80000000u)) __mw_look();
  __threadfence();
}

#endif
