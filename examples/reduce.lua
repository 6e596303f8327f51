-- A reduction: each block adds up its part in a shared-memory tree, and the few sums that are left are added by a
-- second launch of the same kernel.

local mw = require "moonwarp"

local m = mw.compile [[
__global__ void sum(int n, const int *in, int *out) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();                                  // the row above is complete
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
]]

local n = 60000
local values = mw.arange(n, "int")
local blocks = mw.cdiv(n, 256)
local sums, total = mw.zeros(blocks, "int"), mw.zeros(1, "int")
m.sum(blocks, 256)(n, values, sums)
m.sum(1, 256)(blocks, sums, total)

print(blocks, total[1], values:sum())                 --> 235 1799970000 1799970000
