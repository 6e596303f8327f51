/* Steps of eliminations: the same grid each time, of which fewer and fewer blocks have work. */

/* One step of Gaussian elimination: what remains below and right of the pivot. */
extern "C" __global__ void eliminate(float *a, int n, int pivot) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row <= pivot || column <= pivot || row >= n || column >= n) return;
  a[row * n + column] -= a[row * n + pivot] / a[pivot * n + pivot] * a[pivot * n + column];
}

/* The trailing part of a triangular solve with several right-hand sides, counted from the pivot on. */
extern "C" __global__ void substitute(double *l, double *b, int n, int sides, int done) {
  unsigned side = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (side < (unsigned)sides) {
    if (row < (unsigned)(n - 1 - done))
      b[(row + done + 1) * sides + side] -= l[(row + done + 1) * n + done] * b[done * sides + side];
  }
}

/* The blocks of a band of a matrix. */
extern "C" __global__ void band_scale(float *a, int n, int low, int high, float by) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column - row < low || column - row > high) return;
  a[row * n + column] *= by;
}
