-- A product by a constant is a shift of another product, if there is one (mwcc's pass shifted-products).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function lanes(number) return "<" .. ("i64 %d, i64 %d, i64 %d, i64 %d"):gsub("%%d", tostring(number)) .. ">" end

local function made(first, second)
  return mwcc.only(([[
target triple = "x86_64-unknown-linux-gnu"
define <4 x i64> @f(<4 x i64> %%x) {
  %%a = mul <4 x i64> %%x, %s
  %%b = mul <4 x i64> %%x, %s
  %%c = xor <4 x i64> %%a, %%b
  ret <4 x i64> %%c
}
define i64 @one(i64 %%x) {
  %%a = mul i64 %%x, %d
  %%b = mul i64 %%x, %d
  %%c = xor i64 %%a, %%b
  ret i64 %%c
}]]):format(lanes(first), lanes(second), first, second), "shifted-products")
end

describe("a product by a shifted constant", function()
  it("is a shift of the product by the constant", function()
    local text = made(0xd2511f53, 0xd2511f53 << 21)
    assert.equal(1, mwcc.count(text, "mul <4 x i64>"))
    assert.equal(1, mwcc.count(text, "shl <4 x i64> %%a"))
    assert.equal(2, mwcc.count(text, "mul i64"))
  end)

  it("stays if the other constant is no shift of it, or is one that loses bits, or the product comes later", function()
    for _, pair in ipairs { { 5, 21 }, { 1 << 62 | 1, 4 }, { 5 << 21, 5 } } do
      assert.equal(2, mwcc.count(made(pair[1], pair[2]), "mul <4 x i64>"))
    end
  end)

  it("has the same value", function()
    local m = mw.compile [[
__global__ void k(const unsigned *x, unsigned long long *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long product = x[i] * 0xd2511f53ull;
  o[i] = product >> 32 ^ (unsigned long long)(unsigned)product << 21;
}]]
    local words, out = mw.random(7):bits(64), mw.zeros(64, "ulonglong")
    m.k(1, 64)(words, out)
    for i = 1, 64 do
      local product = (words[i] // 1 | 0) * 0xd2511f53
      assert.equal(product >> 32 ~ (product & 0xffffffff) << 21, math.tointeger(out[i]))
    end
  end)
end)
