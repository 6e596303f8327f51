-- Block merging: the same results in grids of any width, and only for blocks that cannot be distinguished.
-- Lua 5.4 only: the compiler and the runtime are tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local child = require "support.child"

local product = [==[
extern "C" __global__ void product(int n, int height, const float *a, const float *b, float *c) {
  INDEX
  if (column >= n || row >= height) return;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}]==]
local sizes = { { 16, 16 }, { 32, 16 }, { 31, 40 }, { 48, 30 }, { 64, 33 }, { 100, 17 }, { 128, 64 } }
local plain = "int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;"

-- Numbers with few mantissa bits, whose sums are exact.
local function run(module, n, height, block)
  local a, b = {}, {}
  for i = 1, n * height do a[i] = i * 7919 % 51 / 4 end
  for i = 1, n * n do b[i] = i * 104729 % 75 / 8 end
  local c = mw.zeros(n * height)
  local grid = { (n + block[1] - 1) // block[1], (height + block[2] - 1) // block[2] }
  module.product(grid, block)(n, height, mw.array(a), mw.array(b), c)
  return c:totable()
end

describe("merged blocks", function()
  local is_x86 = mwcc.try("", "--mcpu=x86-64-v2 --emit=ir"):find("target triple = \"x86_64", 1, true)

  it("have the results of each", function()
    local before = mw.limit("specialise", 0)
    for _, index in ipairs {
      plain, "unsigned column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;",
      "size_t column = blockIdx.x * (size_t)blockDim.x + threadIdx.x; int row = blockIdx.y * blockDim.y + threadIdx.y;",
      "int column = threadIdx.x + blockDim.x * blockIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;",
    } do
      local source = product:gsub("INDEX", index)
      for _, processor in ipairs(is_x86 and { "native", "x86-64-v3" } or { "native" }) do
        local one = mw.compile { source = source, options = { "--width=1" } }
        local module = mw.compile { source = source, options = { "--mcpu=" .. processor } }
        for _, block in ipairs { { 16, 16 }, { 16, 8 }, { 16, 4 } } do
          for _, size in ipairs(sizes) do
            assert.same(run(one, size[1], size[2], block), run(module, size[1], size[2], block),
              ("%s %s, %d x %d, blocks of %d rows"):format(processor, index, size[1], size[2], block[2]))
          end
        end
      end
    end
    mw.limit("specialise", before)
  end)

  local function is_joined(source, class, processor)
    local target = "--target=x86_64-linux-gnu --mcpu=" .. (processor or "x86-64-v4")
    local report = mwcc.run(source, ("--report --launch=product:%s %s"):format(class, target))
    return report:find("block merging", 1, true) ~= nil
  end

  it("are in grids of even width, if blocks have few threads", function()
    local source = product:gsub("INDEX", plain)
    assert.is_true(is_joined(source, "16x16x1:2"))
    assert.is_true(is_joined(source, "16x8x1:2", "x86-64-v3"))
    assert.is_true(is_joined(source, "16x16x1:2", "znver4"))
    assert.is_false(is_joined(source, "16x16x1"))
    assert.is_false(is_joined(source, "32x16x1:2"))
    assert.is_false(is_joined(source, "16x32x1:2"))
    assert.is_false(is_joined(source, "16x16x2:2"))
    assert.is_false(is_joined(source, "16x16x1:2", "x86-64-v2"))
    for _, class in ipairs { "16x16x1:3", "16x16:2", ":2", "2000x1x1" } do
      local output = mwcc.try(source, "--emit=ir --launch=product:" .. class)
      local wanted = ("--launch=product:%s is not valid: write a kernel's linkage name and a block size"):format(class)
      assert.matches(wanted, output, 1, true)
    end
  end)

  it("are not those that can be distinguished", function()
    for what, replacement in pairs {
      ["sum = 0;"] = "sum = threadIdx.x;",
      ["= sum;"] = "= sum + blockIdx.x;",
      ["sum = 0; "] = "sum = 0; __shared__ float s[16]; s[threadIdx.y] = 1; __syncthreads();",
      [" = sum"] = " += atomicAdd(c, sum)",
      ["= 0;"] = "= clock();",
      ["k < n"] = "k < n + (column & 15)",
    } do
      local source = product:gsub("INDEX", plain):gsub("float sum = 0;", "float sum = 0; ")
      local pattern = what:gsub("%p", "%%%0")
      local other, count = source:gsub(pattern, (replacement:gsub("%%", "%%%%")), 1)
      assert.equal(1, count, what)
      assert.is_false(is_joined(other, "16x16x1:2"), replacement)
    end
    assert.is_true(is_joined((product:gsub("INDEX", plain)), "16x16x1:2"))
  end)

  it("have other code for grids of odd width", function()
    local script = [[
      local mw = require "moonwarp"
      local m = mw.compile [=[ %s
      extern "C" __global__ void twice(int n, float *p) {
        int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
        p[y * n + x] *= 2;
      }]=]
      mw.limit("specialise", 0)
      local a = mw.ones(96 * 96)
      local function compiled(kernel, width, ...)
        local before = mw.cache.misses
        m[kernel]({ width, 2 }, { 16, 16 })(16 * width, ...)
        mw.synchronize()
        io.write(mw.cache.misses - before, " ")
      end
      for _, width in ipairs { 2, 4, 3, 5, 2, 3 } do compiled("product", width, 32, a, a, mw.zeros(96 * 96)) end
      for _, width in ipairs { 2, 3, 4 } do compiled("twice", width, mw.zeros(96 * 96)) end
      for _, width in ipairs { 3, 2, 5, 4 } do compiled("again", width, 32, a, a, mw.zeros(96 * 96)) end
      print()
      ]]
    local folder = os.tmpname()
    local source = product:gsub("INDEX", plain)
    script = script:format(source .. source:gsub("product", "again"))
    local result = child { script, environment = { XDG_CACHE_HOME = folder .. ".d", MOONWARP_TRIALS = "off" } }
    assert.equal("1 0 1 0 0 0 1 0 0 1 1 0 0 \n", result.output)
    os.execute(("rm -r %s %s.d"):format(folder, folder))
  end)

  it("are both named if one of them fails", function()
    local before = mw.limit("specialise", 0)
    local module = mw.compile((product:gsub("INDEX", plain)))
    local a = mw.ones(64)
    local ok, failure = pcall(function()
      module.product({ 4, 4 }, { 16, 16 })(1 << 30, 64, a, a, a)
      mw.synchronize()
    end)
    mw.limit("specialise", before)
    assert.is_false(ok)
    assert.matches("block %(%d+,%d+,0%) or the one beside it", tostring(failure))
    assert.equal(0, failure.block[1] % 2)
  end)
end)
