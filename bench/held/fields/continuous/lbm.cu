// Lattice Boltzmann on nine directions: stream from the neighbours, then collide. The field is periodic.
__constant__ int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant__ float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
__global__ void lbm(int width, int height, float omega, const float *before, float *after) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, cells = width * height;
  if (x >= width || y >= height) return;
  float f[9], rho = 0, ux = 0, uy = 0;
  for (int d = 0; d < 9; d++) {
    int sx = (x - ex[d] + width) % width, sy = (y - ey[d] + height) % height;
    f[d] = before[d * cells + sy * width + sx];
    rho += f[d];
    ux += f[d] * ex[d];
    uy += f[d] * ey[d];
  }
  ux /= rho;
  uy /= rho;
  float square = 1.5f * (ux * ux + uy * uy);
  for (int d = 0; d < 9; d++) {
    float eu = 3 * (ex[d] * ux + ey[d] * uy);
    float equilibrium = weight[d] * rho * (1 + eu + 0.5f * eu * eu - square);
    after[d * cells + y * width + x] = f[d] + omega * (equilibrium - f[d]);
  }
}
