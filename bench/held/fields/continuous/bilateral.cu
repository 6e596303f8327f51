// The bilateral filter: a blur of 7 x 7 pixels whose weights fall with the distance and with the difference in value.
__global__ void bilateral(int width, int height, float space, float range, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float centre = in[y * width + x], sum = 0, total = 0;
  for (int dy = -3; dy <= 3; dy++)
    for (int dx = -3; dx <= 3; dx++) {
      int sx = min(max(x + dx, 0), width - 1), sy = min(max(y + dy, 0), height - 1);
      float value = in[sy * width + sx], apart = value - centre;
      float weight = __expf(-(dx * dx + dy * dy) * space - apart * apart * range);
      sum += weight * value;
      total += weight;
    }
  out[y * width + x] = sum / total;
}
