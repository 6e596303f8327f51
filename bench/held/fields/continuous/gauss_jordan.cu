// Many small linear systems of 16 equations, each solved by one block with Gauss-Jordan elimination and row pivots.
__global__ void gauss_jordan(const float *matrices, const float *right, float *solution) {
  __shared__ float a[16][17];
  __shared__ int pivot;
  int row = threadIdx.y, column = threadIdx.x, system = blockIdx.x;
  if (column < 16) a[row][column] = matrices[system * 256 + row * 16 + column];
  if (column == 16) a[row][16] = right[system * 16 + row];
  __syncthreads();
  for (int k = 0; k < 16; k++) {
    if (row == 0 && column == 0) {
      int best = k;
      for (int i = k + 1; i < 16; i++)
        if (fabsf(a[i][k]) > fabsf(a[best][k])) best = i;
      pivot = best;
    }
    __syncthreads();
    if (row == 0 && pivot != k) {
      float other = a[k][column];
      a[k][column] = a[pivot][column];
      a[pivot][column] = other;
    }
    __syncthreads();
    float factor = row == k ? 0 : a[row][k] / a[k][k], mine = a[k][column];
    __syncthreads();
    if (row != k) a[row][column] -= factor * mine;
    __syncthreads();
  }
  if (column == 16) solution[system * 16 + row] = a[row][16] / a[row][row];
}
