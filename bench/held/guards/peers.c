/* The kernels of steps.cu as C with OpenMP: each function does what one launch does. */

void eliminate(float *a, int n, int pivot) {
#pragma omp parallel for
  for (int row = pivot + 1; row < n; row++) {
    float by = a[row * n + pivot] / a[pivot * n + pivot];
    for (int column = pivot + 1; column < n; column++) a[row * n + column] -= by * a[pivot * n + column];
  }
}

void substitute(double *l, double *b, int n, int sides, int done) {
#pragma omp parallel for
  for (int row = done + 1; row < n; row++)
    for (int side = 0; side < sides; side++) b[row * sides + side] -= l[row * n + done] * b[done * sides + side];
}

void band_scale(float *a, int n, int low, int high, float by) {
#pragma omp parallel for
  for (int row = 0; row < n; row++)
    for (int column = row + low < 0 ? 0 : row + low; column <= row + high && column < n; column++)
      a[row * n + column] *= by;
}
