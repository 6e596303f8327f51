kernel void softmax(int columns, global const float *x, global float *y) {
  local float part[256];
  const int t = get_local_id(0), threads = get_local_size(0);
  x += (size_t)get_group_id(0) * columns;
  y += (size_t)get_group_id(0) * columns;

  float largest = -INFINITY;
  for (int c = t; c < columns; c += threads) largest = fmax(largest, x[c]);
  part[t] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int far = threads / 2; far > 0; far /= 2) {
    if (t < far) part[t] = fmax(part[t], part[t + far]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = part[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  float sum = 0;
  for (int c = t; c < columns; c += threads) sum += y[c] = exp(x[c] - largest);
  part[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int far = threads / 2; far > 0; far /= 2) {
    if (t < far) part[t] += part[t + far];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float factor = 1 / part[0];

  for (int c = t; c < columns; c += threads) y[c] *= factor;
}
