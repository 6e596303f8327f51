/* The kernels of columns.cu as C with OpenMP: each function does what one launch does. */

void eliminate_rows(float *m, float *a, int n, int pivot) {
#pragma omp parallel for
  for (int row = 0; row < n - 1 - pivot; row++)
    for (int column = 0; column < n - pivot; column++)
      a[n * (row + 1 + pivot) + column + pivot] -= m[n * (row + 1 + pivot) + pivot] * a[n * pivot + column + pivot];
}

void product_rows(double *a, double *b, double *c, int n, int m) {
#pragma omp parallel for
  for (int row = 0; row < n; row++) {
    for (int column = 0; column < n; column++) c[row * n + column] = 0;
    for (int k = 0; k < m; k++)
      for (int column = 0; column < n; column++) c[row * n + column] += a[row * m + k] * b[k * n + column];
  }
}

void smooth_rows(float *in, float *out, int rows, int columns) {
#pragma omp parallel for
  for (int row = 1; row < rows - 1; row++)
    for (int column = 1; column < columns - 1; column++) {
      float sum = 0;
      for (int i = -1; i <= 1; i++)
        for (int j = -1; j <= 1; j++) sum += in[(row + i) * columns + column + j];
      out[row * columns + column] = sum / 9;
    }
}
