/* The kernels of accumulate.cu as C with OpenMP: each function does what one launch does. */
#include <math.h>

void rank_two_update(int n, int m, float alpha, float beta, float *a, float *b, float *c) {
#pragma omp parallel for
  for (int row = 0; row < n; row++) {
    for (int column = 0; column < n; column++) c[row * n + column] *= beta;
    for (int k = 0; k < m; k++)
      for (int column = 0; column < n; column++) {
        c[row * n + column] += alpha * a[k * n + row] * b[k * n + column];
        c[row * n + column] += alpha * b[k * n + row] * a[k * n + column];
      }
  }
}

void column_statistics(int rows, int columns, double *table, double *sum, double *least, double *most) {
#pragma omp parallel
  {
#pragma omp for
    for (int x = 0; x < columns; x++) sum[x] = 0, least[x] = table[x], most[x] = table[x];
    for (int y = 0; y < rows; y++) {
#pragma omp for simd schedule(static) nowait
      for (int x = 0; x < columns; x++) {
        double value = table[y * columns + x];
        sum[x] += value;
        least[x] = value < least[x] ? value : least[x];
        most[x] = value > most[x] ? value : most[x];
      }
    }
  }
}

void point_charges(int n, double *at, double *field) {
#pragma omp parallel for
  for (int i = 0; i < n; i++) {
    double x = field[4 * i], y = field[4 * i + 1], z = field[4 * i + 2], potential = field[4 * i + 3];
#pragma omp simd reduction(+ : x, y, z, potential)
    for (int j = 0; j < n; j++) {
      double dx = at[4 * i] - at[4 * j], dy = at[4 * i + 1] - at[4 * j + 1], dz = at[4 * i + 2] - at[4 * j + 2];
      double square = dx * dx + dy * dy + dz * dz + 1e-3, force = at[4 * j + 3] / (square * sqrt(square));
      x += force * dx;
      y += force * dy;
      z += force * dz;
      potential += at[4 * j + 3] / sqrt(square);
    }
    field[4 * i] = x, field[4 * i + 1] = y, field[4 * i + 2] = z, field[4 * i + 3] = potential;
  }
}

void filter_in_place_sum(int width, int height, int radius, float *in, float *weights, float *out) {
  int pitch = width + 2 * radius, size = 2 * radius + 1;
#pragma omp parallel for
  for (int y = 0; y < height; y++)
    for (int v = 0; v < size; v++)
      for (int u = 0; u < size; u++) {
#pragma omp simd
        for (int x = 0; x < width; x++) out[y * width + x] += in[(y + v) * pitch + x + u] * weights[v * size + u];
      }
}

void transposed_product(int rows, int columns, float *a, float *x, float *y, unsigned *hash, unsigned *words) {
#pragma omp parallel
  for (int i = 0; i < rows; i++) {
#pragma omp for simd schedule(static) nowait
    for (int j = 0; j < columns; j++) {
      y[j] += a[i * columns + j] * x[i];
      hash[j] = hash[j] * 31u + words[i * columns + j];
    }
  }
}
