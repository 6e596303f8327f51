kernel void sgemm_tiled(int n, global const float *a, global const float *b, global float *c) {
  local float as[16][16], bs[16][16];
  int tx = get_local_id(0), ty = get_local_id(1);
  int column = get_global_id(0), row = get_global_id(1);
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    as[ty][tx] = a[row * n + tile + tx];
    bs[ty][tx] = b[(tile + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
