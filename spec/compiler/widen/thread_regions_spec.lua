-- Gangs of one lane between barriers (src/mwcc/widen/thread_regions.c): which kernels, and what they save.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"

local function compiled(body, block, options)
  local source = ('extern "C" __global__ void f(int n, const int *x, int *y) {\n%s\n}'):format(body)
  return mwcc.run(source, ("--mcpu=x86-64-v4 --launch=f:%s %s"):format(block, options))
end

local function runs_by_threads(body, block, options)
  local text = compiled(body, block, "--report " .. (options or ""))
  return text:match "kernel f: simd, gangs of 1 x 1 lanes: one thread after the other up to each barrier" ~= nil
end

local rows = [[
  __shared__ int tile[16][17];
  int t = threadIdx.x;
  for (int j = 0; j < 16; j++) tile[j][t] = x[16 * j + t];
  __syncthreads();
  for (int k = 0; k < n; k++) {
    if (t > k) for (int j = k; j < 16; j++) tile[t][j] -= tile[k & 15][j] * k;
    __syncthreads();
  }
  for (int j = 0; j < 16; j++) y[16 * j + t] = tile[j][t];]]

local columns = [[
  __shared__ float line[64];
  int t = threadIdx.x;
  line[t] = x[t];
  __syncthreads();
  for (int k = 1; k < n; k++) {
    float left = line[max(t - 1, 0)];
    __syncthreads();
    line[t] += left;
    __syncthreads();
  }
  y[t] = line[t];]]

describe("regions between barriers", function()
  it("are run thread by thread where lanes would gather from rows of their own", function()
    assert.is_true(runs_by_threads(rows, "16x1x1", "--without=tile-layout"))
    assert.is_false(runs_by_threads(rows, "16x1x1"))
    assert.is_false(runs_by_threads(rows, "16x1x1", "--without=tile-layout --without=thread-regions"))
    assert.is_false(runs_by_threads(columns, "64x1x1"))
  end)

  it("are run thread by thread if one lane is requested, in code for one block size", function()
    assert.matches("gangs of 1 x 1 lanes", compiled(columns, "64x1x1", "--report --width=1"))
    assert.no.matches("gangs", mwcc.run(
      'extern "C" __global__ void f(int *y) { y[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x ^ 1] = 2; }',
      "--report --width=1"))
  end)

  it("recompute indices and addresses instead of saving them", function()
    local ir = compiled(rows, "16x1x1", "--emit=ir --without=tile-layout")
    -- What is saved is an array with an element for each thread.
    assert.is_nil(ir:match "alloca %[1 x i%d+%], i32 16")
    assert.is_nil(ir:match "alloca %[1 x ptr%], i32 16")
  end)

  it("are reported with the estimated costs", function()
    assert.matches("kernel f: about %d+ cycles for 16 threads as lanes, %d+ for one after the other",
      compiled(rows, "16x1x1", "--report"))
  end)
end)
