// Connected components of a picture by label propagation: one sweep, with pointer jumping, of labels that only fall.
__global__ void components(int width, int height, const unsigned char *inside, const int *before, int *after) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x, label = before[i];
  if (inside[i]) {
    if (x > 0 && inside[i - 1]) label = min(label, before[i - 1]);
    if (x < width - 1 && inside[i + 1]) label = min(label, before[i + 1]);
    if (y > 0 && inside[i - width]) label = min(label, before[i - width]);
    if (y < height - 1 && inside[i + width]) label = min(label, before[i + width]);
    label = min(label, before[label]);
  }
  after[i] = label;
}
