-- A histogram: each block counts in shared memory, where its threads often collide, and adds its bins to the result
-- once.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void histogram(int n, const unsigned char *data, unsigned *bins) {
  __shared__ unsigned mine[16];
  if (threadIdx.x < 16) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    atomicAdd(&mine[data[i] / 16], 1u);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
]==]

local here = arg[0]:match("^(.*/)") or "./"
local picture = mw.read_image(here .. "data/astronaut.ppm")
local bins = mw.zeros(16, "uint")
m.histogram(32, 256)(picture.count, picture, bins)

print(bins:sum() == picture.count)                    --> true
print(#bins, bins:max() > bins:min())                 --> 16 true
