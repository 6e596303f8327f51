-- Lesson 27, solved: one read, one write, and two reductions between them.
local mw = require "moonwarp"

local m = mw.compile [==[
__device__ float all(float *tile, float value, bool largest) {
  int t = threadIdx.x;
  tile[t] = value;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) tile[t] = largest ? fmaxf(tile[t], tile[t + half]) : tile[t] + tile[t + half];
    __syncthreads();
  }
  float result = tile[0];
  __syncthreads();
  return result;
}

__global__ void softmax(float *out, const float *a, int w) {
  __shared__ float tile[128];
  int x = threadIdx.x, i = blockIdx.x * w + x;
  float value = x < w ? a[i] : -INFINITY;
  float most = all(tile, value, true);
  float power = x < w ? expf(value - most) : 0;
  float sum = all(tile, power, false);
  if (x < w) out[i] = power / sum;
}
]==]

return { kernel = m.softmax, launch = function(_, h) return h, 128 end }
