-- A reduction, by as many blocks as keep the device busy, however long the array is: each thread adds up one element of
-- every stride as wide as the grid, each block adds up its threads' sums in a shared-memory tree, and the few sums that
-- are left are added by a second launch of the same kernel.

local mw = require "moonwarp"

local m = mw.compile [[
__global__ void sum(int n, const int *in, int *out) {
  __shared__ int part[256];
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  part[threadIdx.x] = mine;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();                                  // the row above is complete
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
]]

local n = 60000
local values = mw.arange(n, "int")
local blocks = math.min(mw.cdiv(n, 256), 8 * mw.properties().multiprocessors)
local sums, total = mw.zeros(blocks, "int"), mw.zeros(1, "int")
m.sum(blocks, 256)(n, values, sums)
m.sum(1, 256)(blocks, sums, total)

print(total[1], values:sum())                         --> 1799970000 1799970000
