-- Predictive commoning: loops over the rows around a pixel, whose iterations load the same rows.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local ir, count = mwcc.ir, mwcc.count

-- Sums that depend on the position of each element.
local source = [[
  #define AT(row, column) image[min(max(row, 0), height - 1) * width + min(max(column, 0), width - 1)]
  #define START \
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, sum = 0; \
    if (x >= width || y >= height) return;
  #define PARAMETERS int width, int height, const int *image, const int *weights, int *o

  __global__ void filter(PARAMETERS) {
    START
    for (int j = -3; j <= 3; j++)
      for (int i = -3; i <= 3; i++) sum = sum * 3 + AT(y + j, x + i) * weights[(j + 3) * 7 + i + 3];
    o[y * width + x] = sum;
  }
  __global__ void upwards(PARAMETERS) {
    START
    int j;
    for (j = 8; j > -4; j -= 3)
      for (int i = 0; i < 9; i++) sum = sum * 5 + (AT(y - j, x) ^ AT(y - j + 1, x + i) * weights[i]);
    o[y * width + x] = sum + j;
  }
  __global__ void every_second(PARAMETERS) {
    START
    int least = 1 << 30;
    for (int j = 0; j < 12; j++)
      for (int i = -2; i <= 2; i++) {
        int value = AT(2 * y + j, x + i) - weights[j];
        sum = value < least ? sum + 7 * j : sum * 3;
        least = min(least, value);
      }
    o[y * width + x] = sum - least;
  }
  __global__ void from_where(PARAMETERS) {
    START
    for (int j = 0; j < 6; j++)
      for (int i = 0; i < 6; i++) sum += AT(y + j + (AT(y + j, x) & 1), x + i) * weights[i + 6 * j];
    o[y * width + x] = sum;
  }]]

local width, height = 64, 21
local image, weights = {}, {}
for i = 1, width * height do image[i] = i * i % 1009 - 500 end
for i = 1, 49 do weights[i] = i * 37 % 23 - 9 end

local function at(row, column)
  row, column = math.min(math.max(row, 0), height - 1), math.min(math.max(column, 0), width - 1)
  return image[row * width + column + 1]
end

local expected = {}

function expected.filter(x, y)
  local sum = 0
  for j = -3, 3 do
    for i = -3, 3 do sum = sum * 3 + at(y + j, x + i) * weights[(j + 3) * 7 + i + 4] end
  end
  return sum
end

function expected.upwards(x, y)
  local sum = 0
  for j = 8, -3, -3 do
    for i = 0, 8 do sum = sum * 5 + (at(y - j, x) ~ at(y - j + 1, x + i) * weights[i + 1]) end
  end
  return sum - 4
end

function expected.every_second(x, y)
  local sum, least = 0, 1 << 30
  for j = 0, 11 do
    for i = -2, 2 do
      local value = at(2 * y + j, x + i) - weights[j + 1]
      sum = value < least and sum + 7 * j or sum * 3
      least = math.min(least, value)
    end
  end
  return sum - least
end

function expected.from_where(x, y)
  local sum = 0
  for j = 0, 5 do
    for i = 0, 5 do sum = sum + at(y + j + (at(y + j, x) & 1), x + i) * weights[i + 6 * j + 1] end
  end
  return sum
end

-- 32-bit arithmetic, as the kernels'
local function wrapped(number) return (number + (1 << 31)) % (1 << 32) - (1 << 31) end

