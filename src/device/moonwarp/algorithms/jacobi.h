/* Singular values and eigenvalues by one-sided Jacobi rotations (Hestenes), a block of 32 x 8 threads for a matrix.
 *
 * Each rotation makes two columns orthogonal. In a round every column is in one pair, so that rows of threads rotate
 * pairs at the same time (the round-robin order of Brent and Luk). Columns that are all orthogonal are the left vectors
 * times the singular values, and the rotations' product is the right vectors. Matrices are in column-major order. */
#ifndef MOONWARP_ALGORITHMS_JACOBI_H
#define MOONWARP_ALGORITHMS_JACOBI_H

#include <moonwarp/algorithms/factor.h>

namespace moonwarp {

enum { JACOBI_SWEEPS = 60 };

template <typename T> __device__ inline T epsilon_of() {
  return sizeof(T) == 4 ? T(1.1920929e-7) : T(2.220446049250313e-16);
}

/* Whether a condition holds in a thread of the block. */
__device__ inline bool any_thread(bool condition) {
  __shared__ int found;
  found = 0;
  __syncthreads();
  if (condition) found = 1;
  __syncthreads();
  return found != 0;
}

/* Column `place` (0 .. size - 1, size even) of a round: place 0 stays, the others move around. */
__device__ inline int seat(int place, int round, int size) {
  return place == 0 ? 0 : 1 + (place - 1 + round) % (size - 1);
}

/* Rotate columns p and q of x by (c, s). */
template <typename T> __device__ inline void rotate(T *p, T *q, int rows, T c, T s) {
  for (int i = threadIdx.x; i < rows; i += FACTOR_ROWS) {
    T x = p[i], y = q[i];
    p[i] = c * x - s * y;
    q[i] = s * x + c * y;
  }
}

/* The largest norm of a column. */
template <typename T> __device__ inline T largest_norm(T (*shared)[FACTOR_ROWS], const T *a, int m, int n) {
  T largest = 0;
  for (int start = 0; start < n; start += FACTOR_COLUMNS) {
    int j = start + threadIdx.y;
    T sum = 0;
    for (int i = threadIdx.x; j < n && i < m; i += FACTOR_ROWS)
      sum += a[(long long)j * m + i] * a[(long long)j * m + i];
    sum = row_sum(shared, sum);
    largest = sum > largest ? sum : largest;
  }
  shared[threadIdx.y][threadIdx.x] = largest;
  __syncthreads();
  for (int i = 0; i < FACTOR_COLUMNS; i++) largest = shared[i][0] > largest ? shared[i][0] : largest;
  __syncthreads();
  return sqrt(largest);
}

/* Make the n columns of a (m rows) orthogonal, and v, n x n, the product of the rotations. Columns that are rounding
   errors of others stay as they are. Whether it converged. */
template <typename T> __device__ inline bool jacobi(T *a, int m, int n, T *v) {
  __shared__ T shared[FACTOR_COLUMNS][FACTOR_ROWS];
  __shared__ int rotated;
  int t = threadIdx.y * FACTOR_ROWS + threadIdx.x, size = n + n % 2;
  T tolerance = epsilon_of<T>() * sqrt((T)(m + 3)) * 2;
  T least = epsilon_of<T>() / 4 * largest_norm(shared, a, m, n);
  for (int j = threadIdx.y; j < n; j += FACTOR_COLUMNS)
    for (int i = threadIdx.x; i < n; i += FACTOR_ROWS) v[(long long)j * n + i] = i == j ? T(1) : T(0);
  bool is_done = n < 2;
  for (int sweep = 0; sweep < JACOBI_SWEEPS && !is_done; sweep++) {
    if (t == 0) rotated = 0;
    __syncthreads();
    for (int round = 0; round < size - 1; round++) {
      for (int start = 0; start < size / 2; start += FACTOR_COLUMNS) {
        int pair = start + threadIdx.y;
        int p = pair < size / 2 ? seat(pair, round, size) : n,
            q = pair < size / 2 ? seat(size - 1 - pair, round, size) : n;
        bool is_pair = p < n && q < n;
        T *x = a + (long long)(is_pair ? p : 0) * m, *y = a + (long long)(is_pair ? q : 0) * m;
        T xx = 0, yy = 0, xy = 0;
        for (int i = threadIdx.x; i < m; i += FACTOR_ROWS) {
          xx += x[i] * x[i];
          yy += y[i] * y[i];
          xy += x[i] * y[i];
        }
        xx = row_sum(shared, xx);
        yy = row_sum(shared, yy);
        xy = row_sum(shared, xy);
        T size_of_xy = xy < 0 ? -xy : xy, size_of_x = sqrt(xx), size_of_y = sqrt(yy);
        bool is_exact = size_of_x > least && size_of_y > least;
        if (is_pair && is_exact && size_of_xy > tolerance * size_of_x * size_of_y) {
          T zeta = (yy - xx) / (2 * xy), root = sqrt(1 + zeta * zeta);
          T tangent = zeta < 0 ? -1 / (root - zeta) : 1 / (root + zeta);
          T c = 1 / sqrt(1 + tangent * tangent), s = c * tangent;
          rotate(x, y, m, c, s);
          rotate(v + (long long)p * n, v + (long long)q * n, n, c, s);
          if (threadIdx.x == 0) rotated = 1;
        }
        __syncthreads();
      }
    }
    is_done = rotated == 0;
    __syncthreads();
  }
  return is_done;
}

/* The place of values[j] in order: descending, or ascending. */
template <typename T> __device__ inline int rank_of(const T *values, int n, int j, bool ascends) {
  int rank = 0;
  T own = values[j];
  for (int i = 0; i < n; i++) {
    bool before = ascends ? values[i] < own : values[i] > own;
    if (before || (values[i] == own && i < j)) rank++;
  }
  return rank;
}

/* s, u (m x n) and vt (n x n) of a, m x n with m >= n, in descending order. a, v (n x n) and values (n) are
   overwritten. Columns of u whose value is 0, or a rounding error of the largest, are 0. Returns 0, or 1 if it did not
   converge. */
template <typename T> __device__ inline int svd(T *a, int m, int n, T *v, T *values, T *s, T *u, T *vt) {
  __shared__ T shared[FACTOR_COLUMNS][FACTOR_ROWS];
  bool is_done = jacobi(a, m, n, v);
  for (int start = 0; start < n; start += FACTOR_COLUMNS) {
    int j = start + threadIdx.y;
    const T *column = a + (long long)(j < n ? j : 0) * m;
    T sum = 0;
    for (int i = threadIdx.x; i < m; i += FACTOR_ROWS) sum += column[i] * column[i];
    sum = row_sum(shared, sum);
    if (j < n && threadIdx.x == 0) values[j] = sqrt(sum);
    if (!(sum - sum == 0)) is_done = false;
  }
  bool failed = any_thread(!is_done);
  T most = 0;
  for (int j = 0; j < n; j++) most = values[j] > most ? values[j] : most;
  for (int j = threadIdx.y; j < n; j += FACTOR_COLUMNS) {
    int to = rank_of(values, n, j, false);
    T value = values[j];
    bool is_exact = value > epsilon_of<T>() * most;
    if (threadIdx.x == 0) s[to] = value;
    for (int i = threadIdx.x; i < m; i += FACTOR_ROWS)
      u[(long long)to * m + i] = is_exact ? a[(long long)j * m + i] / value : T(0);
    for (int i = threadIdx.x; i < n; i += FACTOR_ROWS) vt[(long long)i * n + to] = v[(long long)j * n + i];
  }
  return failed ? 1 : 0;
}

/* Eigenvalues w, ascending, and vectors (n x n) of the symmetric matrix whose lower triangle is a's. The matrix is
   shifted by Gershgorin's bound, so that its singular values are its eigenvalues plus the shift. a, v and values are
   overwritten. Returns 0, or 1 if it did not converge. */
template <typename T> __device__ inline int eigh(T *a, int n, T *v, T *values, T *w, T *vectors) {
  __shared__ T shared[FACTOR_COLUMNS][FACTOR_ROWS];
  __shared__ T shift;
  int t = threadIdx.y * FACTOR_ROWS + threadIdx.x;
  for (int j = threadIdx.y; j < n; j += FACTOR_COLUMNS)
    for (int i = j + 1 + threadIdx.x; i < n; i += FACTOR_ROWS) a[(long long)i * n + j] = a[(long long)j * n + i];
  if (t == 0) shift = 0;
  __syncthreads();
  for (int start = 0; start < n; start += FACTOR_COLUMNS) {
    int j = start + threadIdx.y;
    const T *column = a + (long long)(j < n ? j : 0) * n;
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += FACTOR_ROWS)
      if (i != j) sum += column[i] < 0 ? -column[i] : column[i];
    sum = row_sum(shared, sum);
    if (j < n && threadIdx.x == 0) values[j] = sum - column[j];
  }
  __syncthreads();
  if (t == 0)
    for (int j = 0; j < n; j++)
      if (values[j] > shift || values[j] != values[j]) shift = values[j];
  __syncthreads();
  T by = shift;
  for (int j = t; j < n; j += FACTOR_ROWS * FACTOR_COLUMNS) a[(long long)j * n + j] += by;
  __syncthreads();
  bool is_done = jacobi(a, n, n, v);
  for (int start = 0; start < n; start += FACTOR_COLUMNS) {
    int j = start + threadIdx.y;
    const T *column = a + (long long)(j < n ? j : 0) * n, *vector = v + (long long)(j < n ? j : 0) * n;
    T sum = 0;
    for (int i = threadIdx.x; i < n; i += FACTOR_ROWS) sum += column[i] * vector[i];
    sum = row_sum(shared, sum);
    if (j < n && threadIdx.x == 0) values[j] = sum - by;
    if (!(sum - sum == 0)) is_done = false;
  }
  bool failed = any_thread(!is_done);
  for (int j = threadIdx.y; j < n; j += FACTOR_COLUMNS) {
    int to = rank_of(values, n, j, true);
    if (threadIdx.x == 0) w[to] = values[j];
    for (int i = threadIdx.x; i < n; i += FACTOR_ROWS) vectors[(long long)to * n + i] = v[(long long)j * n + i];
  }
  return failed ? 1 : 0;
}

} // namespace moonwarp

#endif
