// One head of attention with a running maximum: one block per query, threads over the keys, then over the value's
// columns.
__global__ void attention(int tokens, float scale, const float *q, const float *k, const float *v, float *out) {
  const int width = 64;
  __shared__ float query[width], score[1024], best[128], total[128];
  int t = threadIdx.x, row = blockIdx.x;
  if (t < width) query[t] = q[row * width + t];
  __syncthreads();
  float most = -1e30f;
  for (int key = t; key < tokens; key += blockDim.x) {
    float dot = 0;
    for (int d = 0; d < width; d++) dot += query[d] * k[key * width + d];
    score[key] = dot * scale;
    most = fmaxf(most, score[key]);
  }
  best[t] = most;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) best[t] = fmaxf(best[t], best[t + half]);
    __syncthreads();
  }
  float sum = 0;
  for (int key = t; key < tokens; key += blockDim.x) {
    score[key] = expf(score[key] - best[0]);
    sum += score[key];
  }
  total[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) total[t] += total[t + half];
    __syncthreads();
  }
  if (t < width) {
    float value = 0;
    for (int key = 0; key < tokens; key++) value += score[key] * v[key * width + t];
    out[row * width + t] = value / total[0];
  }
}
