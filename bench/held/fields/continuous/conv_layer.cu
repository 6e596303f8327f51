// A layer of a neural network: 3 x 3 convolution over 16 channels into 32, with bias and ReLU. Layout: channel, row, column.
__global__ void conv_layer(int side, const float *input, const float *weights, const float *bias, float *output) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, to = blockIdx.z;
  if (x >= side || y >= side) return;
  float sum = bias[to];
  for (int from = 0; from < 16; from++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        int sx = x + dx, sy = y + dy;
        if (sx >= 0 && sx < side && sy >= 0 && sy < side)
          sum += input[(from * side + sy) * side + sx] * weights[((to * 16 + from) * 3 + dy + 1) * 3 + dx + 1];
      }
  output[(to * side + y) * side + x] = fmaxf(sum, 0.0f);
}
