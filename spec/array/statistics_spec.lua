-- Variance, norms and quantiles.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "statistics_spec"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

numpy.run("statistics", describe, it, { layouts = numpy.layouts, tolerance = 1 })

describe("quantiles", function()
  it("equal sorting, for long lines of any dtype", function()
    for _, dtype in ipairs { "float", "double", "half", "bfloat16", "int", "ushort", "char", "longlong" } do
      local n, list = random(1000, 3000), {}
      local low = dtype == "ushort" and 0 or -100
      for i = 1, n do list[i] = random(low, 100) end
      local a = mw.array(list, dtype)
      table.sort(list)
      assert.equal(list[1], a:quantile(0))
      assert.equal(list[n], a:quantile(1))
      local middle = (list[math.floor((n + 1) / 2)] + list[math.floor(n / 2) + 1]) / 2
      assert.equal(middle, a:median())
    end
  end)

  it("keep what a float can say, with infinities and negative zero", function()
    local a = mw.array({ -math.huge, 1e-45, -0.0, math.huge, 3e38 })
    assert.equal(-math.huge, a:quantile(0))
    assert.equal(math.huge, a:quantile(1))
    assert.equal(1e-45, tonumber(("%.0e"):format(a:median())))
  end)

  it("have a first dimension for several", function()
    local a = mw.arange(12):reshape(3, 4)
    local q = a:quantile({ 0, 0.5 }, { axis = 2 })
    assert.same({ 2, 3 }, q.shape)
    assert.same({ 0, 4, 8, 1.5, 5.5, 9.5 }, q:reshape(-1):totable())
    assert.same({ 1, 4 }, a:median { axis = 1, keepdims = true }.shape)
    local out = mw.zeros(4)
    assert.equal(out, a:median { axis = 1, out = out })
    assert.same({ 4, 5, 6, 7 }, out:totable())
  end)

  it("want numbers from 0 to 1", function()
    assert.matches("q is a number from 0 to 1", message(mw.zeros(2).quantile, mw.zeros(2), 2))
    assert.matches("a:median: there is no axis 3", message(mw.zeros(2).median, mw.zeros(2), { axis = 3 }))
  end)
end)

describe("the variance", function()
  it("of many elements far from 0 keeps its digits", function()
    local n, list = 100000, {}
    for i = 1, n do list[i] = 1e9 + i % 2 end
    assert.near(0.25, mw.array(list, "double"):var(), 1e-12)
    assert.near(0.5, mw.array(list, "longlong"):std(), 1e-12)
  end)

  it("is divided by n - ddof", function()
    local a = mw.array { 1, 2, 3, 4 }
    assert.equal(1.25, a:var())
    assert.near(5 / 3, a:var { ddof = 1 }, 1e-7)
    assert.equal(math.huge, a:var { ddof = 4 })
    assert.matches("a:var has no option 'dof'", message(a.var, a, { dof = 1 }))
  end)
end)

describe("a norm", function()
  it("counts, or is the greatest or least size", function()
    local a = mw.array({ 3, 0, -4 }, "int")
    assert.same({ 5, 7, 2, 4, 0 }, { a:norm(), a:norm { ord = 1 }, a:norm { ord = 0 }, a:norm { ord = math.huge },
      a:norm { ord = -math.huge } })
    assert.equal(0, mw.zeros(0):norm())
    assert.matches("an empty array has no least magnitude",
      message(mw.zeros(0).norm, mw.zeros(0), { ord = -math.huge }))
  end)
end)
