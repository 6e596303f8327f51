-- Structs and vectors as elements: functions that only move elements take them, and functions that compute refuse them.
local mw = require "moonwarp"
local failure = require "support.failure"

describe("an array of structs", function()
  local m = mw.compile [[
struct particle { float x; int n; };
__device__ float sum(particle p) { return p.x + p.n; }
__global__ void unused(particle *p) {}]]
  local particle = m:dtype "particle"
  local function new()
    local a = mw.zeros(6, particle)
    for i = 1, 6 do a[i] = { x = i, n = -i } end
    return a
  end
  local function list(a)
    local x = {}
    for i, it in ipairs(a:copy():reshape(-1):totable()) do
      assert.equal(-it.x, it.n)
      x[i] = it.x
    end
    return x
  end
  local function message(...) return failure(...).message end
  local mask = mw.array({ true, false, true, false, false, false }, "bool")

  it("is joined, repeated, padded and turned", function()
    local a = new()
    assert.same({ 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6 }, list(mw.concat { a, a }))
    assert.same({ 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6 }, list(mw.stack({ a, a }, 2)))
    assert.same({ 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6 }, list(a:repeat_each(2)))
    assert.same({ 6, 1, 2, 3, 4, 5 }, list(a:roll(1)))
    assert.same({ 0, 1, 2, 3, 4, 5, 6, 0 }, list(a:pad(1)))
    assert.same({ 1, 1, 2, 3, 4, 5, 6, 6 }, list(a:pad(1, { mode = "edge" })))
    assert.same({ 1, 0, 0, 2 }, list(a:sub(1, 2):diag()))
  end)

  it("is written through strided views and by masks", function()
    local a = new()
    a[{ { 5, 1, -2 } }] = a:sub(1, 3)
    assert.same({ 3, 2, 2, 4, 1, 6 }, list(a))
    a[mask] = { x = 9, n = -9 }
    assert.same({ 9, 2, 9, 4, 1, 6 }, list(a))
    a[mask] = a:sub(4, 5)
    assert.same({ 4, 2, 1, 4, 1, 6 }, list(a))
    a:put({ 1, 2 }, a:sub(5, 6))
    assert.same({ 1, 6, 1, 4, 1, 6 }, list(a))
    a:reshape(2, 3):transpose():assign(new():reshape(3, 2))
    assert.same({ 1, 3, 5, 2, 4, 6 }, list(a))
  end)

  it("is chosen from by mw.where", function()
    local a = new()
    assert.same({ 1, 5, 3, 3, 2, 1 }, list(mw.where(mask, a, a:flip(1))))
    assert.same({ 1, 7, 3, 7, 7, 7 }, list(mw.where(mask, a, { x = 7, n = -7 })))
    assert.equal(a, mw.where(mask, a:flip(1), a, { out = a }))
    assert.same({ 6, 2, 4, 4, 5, 6 }, list(a))
    assert.matches("chooses between elements of one dtype, got particle and float",
      message(mw.where, mask, a, mw.zeros(6)))
    assert.matches("out has to be an array of particle", message(mw.where, mask, a, a, { out = mw.zeros(6) }))
  end)

  it("may be of two modules' structs of one name", function()
    local other = mw.compile "struct particle { short a, b; float c; }; __global__ void unused(particle *p) {}"
    local b = mw.zeros(3, other:dtype "particle")
    b[2] = { a = 1, b = 2, c = 3 }
    assert.same({ 1, 2, 3, 4, 5, 6 }, list(mw.concat { new() }))
    assert.equal(2, mw.concat({ b, b })[5].b)
    assert.equal(3, b:roll(1)[3].c)
    b[mw.array({ true, false, false }, "bool")] = { a = 4, b = 5, c = 6 }
    assert.equal(5, b[1].b)
  end)

  it("is what mw.map, mw.reduce and mw.scan make without being told", function()
    local a = new()
    local moved = mw.map({ "x = p; x.x += 1; x.n -= 1; q = x", module = m }, { p = a })
    assert.same({ 2, 3, 4, 5, 6, 7 }, list(moved))
    local later = "a.x > b.x ? a : b"
    local greatest = mw.reduce { combine = later, init = "particle{-1, 1}", module = m }
    assert.equal(6, greatest(a).x)
    assert.same({ 6, 6, 6, 6, 6, 6 }, list(mw.scan { combine = later, module = m }(a:flip(1))))
    assert.matches("mw.map does not know the fields of particle: name its module", message(mw.map, "p.x", { p = a }))
    local nameless = mw.reduce { map = "x.x", combine = "a + b", init = 0 }
    assert.matches("mw.reduce does not know the fields of particle", message(nameless, a))
  end)

  it("is refused by name by what computes", function()
    local a = new()
    local function add() return a + a end
    assert.matches("add works on numbers, not on elements of particle", message(add))
    for name in ("sum prod mean min max argmin any all count_nonzero var norm median sort"):gmatch "%S+" do
      assert.matches("works on numbers, not on elements of particle", message(a[name], a))
      assert.matches("works on numbers, not on elements of particle", message(a[name], a:reshape(2, 3), { axis = 1 }))
    end
  end)
end)

describe("an array of vectors", function()
  local v = mw.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, "float2")
  local function list(a) return a:as("float"):totable() end

  it("keeps its dtype in mw.where, mw.map, mw.reduce and mw.scan", function()
    local mask = mw.array({ true, false, false }, "bool")
    assert.same({ 1, 2, 0, 0, 0, 0 }, list(mw.where(mask, v, { 0, 0 })))
    local swapped = mw.map("make_float2(x.y, x.x)", { x = v })
    assert.equal("float2", swapped.dtype)
    assert.same({ 2, 1, 4, 3, 6, 5 }, list(swapped))
    local sum = "make_float2(a.x + b.x, a.y + b.y)"
    assert.equal(12, mw.reduce { combine = sum, init = "make_float2(0, 0)" }(v).y)
    local sums = mw.scan { combine = sum }(v)
    assert.equal("float2", sums.dtype)
    assert.equal(9, sums[3].x)
  end)

  it("of complex numbers is complex, by element and as a whole", function()
    local z = mw.array({ { 1, 2 }, { 3, 4 } }, "complex64")
    local turned = mw.map("w[1 - i] + 0*x", { w = z, x = z })
    assert.equal("complex64", turned.dtype)
    assert.equal(4, turned[1].im)
    local last = mw.scan { combine = "b" }
    assert.equal("complex64", last(z).dtype)
    assert.equal("float2", last(z:as "float2").dtype)
  end)
end)
