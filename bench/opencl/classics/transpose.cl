kernel void transpose(int n, global const float *in, global float *out) {
  local float tile[16][17];
  int tx = get_local_id(0), ty = get_local_id(1);
  tile[ty][tx] = in[get_global_id(1) * n + get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  int x = get_group_id(1) * 16 + tx, y = get_group_id(0) * 16 + ty;
  out[y * n + x] = tile[tx][ty];
}
