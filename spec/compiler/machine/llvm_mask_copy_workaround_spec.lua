-- Masks are cleared by constants and not by shuffles, whose copy LLVM 19 takes for one of the whole register (mwcc's
-- pass mask-copies).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function lanes(f, count)
  local list = {}
  for i = 0, count - 1 do list[i + 1] = f(i) end
  return "<" .. table.concat(list, ", ") .. ">"
end

-- A shuffle of eight or more lanes of %x with lanes of a constant.
local function made(order, constant, first)
  local x, other = "<8 x i1> %x", "<8 x i1> " .. constant
  return mwcc.only(([[
target triple = "x86_64-unknown-linux-gnu"
define <%d x i1> @f(<8 x i1> %%x) {
  %%m = shufflevector %s, %s, <%d x i32> %s
  ret <%d x i1> %%m
}]]):format(#order, first and x or other, first and other or x, #order,
    lanes(function(i) return "i32 " .. order[i + 1] end, #order), #order), "mask-copies")
end

local none = "zeroinitializer"
local kept = lanes(function(i) return "i1 " .. tostring(i < 4) end, 8)

describe("a shuffle of a mask that clears lanes", function()
  it("is an AND", function()
    local text = made({ 0, 1, 2, 3, 12, 13, 14, 15 }, none, true)
    assert.equal(1, mwcc.count(text, "and <8 x i1> %%x, " .. kept))
    assert.equal(0, mwcc.count(text, "shufflevector"))
    text = made({ 8, 9, 10, 11, 0, 1, 2, 3 }, none, false)
    assert.equal(1, mwcc.count(text, "and <8 x i1> %%x, " .. kept))
    local partly = lanes(function(i) return i < 4 and "i1 poison" or "i1 false" end, 8)
    text = made({ 0, 1, 2, 3, 12, 13, 14, 15 }, partly, true)
    assert.equal(1, mwcc.count(text, "and <8 x i1> %%x, " .. kept))
  end)

  it("is widened first, if the result has more lanes", function()
    local text = made({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 }, none, true)
    assert.equal(1, mwcc.count(text, "shufflevector <8 x i1> %%x, <8 x i1> poison"))
    local half = lanes(function(i) return "i1 " .. tostring(i < 8) end, 16)
    assert.equal(1, mwcc.count(text, "and <16 x i1> %%1, " .. half))
  end)

  it("stays if it moves lanes, sets some, or clears none", function()
    local ones = lanes(function() return "i1 true" end, 8)
    for _, case in ipairs {
      { { 1, 0, 2, 3, 12, 13, 14, 15 }, none }, { { 0, 1, 2, 3, 12, 13, 14, 15 }, ones },
      { { 0, 1, 2, 3, 4, 5, 6, 7 }, none }, { { 0, 1, 2, 3 }, none },
    } do
      local text = made(case[1], case[2], true)
      assert.equal(1, mwcc.count(text, "shufflevector"), text)
      assert.equal(0, mwcc.count(text, " and "), text)
    end
  end)
end)

describe("a row of 24 threads", function()
  -- Lanes 24 to 31 stored as well: their mask was spilled before it was cleared.
  local source = [[
__global__ void k(const float *a, float *out, int steps, int d, int e, long long wild, int lots) {
  __shared__ float tile[3][24 + 128];
  int x = threadIdx.x, y = threadIdx.y, base = blockIdx.x * (24 * 3), g = base + y * 24 + x;
  for (int i = x; i < 24 + 128; i += 24) tile[y][i] = a[base + 24 * y + i];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < steps; i++) {
    if ((x + y) % 3) sum += 8 + 2 * *(x > lots ? &a[wild + x] : &a[base + 64 + x - 1]);
    __syncthreads();
    sum += tile[y][64 + 24 - (x - d)];
    __syncthreads();
    if (y > 0 && x > e) tile[y][64 + x] = sum;
    __syncthreads();
  }
  out[g] = sum;
}]]

  it("writes nothing behind its end", function()
    local a, results = mw.random(3):integers(-2000, 2000, 1240):to "float" / 64, {}
    for n, options in ipairs { { "-G", "--width=1" }, { "--width=16x2" }, {} } do
      local k = mw.compile { source = source, options = options[1] and options or nil }.k
      local out = mw.zeros(144)
      k(2, { 24, 3 })(a, out, 3, 12, 1, 2 ^ 40, 3000)
      results[n] = out:bytes()
    end
    assert.equal(results[1], results[2])
    assert.equal(results[1], results[3])
  end)

  it("has a mask whose idle lanes are cleared by a constant before it is spilled", function()
    local text = mwcc.run(source, "--mcpu=x86-64-v4 --width=16x2 --launch=_Z1kPKfPfiiixi:24x3x1 --emit=asm")
    assert.matches("vpcmpltd[^\n]*{%%k%d}", text)
    assert.equal(0, mwcc.count(text, "kmovb\t%%k%d, %%k%d"))
  end)
end)
