kernel void stencil(int side, float rate, global const float *in, global float *out) {
  int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  if (x >= side || y >= side || z >= side) return;
  int i = (z * side + y) * side + x;
  float here = in[i];
  if (x > 0 && x < side - 1 && y > 0 && y < side - 1 && z > 0 && z < side - 1) {
    float around = in[i - 1] + in[i + 1] + in[i - side] + in[i + side] + in[i - side * side] + in[i + side * side];
    here += rate * (around - 6 * here);
  }
  out[i] = here;
}
