-- mw.linalg: equations, factorisations, eigenvalues; by LAPACK, and by the library's own kernels.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local numpy = require "support.numpy"
local child = require "support.child"

local function message(...) return failure(...).message end
local linalg = mw.linalg
assert(linalg.solve)
local settings = raw.linalg_settings
local has_library = raw.linear_library(true) ~= nil

local function each_route(f)
  settings.own = true
  local ok, why = pcall(f, "own kernels")
  settings.own = false
  if not ok then error(why, 0) end
  if has_library then f "library" end
end

local function by_kernels(test)
  settings.own = true
  local ok, why = pcall(test)
  settings.own = false
  if not ok then error(why, 0) end
end

numpy.run("linear/linalg", describe, it, { error = 1e-9 })
numpy.run("linear/linalg_float", describe, it, { error = 1e-3 })
numpy.run("linear/linalg", describe, it, { title = "linalg by kernels,", error = 1e-9, around = by_kernels })
numpy.run("linear/linalg_float", describe, it, { title = "linalg_float by kernels,", error = 1e-3,
  around = by_kernels })
if has_library then numpy.run("linear/linalg_complex", describe, it, { error = 1e-9 }) end

describe("mw.linalg", function()
  it("solves systems whose solution is known, of many sizes", function()
    each_route(function(route)
      for _, n in ipairs { 1, 2, 7, 8, 31, 33, 64, 90 } do
        local g = mw.random(n)
        local a = g:uniform({ n, n }, { dtype = "double" }) - 0.5
        local x = g:uniform({ n, 3 }, { dtype = "double" })
        a:diag():assign(a:diag() + 2)
        local error = (linalg.solve(a, a:mm(x)) - x):abs():max()
        assert.is_true(error < 1e-9, ("%s, n = %d: %g"):format(route, n, error))
      end
    end)
  end)

  it("names singular matrices, and what to do", function()
    each_route(function()
      local a = mw.zeros(3, 2, 2)
      a[1], a[2] = mw.eye(2), mw.eye(2)
      a[3] = mw.array { { 1, 2 }, { 2, 4 } }
      assert.matches("mw.linalg.solve: matrix 3 of the batch is singular: pivot 2 is 0; use mw.linalg.lstsq or pinv",
        message(linalg.solve, a, mw.ones(2)), 1, true)
      assert.matches("the matrix is singular: pivot 1 is 0", message(linalg.inv, mw.zeros(2, 2)), 1, true)
      assert.equal(0, linalg.det(a[3]))
      local sign, log = linalg.slogdet(a[3])
      assert.equal(0, sign)
      assert.equal(-math.huge, log)
      assert.matches("the matrix is not positive definite: its leading minor of 2 rows is not positive",
        message(linalg.cholesky, mw.array { { 1, 2 }, { 2, 1 } }), 1, true)
    end)
  end)

  it("says what it wants", function()
    local function refused(words, ...) assert.matches(words, message(...), 1, true) end
    refused("mw.linalg.inv wants square matrices, got {4, 6}", linalg.inv, mw.zeros(4, 6))
    refused("mw.linalg.det wants a matrix, or several in the last two axes, got {4}", linalg.det, mw.zeros(4))
    refused("the matrix has 2 rows, and the right side {3} has 3", linalg.solve, mw.eye(2), mw.zeros(3))
    refused("the batches of {2, 3, 3} and {4, 3, 1} do not fit together", linalg.solve, mw.zeros(2, 3, 3),
      mw.zeros(4, 3, 1))
    refused("works on numbers", linalg.inv, mw.zeros({ 2, 2 }, "float4"))
    refused("the order of a matrix's norm", linalg.norm, mw.eye(2), 3)
    refused("wants a matrix for ord = fro", linalg.norm, mw.ones(2), { ord = "fro", axis = { 1, 2 } })
    refused("has no 'sovle'; did you mean 'solve'?", function() return linalg.sovle end)
    refused("the matrix has 2 rows, and the right side {3} has 3", linalg.lstsq, mw.eye(2), mw.zeros(3))
  end)

  it("takes integers, booleans and halves, and gives floating point", function()
    assert.equal("double", linalg.inv(mw.array({ { 1, 2 }, { 3, 5 } }, "int")).dtype)
    assert.equal("float", linalg.inv(mw.eye(3):to "half").dtype)
    assert.equal("double", linalg.solve(mw.eye(2), mw.array({ 1, 2 }, "int")).dtype)
  end)

  it("refuses what does not converge", function()
    each_route(function()
      local a = mw.full({ 3, 3 }, 0 / 0)
      assert.matches("does it hold NaN or infinity?", message(linalg.svd, a), 1, true)
      assert.matches("does it hold NaN or infinity?", message(linalg.eigh, a), 1, true)
    end)
  end)

  it("takes singular values of matrices without full rank", function()
    each_route(function()
      local a = mw.zeros(5, 3)
      a[1] = mw.array { 1, 2, 3 }
      local u, s, vt = linalg.svd(a, { full = true })
      assert.is_true((u:transpose():mm(u) - mw.eye(5)):abs():max() < 1e-5)
      assert.is_true((vt:mm(vt:transpose()) - mw.eye(3)):abs():max() < 1e-5)
      assert.is_true(math.abs(s[1] - math.sqrt(14)) < 1e-5 and s[2] < 1e-6 and s[3] < 1e-6)
    end)
  end)

  it("has eigenvalues of matrices that are not symmetric", function()
    if not has_library then return pending "no library" end
    local a = mw.array({ { 0, 1, 0 }, { 0, 0, 1 }, { 6, -11, 6 } }, "double") -- of (x - 1) (x - 2) (x - 3)
    local w, v = linalg.eig(a)
    assert.equal("complex128", w.dtype)
    assert.is_true((a:mm(v) - v * w:expand(1)):abs():max() < 1e-9)
    local values = w:real():sort()
    for i = 1, 3 do assert.is_true(math.abs(values[i] - i) < 1e-9) end
    assert.is_true(w:imag():abs():max() < 1e-12)
    local turn = linalg.eigvals(mw.array({ { 0, -1 }, { 1, 0 } }, "float"))
    assert.equal("complex64", turn.dtype)
    assert.is_true(turn:real():abs():max() < 1e-6)
    assert.is_true((turn:imag():sort() - mw.array { -1, 1 }):abs():max() < 1e-6)
  end)

  it("says which package eigenvalues need", function()
    if mw.device().name:sub(1, 3) ~= "cpu" then return pending "for the CPU" end
    local result = child { [[
      local mw = require "moonwarp"
      print(select(2, pcall(mw.linalg.eig, mw.eye(2))))
      print(mw.linalg.solve(mw.eye(2), mw.ones(2)):sum() == 2)]], environment = { MOONWARP_BLAS = "none" } }
    assert.matches("mw.linalg.eig of float needs LAPACK. OpenBLAS is not loaded", result.output, 1, true)
    assert.matches("true", result.output, 1, true)
  end)
end)
