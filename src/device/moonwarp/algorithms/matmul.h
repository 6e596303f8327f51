/* Products of matrices by tiles in shared memory: c = a b, for batches.
 *
 * A block of 16 x 16 threads makes a tile of 64 x 64 elements of c, each thread 4 x 4 of them: the columns of a thread
 * are 16 apart, so that lanes read and write neighbouring elements. Steps of 16 along the inner dimension are staged in
 * shared memory. Strides are in elements, so that transposed and broadcast matrices need no copy. Sums are in A. */
#ifndef MOONWARP_ALGORITHMS_MATMUL_H
#define MOONWARP_ALGORITHMS_MATMUL_H

namespace moonwarp {

struct matrix_strides {
  long long row, column;
};

template <typename T, typename A>
__device__ inline void matmul_tile(const T *a, matrix_strides as, const T *b, matrix_strides bs, T *c, int m, int n,
                                   int inner) {
  const int TILE = 64, STEP = 16, SIDE = 16, EACH = 4;
  __shared__ A left[STEP][TILE + 1];
  __shared__ A right[STEP][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, t = ty * SIDE + tx;
  int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
  A sum[EACH][EACH];
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) sum[i][j] = A(0);
  for (int k = 0; k < inner; k += STEP) {
    for (int i = 0; i < EACH; i++) {
      int at = t + i * SIDE * SIDE;
      int r = at / STEP, s = at % STEP;
      left[s][r] = row + r < m && k + s < inner ? (A)a[(row + r) * as.row + (k + s) * as.column] : A(0);
      int q = at % TILE, p = at / TILE;
      right[p][q] = column + q < n && k + p < inner ? (A)b[(k + p) * bs.row + (column + q) * bs.column] : A(0);
    }
    __syncthreads();
    for (int s = 0; s < STEP; s++) {
      A x[EACH], y[EACH];
      for (int i = 0; i < EACH; i++) {
        x[i] = left[s][ty * EACH + i];
        y[i] = right[s][tx + i * SIDE];
      }
      for (int i = 0; i < EACH; i++)
        for (int j = 0; j < EACH; j++) sum[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < EACH; i++)
    for (int j = 0; j < EACH; j++) {
      int r = row + ty * EACH + i, q = column + tx + j * SIDE;
      if (r < m && q < n) c[(long long)r * n + q] = (T)sum[i][j];
    }
}

/* Products of small matrices, one after the other: c = a b, with a thread for each column of c, and rows of b and c that
 * are contiguous. Four rows of c at a time share the elements of b. Sums are in A. */
template <typename T, typename A>
__device__ inline void matmul_small(const T *a, long long a_row, const T *b, long long b_row, T *c, int m, int n,
                                    int inner) {
  int j = threadIdx.x;
  for (int i = 0; i < m; i += 4) {
    if (j >= n) continue;
    const T *first = a + i * a_row, *second = i + 1 < m ? first + a_row : first;
    const T *third = i + 2 < m ? second + a_row : first, *fourth = i + 3 < m ? third + a_row : first;
    A w(0), x(0), y(0), z(0);
    for (int k = 0; k < inner; k++) {
      A element = (A)b[k * b_row + j];
      w += (A)first[k] * element;
      x += (A)second[k] * element;
      y += (A)third[k] * element;
      z += (A)fourth[k] * element;
    }
    c[i * n + j] = (T)w;
    if (i + 1 < m) c[(i + 1) * n + j] = (T)x;
    if (i + 2 < m) c[(i + 2) * n + j] = (T)y;
    if (i + 3 < m) c[(i + 3) * n + j] = (T)z;
  }
}

} // namespace moonwarp

#endif
