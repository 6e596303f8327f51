kernel void gelu(int n, global const float *x, global float *y) {
  int i = get_global_id(0);
  if (i < n) y[i] = 0.5f * x[i] * (1.0f + erf(x[i] * 0.70710678f));
}
