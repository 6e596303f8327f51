-- Transposed access: blocks of several rows access columns of an array, where each thread of a row has a row of the
-- array, and the block's rows are consecutive in it. In code for one block size, if all threads are active, these are
-- loads and stores of short vectors that are transposed in registers.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about its compiler's report.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "transposed_spec"

-- Arrays of 32 rows at distances of PITCH elements; threads for which SKIP divides i do nothing.
local text = [[
extern "C" __global__ void loads_NAME(const T *in, T *out) {
  int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
  __shared__ T tile[32 * PITCH];
  for (int k = i; k < 32 * PITCH; k += blockDim.x * blockDim.y) tile[k] = in[k];
  __syncthreads();
  if (!SKIP || i % (SKIP + !SKIP)) out[i] = tile[x * PITCH + y];
}
extern "C" __global__ void stores_NAME(const T *in, T *out) {
  int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
  if (!SKIP || i % (SKIP + !SKIP)) out[x * PITCH + y] = in[i];
}
extern "C" __global__ void backwards_NAME(const T *in, T *out) {
  int x = threadIdx.x, y = threadIdx.y, i = y * blockDim.x + x;
  if (!SKIP || i % (SKIP + !SKIP)) out[(31 - x) * PITCH + y] = in[(31 - x) * PITCH + y];
}
]]

local few = { { 16, 16 } }
local cases = {
  { name = "int", type = "int", pitch = 17, skip = 0,
    blocks = { { 16, 16 }, { 8, 8 }, { 16, 4 }, { 16, 2 }, { 32, 16 }, { 10, 10 } } },
  { name = "some", type = "int", pitch = 17, skip = 7, blocks = { { 16, 16 }, { 16, 4 } } },
  { name = "uchar", type = "unsigned char", pitch = 16, skip = 0, blocks = few },
  { name = "short", type = "short", pitch = 17, skip = 0, blocks = few },
  { name = "float", type = "float", pitch = 20, skip = 0, blocks = few },
  { name = "double", type = "double", pitch = 17, skip = 0, blocks = few },
}

-- kind -> the element of `in` that thread (x, y) loads, and that of `out` that it stores
local places = {
  loads = function(x, y, i, pitch) return x * pitch + y, i end,
  stores = function(x, y, i, pitch) return i, x * pitch + y end,
  backwards = function(x, y, _, pitch) return (31 - x) * pitch + y, (31 - x) * pitch + y end,
}

local function check(kernel, kind, dtype, pitch, skip, block)
  local count, list, wanted = 32 * pitch, {}, {}
  for k = 1, count do list[k], wanted[k] = random(1, 100), 0 end
  for y = 0, block[2] - 1 do
    for x = 0, block[1] - 1 do
      local i = y * block[1] + x
      local from, to = places[kind](x, y, i, pitch)
      if skip == 0 or i % skip ~= 0 then wanted[to + 1] = list[from + 1] end
    end
  end
  local out = mw.zeros(count, dtype)
  kernel(1, block)(mw.array(list, dtype), out)
  local got = out:totable()
  for k = 1, count do
    if got[k] ~= wanted[k] then
      error(("blocks of %dx%d: element %d is %s, not %s"):format(block[1], block[2], k - 1, got[k], wanted[k]), 0)
    end
  end
end

describe("the rows of an array, a thread each,", function()
  local m, before
  setup(function()
    local texts = {}
    for i, c in ipairs(cases) do
      local marks = { NAME = c.name, T = c.type, PITCH = c.pitch, SKIP = c.skip }
      texts[i] = text:gsub("%u+", marks)
    end
    before = mw.limit("specialise", 0)
    m = mw.compile(table.concat(texts))
  end)
  teardown(function() mw.limit("specialise", before) end)

  for kind in pairs(places) do
    for _, c in ipairs(cases) do
      it(("%s of %s"):format(kind, c.name), function()
        local dtype = c.name == "some" and "int" or c.name
        for _, block in ipairs(c.blocks) do check(m[kind .. "_" .. c.name], kind, dtype, c.pitch, c.skip, block) end
      end)
    end
  end
end)

describe("the report", function()
  local function report(block, index)
    return mwcc.run(([=[
      extern "C" __global__ void turn(const float *in, float *out) {
        __shared__ float tile[64][17];
        tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * blockDim.x + threadIdx.x];
        __syncthreads();
        out[threadIdx.y * blockDim.x + threadIdx.x] = tile[%s];
      }]=]):format(index), "--mcpu=x86-64-v4 --report --launch=turn:" .. block)
  end

  it("has transposed accesses", function()
    assert.matches("transposed load, rows 68 bytes apart", report("16x16x1", "threadIdx.x][threadIdx.y"))
    assert.matches("transposed load, rows 136 bytes apart", report("16x4x1", "threadIdx.x * 2][threadIdx.y"))
  end)

  it("has them only if a gang's elements are consecutive in the row", function()
    for _, where in ipairs { { "16x1x1", "threadIdx.x][threadIdx.y" }, { "16x16x1", "threadIdx.x][2 * threadIdx.y" },
      { "16x16x1", "0][2 * threadIdx.x + threadIdx.y" } } do
      local output = report(where[1], where[2])
      assert.matches("kernel turn: simd", output)
      assert.not_matches("load of rows", output)
    end
  end)
end)
