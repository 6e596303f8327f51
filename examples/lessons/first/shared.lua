-- Lesson 8, solved: everybody leaves an element, waits, and takes the one on the other side.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void reverse(float *out, const float *a, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  int first = blockIdx.x * 64;
  int count = min(64, n - first);
  if (t < count) tile[t] = a[first + t];
  __syncthreads();
  if (t < count) out[first + t] = tile[count - 1 - t];
}
]==]

return { kernel = m.reverse, launch = function(n) return mw.cdiv(n, 64), 64 end }
