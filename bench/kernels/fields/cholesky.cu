// Many small matrices, one per block: the Cholesky factor of a 16x16 matrix in shared memory. The lower triangle of the
// input counts, with 16 added to its diagonal.
__global__ void cholesky(const float *in, float *out) {
  __shared__ float a[16][17];
  int column = threadIdx.x, row = threadIdx.y, at = (blockIdx.x * 16 + row) * 16 + column;
  a[row][column] = in[at] + (row == column ? 16.0f : 0.0f);
  __syncthreads();
  for (int k = 0; k < 16; k++) {
    if (row == k && column == k) a[k][k] = sqrtf(a[k][k]);
    __syncthreads();
    if (column == k && row > k) a[row][k] /= a[k][k];
    __syncthreads();
    if (column > k && row >= column) a[row][column] -= a[row][k] * a[column][k];
    __syncthreads();
  }
  out[at] = row >= column ? a[row][column] : 0;
}
