// Kernels whose threads hold many values in registers.

// Each thread computes 8 x 8 elements of a product, from tiles of 64 x 8 and 8 x 64 in shared memory.
__global__ void product_8x8(int n, const float *a, const float *b, float *c) {
  __shared__ float left[8][64], right[8][64];
  int tx = threadIdx.x, ty = threadIdx.y, thread = 8 * ty + tx;
  int row = 64 * blockIdx.y, column = 64 * blockIdx.x;
  float sums[8][8];
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) sums[i][j] = 0;
  for (int k = 0; k < n; k += 8) {
    for (int s = 0; s < 8; s++) {
      left[s][thread] = a[(row + thread) * n + k + s];
      right[s][thread] = b[(k + s) * n + column + thread];
    }
    __syncthreads();
    for (int s = 0; s < 8; s++)
      for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sums[i][j] += left[s][8 * ty + i] * right[s][8 * j + tx];
    __syncthreads();
  }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) c[(row + 8 * ty + i) * n + column + 8 * j + tx] = sums[i][j];
}

// The same for 4 x 4 elements, summed in double precision, without shared memory.
__global__ void product_4x4(int n, const double *a, const double *b, float *c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = 4 * (blockIdx.y * blockDim.y + threadIdx.y);
  int step = n / 4;
  if (column >= step || row >= n) return;
  double sums[4][4];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) sums[i][j] = 0;
  for (int k = 0; k < n; k++)
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) sums[i][j] += a[(row + i) * n + k] * b[k * n + column + j * step];
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row + i) * n + column + j * step] = (float)sums[i][j];
}

// Moments of 24 channels over time, kept in registers: sums and sums of squares.
__global__ void channel_moments(int points, int times, const float *value, float *mean, float *square) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  float sum[24], squares[24];
  for (int c = 0; c < 24; c++) sum[c] = squares[c] = 0;
  for (int t = 0; t < times; t++)
    for (int c = 0; c < 24; c++) {
      float x = value[(t * 24 + c) * points + i];
      sum[c] += x;
      squares[c] += x * x;
    }
  for (int c = 0; c < 24; c++) mean[c * points + i] = sum[c], square[c * points + i] = squares[c];
}

// A lattice of 27 directions, relaxed and streamed within one point: many values live at once.
__global__ void relax_27(int points, int steps, float omega, float *f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  float g[27];
  for (int d = 0; d < 27; d++) g[d] = f[d * points + i];
  for (int s = 0; s < steps; s++) {
    float density = 0, flow = 0;
    for (int d = 0; d < 27; d++) density += g[d], flow += g[d] * (d % 3 - 1);
    for (int d = 0; d < 27; d++) g[d] += omega * (density / 27 + flow * (d % 3 - 1) / 18 - g[d]);
    float first = g[0];
    for (int d = 0; d < 26; d++) g[d] = g[d + 1];
    g[26] = first;
  }
  for (int d = 0; d < 27; d++) f[d * points + i] = g[d];
}

// Eight Horner schemes of degree eleven at once, with coefficients of the thread.
__global__ void many_polynomials(int points, int steps, const float *coefficient, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= points) return;
  float c[4][12], total = 0;
  for (int p = 0; p < 4; p++)
    for (int d = 0; d < 12; d++) c[p][d] = coefficient[(12 * p + d) * points + i];
  for (int s = 0; s < steps; s++) {
    float at = x[s];
    for (int p = 0; p < 4; p++) {
      float value = c[p][11];
      for (int d = 10; d >= 0; d--) value = value * at + c[p][d];
      total += value;
    }
  }
  y[i] = total;
}
