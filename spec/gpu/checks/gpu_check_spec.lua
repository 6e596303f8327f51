-- Checked runs on a real GPU: a planted bug of each kind is found at its lines, and its clean twin is clean.
-- (checked_run_device_spec and cuda_check_spec test the parts on any machine; bench/checks/suite.lua runs all planted
-- bugs.)

local suite = require "support.suite"
local planted = require "support.check_suite.suite"

describe("a checked run on a real GPU", function()
  if not suite.on_gpu then
    it("is for a machine with one", function() pending "GPU only: planted bugs on a real one" end)
    return
  end

  local mw = require "moonwarp"
  local before = mw.limit "time"
  setup(function() mw.limit("time", 10) end)
  teardown(function() mw.limit("time", before) end)

  local cases = {
    { kind = "race", run = { 1, 64, { "float:64" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x; //1
  @{|__syncthreads();}
  y[threadIdx.x] = tile[(threadIdx.x + 32) % 64]; //2
}]==] },
    { kind = "uninitialised", run = { 1, 64, { "float:64" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[64];
  @{if (threadIdx.x < 32)|} s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = 2 * s[63 - threadIdx.x]; //1
}]==] },
    { kind = "uninitialised", "a local variable", run = { 1, 32, { "float:64" } }, text = [==[
__device__ __noinline__ void get(const float *x, int i, float *out) { if (i @{> 3|>= 0}) *out = x[i]; }
__global__ void k(float *y) {
  float v;
  get(y, threadIdx.x, &v);
  y[threadIdx.x] = v * 2; //1
}]==] },
    { kind = "uninitialised", "a copy", run = { 1, 32, { "float:64" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[2][32];
  @{if (threadIdx.x < 31)|} s[0][threadIdx.x] = threadIdx.x;
  s[1][threadIdx.x] = s[0][threadIdx.x];
  if (s[1][threadIdx.x] > 3) y[threadIdx.x] = 1; //1
}]==] },
    { kind = "uninitialised", "what a shuffle moves", run = { 1, 64, { "float:64" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float part[32];
  if (threadIdx.x < 2) part[threadIdx.x] = 1;
  __syncthreads();
  float v = threadIdx.x < @{3|2} ? part[threadIdx.x] : 0; //1
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x == 0) y[0] = v;
}]==] },
    { kind = "uninitialised", "what a shuffle moves to lanes that do not use it", run = { 1, 64, { "float:64" } },
      lines = false, text = [==[
__global__ void k(float *y) {
  __shared__ float part[32];
  if (threadIdx.x < 4) part[threadIdx.x] = 1;
  __syncthreads();
  float v = part[threadIdx.x % 32];
  float w = __shfl_xor_sync(~0u, v, 1);
  if (threadIdx.x % 32 @{<= 4|< 4}) y[threadIdx.x] = v + w;
}]==] },
    { kind = "warp_mask", run = { 1, 32, { "int:64" } }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = 1 + __shfl_down_sync(0xffff, (int)threadIdx.x, 8@{|, 16}); //1
}]==] },
    { kind = "out_of_bounds", run = { 1, 64, { "int:60", 60 } }, text = [==[
__global__ void k(int *y, int n) { if (threadIdx.x @{<=|<} n) y[threadIdx.x] = 1; } //1
]==] },
  }
  for _, case in ipairs(cases) do
    local name = case.kind .. (case[1] and " of " .. case[1] or "")
    it("finds " .. name, function()
      local report = planted.report_of(case, true)
      assert.equal(1, planted.count_found(case, report), tostring(report))
    end)
    it("finds nothing in a kernel without " .. name, function()
      assert.equal("no findings", tostring(planted.report_of(case, false)))
    end)
  end

  it("finds nothing in what libraries have written", function()
    local m = mw.array({ { 4, 1 }, { 1, 3 } }, "float")
    local wave = mw.rand(64)
    assert.equal("no findings", tostring(mw.check(function()
      local product = m:mm(m) * 2
      local solved = mw.linalg.solve(m, product) * 2
      local spectrum = mw.fft.rfft(wave) * 2
      assert.is_true((product + solved):sum() > 0)
      assert.is_true(mw.fft.irfft(spectrum, 64):abs():max() > 0)
    end)))
  end)

  it("follows kernels with texture references", function()
    local m = mw.compile [==[texture<float, 2, cudaReadModeElementType> image;
__global__ void k(float *y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = tex2D(image, threadIdx.x + .5f, .5f);
}]==]
    m.image = mw.texture { { 1, 2, 3, 4, 5, 6, 7, 8 } }
    for most = 8, 9 do
      local report = mw.check(function() m.k(1, 32)(mw.zeros(8), most) end)
      assert.equal(most - 8, #report, tostring(report))
    end
  end)
end)
