// One Jacobi iteration of Poisson's equation, and the largest change, which decides when to stop.
__global__ void jacobi(int side, const float *source, const float *before, float *after, int *change) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  __shared__ int most;
  if (threadIdx.x == 0 && threadIdx.y == 0) most = 0;
  __syncthreads();
  if (x > 0 && y > 0 && x < side - 1 && y < side - 1) {
    int i = y * side + x;
    float value = 0.25f * (before[i - 1] + before[i + 1] + before[i - side] + before[i + side] - source[i]);
    atomicMax(&most, __float_as_int(fabsf(value - before[i])));
    after[i] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) atomicMax(change, most);
}
