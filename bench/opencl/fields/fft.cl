uint reversed(uint x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  x = (x & 0x00ff00ff) << 8 | (x >> 8 & 0x00ff00ff);
  return x << 16 | x >> 16;
}
kernel void fft(global const float2 *in, global const float2 *twiddle, global float2 *out) {
  local float2 data[512];
  int t = get_local_id(0), first = get_group_id(0) * 512;
  data[reversed(t) >> 23] = in[first + t];
  data[reversed(t + 256) >> 23] = in[first + t + 256];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_size = 1; half_size < 512; half_size *= 2) {
    int j = t % half_size, low = 2 * t - j;
    float2 w = twiddle[j * (256 / half_size)], a = data[low], b = data[low + half_size];
    float2 turned = (float2)(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
    data[low] = a + turned;
    data[low + half_size] = a - turned;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[first + t] = data[t];
  out[first + t + 256] = data[t + 256];
}
