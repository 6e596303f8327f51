// Sums by warp shuffles: each block adds up its share, its warps add up their threads', its first warp the warps'.
__device__ float add_warp(float sum) {
  for (int far = 16; far > 0; far /= 2) sum += __shfl_down_sync(0xffffffff, sum, far);
  return sum;
}

__global__ void warpsum(int n, const float *x, float *out) {
  __shared__ float warps[8];
  int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = add_warp(sum);
  if (t % 32 == 0) warps[t / 32] = sum;
  __syncthreads();
  if (t < 32) {
    sum = add_warp(t < 8 ? warps[t] : 0);
    if (t == 0) out[blockIdx.x] = sum;
  }
}
