-- Linear algebra by libraries: arguments of the raw functions, and their order with other work.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local child = require "support.child"

local function message(...) return failure(...).message end
local is_there = raw.linear_library(false) ~= nil

describe("a library for linear algebra", function()
  it("is named, or said to be missing", function()
    local name, why = raw.linear_library(false)
    assert.is_truthy(name or why)
    local factors, reason = raw.linear_library(true)
    assert.is_truthy(factors or reason)
  end)

  it("multiplies in the order of its stream", function()
    if not is_there then return pending "no library" end
    local n = 96
    local a, b, y = mw.ones(n, n), mw.ones(n, n), mw.zeros(n, n)
    local stream = mw.stream()
    mw.with(stream, function()
      for _ = 1, 20 do
        a:fill(2)
        assert.is_true(raw.array_product(a, b, y))
        a:fill(3)
        b:assign(y)
        b:fill(1)
      end
    end)
    stream:synchronize()
    assert.equal(2 * n, y[1][1])
    assert.equal(2 * n, y[n][n])
  end)

  it("retains what it multiplies", function()
    if not is_there then return pending "no library" end
    local y = mw.zeros(64, 64)
    for _ = 1, 50 do
      local a, b = mw.ones(64, 64), mw.ones(64, 64)
      raw.array_product(a, b, y)
      a:free()
      b:free()
    end
    assert.equal(64 * 64 * 64, y:sum())
  end)

  it("refuses what does not fit", function()
    local a = mw.zeros(2, 3)
    assert.matches("shapes of a product", message(raw.array_product, a, a, a))
    assert.matches("one dtype", message(raw.array_product, a, mw.zeros(3, 2, "double"), mw.zeros(2, 2)))
    local square = mw.zeros(2, 2)
    assert.matches("into one of its operands", message(raw.array_product, square, square, square))
    assert.matches("matrices, or arrays of matrices", message(raw.array_product, mw.zeros(2), a, a))
    assert.matches("no factorisation 'lv'", message(raw.array_factor, "lv", a))
    assert.matches("not the arrays", message(raw.array_factor, "lu", mw.zeros(1, 2, 2)))
    assert.matches("array 2 has another type", message(raw.array_factor, "lu", mw.zeros(1, 2, 2), mw.zeros(1, 2),
      mw.zeros(1, "int")))
  end)

  it("leaves to kernels what it cannot take", function()
    local function refused(...)
      local ok, why = raw.array_product(...)
      assert.is_false(ok)
      assert.is_string(why)
    end
    local ints = mw.zeros(2, 2, "int")
    refused(ints, ints, mw.zeros(2, 2, "int"))
    local wide = mw.zeros(4, 4)
    refused(wide[{ { 1, 4, 2 }, { 1, 4, 2 } }], mw.zeros(2, 2), mw.zeros(2, 2))
  end)

  -- OpenBLAS's complex gemv reads past the end of a matrix, where there may be no memory.
  it("reads nothing past its operands", function()
    for _, dtype in ipairs { "complex64", "complex128", "float", "double" } do
      for rows = 1, 20 do
        for columns = 1, 3 do
          local a, v = mw.ones({ rows, columns }, dtype), mw.ones({ columns }, dtype)
          local y, w = a:mm(v), a:transpose():mm(mw.ones({ rows }, dtype))
          if dtype:find "complex" then y, w = y:real(), w:real() end
          assert.equal(columns, y:max())
          assert.equal(rows, w:min())
        end
      end
    end
  end)

  it("is hidden or chosen by MOONWARP_BLAS", function()
    if mw.device().name:sub(1, 3) ~= "cpu" then return pending "for the CPU" end
    local script = [[
      local mw = require "moonwarp"
      local name, why = require("moonwarp.binding").linear_library(false)
      print(name or why)
      print((mw.ones(3, 4):mm(mw.ones(4, 2)):sum()))
      print(mw.doctor():match "matrix products on the CPU: [^\n]*")]]
    local off = child { script, environment = { MOONWARP_BLAS = "none" } }
    assert.matches("MOONWARP_BLAS is 'none'", off.output, 1, true)
    assert.matches("24", off.output, 1, true)
    assert.matches("matrix products on the CPU: moonwarp's own kernels", off.output, 1, true)
    local missing = child { script, environment = { MOONWARP_BLAS = "/nowhere/libblas.so" } }
    assert.matches("under these names: /nowhere/libblas.so. Install the package libopenblas0", missing.output, 1, true)
    assert.matches("24", missing.output, 1, true)
  end)
end)
