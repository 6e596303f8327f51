kernel void radix(int shift, global const uint *in, global uint *out) {
  local uint keys[256];
  local int ones[256];
  int t = get_local_id(0), i = get_global_id(0);
  uint key = in[i];
  for (int bit = shift; bit < shift + 4; bit++) {
    int one = key >> bit & 1;
    ones[t] = one;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = 1; step < 256; step *= 2) {
      int left = t >= step ? ones[t - step] : 0;
      barrier(CLK_LOCAL_MEM_FENCE);
      ones[t] += left;
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    int before = ones[t] - one, zeros = 256 - ones[255];
    keys[one ? zeros + before : t - before] = key;
    barrier(CLK_LOCAL_MEM_FENCE);
    key = keys[t];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[i] = key;
}
