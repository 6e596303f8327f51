kernel void spmv(int rows, global const int *start, global const int *column, global const float *value,
                 global const float *x, global float *y) {
  int row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  for (int k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
  y[row] = sum;
}
