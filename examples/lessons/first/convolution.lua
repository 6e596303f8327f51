-- Lesson 11, solved: three threads fetch a second element, which belongs to the next block.
local mw = require "moonwarp"

local m = mw.compile [==[
#define BLOCK 64
#define WIDTH 4
__global__ void convolve(float *out, const float *a, const float *k, int n) {
  __shared__ float tile[BLOCK + WIDTH - 1];
  int t = threadIdx.x;
  int i = blockIdx.x * BLOCK + t;
  tile[t] = i < n ? a[i] : 0;
  if (t < WIDTH - 1) tile[BLOCK + t] = i + BLOCK < n ? a[i + BLOCK] : 0;
  __syncthreads();
  if (i < n) {
    float sum = 0;
    for (int j = 0; j < WIDTH; j++) sum += k[j] * tile[t + j];
    out[i] = sum;
  }
}
]==]

return { kernel = m.convolve, launch = function(n) return mw.cdiv(n, 64), 64 end }
