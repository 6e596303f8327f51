-- Lesson 16, solved: a barrier after the tile is filled, and one after each halving.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sums(float *out, const float *a, int n) {
  __shared__ float tile[128];
  int t = threadIdx.x;
  int i = blockIdx.x * 128 + t;
  tile[t] = i < n ? a[i] : 0;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}
]==]

return { kernel = m.sums, launch = function(n) return mw.cdiv(n, 128), 128 end }
