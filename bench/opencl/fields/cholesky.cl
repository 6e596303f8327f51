kernel void cholesky(global const float *in, global float *out) {
  local float a[16][17];
  int column = get_local_id(0), row = get_local_id(1), at = (get_group_id(0) * 16 + row) * 16 + column;
  a[row][column] = in[at] + (row == column ? 16.0f : 0.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 0; k < 16; k++) {
    if (row == k && column == k) a[k][k] = sqrt(a[k][k]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (column == k && row > k) a[row][k] /= a[k][k];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (column > k && row >= column) a[row][column] -= a[row][k] * a[column][k];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[at] = row >= column ? a[row][column] : 0;
}
