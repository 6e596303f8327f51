-- Lesson 26, solved: with tiles of 32 the intensity is 8 flop/byte, right of the ridge at 6.
local mw = require "moonwarp"

local TILE = 32
local PEAK, BANDWIDTH = 12000, 2000

local function intensity(tile)
  return 2 * tile ^ 3 / (2 * tile ^ 2 * 4)
end

local function attainable(x)
  return math.min(PEAK, x * BANDWIDTH)
end

local m = mw.compile { options = { "-DTILE=" .. TILE }, source = [==[
__global__ void product(float *out, const float *a, const float *b, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
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
]==] }

local function launch(n)
  local blocks = mw.cdiv(n, TILE)
  return { blocks, blocks }, { TILE, TILE }
end

return { kernel = m.product, launch = launch, intensity = intensity, attainable = attainable }
