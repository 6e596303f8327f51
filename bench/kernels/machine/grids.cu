// The same work in grids of any number of blocks: by a grid-stride loop, and by one thread for each element.
__global__ void axpy(int n, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

// A block alone, as the first lesson has it.
__global__ void axpy_alone(int n, float a, const float *x, float *y) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = a * x[i] + y[i];
}

// The same work for each thread, whatever the grid.
__global__ void orbit(int rounds, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = y[i], b = 0;
  for (int k = 0; k < rounds; k++) {
    float c = a * 0.9f + b * 0.1f;
    b = b * 0.8f - a * 0.2f + 0.01f;
    a = c;
  }
  y[i] = a + b;
}

__global__ void force(int n, const float2 *from, float *to) {
  __shared__ float2 line[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float me = from[i].x, sum = 0;
  for (int start = 0; start < n; start += 256) {
    line[threadIdx.x] = from[start + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 256; j++) {
      float d = line[j].x - me;
      sum += line[j].y * d / (d * d + 1.0f);
    }
    __syncthreads();
  }
  to[i] = sum;
}
