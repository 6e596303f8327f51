/* Accumulators in memory, as plain C has them: each thread adds to one element of an array in a loop. */

/* C = beta C + alpha (A Bt + B At), a row of threads for each row of C. */
extern "C" __global__ void rank_two_update(int n, int m, float alpha, float beta, float *a, float *b, float *c) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  c[row * n + column] *= beta;
  for (int k = 0; k < m; k++) {
    c[row * n + column] += alpha * a[k * n + row] * b[k * n + column];
    c[row * n + column] += alpha * b[k * n + row] * a[k * n + column];
  }
}

/* The sum and the extrema of each column of a table. */
extern "C" __global__ void column_statistics(int rows, int columns, double *table, double *sum, double *least,
                                             double *most) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= columns) return;
  sum[x] = 0;
  least[x] = table[x];
  most[x] = table[x];
  for (int y = 0; y < rows; y++) {
    double value = table[y * columns + x];
    sum[x] += value;
    if (value < least[x]) least[x] = value;
    if (value > most[x]) most[x] = value;
  }
}

/* The field of point charges at each of them: x, y, z and the charge, or the potential. */
extern "C" __global__ void point_charges(int n, double *at, double *field) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int j = 0; j < n; j++) {
    double dx = at[4 * i] - at[4 * j], dy = at[4 * i + 1] - at[4 * j + 1], dz = at[4 * i + 2] - at[4 * j + 2];
    double square = dx * dx + dy * dy + dz * dz + 1e-3, force = at[4 * j + 3] / (square * sqrt(square));
    field[4 * i] += force * dx;
    field[4 * i + 1] += force * dy;
    field[4 * i + 2] += force * dz;
    field[4 * i + 3] += at[4 * j + 3] / sqrt(square);
  }
}

/* A filter of any size over a picture with a border of `radius`. */
extern "C" __global__ void filter_in_place_sum(int width, int height, int radius, float *in, float *weights,
                                               float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int pitch = width + 2 * radius, size = 2 * radius + 1;
  for (int v = 0; v < size; v++)
    for (int u = 0; u < size; u++) out[y * width + x] += in[(y + v) * pitch + x + u] * weights[v * size + u];
}

/* y = At x, and a sum of integers modulo 2^32. */
extern "C" __global__ void transposed_product(int rows, int columns, float *a, float *x, float *y,
                                              unsigned *hash, unsigned *words) {
  unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= columns) return;
  for (unsigned i = 0; i < rows; i++) {
    y[j] += a[i * columns + j] * x[i];
    hash[j] = hash[j] * 31u + words[i * columns + j];
  }
}
