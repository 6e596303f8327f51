// Threads with loops of different lengths, inside of which other loops walk through memory.

// The weighted sum of rows up to the thread's own (the second half of causal attention).
extern "C" __global__ void causal_values(int n, int d, const float *weights, const float *values, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int j = 0; j <= i; j++) {
    float w = weights[i * n + j];
    for (int k = 0; k < d; k++) out[i * d + k] += w * values[j * d + k];
  }
}

// A sparse matrix times several vectors, a row of the result in each thread.
extern "C" __global__ void sparse_rows(int rows, int columns, const int *start, const int *column, const float *value,
                                       const float *x, float *y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int e = start[r]; e < start[r + 1]; e++)
    for (int c = 0; c < columns; c++) y[r * columns + c] += value[e] * x[column[e] * columns + c];
}

// The greatest number of segments of different lengths.
extern "C" __global__ void segment_maxima(int segments, const int *start, const int *value, int *greatest) {
  int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= segments) return;
  int most = -2147483647 - 1;
  for (int e = start[s]; e < start[s + 1]; e++) most = value[e] > most ? value[e] : most;
  greatest[s] = most;
}
