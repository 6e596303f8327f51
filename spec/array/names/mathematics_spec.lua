-- CUDA's mathematical functions of several operands, of whole numbers and with two results; and mw.source.
local mw = require "moonwarp"
local failure = require "support.failure"

describe("a function of CUDA's mathematics", function()
  local a = mw.array { 0.5, 1.5, 2.5, -3.5 }
  local function message(...) return failure(...).message end
  local function near(expected, x, most)
    for i, value in ipairs(expected) do
      assert.is_true(math.abs(x[i] - value) <= (most or 1e-6) * math.max(1, math.abs(value)), x[i] .. " " .. value)
    end
  end

  it("rounds to whole numbers of longlong, and finds exponents", function()
    for _, dtype in ipairs { "half", "float", "double" } do
      local x = a:to(dtype)
      assert.same({ 0, 2, 2, -4 }, x:nearbyint():totable())
      assert.equal(dtype, x:nearbyint().dtype)
      for _, name in ipairs { "lrint", "llrint" } do
        assert.same({ 0, 2, 2, -4 }, x[name](x):totable())
        assert.equal("longlong", x[name](x).dtype)
      end
      for _, name in ipairs { "lround", "llround" } do assert.same({ 1, 2, 3, -4 }, mw[name](x):totable()) end
      assert.same({ -1, 0, 1, 1 }, x:ilogb():totable())
      assert.equal("int", x:ilogb().dtype)
      assert.same({ 4, 12, 20, -28 }, x:scalbn(3):totable())
      assert.same({ 4, 12, 20, -28 }, mw.scalbln(x, 3):totable())
    end
    assert.same({ 3 }, mw.array({ 8 }, "int"):ilogb():totable())
    assert.same({ 0, 2, 2, -4 }, a:lrint({ out = mw.zeros(4, "double") }):totable())
    assert.matches("lrint gives longlong, which cannot be written", message(a.lrint, a, { out = mw.zeros(4, "uint") }))
  end)

  it("is a Bessel function of any order, by recurrence", function()
    local x = mw.array({ 0.5, 1.5, 2.5, 9 }, "double")
    near((2 / x * x:j1() - x:j0()):totable(), mw.jn(2, x), 1e-13)
    near((4 / x * (2 / x * x:y1() - x:y0()) - x:y1()):totable(), mw.yn(3, x), 1e-13)
    near(mw.jn(2, x):totable(), mw.jn(2, x:to "float"))
  end)

  it("is the length of three or four coordinates, without overflow", function()
    near({ math.sqrt(5.25), math.sqrt(7.25) }, mw.norm3d(a, 2, -1))
    near({ math.sqrt(14.25), math.sqrt(16.25) }, mw.norm4d(a, 2, -1, 3))
    near({ 1 / math.sqrt(5.25) }, a:rnorm3d(2, -1))
    near({ 1 / math.sqrt(14.25) }, a:rnorm4d(2, -1, 3))
    near({ 2 }, mw.norm4d(mw.full(1, 1e38), 1e38, 1e38, mw.full(1, 1e38)) / 1e38)
    local y = mw.zeros(4)
    assert.equal(y, mw.norm4d(a, 2, -1, 3, { out = y }))
    near({ math.sqrt(14.25) }, y)
    near({ math.sqrt(14.25) + 1 }, (mw.norm4d(mw.lazy(a), 2, -1, 3) + 1):eval())
    assert.same({ 2, 4 }, mw.norm4d(mw.zeros(2, 1), a, 1, 2).shape)
    assert.matches("mw.norm4d takes 4 arguments", message(mw.norm4d, a, 1))
  end)

  it("has two results", function()
    for _, dtype in ipairs { "half", "float", "double" } do
      local x = a:to(dtype)
      local fraction, exponent = x:frexp()
      assert.same({ 0.5, 0.75, 0.625, -0.875 }, fraction:totable())
      assert.same({ 0, 1, 2, 2 }, exponent:totable())
      assert.equal(dtype, fraction.dtype)
      assert.equal("int", exponent.dtype)
      local part, whole = mw.modf(x)
      assert.same({ 0.5, 0.5, 0.5, -0.5 }, part:totable())
      assert.same({ 0, 1, 2, -3 }, whole:totable())
      local rest, quotient = mw.remquo(x, 2)
      assert.same({ 0.5, -0.5, 0.5, 0.5 }, rest:totable())
      assert.same({ 0, 1, 1, -2 }, quotient:totable())
      local sine, cosine = x:sincospi()
      assert.same({ 1, -1, 1, 1 }, sine:totable())
      assert.same({ 0, 0, 0, 0 }, cosine:totable())
    end
    local sine, cosine = a:to("double"):sincos()
    near({ math.sin(0.5), math.sin(1.5) }, sine, 1e-15)
    near({ math.cos(0.5), math.cos(1.5) }, cosine, 1e-15)
    assert.equal("double", mw.array({ 8 }, "int"):frexp().dtype)
    local y, z = mw.zeros(4), mw.zeros(4, "double")
    assert.equal(z, select(2, a:modf { out = { y, z } }))
    assert.same({ 0, 1, 2, -3 }, z:totable())
    assert.same({ 2, 4 }, mw.remquo(a, mw.ones(2, 1)).shape)
    assert.same({ 0, 3 }, mw.zeros(0, 3):modf().shape)
  end)

  it("says what is wrong with the operands and options of two results", function()
    assert.matches("mw.modf: out has two arrays, {y, z}", message(a.modf, a, { out = a }))
    assert.matches("mw.modf has no option 'oot'", message(a.modf, a, { oot = a }))
    assert.matches("mw.modf takes 1 argument", message(a.modf, a, 1))
    assert.matches("modf wants an array, got the number 1", message(mw.modf, 1))
    assert.matches("modf works on real numbers, not on complex64", message(mw.modf, a:to "complex64"))
    assert.matches("frexp gives int, which cannot be written into out, an array of bool",
      message(a.frexp, a, { out = { mw.zeros(4), mw.zeros(4, "bool") } }))
  end)
end)

