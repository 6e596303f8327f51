-- What is recomputed after barriers rather than saved (src/mwcc/widen/barrier_rematerialization.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local rows = [[
extern "C" __global__ void rows(int n, const float *x, float *y, float *sums) {
  __shared__ float partial[512];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[blockIdx.x * n + i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  float most = partial[threadIdx.x ^ 1];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = x[blockIdx.x * n + i] * most;
  __syncthreads();
  sums[blockIdx.x * blockDim.x + threadIdx.x] = most - sum;
}]]

local function ir(source, options) return mwcc.run(source, "--mcpu=x86-64-v4 --verify --emit=ir " .. options) end

-- Arrays with an element for each gang, which hold what is saved at barriers.
local function saved(text, kind)
  local _, count = text:gsub("alloca %[%d+ x %[%d+ x " .. kind .. "%]", "")
  return count
end

describe("after a barrier", function()
  it("indices and conditions are recomputed from ids and parameters", function()
    local options = "--width=16x2 --launch=rows:512x1x1"
    local with, without = ir(rows, options), ir(rows, options .. " --without=barrier-rematerialization")
    assert.is_true(saved(without, "i32") + saved(without, "<16 x i1>") > 0)
    assert.equal(0, saved(with, "i32") + saved(with, "<16 x i1>"))
    assert.is_true(saved(with, "<16 x float>") > 0, "a sum cannot be recomputed")
  end)

  it("the clock is not read again", function()
    local source = [[
      extern "C" __global__ void timed(const int *x, int *y, long long *began) {
        __shared__ int tile[16][17];
        long long start = clock64();
        for (int j = 0; j < 16; j++) tile[j][threadIdx.x] = x[16 * j + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 16; j++) y[16 * j + threadIdx.x] = tile[threadIdx.x][j];
        began[threadIdx.x] = start;
      }]]
    local _, reads = ir(source, "--launch=timed:16x1x1 --width=1"):gsub("call [^\n]*sreg.clock64", "")
    assert.equal(1, reads)
  end)

  it("the results are those that saved values give", function()
    for _, n in ipairs { 1, 31, 255, 256, 257, 768, 1000 } do
      local results = {}
      for _, options in ipairs { {}, { "--without=barrier-rematerialization" }, { "-G", "--width=1" } } do
        local x, y, sums = mw.zeros(5 * n), mw.zeros(5 * n), mw.zeros(5 * 512)
        for i = 1, 5 * n do x[i] = (i * 37) % 101 - 50 end
        mw.compile { source = rows, options = options }.rows(5, 512)(n, x, y, sums)
        results[#results + 1] = y:bytes() .. sums:bytes()
      end
      assert.is_true(results[1] == results[2] and results[1] == results[3], "rows of " .. n)
    end
  end)
end)
