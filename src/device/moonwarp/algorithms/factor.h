/* Factorisations of small matrices: a block of 32 x 8 threads for each, in column-major order, with a leading dimension
 * of as many elements as there are rows. Lanes walk down columns, whose elements are neighbours.
 *
 * Failures are LAPACK's: the number, from 1, of the pivot that is zero or of the minor that is not positive. */
#ifndef MOONWARP_ALGORITHMS_FACTOR_H
#define MOONWARP_ALGORITHMS_FACTOR_H

namespace moonwarp {

enum { FACTOR_ROWS = 32, FACTOR_COLUMNS = 8 };

/* The sum of the lanes' values, for each row of threads. All threads call it. */
template <typename T> __device__ inline T row_sum(T (*shared)[FACTOR_ROWS], T value) {
  shared[threadIdx.y][threadIdx.x] = value;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < FACTOR_ROWS; i++) sum += shared[threadIdx.y][i];
  __syncthreads();
  return sum;
}

/* The row, from k on, of the largest element of a column. */
template <typename T> __device__ inline int largest(const T *column, int k, int n) {
  __shared__ T best_value[FACTOR_ROWS];
  __shared__ int best_row[FACTOR_ROWS];
  if (threadIdx.y == 0) {
    T best = -1;
    int row = k;
    for (int i = k + threadIdx.x; i < n; i += FACTOR_ROWS) {
      T size = column[i] < 0 ? -column[i] : column[i];
      if (size > best) best = size, row = i;
    }
    best_value[threadIdx.x] = best;
    best_row[threadIdx.x] = row;
  }
  __syncthreads();
  T best = best_value[0];
  int row = best_row[0];
  for (int i = 1; i < FACTOR_ROWS; i++)
    if (best_value[i] > best || (best_value[i] == best && best_row[i] < row)) best = best_value[i], row = best_row[i];
  __syncthreads();
  return row;
}

template <typename T> __device__ inline void swap_rows(T *a, int n, int columns, int p, int q) {
  int t = threadIdx.y * FACTOR_ROWS + threadIdx.x;
  for (int j = t; j < columns; j += FACTOR_ROWS * FACTOR_COLUMNS) {
    T *column = a + (long long)j * n;
    T x = column[p];
    column[p] = column[q];
    column[q] = x;
  }
}

/* a becomes L and U with partial pivoting; pivots count rows from 1. */
template <typename T> __device__ inline int lu(T *a, int n, int *pivots) {
  int failed = 0;
  int t = threadIdx.y * FACTOR_ROWS + threadIdx.x;
  for (int k = 0; k < n; k++) {
    T *column = a + (long long)k * n;
    int pivot = largest(column, k, n);
    if (t == 0) pivots[k] = pivot + 1;
    T value = column[pivot];
    __syncthreads();
    if (value == 0) {
      if (!failed) failed = k + 1;
      continue;
    }
    if (pivot != k) swap_rows(a, n, n, k, pivot);
    __syncthreads();
    for (int i = k + 1 + t; i < n; i += FACTOR_ROWS * FACTOR_COLUMNS) column[i] /= value;
    __syncthreads();
    for (int j = k + 1 + threadIdx.y; j < n; j += FACTOR_COLUMNS) {
      T *other = a + (long long)j * n;
      T factor = other[k];
      for (int i = k + 1 + threadIdx.x; i < n; i += FACTOR_ROWS) other[i] -= column[i] * factor;
    }
    __syncthreads();
  }
  return failed;
}

/* The solutions for `right` columns x, in place, from the factors that lu has computed. */
template <typename T> __device__ inline void lu_solve(const T *a, int n, const int *pivots, T *x, int right) {
  for (int k = 0; k < n; k++) {
    int pivot = pivots[k] - 1;
    if (pivot != k) swap_rows(x, n, right, k, pivot);
    __syncthreads();
  }
  for (int k = 0; k < n; k++) {
    const T *column = a + (long long)k * n;
    for (int j = threadIdx.y; j < right; j += FACTOR_COLUMNS) {
      T *other = x + (long long)j * n;
      T factor = other[k];
      for (int i = k + 1 + threadIdx.x; i < n; i += FACTOR_ROWS) other[i] -= column[i] * factor;
    }
    __syncthreads();
  }
  for (int k = n - 1; k >= 0; k--) {
    const T *column = a + (long long)k * n;
    for (int j = threadIdx.y * FACTOR_ROWS + threadIdx.x; j < right; j += FACTOR_ROWS * FACTOR_COLUMNS)
      x[(long long)j * n + k] /= column[k];
    __syncthreads();
    for (int j = threadIdx.y; j < right; j += FACTOR_COLUMNS) {
      T *other = x + (long long)j * n;
      T factor = other[k];
      for (int i = threadIdx.x; i < k; i += FACTOR_ROWS) other[i] -= column[i] * factor;
    }
    __syncthreads();
  }
}

