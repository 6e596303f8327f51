// One step of the heat equation on a cube: seven points; the faces stay as they are.
__global__ void stencil(int side, float rate, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= side || y >= side || z >= side) return;
  int i = (z * side + y) * side + x;
  float here = in[i];
  if (x > 0 && x < side - 1 && y > 0 && y < side - 1 && z > 0 && z < side - 1) {
    float around = in[i - 1] + in[i + 1] + in[i - side] + in[i + side] + in[i - side * side] + in[i + side * side];
    here += rate * (around - 6 * here);
  }
  out[i] = here;
}
