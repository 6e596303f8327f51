-- Lesson 18, solved: in each step the whole grid takes the next elements, one each.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void twice(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int threads = gridDim.x * blockDim.x;
  for (int k = 0; k < 8; k++) {
    int j = k * threads + i;
    if (j < n) out[j] = 2 * a[j];
  }
}
]==]

return { kernel = m.twice, launch = function(n) return mw.cdiv(n, 8 * 64), 64 end }
