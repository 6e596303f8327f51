-- Scans along an axis: cumsum, cumprod, diff, and mw.scan.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "scan_spec"
local numpy = require "support.numpy"
local suite = require "support.suite"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

numpy.run("scans", describe, it, { layouts = numpy.layouts, tolerance = 1 })

describe("a scan", function()
  -- A warp scans the totals of chunks in place.
  it("has no race", function()
    if suite.on_gpu then return pending "CPU device only: gpu_check_spec checks kernels on GPUs" end
    local x = mw.ones(100000)
    local report = mw.check(function()
      x:cumsum()
      mw.synchronize()
    end)
    assert.equal("no findings", tostring(report))
  end)

  it("equals a plain loop, over many chunks and along any axis", function()
    for _, shape in ipairs { { 20011 }, { 9000, 3 }, { 3, 9000 }, { 2, 3000, 5 }, { 300, 40 } } do
      local a = mw.empty(shape, "int")
      local list = {}
      for i = 1, a.count do list[i] = random(-9, 9) end
      a:reshape(-1):copy_from(list)
      local axis = random(1, #shape)
      local inner = 1
      for d = axis + 1, #shape do inner = inner * shape[d] end
      local wanted = {}
      for i = 1, #list do
        local first = math.floor((i - 1) / inner) % shape[axis] == 0
        wanted[i] = list[i] + (first and 0 or wanted[i - inner])
      end
      assert.same(wanted, flat(a:cumsum { axis = axis }))
    end
  end)

  it("adds doubles with what double loses, and halves in more than half", function()
    local list, n = {}, 6000
    for i = 1, n do list[i] = 1 end
    list[1], list[n] = 1e17, -1e17
    local sums = mw.array(list, "double"):cumsum()
    assert.equal(1e17, sums[1])
    assert.equal(n - 2, sums[n])
    assert.equal(4100, mw.full(2050, 2, "half"):cumsum()[2050])
  end)

  it("is the same on every run", function()
    local list = {}
    for i = 1, 100000 do list[i] = random() * 2 - 1 end
    local a = mw.array(list)
    local first = a:cumsum():bytes()
    for _ = 1, 3 do assert.equal(first, a:cumsum():bytes()) end
  end)

  it("combines the totals of few chunks as those of many", function()
    local n = 64 * 2048 -- 64 chunks
    local sums = mw.full(n, 3, "int"):cumsum()
    assert.same({ 3, 3 * n, true }, { sums[1], sums[n], sums:diff():eq(3):all() })
    local list = {}
    for i = 1, n + 1 do list[i] = random() * 2 - 1 end
    local many = mw.array(list, "double")
    assert.equal(many:cumsum():sub(1, n):bytes(), many:sub(1, n):cumsum():bytes())
  end)

  it("writes into out, which may be the array itself or strided", function()
    local a = mw.array({ 1, 2, 3, 4 }, "longlong")
    assert.equal(a, a:cumsum { out = a })
    assert.same({ 1, 3, 6, 10 }, a:totable())
    local wide = mw.zeros(8, "longlong")
    a:cumsum { out = wide[{ { 8, 1, -2 } }] }
    assert.same({ 0, 20, 0, 10, 0, 4, 0, 1 }, wide:totable())
    assert.same({ 2, 3 }, mw.array({ 1, 3, 6 }):diff { out = mw.zeros(2) }:totable())
  end)

  it("names wrong arguments", function()
    local a = mw.zeros(2, 3)
    assert.matches("a:cumsum: there is no axis 3: the array has 2", message(a.cumsum, a, { axis = 3 }))
    assert.matches("a:cumsum: out has to be an array of float with the shape {6}, got float {2}",
      message(a.cumsum, a, { out = mw.zeros(2) }))
    assert.matches("a:cumprod has no option 'axes'", message(a.cumprod, a, { axes = 1 }))
    assert.matches("a:diff: n is 0 or more, got %-1", message(a.diff, a, { n = -1 }))
    local v = mw.zeros(2, "float2")
    assert.matches("a:cumsum works on numbers, not on elements of float2", message(v.cumsum, v))
  end)
end)

describe("mw.scan", function()
  it("scans by an expression, from the first element or from init", function()
    local highest = mw.scan { combine = "a > b ? a : b" }
    assert.same({ 1, 3, 3, 5 }, highest(mw.array { 1, 3, 2, 5 }):totable())
    assert.same({ 2, 3, 3, 5 }, mw.scan { combine = "a > b ? a : b", init = 2 }(mw.array { 1, 3, 2, 5 }):totable())
    local counted = mw.scan { map = "x > 0 ? 1 : 0", combine = "a + b", finish = "2 * a" }(mw.array { 1, -1, 5 })
    assert.same({ "int", { 2, 2, 4 } }, { counted.dtype, counted:totable() })
    assert.same({ 1, 3, 3, 3 }, flat(highest(mw.array { { 1, 3 }, { 3, 2 } }:transpose(), { axis = 1 })))
  end)

  it("keeps the order of operations that do not commute, in structs of a module", function()
    local m = mw.compile [[
struct line { int a, b; };                                // x -> a x + b, modulo 1009
__device__ line after(line f, line g) {
  line h;
  h.a = g.a * f.a % 1009;
  h.b = (g.a * f.b + g.b) % 1009;
  return h;
}
__global__ void uses(line *x) {}]]
    local n, line = 20000, m:dtype "line"
    local list = {}
    for i = 1, n do list[i] = { a = random(1, 1008), b = random(0, 1008) } end
    local y = mw.scan { module = m, combine = "after(a, b)", dtype = line }(mw.array(list, line)):totable()
    local a, b = 1, 0
    for i, it in ipairs(list) do
      a, b = it.a * a % 1009, (it.a * b + it.b) % 1009
      assert.equal(a, y[i].a)
      assert.equal(b, y[i].b)
    end
  end)

  it("shows the CUDA C that it runs", function()
    assert.matches("return a %+ b; }", mw.scan { combine = "a + b" }:source "int")
    assert.matches("mw.scan wants combine", message(mw.scan, { map = "x" }))
  end)
end)

describe("mw.reduce", function()
  it("reduces by expressions to numbers, along any axes", function()
    local squares = mw.reduce { map = "x * x", combine = "a + b", init = 0, finish = "sqrt(a / n)" }
    assert.equal(math.sqrt(10), squares(mw.array({ 2, 4 }, "double")))
    assert.same({ 1, 2 }, squares(mw.array { { 1, 2 }, { 1, 2 } }, { axis = 1 }):totable())
    local n = 70000
    local a = mw.arange(n, "int")
    local where = mw.reduce { map = "x % 1000 == 999 ? i : 1 << 30", combine = "a < b ? a : b", init = "1 << 30",
      accumulator = "int" }
    assert.equal(999, where(a))
    assert.equal(0, where(mw.full(3, 999, "int")))
  end)

  it("has any struct as accumulator", function()
    local range = mw.reduce { preamble = "struct range { float low, high; };", accumulator = "range",
      map = "range{x, x}", combine = "range{fminf(a.low, b.low), fmaxf(a.high, b.high)}",
      init = "range{INFINITY, -INFINITY}", finish = "a.high - a.low" }
    assert.equal(9, range(mw.arange(10)))
    assert.same({ 1, 8 }, range(mw.array { { 1, 2 }, { 9, 1 } }, { axis = 2 }):totable())
    assert.equal(-math.huge, range(mw.zeros(0)))
  end)

  it("wants init, and a dtype where the result is a struct", function()
    assert.matches("mw.reduce wants init", message(mw.reduce, { combine = "a + b" }))
    local f = mw.reduce { preamble = "struct two { int a, b; };", map = "two{1, 2}", combine = "a", init = "two{0, 0}" }
    assert.matches("name its dtype", message(f, mw.zeros(2)))
    assert.matches("wants an array, got the number 3", message(f, 3))
  end)
end)
