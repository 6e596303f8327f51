-- Gangs that end with a row of the data go on from one block to the next.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- Rows apart from each other; sums, so that a thread that runs twice is noticed.
local text = [[
extern "C" __global__ void spread(I n, const T *x, T *o, I width, I pitch) {
  I i = INDEX;
  if (i >= n) return;
  I row = i / width, column = i % width;
  o[row * pitch + column] += x[i] + (T)(TERM);
}]]

local function source(index, type, place, term)
  return (text:gsub("INDEX", place or "blockIdx.x * blockDim.x + threadIdx.x"):gsub("TERM", term or "row")
    :gsub("%f[%w]I%f[%W]", index):gsub("%f[%w]T%f[%W]", type))
end

local line = "gangs go on from one block to the next"

describe("gangs that end with a row of the data", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local function joins(code, options)
    return mwcc.run(code, ("--report --mcpu=x86-64-v3 --launch=spread:%s"):format(options or "128x1x1"))
      :find(line, 1, true) ~= nil
  end

  it("go on from one block to the next where a kernel knows no more than its number in the grid", function()
    for _, index in ipairs { "int", "unsigned", "long long" } do assert.is_true(joins(source(index, "float"))) end
    assert.is_false(joins(source("int", "float"), "128x1x1 --without=joined-blocks"))
    assert.is_false(joins(source("int", "float"), "128x1x1 --check-memory"))
    for _, term in ipairs { "threadIdx.x", "blockIdx.x", "atomicAdd(o, 1.0f)" } do
      assert.is_false(joins(source("int", "float", nil, term)), term)
    end
    assert.is_false(joins(source("int", "float", "(blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"),
      "64x2x1"))
  end)

  it("have the same results, in grids of one row and of several", function()
    for _, index in ipairs { "int", "unsigned", "long long" } do
      for _, dtype in ipairs { "float", "uchar", "double" } do
        local type = dtype == "uchar" and "unsigned char" or dtype
        local flat = mw.compile(source(index, type, nil, "i / 128 + (i & 31)"))
        local rows = "(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x"
        local plane = mw.compile(source(index, type, rows))
        for _, width in ipairs { 12, 30, 31, 45, 200 } do
          local n, pitch, values = 14000, width + 3, {}
          for i = 1, n do values[i] = i % 100 end
          local x, room = mw.array(values, dtype), (n // width + 1) * pitch
          local function check(kernel, grid, block, term)
            local o, expected = mw.zeros(room, dtype), {}
            for i = 1, room do expected[i] = 0 end
            for i = 0, n - 1 do
              local sum = values[i + 1] + term(i)
              expected[i // width * pitch + i % width + 1] = dtype == "uchar" and sum % 256 or sum
            end
            kernel(grid, block)(n, x, o, width, pitch)
            assert.same(expected, o:totable())
          end
          check(flat.spread, mw.cdiv(n, 64), 64, function(i) return i // 128 + i % 32 end) -- more than can be joined
          check(flat.spread, mw.cdiv(n, 256), 256, function(i) return i // 128 + i % 32 end)
          check(plane.spread, { 10, mw.cdiv(n, 1280) }, 128, function(i) return i // width end)
        end
      end
    end
  end)

  it("do not test how large their index is, which the blocks together do", function()
    local function tests(options)
      local code = mwcc.run(source("long long", "float"),
        "--emit=ir --mcpu=x86-64-v3 --launch=spread:128x1x1" .. options)
      return mwcc.count(code, "= add [^\n]*, 1073741824")
    end
    assert.is_true(tests " --without=row-runs" > 0)
    assert.equal(tests " --without=row-runs", tests "")
    assert.is_true(tests " --without=joined-blocks" > tests "")
  end)

  it("have the same results where indices are greater than that", function()
    local m = mw.compile [[
extern "C" __global__ void spread(unsigned from, unsigned n, unsigned char *o, unsigned width, unsigned pitch) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < from || i >= from + n) return;
  o[(i / width - from / width) * pitch + i % width] += 1 + i % 100;
}]]
    local n, width, pitch, limit = 20000, 30, 33, 1 << 30
    local from = (limit - 9000) // width * width
    local room = n // width * pitch + width
    local o, expected = mw.zeros(room, "uchar"), {}
    for k = 1, room do expected[k] = 0 end
    for i = from, from + n - 1 do
      expected[(i // width - from // width) * pitch + i % width + 1] = 1 + i % 100
    end
    m.spread(mw.cdiv(from + n, 1024), 1024)(from, n, o, width, pitch)
    assert.same(expected, o:totable())
  end)

  it("store whole vectors and parts of the last, where masked stores are slow", function()
    local function masked(type, options)
      local code, count = mwcc.run(source("int", type), "--emit=ir --launch=spread:128x1x1 " .. options), 0
      for _ in code:gmatch "call void @llvm%.masked%.store" do count = count + 1 end
      return count
    end
    for _, type in ipairs { "float", "double" } do
      local without = masked(type, "--mcpu=x86-64-v3 --without=row-runs")
      assert.equal(without, masked(type, "--mcpu=x86-64-v3"), type)
      assert.is_true(masked(type, "--mcpu=x86-64-v4") > 0)
    end
  end)

  it("divide where numbers are far below those of the gangs before", function()
    local m = mw.compile [==[
extern "C" __global__ void far(int n, int width, int part, const int *x, int *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int number = i + (blockIdx.y % 2 ? 0 : width);
  o[(blockIdx.y * 10 + i / part) * 40 + i % part] = x[number % width];
}]==]
    local n, rows, part = 128, 100, 31
    local x = mw.arange(n, "int")
    for _, width in ipairs { 2147483500, 1610612740, 1073741830, 200 } do
      local o, expected = mw.zeros(rows * 400, "int"), {}
      for k = 1, rows * 400 do expected[k] = 0 end
      for row = 0, rows - 1 do
        for i = 0, n - 1 do expected[(row * 10 + i // part) * 40 + i % part + 1] = i end
      end
      m.far({ 1, rows }, 128)(n, width, part, x, o)
      assert.same(expected, o:totable(), width)
    end
  end)

  it("run if a length is positive: others have the results of a division by 0 and of negative numbers", function()
    local m = mw.compile [[
extern "C" __global__ void digits(int n, int a, int b, int *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) o[i] = i % a + 100 * (i / a % b) + 10000 * (i / (a * b));
}]]
    local n = 1000
    for _, lengths in ipairs { { 30, 7 }, { 30, 0 }, { 30, -3 }, { 0, 7 }, { -30, 7 }, { 12, -1 }, { -1, -1 } } do
      local a, b = lengths[1], lengths[2]
      local function divided(x, by)
        if by == 0 then return -1, -1 end -- as a GPU does
        local quotient = math.abs(x) // math.abs(by) * ((x < 0) == (by < 0) and 1 or -1)
        return quotient, x - quotient * by
      end
      local o, expected = mw.zeros(n, "int"), {}
      for i = 0, n - 1 do
        local over, digit = divided(i, a)
        local _, second = divided(over, b)
        expected[i + 1] = digit + 100 * second + 10000 * divided(i, a * b)
      end
      m.digits(mw.cdiv(n, 128), 128)(n, a, b, o)
      assert.same(expected, o:totable(), ("%d, %d"):format(a, b))
    end
  end)
end)
