// Bilinear fetches from a texture: of a rotated and scaled picture, where neighbouring threads read neighbouring
// texels, and on random walks, where they read scattered ones.
texture<float, 2> img;

__global__ void turn(int size, float right, float down, float from_x, float from_y, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * size + x] = tex2D(img, from_x + right * x - down * y, from_y + down * x + right * y);
}

__global__ void walk(int steps, const float *x, const float *y, const unsigned *seeds, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float u = x[i], v = y[i], sum = 0;
  unsigned state = seeds[i];
  for (int n = 0; n < steps; n++) {
    sum += tex2D(img, u, v);
    state = state * 1664525u + 1013904223u;
    u += (int)(state >> 24) * 0.0625f - 8;
    v += (int)(state >> 16 & 255) * 0.0625f - 8;
  }
  out[i] = sum;
}
