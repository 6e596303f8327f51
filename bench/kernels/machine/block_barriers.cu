// The cost of a cuda::barrier, for comparison with barriers.cu: one of the whole block, and one for each half.
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void whole(int rounds, float *out) {
  __shared__ barrier all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  float sum = threadIdx.x;
  for (int i = 0; i < rounds; i++) {
    sum = 0.5f * sum + 1;
    all.arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}

__global__ void halves(int rounds, float *out) {
  __shared__ barrier half[2];
  const int which = threadIdx.x / (blockDim.x / 2);
  if (threadIdx.x < 2) init(&half[threadIdx.x], blockDim.x / 2);
  __syncthreads();
  float sum = threadIdx.x;
  for (int i = 0; i < rounds; i++) {
    sum = 0.5f * sum + 1;
    half[which].arrive_and_wait();
  }
  out[threadIdx.x] = sum;
}