/* The lower triangle of a becomes L, with a = L L^T. */
template <typename T> __device__ inline int cholesky(T *a, int n) {
  int t = threadIdx.y * FACTOR_ROWS + threadIdx.x;
  for (int k = 0; k < n; k++) {
    T *column = a + (long long)k * n;
    T value = column[k];
    __syncthreads();
    if (!(value > 0)) return k + 1;
    value = sqrt(value);
    if (t == 0) column[k] = value;
    for (int i = k + 1 + t; i < n; i += FACTOR_ROWS * FACTOR_COLUMNS) column[i] /= value;
    __syncthreads();
    for (int j = k + 1 + threadIdx.y; j < n; j += FACTOR_COLUMNS) {
      T *other = a + (long long)j * n;
      T factor = column[j];
      for (int i = j + threadIdx.x; i < n; i += FACTOR_ROWS) other[i] -= column[i] * factor;
    }
    __syncthreads();
  }
  return 0;
}

/* Apply the reflection 1 - tau v v^T, v[k] = 1, to columns first .. last - 1: rows k .. m - 1. */
template <typename T>
__device__ inline void reflect(T (*shared)[FACTOR_ROWS], T *a, int m, int k, const T *v, T tau, int first, int last) {
  for (int start = first; start < last; start += FACTOR_COLUMNS) {
    int j = start + threadIdx.y;
    T *column = a + (long long)(j < last ? j : first) * m;
    T sum = threadIdx.x == 0 ? column[k] : T(0);
    for (int i = k + 1 + threadIdx.x; i < m; i += FACTOR_ROWS) sum += v[i] * column[i];
    sum = tau * row_sum(shared, sum);
    if (j < last) {
      if (threadIdx.x == 0) column[k] -= sum;
      for (int i = k + 1 + threadIdx.x; i < m; i += FACTOR_ROWS) column[i] -= v[i] * sum;
    }
    __syncthreads();
  }
}

/* Householder's QR: the first min(m, n) columns of a, m x n, become q, and r is min(m, n) x n. tau: min(m, n)
   elements. */
template <typename T> __device__ inline void qr(T *a, int m, int n, T *r, T *tau) {
  __shared__ T shared[FACTOR_COLUMNS][FACTOR_ROWS];
  int least = m < n ? m : n, t = threadIdx.y * FACTOR_ROWS + threadIdx.x, all = FACTOR_ROWS * FACTOR_COLUMNS;
  for (int k = 0; k < least; k++) {
    T *column = a + (long long)k * m;
    T biggest = 0, sum = 0;
    for (int i = k + 1 + threadIdx.x; i < m; i += FACTOR_ROWS) {
      T size = column[i] < 0 ? -column[i] : column[i];
      biggest = size > biggest ? size : biggest;
    }
    T scale = row_sum(shared, biggest); /* within a factor of 32 of the largest, and 0 only with it */
    if (scale > 0)
      for (int i = k + 1 + threadIdx.x; i < m; i += FACTOR_ROWS) sum += (column[i] / scale) * (column[i] / scale);
    sum = row_sum(shared, sum);
    T head = column[k], factor = 0, diagonal = head;
    if (scale > 0) {
      diagonal = hypot(head, scale * sqrt(sum));
      if (head > 0) diagonal = -diagonal;
      factor = (diagonal - head) / diagonal;
    }
    __syncthreads();
    if (scale > 0)
      for (int i = k + 1 + t; i < m; i += all) column[i] /= head - diagonal;
    if (t == 0) column[k] = diagonal, tau[k] = factor;
    __syncthreads();
    if (factor != 0) reflect(shared, a, m, k, column, factor, k + 1, n);
  }
  for (int j = threadIdx.y; j < n; j += FACTOR_COLUMNS)
    for (int i = threadIdx.x; i < least; i += FACTOR_ROWS)
      r[(long long)j * least + i] = i <= j ? a[(long long)j * m + i] : T(0);
  __syncthreads();
  for (int k = least - 1; k >= 0; k--) {
    T *column = a + (long long)k * m;
    T factor = tau[k];
    reflect(shared, a, m, k, column, factor, k + 1, least);
    for (int i = t; i < m; i += all) column[i] = i < k ? T(0) : i == k ? 1 - factor : -factor * column[i];
    __syncthreads();
  }
}

} // namespace moonwarp

#endif
