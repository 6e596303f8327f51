-- Products of matrices and vectors.
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

numpy.run("linear/products", describe, it)

describe("products", function()
  it("are written into out, also where it is an input", function()
    local a = mw.array { { 1, 2 }, { 3, 4 } }
    local y = mw.zeros(2, 2)
    assert.is_true(a:mm(a, { out = y }) == y)
    assert.same({ 7, 10, 15, 22 }, y:reshape(-1):totable())
    a:mm(a, { out = a })
    assert.same({ 7, 10, 15, 22 }, a:reshape(-1):totable())
    a:mm(mw.eye(2), { out = y:transpose() })
    assert.same({ 7, 15, 10, 22 }, y:reshape(-1):totable())
    assert.matches("the result is float {2, 2} and cannot be written into out, float {4}",
      message(a.mm, a, a, { out = mw.zeros(4) }))
  end)

  it("that cannot be are refused, with the reason", function()
    local a = mw.zeros(2, 3)
    assert.matches("{2, 3} times {2, 3}: the first has 3 columns and the second 2 rows", message(a.mm, a, a))
    assert.matches("batches of {2, 1, 1} and {3, 1, 1} do not broadcast",
      message(mw.mm, mw.zeros(2, 1, 1), mw.zeros(3, 1, 1)))
    assert.matches("see a:mm for batches", message(mw.dot, mw.zeros(1, 1, 1), a))
    assert.matches("works on numbers, not on elements of float2", message(a.mm, a, mw.zeros(3, 3, "float2")))
  end)
end)
