// Inclusive prefix sum within each block of 256 (Hillis and Steele).
__global__ void scan(int n, const float *x, float *out) {
  __shared__ float sums[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    float left = t >= step ? sums[t - step] : 0;
    __syncthreads();
    sums[t] += left;
    __syncthreads();
  }
  if (i < n) out[i] = sums[t];
}
