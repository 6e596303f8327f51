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
end)
