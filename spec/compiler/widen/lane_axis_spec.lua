-- Lanes are neighbours along threadIdx.y where that makes accesses contiguous.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function turns(body, launch, options)
  local source = ([[
extern "C" __global__ void k(float *a, float *b, float *c, int n, int m) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  BODY
}]]):gsub("BODY", function() return body end)
  local text = mwcc.run(source, (options or "") .. " --report --launch=k:" .. launch)
  assert.matches("kernel k: simd", text)
  return mwcc.count(text, "its lanes are neighbours along threadIdx.y") > 0, text
end

describe("the axis of the lanes", function()
  it("is y where x counts rows", function()
    local turned, text = turns("c[x * n + y] = a[x * n + y] + b[x];", "16x16x1")
    assert.is_true(turned)
    assert.equal(0, mwcc.count(text, "gather"))
    local product = "float s = 0; for (int k = 0; k < m; k++) s += a[x * m + k] * b[k * n + y]; c[x * n + y] = s;"
    assert.is_true((turns(product, "8x32x1")))
  end)

  it("has blocks run along blockIdx.y where they continue the rows of threads", function()
    local body, along_y = "c[x * n + y] = a[x * n + y] + b[x];", "its blocks run along blockIdx%.y"
    local _, text = turns(body, "16x16x1")
    assert.matches(along_y, text)
    assert.matches("adjacent blocks are interleaved row by row", text)
    _, text = turns("x = blockIdx.y * blockDim.x + threadIdx.x, y = blockIdx.x * blockDim.y + threadIdx.y; " .. body,
      "16x16x1")
    assert.not_matches(along_y, text)
    assert.matches("adjacent blocks are interleaved row by row", text)
    _, text = turns("x = threadIdx.x, y = threadIdx.y; c += blockIdx.y * 999; " .. body, "16x16x1")
    assert.not_matches(along_y, text)
    assert.not_matches("adjacent blocks are interleaved row by row", text)
  end)

  it("is x otherwise", function()
    assert.is_false((turns("c[y * n + x] = a[y * n + x] + b[x];", "16x16x1")))
    assert.is_false((turns("c[x * n + y] = a[y * n + x];", "16x16x1")))
    assert.is_false((turns("c[x * n + y] = a[x * n + y];", "256x1x1")))
    assert.is_false((turns("c[x * n + y] = a[x * n + y];", "16x16x1", "--without=lane-axis")))
  end)

  it("is x where threads see their neighbours", function()
    assert.is_false((turns("c[x * n + y] = __shfl_xor_sync(~0u, a[x * n + y], 1);", "16x16x1")))
    assert.is_false((turns("__shared__ float t[16][16]; t[threadIdx.x][threadIdx.y] = a[x * n + y]; __syncthreads();" ..
      "c[x * n + y] = t[threadIdx.y][threadIdx.x];", "16x16x1")))
  end)
end)

describe("a kernel whose rows are counted by threadIdx.x", function()
  local source = [[
    __global__ void where(int *out, const int *in, int rows, int columns, int low) {
      int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
      if (x < low || x >= rows || y >= columns) return;
      int sum = in[x * columns + y] + 1000 * threadIdx.x + 100000 * threadIdx.y;
      for (int i = 0; i < y % 7; i++) sum = sum * 3 + in[(x * columns + y + i) % (rows * columns)];
      out[x * columns + y] = sum + blockIdx.x * 7 + blockIdx.y * 11;
    }]]

  it("has the results of one thread after the other, for all shapes of blocks", function()
    local before = mw.limit("specialise", 0)
    local reference, tried = mw.compile { source = source, options = { "-G", "--width=1" } }, mw.compile(source)
    local values = {}
    for i = 1, 61 * 45 do values[i] = i * i % 1009 end
    for _, shape in ipairs { { 16, 16 }, { 8, 32 }, { 4, 8 }, { 5, 7 }, { 32, 8 }, { 1, 64 }, { 3, 4, 2 } } do
      local function run(m)
        local out = mw.zeros(61 * 45, "int")
        m.where({ mw.cdiv(61, shape[1]), mw.cdiv(45, shape[2]) }, shape)(out, mw.array(values, "int"), 61, 45, 9)
        return out:totable()
      end
      assert.same(run(reference), run(tried))
    end
    mw.limit("specialise", before)
  end)

  it("names the block of a fault, in grids of three dimensions", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void far(float *a, int n, int bx, int by, int bz) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        long i = x * n + y;
        if (blockIdx.x == bx && blockIdx.y == by && blockIdx.z == bz) i += 1L << 45;
        a[i] = x;
      }]]
    local a = mw.zeros(5 * 8 * 3 * 16)
    m.far({ 5, 3, 4 }, { 8, 16 })(a, 3 * 16, -1, 0, 0)
    mw.synchronize()
    for _, at in ipairs { { 3, 1, 2 }, { 4, 2, 3 }, { 0, 2, 0 } } do
      m.far({ 5, 3, 4 }, { 8, 16 })(a, 3 * 16, (table.unpack or unpack)(at))
      local _, err = pcall(mw.synchronize)
      assert.equal("cudaErrorIllegalAddress", err.code)
      assert.matches(("block (%d,%d,%d)"):format((table.unpack or unpack)(at)), err.message, 1, true)
    end
    mw.limit("specialise", before)
  end)
end)
