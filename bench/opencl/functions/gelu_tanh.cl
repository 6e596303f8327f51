kernel void gelu_tanh(int n, global const float *x, global float *y) {
  int i = get_global_id(0);
  if (i >= n) return;
  float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanh(0.79788456f * (v + 0.044715f * v * v * v)));
}
