__global__ void mandelbrot(int width, int height, int limit, int *out) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  float cx = -2.0f + 3.0f * px / width, cy = -1.5f + 3.0f * py / height, x = 0, y = 0;
  int i = 0;
  while (x * x + y * y < 4.0f && i < limit) {
    float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
    i++;
  }
  out[py * width + px] = i;
}
