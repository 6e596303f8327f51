-- Lesson 9, solved: each thread reads global memory once and the tile three times.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void pool(float *out, const float *a) {
  __shared__ float tile[256];
  int i = threadIdx.x;
  tile[i] = a[i];
  __syncthreads();
  out[i] = tile[i] + (i >= 1 ? tile[i - 1] : 0) + (i >= 2 ? tile[i - 2] : 0);
}
]==]

return { kernel = m.pool, launch = function(n) return 1, n end }
