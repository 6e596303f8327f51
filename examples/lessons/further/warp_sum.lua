-- Lesson 21, solved: five steps, each with half the distance.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sums(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = i < n ? a[i] : 0;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
  if (i % 32 == 0 && i < n) out[i / 32] = sum;
}
]==]

return { kernel = m.sums, launch = function(n) return mw.cdiv(n, 64), 64 end }
