kernel void scan(int n, global const float *x, global float *out) {
  local float sums[256];
  int t = get_local_id(0), i = get_global_id(0);
  sums[t] = i < n ? x[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int step_ = 1; step_ < 256; step_ *= 2) {
    float left = t >= step_ ? sums[t - step_] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[t] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) out[i] = sums[t];
}
