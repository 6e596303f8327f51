/* Kernels whose threadIdx.x counts rows. */

/* One step of elimination, rows by x. */
extern "C" __global__ void eliminate_rows(float *m, float *a, int n, int pivot) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n - 1 - pivot || column >= n - pivot) return;
  a[n * (row + 1 + pivot) + column + pivot] -= m[n * (row + 1 + pivot) + pivot] * a[n * pivot + column + pivot];
}

/* C = A B, rows by x. */
extern "C" __global__ void product_rows(double *a, double *b, double *c, int n, int m) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  double sum = 0;
  if (row >= n || column >= n) return;
  for (int k = 0; k < m; k++) sum += a[row * m + k] * b[k * n + column];
  c[row * n + column] = sum;
}

/* The mean of nine neighbours, rows by x. */
extern "C" __global__ void smooth_rows(float *in, float *out, int rows, int columns) {
  int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < 1 || column < 1 || row >= rows - 1 || column >= columns - 1) return;
  float sum = 0;
  for (int i = -1; i <= 1; i++)
    for (int j = -1; j <= 1; j++) sum += in[(row + i) * columns + column + j];
  out[row * columns + column] = sum / 9;
}
