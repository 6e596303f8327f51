// The cost of a barrier: iterations with hardly any other work. A value lives across each barrier.
__global__ void barriers(int rounds, float *out) {
  float sum = threadIdx.x;
  for (int i = 0; i < rounds; i++) {
    sum = 0.5f * sum + 1;
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
