// Planes and matrices, a thread for each element, as benchmark suites and guides have them.

// The largest of 3 x 3 elements around every second one.
__global__ void pool_largest(const float *in, float *out, int height, int width, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, plane = blockIdx.z;
  if (x >= columns || y >= rows) return;
  float most = -3.4e38f;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int r = 2 * y - 1 + i, c = 2 * x - 1 + j;
      if (r >= 0 && r < height && c >= 0 && c < width) most = fmaxf(most, in[(plane * height + r) * width + c]);
    }
  out[(plane * rows + y) * columns + x] = most;
}

// y = At (A x), in two launches.
__global__ void rows_by_vector(const float *a, const float *x, float *t, int rows, int columns) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) {
    t[i] = 0;
    for (int j = 0; j < columns; j++) t[i] += a[i * columns + j] * x[j];
  }
}
__global__ void columns_by_vector(const float *a, const float *t, float *y, int rows, int columns) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < columns) {
    y[j] = 0;
    for (int i = 0; i < rows; i++) y[j] += a[i * columns + j] * t[i];
  }
}

// C = alpha (A Bt + B At) + beta C
__global__ void symmetric_update(const float *a, const float *b, float *c, float alpha, float beta, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) {
    c[i * n + j] *= beta;
    for (int k = 0; k < m; k++)
      c[i * n + j] += alpha * a[i * m + k] * b[j * m + k] + alpha * b[i * m + k] * a[j * m + k];
  }
}

// Life on a torus of bytes.
__global__ void life_bytes(const unsigned char *in, unsigned char *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int left = (x + width - 1) % width, right = (x + 1) % width;
  int up = (y + height - 1) % height, down = (y + 1) % height;
  int alive = in[up * width + left] + in[up * width + x] + in[up * width + right] + in[y * width + left] +
              in[y * width + right] + in[down * width + left] + in[down * width + x] + in[down * width + right];
  out[y * width + x] = alive == 3 || (alive == 2 && in[y * width + x]);
}

// Life with dead cells around the plane.
__global__ void life_edges(const unsigned char *in, unsigned char *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      if (dx == 0 && dy == 0) continue;
      int r = y + dy, c = x + dx;
      if (r >= 0 && r < height && c >= 0 && c < width) alive += in[r * width + c];
    }
  out[y * width + x] = alive == 3 || (in[y * width + x] && alive == 2);
}
