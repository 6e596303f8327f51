/* Barriers of the whole grid on a GPU, in a cooperative launch: the driver then gives the grid some memory, whose address
 * stands in two registers. */
#ifndef MOONWARP_NVPTX_GRID_H
#define MOONWARP_NVPTX_GRID_H

__mw_device_template unsigned int __mw_is_cooperative() {
  unsigned int low, high;
  asm("mov.u32 %0, %%envreg1;" : "=r"(low));
  asm("mov.u32 %0, %%envreg2;" : "=r"(high));
  return low | high;
}
/* Blocks that have come are counted in the lowest bits; the highest turns over when all have, as one of them adds what is
   missing to that. */
static __device__ unsigned int __mw_grid_barrier;
static __device__ __noinline__ void __mw_grid_wait(unsigned int) {
  if (!__mw_is_cooperative()) __trap();
  unsigned int blocks = gridDim.x * gridDim.y * gridDim.z;
  bool first = (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
  __threadfence();
  unsigned int before = atomicAdd(&__mw_grid_barrier, first ? 0x80000000u - (blocks - 1) : 1);
  while (!((before ^ *(volatile unsigned int *)&__mw_grid_barrier) & 0x80000000u)) continue;
  __threadfence();
}

#endif
