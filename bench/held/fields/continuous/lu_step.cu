// One step of an LU decomposition without pivoting, row-major: what lies right of and below pivot k.
__global__ void lu_step(int n, int k, float *a) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row <= k || row >= n || column <= k || column >= n) return;
  a[row * n + column] -= a[row * n + k] * a[k * n + column] / a[k * n + k];
}
