-- The loop over blocks: if threads are independent, code for one block size runs the first rows of neighbouring blocks,
-- then the second ones, and so on.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [[
extern "C" __global__ void where(int width, int height, const int *in, int *blocks, int *threads) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= width || y >= height) return;
  int i = (z * height + y) * width + x;
  blocks[i] = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  threads[i] = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) + in[i];
}
extern "C" __global__ void wild(int block, int row, int *out) {
  int here = blockIdx.x + gridDim.x * blockIdx.y, i = (here * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  int *to = here == block && threadIdx.y == row ? (int *)16 : out;
  to[i] = here;
}
]]

describe("neighbouring blocks", function()
  local m, before
  setup(function()
    before = mw.limit("specialise", 0)
    m = mw.compile(text)
  end)
  teardown(function() mw.limit("specialise", before) end)

  for _, case in ipairs { { { 32, 4, 2 }, { 7, 3, 2 } }, { { 16, 16, 1 }, { 70, 2, 1 } }, { { 20, 3, 1 }, { 5, 2, 2 } },
    { { 64, 2, 1 }, { 1, 5, 1 } } } do
    local block, grid = case[1], case[2]
    it(("of %dx%dx%d threads"):format(block[1], block[2], block[3]), function()
      local width, height, depth = grid[1] * block[1] - 5, grid[2] * block[2] - 1, grid[3] * block[3]
      local count, list, blocks, threads = width * height * depth, {}, {}, {}
      for i = 1, count do list[i] = i % 7 end
      local got_blocks, got_threads = mw.zeros(count, "int"), mw.zeros(count, "int")
      m.where(grid, block)(width, height, mw.array(list, "int"), got_blocks, got_threads)
      for z = 0, depth - 1 do
        for y = 0, height - 1 do
          for x = 0, width - 1 do
            local n = #blocks + 1
            blocks[n] = x // block[1] + grid[1] * (y // block[2] + grid[2] * (z // block[3]))
            threads[n] = x % block[1] + block[1] * (y % block[2] + block[2] * (z % block[3])) + list[n]
          end
        end
      end
      assert.same(blocks, got_blocks:totable())
      assert.same(threads, got_threads:totable())
    end)
  end

  it("have their ids after blocks that are skipped, in grids of three dimensions", function()
    local limit = mw.limit("specialise", 0)
    local ids = mw.compile [[
      __global__ void ids(int *out, int low, int z) {
        int row = blockIdx.y * blockDim.y + threadIdx.y;
        if (row < low || blockIdx.z == z) return;
        int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        atomicAdd(&out[block], 1 + blockIdx.x + 100 * blockIdx.y + 10000 * blockIdx.z);
      }]]
    for _, grid in ipairs { { 5, 3, 4 }, { 1, 7, 3 }, { 33, 2, 1 }, { 7, 1, 6 }, { 1, 1, 9 } } do
      for low = 0, grid[2] do
        local out, expected = mw.zeros(grid[1] * grid[2] * grid[3], "int"), {}
        ids.ids(grid, { 16, 4 })(out, 4 * low, 1)
        for z = 0, grid[3] - 1 do
          for y = 0, grid[2] - 1 do
            for x = 0, grid[1] - 1 do
              expected[#expected + 1] = (y >= low and z ~= 1) and 64 * (1 + x + 100 * y + 10000 * z) or 0
            end
          end
        end
        assert.same(expected, out:totable())
      end
    end
    mw.limit("specialise", limit)
  end)

  it("are distinguished in reports of faults", function()
    for _, block in ipairs { 0, 2, 11 } do
      local ok, message = pcall(function()
        m.wild({ 6, 2 }, { 32, 4 })(block, 3, mw.zeros(12 * 128, "int"))
        mw.synchronize()
      end)
      assert.is_false(ok)
      local name = ("block (%d,%d,0)"):format(block % 6, block // 6)
      assert.is_truthy(tostring(message):find(name, 1, true), tostring(message))
    end
  end)

  local function takes_rows(body, size, parameters)
    local source = ([[extern "C" __global__ void f(int n, float *a, float *b) {
      __shared__ float tile[256];
      int i = (blockIdx.y * blockDim.y + threadIdx.y) * n + blockIdx.x * blockDim.x + threadIdx.x; %s
    }]]):format(body)
    local output = mwcc.run(source, ("--mcpu=x86-64-v4 --report --launch=f:%s %s"):format(size, parameters or ""))
    assert.matches("kernel f: simd", output)
    return output:find("adjacent blocks are interleaved row by row", 1, true) ~= nil
  end

  it("are run row by row if threads are independent", function()
    assert.is_true(takes_rows("a[i] = b[i] + b[i + n];", "32x4x1"))
    assert.is_true(takes_rows("a[i] = b[i];", "16x16x1"))
    assert.is_false(takes_rows("a[i] = b[i];", "256x1x1"))
    assert.is_false(takes_rows("a[i] = b[i];", "16x4x1", "--width=16x4"))
    assert.is_false(takes_rows("for (int k = 0; k < n; k++) a[i] += b[k];", "32x4x1"))
    assert.is_false(takes_rows("atomicAdd(&a[i], b[i]);", "32x4x1"))
    assert.is_false(takes_rows("((volatile float *)a)[i] = b[i];", "32x4x1"))
    assert.is_false(takes_rows("tile[threadIdx.x] = b[i]; a[i] = tile[threadIdx.x];", "32x4x1"))
    assert.is_false(takes_rows("a[i] = b[i]; __threadfence(); b[i] = a[i];", "32x4x1"))
  end)
end)
