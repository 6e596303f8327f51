// OpenCL 1.2 has no shuffles: threads of a warp's size add up through local memory.
float add_warp(local float *cell, int t, float sum) {
  cell[t] = sum;
  for (int far = 16; far > 0; far /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t % 32 < far) cell[t] += cell[t + far];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return cell[t];
}

kernel void warpsum(int n, global const float *x, global float *out) {
  local float cell[256], warps[8];
  int t = get_local_id(0);
  float sum = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i];
  sum = add_warp(cell, t, sum);
  if (t % 32 == 0) warps[t / 32] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = add_warp(cell, t, t < 8 ? warps[t] : 0);
  if (t == 0) out[get_group_id(0)] = sum;
}
