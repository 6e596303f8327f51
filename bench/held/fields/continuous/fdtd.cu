// Maxwell's equations on a staggered grid in two dimensions: one step of the electric field, then of the magnetic one.
__global__ void fdtd_electric(int width, int height, float dt, const float *hx, const float *hy, float *ez) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < width && y < height) {
    int i = y * width + x;
    ez[i] += dt * ((hy[i] - hy[i - 1]) - (hx[i] - hx[i - width]));
  }
}
__global__ void fdtd_magnetic(int width, int height, float dt, const float *ez, float *hx, float *hy) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width - 1 && y < height - 1) {
    int i = y * width + x;
    hx[i] -= dt * (ez[i + width] - ez[i]);
    hy[i] += dt * (ez[i + 1] - ez[i]);
  }
}
