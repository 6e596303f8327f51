-- Lesson 7, solved: each dimension has its own blocks, and its own rounding up.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void twice(float *out, const float *a, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < w && y < h) out[y * w + x] = 2 * a[y * w + x];
}
]==]

local function launch(w, h)
  local grid = { mw.cdiv(w, 8), mw.cdiv(h, 4) }
  return grid, { 8, 4 }
end

return { kernel = m.twice, launch = launch }
