// 7x7 filter; outside of the image the nearest pixel is used.
__global__ void conv2d(int width, int height, const float *image, const float *filter, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int j = -3; j <= 3; j++)
    for (int i = -3; i <= 3; i++) {
      int column = min(max(x + i, 0), width - 1), row = min(max(y + j, 0), height - 1);
      sum += image[row * width + column] * filter[(j + 3) * 7 + i + 3];
    }
  out[y * width + x] = sum;
}
