/* What the last block of a launch to finish does with the others' results, which saves a launch.
 *
 * A counter serves launches that run one after the other, each with a greater ticket than those before. It is 0 before
 * and after them. If a launch was stopped, the counter's upper half keeps that launch's ticket, and the next launch
 * begins anew. */
#ifndef MOONWARP_ALGORITHMS_LAST_BLOCK_H
#define MOONWARP_ALGORITHMS_LAST_BLOCK_H

#if __CUDA_ARCH__ >= 350 /* as all GPUs that the library runs on */
namespace moonwarp {

/* Whether this block is the last of `blocks` to get here. Then all threads see what those have written before. */
__device__ inline bool is_last_block(unsigned long long *done, unsigned blocks, unsigned ticket) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMax(done, (unsigned long long)ticket << 32);
    is_last = (unsigned)atomicAdd(done, 1ull) == blocks - 1;
    if (is_last) *done = 0;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

} // namespace moonwarp
#endif

#endif
