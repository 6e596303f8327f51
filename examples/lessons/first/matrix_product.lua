-- Lesson 14, solved: the block fills two tiles, uses them, and moves on.
local mw = require "moonwarp"

local m = mw.compile [==[
#define TILE 8
__global__ void product(float *out, const float *a, const float *b, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * TILE + tx;
  int y = blockIdx.y * TILE + ty;
  float sum = 0;
  for (int first = 0; first < n; first += TILE) {
    ta[ty][tx] = y < n && first + tx < n ? a[y * n + first + tx] : 0;
    tb[ty][tx] = first + ty < n && x < n ? b[(first + ty) * n + x] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += ta[ty][k] * tb[k][tx];
    __syncthreads();
  }
  if (x < n && y < n) out[y * n + x] = sum;
}
]==]

local function launch(n)
  local blocks = mw.cdiv(n, 8)
  return { blocks, blocks }, { 8, 8 }
end

return { kernel = m.product, launch = launch }
