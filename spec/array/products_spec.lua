-- Products of matrices and vectors.
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

numpy.run("linear/products", describe, it)

describe("products", function()
  it("of many small matrices are those of plain loops", function()
    local g = mw.random(5)
    for _, dtype in ipairs { "float", "double" } do
      for _, sizes in ipairs { { 1, 1, 1 }, { 3, 5, 2 }, { 8, 8, 8 }, { 16, 16, 16 }, { 7, 9, 13 }, { 4, 16, 1 } } do
        local m, n, inner = sizes[1], sizes[2], sizes[3]
        local a = mw.array(g:integers(-9, 9, { 40, m, inner }):totable(), dtype)
        local b = mw.array(g:integers(-9, 9, { 40, inner, n }):totable(), dtype)
        local shared = b[1]
        local y, z = a:mm(b), a:mm(shared)
        local p, q, r, s = a:totable(), b:totable(), y:totable(), z:totable()
        for i = 1, 40, 13 do
          for row = 1, m do
            for column = 1, n do
              local sum, other = 0, 0
              for k = 1, inner do
                sum = sum + p[i][row][k] * q[i][k][column]
                other = other + p[i][row][k] * q[1][k][column]
              end
              assert.equal(sum, r[i][row][column])
              assert.equal(other, s[i][row][column])
            end
          end
        end
      end
    end
  end)

  it("of many matrices of up to 128 rows need no library, in every dtype and order", function()
    local g = mw.random(7)
    for _, dtype in ipairs { "int", "longlong", "uchar", "bool", "half", "complex64" } do
      for _, sizes in ipairs { { 17, 33, 5 }, { 40, 64, 65 }, { 128, 3, 20 }, { 2, 128, 7 }, { 129, 2, 3 } } do
        local m, n, inner = sizes[1], sizes[2], sizes[3]
        local low = (dtype == "uchar" or dtype == "bool") and 0 or -2
        local high = dtype == "bool" and 1 or 2
        local p = mw.zeros({ 33, m, inner }, "int"):assign(g:integers(low, high, { 33, m, inner }))
        local q = mw.zeros({ 33, n, inner }, "int"):assign(g:integers(low, high, { 33, n, inner }))
        local a, b = p:to(dtype), q:to(dtype)
        local y = a:mm(b:transpose())                               -- columns are not contiguous
        local z = a:transpose():contiguous():transpose():mm(b[1]:transpose())
        for _, at in ipairs { { 1, 1, 1 }, { 33, m, n }, { 17, math.floor(m / 2), math.ceil(n / 2) } } do
          local i, row, column = at[1], at[2], at[3]
          local expected, other = (p[i][row] * q[i][column]):sum(), (p[i][row] * q[1][column]):sum()
          if dtype == "uchar" then expected, other = expected % 256, other % 256 end
          if dtype == "bool" then expected, other = expected > 0, other > 0 end
          local first, second = y[i]:get(row, column), z[i]:get(row, column)
          if dtype == "complex64" then first, second = first.re, second.re end
          assert.equal(expected, first)
          assert.equal(other, second)
        end
      end
    end
  end)

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
