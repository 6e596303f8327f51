// The peak rate of the processors: independent multiply-adds, without memory accesses.
__global__ void multiply_adds(int rounds, float a, float b, float *out) {
  float x[4];
  for (int k = 0; k < 4; k++) x[k] = threadIdx.x + k;
  for (int i = 0; i < rounds; i++)
    for (int k = 0; k < 4; k++) x[k] = x[k] * a + b;
  out[blockIdx.x * blockDim.x + threadIdx.x] = x[0] + x[1] + x[2] + x[3];
}