describe("iterations of a loop that load the same rows", function()
  local before, m
  setup(function()
    before = mw.limit("specialise", 0)
    m = mw.compile(source)
  end)
  teardown(function() mw.limit("specialise", before) end)

  local parameters = "iiPKiS0_Pi:16x16x1"

  it("load each of them once", function()
    local text = ir(source, "_Z6filter" .. parameters)
    local body = assert(text:match "(define [^\n]*plane16x4.-\n}\n)", text)
    -- 4 rows of a gang and 6 around them, times 7 columns
    assert.equal(10 * 7, count(body, "= load <16 x i32>"))
  end)

  local function count_asks(class)
    return count(ir(source, "_Z6filteriiPKiS0_Pi:" .. class), "call void @llvm%.prefetch")
  end

  it("prefetch some blocks ahead if blocks have short rows", function()
    assert.equal(10, count_asks "16x16x1")
    assert.equal(0, count_asks "256x1x1")
  end)

  it("permute one vector near an edge", function()
    local text = ir(source, "_Z6filter" .. parameters)
    local edges = assert(text:match "(define [^\n]*fallback.-\n}\n)", text)
    assert.equal(7, count(edges, "call <16 x i32> @llvm%.x86%.avx512%.permvar%.si%.512"))
  end)

  it("have one run-time test for all rows near an edge", function()
    local text, last = ir(source, "_Z6filter" .. parameters), "extractelement <16 x i32> %%[%w.]+, i64 15"
    local edges = assert(text:match "(define [^\n]*fallback.-\n}\n)", text)
    local loop = assert(edges:match "\n(near:.*)", edges)
    assert.equal(7, count(edges, last))
    assert.equal(0, count(loop, last))
  end)

  it("stay a loop if loaded values determine addresses", function()
    local text = ir(source, "_Z10from_where" .. parameters)
    assert(count(text, "= phi <16 x i32>") > 0, text)
  end)

  local function check(name, value, block)
    local data, factors, o = mw.array(image, "int"), mw.array(weights, "int"), mw.zeros(width * height, "int")
    m[name]({ mw.cdiv(width, block[1]), mw.cdiv(height, block[2]) }, block)(width, height, data, factors, o)
    local got = o:totable()
    for i = 0, width * height - 1 do
      local want = wrapped(value(i % width, i // width))
      if want ~= got[i + 1] then
        error(("%d, not %d, at column %d of row %d of %d, blocks of %d x %d"):format(got[i + 1], want, i % width,
          i // width, width, block[1], block[2]))
      end
    end
  end

  for name, value in pairs(expected) do
    it(("have the right sum (%s)"):format(name), function()
      for _, columns in ipairs { 64, 23 } do -- whole blocks, and others
        width = columns
        for _, block in ipairs { { 16, 16 }, { 32, 2 } } do check(name, value, block) end
      end
      check(name, value, { 8, 8 })
    end)
  end
end)

-- Sums of floating-point numbers, with gangs of rows and columns; they are integers, so that sums are exact.
local mean = [[
  __global__ void mean(int width, int height, const float *image, const float *weights, float *o) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0;
    for (int j = -2; j <= 2; j++)
      for (int i = -2; i <= 2; i++) {
        int column = min(max(x + i, 0), width - 1), row = min(max(y + j, 0), height - 1);
        sum += image[row * width + column] * weights[j * 5 + i + 12];
      }
    o[y * width + x] = sum;
  }]]

describe("rows and columns of a gang around pixels", function()
  local before, m
  setup(function()
    before = mw.limit("specialise", 0)
    m = mw.compile(mean)
  end)
  teardown(function() mw.limit("specialise", before) end)

  it("have no fused multiply-adds on processors without them", function()
    local function fused(processor)
      local options = "--emit=ir --launch=_Z4meaniiPKfS0_Pf:32x8x1 --mcpu=" .. processor
      return count(mwcc.run(mean, options), "@llvm.fma")
    end
    assert.is_true(fused "x86-64-v3" > 0)
    assert.equal(0, fused "x86-64-v2")
  end)

  it("are loaded once", function()
    local text = ir(mean, "_Z4meaniiPKfS0_Pf:32x8x1")
    local body = assert(text:match "(define [^\n]*plane16x8.-\n}\n)", text)
    assert.equal((4 + 4) * 5 * 2, count(body, "= load <16 x float>"))
  end)

  it("have the right sum", function()
    for _, columns in ipairs { 128, 70 } do
      width = columns
      local values, want = {}, {}
      for i = 1, width * height do values[i] = i * i % 1009 - 500 end
      image = values
      for i = 0, width * height - 1 do
        local sum = 0
        for j = -2, 2 do
          for k = -2, 2 do sum = sum + at(i // width + j, i % width + k) * weights[j * 5 + k + 13] end
        end
        want[i + 1] = sum + 0.0
      end
      for _, block in ipairs { { 32, 8 }, { 64, 4 } } do
        local o = mw.zeros(width * height)
        m.mean({ mw.cdiv(width, block[1]), mw.cdiv(height, block[2]) }, block)(width, height, mw.array(values),
          mw.array(weights, "float"), o)
        assert.same(want, o:totable())
      end
    end
  end)
end)
