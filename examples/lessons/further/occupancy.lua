-- Lesson 20, solved: nothing is kept in shared memory, and 8 blocks of 256 threads fill a multiprocessor.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void windows(float *out, const float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 64; k++) sum += i + k < n ? a[i + k] : 0;
  if (i < n) out[i] = sum;
}
]==]

local function launch(n)
  local threads = 256
  return mw.cdiv(n, threads), threads
end

return { kernel = m.windows, launch = launch }
