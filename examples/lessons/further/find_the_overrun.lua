-- Lesson 15, solved: the tile has a place for the element after the block's last, and zeros where a has none.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void differences(float *out, const float *a, int n) {
  __shared__ float tile[65];
  int t = threadIdx.x;
  int i = blockIdx.x * 64 + t;
  tile[t] = i < n ? a[i] : 0;
  if (t == 0) tile[64] = i + 64 < n ? a[i + 64] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[t + 1] - tile[t];
}
]==]

return { kernel = m.differences, launch = function(n) return mw.cdiv(n, 64), 64 end }
