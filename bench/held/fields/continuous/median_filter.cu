// The median of 3 x 3 pixels, by exchanges, with clamped borders.
__device__ void order(unsigned char &a, unsigned char &b) {
  unsigned char low = min(a, b), high = max(a, b);
  a = low;
  b = high;
}
__global__ void median_filter(int width, int height, const unsigned char *in, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  unsigned char p[9];
  for (int i = 0; i < 9; i++) {
    int sx = min(max(x + i % 3 - 1, 0), width - 1), sy = min(max(y + i / 3 - 1, 0), height - 1);
    p[i] = in[sy * width + sx];
  }
  order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]), order(p[0], p[1]), order(p[3], p[4]), order(p[6], p[7]);
  order(p[1], p[2]), order(p[4], p[5]), order(p[7], p[8]), order(p[0], p[3]), order(p[5], p[8]), order(p[4], p[7]);
  order(p[3], p[6]), order(p[1], p[4]), order(p[2], p[5]), order(p[4], p[7]), order(p[4], p[2]), order(p[6], p[4]);
  order(p[4], p[2]);
  out[y * width + x] = p[4];
}
