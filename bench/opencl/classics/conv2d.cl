kernel void conv2d(int width, int height, global const float *image, global const float *filter, global float *out) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int j = -3; j <= 3; j++)
    for (int i = -3; i <= 3; i++) {
      int column = min(max(x + i, 0), width - 1), row = min(max(y + j, 0), height - 1);
      sum += image[row * width + column] * filter[(j + 3) * 7 + i + 3];
    }
  out[y * width + x] = sum;
}
