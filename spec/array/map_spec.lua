-- mw.map: elementwise functions in CUDA C.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "map_spec"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

describe("mw.map", function()
  local x, y = mw.array { 1, 2, 3 }, mw.array { 10, 20, 30 }

  it("computes an expression at once, or makes a function", function()
    assert.same({ 12.5, 25, 37.5 }, mw.map("a*x + y", { a = 2.5, x = x, y = y }):totable())
    local f = mw.map "x*x + y"
    assert.same({ 11, 24, 39 }, f(x, y):totable())
    assert.same({ 11, 24, 39 }, f { y = y, x = x }:totable())
    assert.same({ 2, 5, 10 }, f(x, 1):totable())
  end)

  it("equals a plain loop, for random strided arrays that broadcast", function()
    for _, dtype in ipairs { "char", "ushort", "int", "longlong", "half", "float", "double" } do
      local rows, columns = random(1, 30), random(1, 30)
      local a, b = mw.empty(rows, 2 * columns, dtype), mw.empty(rows, 1, dtype)
      local list = {}
      for i = 1, a.count do list[i] = random(0, 9) end
      a:reshape(-1):copy_from(list)
      local heights = {}
      for i = 1, rows do heights[i] = random(0, 9) end
      b:reshape(-1):copy_from(heights)
      local got = mw.map("p*x - q*x + h", { p = 3, q = 2, x = a[{ {}, { -1, 1, -2 } }], h = b })
      assert.same({ dtype, { rows, columns } }, { got.dtype, got.shape })
      local wanted = {}
      for i = 1, rows do
        for j = 1, columns do wanted[#wanted + 1] = list[i * 2 * columns - 2 * (j - 1)] + heights[i] end
      end
      assert.same(wanted, flat(got))
    end
  end)

  it("has the type of the expression, in which literals are as weak as Lua's numbers", function()
    local function dtype(text, of, options) return mw.map(text, { x = mw.ones(2, of) }, options).dtype end
    assert.equal("float", dtype("0.5*x + 1e-3", "float"))
    assert.equal("double", dtype("0.5*x", "double"))
    assert.equal("double", dtype("0.5*x", "int"))
    assert.equal("half", dtype("exp(0.5*x)", "half"))
    assert.equal("double", dtype("sqrt(x)", "int"))
    assert.equal("bool", dtype("x > 0.5", "float"))
    assert.equal("bfloat16", dtype("sinf(x)", "bfloat16"))
    assert.equal("int", dtype("x", "float", { dtype = "int" }))
    assert.equal("double", mw.map("a*x", { a = 0.5, x = mw.ones(2, "int") }).dtype)
    local near = mw.map("0.1*x", { x = mw.ones(1) })[1]
    assert.equal(mw.array({ 0.1 })[1], near)
  end)

  it("has several statements and results, and names of its own", function()
    local u, v = mw.map("float t = x + y; u = t * t; if (t > 20) v = 1; else v = 0;", { x = x, y = y },
      { dtype = "float" })
    assert.same({ { 121, 484, 1089 }, { 0, 1, 1 } }, { u:totable(), v:totable() })
    local out = { u = mw.zeros(3, "int") }
    local p, q = mw.map("u = x; w = u + 0.5", { x = x }, { out = out })
    assert.equal(out.u, p)
    assert.same({ 1.5, 2.5, 3.5 }, q:totable())
  end)

  it("writes arrays that it assigns in place, and into out", function()
    local a = mw.array { 1, 2, 3 }
    assert.equal(a, mw.map("a = a + x", { a = a, x = x }))
    assert.same({ 2, 4, 6 }, a:totable())
    local wide = mw.zeros(6)
    mw.map("2*x", { x = x }, { out = wide[{ { 6, 1, -2 } }] })
    assert.same({ 0, 6, 0, 4, 0, 2 }, wide:totable())
  end)

  it("knows places and whole arrays", function()
    assert.same({ 2, 3, 1 }, mw.map("w[(i + 1) % 3] + 0*x", { w = x, x = x }):totable())
    local t = mw.arange(6):reshape(2, 3):transpose()
    assert.same({ 0, 1, 2, 3, 4, 5 }, flat(mw.map("i + 0*x", { x = t }, { dtype = "float" })))
    assert.same({ 0, 3, 1 }, mw.map("w[i] + 0*x", { w = t, x = x }):totable())
    assert.same({ 3, 2, 1 }, mw.map("w[2 - i]", { w = x }, { out = mw.zeros(3) }):totable())
  end)

  it("uses functions and structs of a module or a preamble", function()
    local m = mw.compile [[
struct pair { float a, b; };
__device__ float sum(pair p) { return p.a + p.b; }
__global__ void unused(pair *p) {}]]
    local p = mw.array({ { a = 1, b = 2 }, { a = 3, b = 4 } }, m:dtype "pair")
    assert.same({ 3, 7 }, mw.map({ "sum(p)", module = m })(p):totable())
    local swapped = mw.map({ "pair r = {p.b, p.a}; q = r", module = m }) { p = p, q = p }
    assert.equal(2, swapped[1].a)
    assert.same({ 2, 3 }, mw.map({ "next(x)", preamble = "__device__ int next(int x) { return x + 1; }" })(
      mw.array({ 1, 2 }, "int")):totable())
  end)

  it("of nothing is nothing", function()
    assert.same({ 0, 3 }, mw.map("x + 1", { x = mw.zeros(0, 3) }).shape)
  end)

  it("shows its source, and says what is wrong", function()
    local f = mw.map "x*x*x"
    f(x)
    assert.matches("result = %(x%*x%*x%)", f:source())
    assert.matches("z is not given, in \"x %+ z\"", message(mw.map, "x + z", { x = x }))
    assert.matches("the name q is not in \"x %+ z\"", message(mw.map, "x + z", { x = x, z = 1, q = 1 }))
    assert.matches("wants at least one array", message(mw.map, "a + 1", { a = 1 }))
    assert.matches("a is an array, a number or a boolean, got", message(mw.map, "x + a", { x = x, a = "1" }))
    assert.matches("do not fit together", message(mw.map, "x + y", { x = x, y = mw.zeros(2) }))
    assert.matches("wants x, y, got 1", message(mw.map "x - y", x))
    assert.matches("nosuch", message(mw.map, "x + nosuch(x)", { x = x }))
    assert.matches("does not assign v", message(mw.map, "u = x", { x = x }, { out = { v = x } }))
  end)
end)
