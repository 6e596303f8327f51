-- Arrays joined, split, repeated and padded; matrices with a pattern, and diagonals.
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"
local random = require "support.random"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

numpy.run("shapes", describe, it)

describe("shapes", function()
  it("are made of elements that are no numbers", function()
    local a = mw.array({ { 1, 2 }, { 3, 4 } }, "float2")
    assert.same({ { 3, 4 }, { 1, 2 } }, flat(a:roll(1, 1)))
    assert.same({ 4 }, mw.concat({ a, a }).shape)
    assert.same({ { 0, 0 }, { 1, 2 }, { 3, 4 }, { 0, 0 } }, flat(a:pad(1)))
    assert.same({ { 1, 2 }, { 1, 2 }, { 3, 4 }, { 3, 4 } }, flat(a:pad(1, { mode = "edge" })))
    assert.same({ { 1, 2 }, { 3, 4 }, { 3, 4 } }, flat(a:repeat_each { 1, 2 }))
    assert.matches("works on numbers, not on elements of float2", message(mw.concat, { a, mw.zeros(2) }))
  end)

  it("equal a plain loop, for random arrays", function()
    random "shapes"
    for _ = 1, 20 do
      local h, w = math.random(1, 6), math.random(1, 6)
      local rows = {}
      for y = 1, h do
        rows[y] = {}
        for x = 1, w do rows[y][x] = math.random(-100, 100) end
      end
      local a = mw.array(rows, "short")
      local dy, dx, before, after = math.random(-9, 9), math.random(-9, 9), math.random(0, 4), math.random(0, 4)
      local rolled, padded = a:roll({ dy, dx }, { 1, 2 }), a:pad({ { before, after }, after }, { mode = "edge" })
      for y = 1, h do
        for x = 1, w do
          assert.equal(rows[y][x], rolled:get((y - 1 + dy) % h + 1, (x - 1 + dx) % w + 1))
        end
      end
      for y = 1, before + h + after do
        for x = 1, w + 2 * after do
          local from = rows[math.max(1, math.min(h, y - before))][math.max(1, math.min(w, x - after))]
          assert.equal(from, padded:get(y, x))
        end
      end
    end
  end)

  it("are written into out, also where it is an input", function()
    local a, y = mw.arange(3), mw.zeros(6)
    assert.is_true(mw.concat({ a, a }, { out = y }) == y)
    assert.same({ 0, 1, 2, 0, 1, 2 }, y:totable())
    mw.concat({ y:sub(4, 6), y:sub(1, 3):flip() }, { out = y })
    assert.same({ 0, 1, 2, 2, 1, 0 }, y:totable())
    local z = mw.zeros(2, 3)
    mw.stack({ a, a }, { out = z })
    assert.same({ 0, 1, 2, 0, 1, 2 }, flat(z))
    local sums = mw.zeros(2)
    mw.ones(3, 3, 2):trace { out = sums }
    assert.same({ 3, 3 }, sums:totable())
    assert.matches("the result is float {6} and cannot be written into out, int {6}",
      message(mw.concat, { a, a }, { out = mw.zeros(6, "int") }))
  end)

  it("are views where no element has to move", function()
    local a = mw.zeros(2, 4)
    local left, right = a:split(2, 2)
    left:fill(1)
    right:diag():fill(5)
    assert.same({ 1, 1, 5, 0, 1, 1, 0, 5 }, flat(a))
  end)

  it("of up to eight dimensions are tiled", function()
    local a = mw.arange(4):reshape(1, 1, 1, 1, 1, 2, 1, 2)
    assert.same({ 0, 1, 0, 1, 2, 3, 2, 3 }, flat(a:tile(2)))
    assert.same({ 0, 0, 1, 1, 2, 2, 3, 3 }, flat(a:repeat_each(2, 8)))
    assert.matches("at most 8 dimensions", message(a.tile, a, { 1, 1, 1, 1, 1, 1, 1, 1, 2 }))
  end)

  it("that do not fit are errors", function()
    local a, v = mw.zeros(2, 3), mw.zeros(4)
    assert.matches("array 2 is {3, 2}, and array 1 {2, 3}; they may differ only along axis 1",
      message(mw.concat, { a, mw.zeros(3, 2) }))
    assert.matches("mw.concat wants a table", message(mw.concat, v, v))
    assert.matches("mw.concat wants a table of at least one array", message(mw.concat, {}))
    assert.matches("element 2 is", message(mw.concat, { v, 3 }))
    assert.matches("array 2 is {4}, and array 1 {2, 3}; shapes have to be equal", message(mw.stack, { a, v }))
    assert.matches("there is no axis 3", message(mw.concat, { a, a }, 3))
    assert.matches("has no option 'axes'; did you mean 'axis'", message(mw.concat, { a, a }, { axes = 2 }))
    assert.matches("4 elements do not divide into 3 equal parts", message(v.split, v, 3))
    assert.matches("a cut is a position from 1 to 4, got 5", message(v.split, v, { 5 }))
    assert.matches("ascending order; 1 follows 2", message(v.split, v, { 2, 1 }))
    assert.matches("one for each of the 4 elements along axis 1, got 2", message(v.repeat_each, v, { 1, 2 }))
    assert.matches("3 widths for 2 axes", message(a.pad, a, { 1, 2, 3 }))
    assert.matches("one or {before, after} for each of 2 axes", message(a.pad, a, { 1, -1 }))
    assert.matches("mode is constant, edge, wrap, reflect or symmetric", message(a.pad, a, 1, { mode = "zero" }))
    assert.matches("has no elements to fill the margin from", message(v.pad, v:sub(1, 0), 1, { mode = "edge" }))
    assert.matches("argument 2 is {2, 3}", message(mw.meshgrid, v, a))
    assert.matches("this array has one dimension", message(v.trace, v))
    assert.matches("two different axes, got axis 1 twice", message(a.trace, a, { axis = { 1, 1 } }))
    assert.matches("number of rows is a whole number from 0 on", message(mw.eye, -1))
  end)
end)
