-- Tier selection, and its reasons.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"

local function tier_of(source, options)
  local m = mw.compile { source = source, options = options }
  return m.k.tier, m.k.tier_reason
end

describe("a kernel's tier", function()
  it("is SIMD for guarded element-wise code", function()
    assert.equal("simd", (tier_of [==[
      __global__ void k(int n, float a, const float *x, float *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] = a * x[i] + y[i];
      }]==]))
  end)

  it("is SIMD for a tree reduction in shared memory", function()
    assert.equal("simd", (tier_of [==[
      __global__ void k(const float *x, float *sums) {
        __shared__ float part[256];
        part[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
        __syncthreads();
        for (int half = blockDim.x / 2; half > 0; half /= 2) {
          if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
          __syncthreads();
        }
        if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
      }]==]))
  end)

  it("is SIMD for a tile with edges, loaded by loops over both axes", function()
    assert.equal("simd", (tier_of [==[
      __global__ void k(int width, int height, const float *in, float *out) {
        __shared__ float tile[20][20];
        int left = blockIdx.x * 16 - 2, top = blockIdx.y * 16 - 2;
        for (int j = threadIdx.y; j < 20; j += 16)
          for (int i = threadIdx.x; i < 20; i += 16)
            tile[j][i] = in[min(max(top + j, 0), height - 1) * width + min(max(left + i, 0), width - 1)];
        __syncthreads();
        int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
        if (x >= width || y >= height) return;
        out[y * width + x] = tile[threadIdx.y][threadIdx.x] + tile[threadIdx.y + 4][threadIdx.x + 4];
      }]==]))
  end)

  it("is SIMD for warp functions, in blocks of any shape", function()
    local tier, reason = tier_of [==[
      __global__ void k(const float *x, float *y) {
        int i = threadIdx.x + blockDim.x * threadIdx.y;
        float sum = x[i];
        for (int d = 16; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
        if (i % 32 == 0) y[i / 32] = sum + __popc(__match_any_sync(~0u, i & 3));
      }]==]
    assert.equal("simd", tier)
    assert.matches("warp", reason)
  end)

  it("is fibers for a loop that waits for another warp", function()
    local tier, reason = tier_of [==[
      __global__ void k(int *p) {
        __shared__ volatile int flag;
        if (threadIdx.x < 32) while (!flag) {}
        if (threadIdx.x == 32) flag = 1;
        p[threadIdx.x] = flag;
      }]==]
    assert.equal("fiber", tier)
    assert.matches("polls memory that another warp writes", reason)
  end)

  it("is the loop tier for a divergent loop that mainly gathers", function()
    local tier, reason = tier_of [==[
      __global__ void k(const int *start, const int *column, const float *value, const float *x, float *y) {
        int row = threadIdx.x;
        float sum = 0;
        for (int j = start[row]; j < start[row + 1]; j++) sum += value[j] * x[column[j]];
        y[row] = sum;
      }]==]
    assert.equal("loop", tier)
    assert.matches("gather", reason)
  end)

  it("is fibers for a barrier in a recursion", function()
    assert.equal("fiber", (tier_of [==[
      __device__ int down(int n) { __syncthreads(); return n ? 1 + down(n - 1) : 0; }
      __global__ void k(int *p) { p[threadIdx.x] = down(5); }]==]))
  end)

  it("has the launches that it does not support", function()
    local tier, reason = tier_of [==[
      __global__ void k(const int *in, int *out, int n) {
        int own[4000], t = threadIdx.x;
        for (int i = 0; i < 4000; i++) own[i] = in[(i * n + t) % 64];
        __syncthreads();
        int sum = 0;
        for (int i = t; i < 4000; i += n) sum += own[(i * i) % 4000];
        out[t] = sum;
      }]==]
    assert.equal("simd", tier)
    assert.matches("; launches with blocks of more than %d+ gangs of %d+ threads run as fibers$", reason)
    tier, reason = tier_of [==[
      __global__ void k(int rows, int columns, float *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        for (int row = 0; row < rows; row++) x[row * columns + i] = 2 * x[(row + 1) * columns + i];
      }]==]
    assert.equal("simd", tier)
    assert.no.matches("launches with", reason)
  end)

  it("has the reason if it is slow", function()
    local m = mw.compile [==[
      __global__ void fast(int *p) { p[threadIdx.x] = 1; }
      __global__ void slow(int *p) {
        __shared__ volatile int flag;
        if (threadIdx.x < 32) while (!flag) {}
        if (threadIdx.x == 32) flag = 1;
        p[threadIdx.x] = flag;
      }]==]
    assert.equal("kernel fast(int *p)", tostring(m.fast))
    assert.matches("^kernel slow%(int %*p%), which runs as fiber: .*line 4: a loop polls memory that another warp " ..
      "writes: wait at a barrier instead$", tostring(m.slow))
  end)

  it("can be chosen", function()
    assert.equal("loop", (tier_of("__global__ void k(int *p) { p[threadIdx.x] = 1; }", { "--width=1" })))
  end)
end)