describe("mw.source", function()
  local a = mw.arange(20000):reshape(20, 1000)

  it("returns the CUDA C that a call runs, and what it returns", function()
    local text, y = mw.source(mw.exp, a)
    assert.matches("expf%(a%)", text)
    assert.same(a:exp():totable(), y:totable())
    local sums, s = mw.source(a.sum, a, { axis = 1 })
    assert.matches("__global__", sums)
    assert.same(a:sum({ axis = 1 }):totable(), s:totable())
    local sorted, values, places = mw.source("topk", a, 3)
    assert.matches("__global__", sorted)
    assert.same({ 20, 3 }, values.shape)
    assert.same({ 20, 3 }, places.shape)
  end)

  it("of every function that computes is not empty", function()
    for name in ("cumsum cumprod diff prod mean var std norm median argmin any all sort argsort unique nonzero sqrt "
      .. "isnan negative square bincount"):gmatch "%S+" do
      local x = name == "bincount" and a:to "int" or a
      assert.matches("__global__", (mw.source(name, x)), name)
    end
    assert.matches("__global__", (mw.source("take", a, { 1, 2 })))
    assert.matches("__global__", (mw.source(mw.where, a:gt(3), a, 0)))
    assert.matches("a %* b.*a %+ b", (mw.source(function(x) return x * 2 + 1 end, a)))
  end)

  it("holds each text once, and of a view nothing", function()
    local once = mw.source(mw.exp, a)
    assert.equal(once, (mw.source(function() return mw.exp(mw.exp(a)):exp() end)))
    assert.equal("", (mw.source("transpose", a)))
  end)

  it("passes errors on, and notes nothing after them", function()
    local function wrong() return mw.source("sum", a, { axis = 3 }) end
    assert.matches("there is no axis 3", failure(wrong).message)
    local inner = mw.source(function() mw.source(mw.exp, a) end)
    assert.equal("", inner)
    assert.matches("mw.source%(\"sum\", a%) wants an array, got the number 3", failure(mw.source, "sum", 3).message)
  end)
end)
