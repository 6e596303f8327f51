-- A reduction with as many blocks as keep the device busy, for any length of the array: each thread sums elements in a
-- grid-stride loop, four integers at a time; each block adds its threads' sums in a shared-memory tree; and an atomic
-- adds the blocks' sums.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void sum(int n, const int4 *in, int *out) {
  __shared__ int part[256];
  int mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    int4 four = in[i];                                // one read of 16 bytes
    mine += four.x + four.y + four.z + four.w;
  }
  part[threadIdx.x] = mine;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();                                  // the row above is complete
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
]==]

local n = 60000
local values, total = mw.arange(n, "int"), mw.zeros(1, "int")
local blocks = math.min(mw.cdiv(n / 4, 256), 16 * mw.properties().multiprocessors)
m.sum(blocks, 256)(n / 4, values:as "int4", total)

print(total[1], values:sum())                         --> 1799970000 1799970000
