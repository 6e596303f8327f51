-- Blocks whose threads all fail the kernel's first condition are skipped; all others run.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function kernel(condition, type)
  return ([[
extern "C" __global__ void mark(int *out, TYPE a, TYPE b) {
  TYPE i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  if (CONDITION) out[j * (gridDim.x * blockDim.x) + i] += 1;
}]]):gsub("CONDITION", { CONDITION = condition }):gsub("TYPE", type or "int")
end

local function skips(condition, type, options)
  local source = kernel(condition, type)
  local text = mwcc.run(source, (options or "") .. " --report --launch=mark:16x4x1")
  assert.matches("kernel mark: simd", text)
  return mwcc.count(text, "blocks whose threads all fail the first condition are skipped") > 0
end

describe("a kernel's first condition", function()
  it("is tested for a block where it excludes whole blocks", function()
    assert.is_true(skips "i > a && j > a && i < b && j < b")
    assert.is_true(skips "i < b - a")
    assert.is_true(skips("i >= a || j >= a ? false : i + 1 > b", "unsigned"))
    assert.is_true(skips "!(i <= a || j <= b)")
  end)

  it("is not tested where grids are as large as it needs, or it is no interval", function()
    assert.is_false(skips "i < a && j < b")
    assert.is_false(skips "(i & 1) > a")
    assert.is_false(skips "i > a || j > b")
    assert.is_false(skips "i == a")
    assert.is_false(skips("i > a", "int", "--without=block-guard"))
  end)
end)

describe("a launch of which some blocks have no work", function()
  local conditions = {
    { "i > a && j > a && i < b && j < b", "int" }, { "i < b - a", "int" }, { "i < b - a && j > a", "unsigned" },
    { "!(i <= a || j <= b)", "int" }, { "i - a > b", "int" }, { "i - a > b", "unsigned" }, { "b - i < a", "int" },
    { "i + a > b", "unsigned" }, { "a - i > j", "unsigned" }, { "i + 2000000000 > a", "int" },
    { "i + 4294967000u > a && j >= b", "unsigned" }, { "i > j", "int" }, { "i + a > j + b", "unsigned" },
  }
  local values = { { 0, 0 }, { 3, 20 }, { 16, 40 }, { 31, 33 }, { 63, 5 }, { 100, 7 }, { 5, 2 ^ 31 - 1 },
    { 2 ^ 31 - 1, 0 }, { 2 ^ 31 - 20, 2 ^ 31 - 2 } }
  local before

  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local function marked(m, shape, a, b)
    local out = mw.zeros(64 * 33, "int")
    m.mark({ 64 / shape[1], math.ceil(32 / shape[2]) }, shape)(out, a, b)
    return out:bytes()
  end

  for _, case in ipairs(conditions) do
    it("runs the threads that have: " .. case[2] .. ", " .. case[1], function()
      local source = kernel(case[1], case[2])
      local reference, tried = mw.compile { source = source, options = { "-G", "--width=1" } }, mw.compile(source)
      for _, shape in ipairs { { 16, 4 }, { 32, 8 }, { 4, 4 } } do
        for _, v in ipairs(values) do
          assert.equal(marked(reference, shape, v[1], v[2]), marked(tried, shape, v[1], v[2]))
        end
      end
    end)
  end

  it("is right for all workers, where a barrier follows", function()
    local m = mw.compile [[
      __global__ void shifted(int *out, int first, int n) {
        __shared__ int row[64];
        int i = blockIdx.x * 64 + threadIdx.x;
        if (i + 64 <= first - n || blockIdx.x * 64 + 64 <= first - n) return;
        row[threadIdx.x] = i;
        __syncthreads();
        out[i] = row[63 - threadIdx.x];
      }]]
    local out = mw.zeros(640, "int")
    m.shifted(10, 64)(out, 200, 8)
    for i = 0, 639 do
      local block = math.floor(i / 64)
      assert.equal(block * 64 + 64 <= 192 and 0 or block * 64 + 63 - i % 64, out[i + 1])
    end
  end)
end)
