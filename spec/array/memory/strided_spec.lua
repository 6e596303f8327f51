-- Arrays that are not contiguous: reading, writing and copying them, and functions that refuse them.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local random = require "support.random" "strided_spec"

local function message(...) return failure(...).message end

-- A view by first element and steps, in elements.
local function view(array, first, shape, steps)
  local size, strides = raw.dtype_size(array.dtype), {}
  for d, step in ipairs(steps) do strides[d] = step * size end
  return raw.array_strided(array, first * size, nil, shape, strides)
end

local function flat(array) return array:copy():reshape(-1):totable() end

-- The elements that the view should have, by a walk over a flat table.
local function walk(list, first, shape, steps)
  local found = {}
  local function go(d, at)
    if d > #shape then
      found[#found + 1] = list[at + 1]
      return
    end
    for i = 0, shape[d] - 1 do go(d + 1, at + i * steps[d]) end
  end
  go(1, first)
  return found
end

describe("a strided view", function()
  local a = mw.arange(24)
  local list = a:totable()

  it("knows its shape and strides, and whether it is contiguous", function()
    local t = view(a, 0, { 6, 4 }, { 1, 6 })
    assert.same({ 6, 4 }, t.shape)
    assert.same({ 4, 24 }, t.strides)
    assert.is_false(t.is_contiguous)
    assert.is_true(view(a, 4, { 2, 3 }, { 3, 1 }).is_contiguous)
    assert.is_true(a.is_contiguous)
    assert.same({ 16, 4 }, a:reshape(6, 4).strides)
  end)

  it("gives elements, rows and tables in row order", function()
    local t = view(a, 0, { 6, 4 }, { 1, 6 })
    assert.equal(13, t:get(2, 3))
    assert.equal(20, t[3][4])
    assert.same({ 2, 8, 14, 20 }, t[3]:totable())
    assert.same(walk(list, 0, { 6, 4 }, { 1, 6 }), flat(t))
    assert.equal(t:copy():bytes(), t:bytes())
    assert.equal(a:sum(), t:sum())
  end)

  it("runs backwards with negative strides", function()
    assert.same({ 23, 21, 19 }, view(a, 23, { 3 }, { -2 }):totable())
    assert.same(walk(list, 23, { 4, 3 }, { -6, -1 }), flat(view(a, 23, { 4, 3 }, { -6, -1 })))
  end)

  it("is written at its elements, and nowhere else", function()
    local b = mw.zeros(12, "int")
    local t = view(b, 1, { 3, 2 }, { 4, 2 })
    t:fill(7)
    assert.same({ 0, 7, 0, 7, 0, 7, 0, 7, 0, 7, 0, 7 }, b:totable())
    t:copy_from { { 1, 2 }, { 3, 4 }, { 5, 6 } }
    assert.same({ 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 }, b:totable())
    t[2][1] = 9
    t[3] = { 8, 8 }
    assert.same({ 0, 1, 0, 2, 0, 9, 0, 4, 0, 8, 0, 8 }, b:totable())
    t:copy_from(mw.array({ 1, 2, 3, 4, 5, 6 }, "int"))
    assert.same({ 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 }, b:totable())
  end)

  it("may be copied over itself", function()
    local b = mw.arange(10)
    view(b, 0, { 10 }, { 1 }):copy_from(view(b, 9, { 10 }, { -1 }))
    assert.same({ 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 }, b:totable())
    local c = mw.arange(10)
    view(c, 1, { 9 }, { 1 }):copy_from(view(c, 0, { 9 }, { 1 }))
    assert.same({ 0, 0, 1, 2, 3, 4, 5, 6, 7, 8 }, c:totable())
  end)

  it("has elements of any size", function()
    for _, dtype in ipairs { "char", "half", "float", "double", "float3", "uchar3", "float4", "short4" } do
      local size = raw.dtype_size(dtype)
      local bytes = {}
      for i = 1, 30 * size do bytes[i] = string.char(random(0, 255)) end
      local b = mw.from_bytes(table.concat(bytes), dtype)
      local wanted = {}
      for i = 0, 4 do
        for j = 0, 5 do
          local at = (i + 5 * j) * size
          wanted[#wanted + 1] = table.concat(bytes, "", at + 1, at + size)
        end
      end
      assert.is_true(table.concat(wanted) == view(b, 0, { 5, 6 }, { 1, 5 }):bytes(), dtype)
    end
  end)

  it("that repeats elements is read, and not written", function()
    local one = view(mw.array { 5, 6 }, 0, { 3, 2 }, { 0, 1 })
    assert.is_true(one.is_read_only)
    assert.same({ 5, 6, 5, 6, 5, 6 }, flat(one))
    assert.equal(33, one:sum())
    for _, write in ipairs { function() one:fill(1) end, function() one[1] = { 1, 2 } end,
      function() one:copy_from(mw.zeros(3, 2)) end, function() one:set(1, 1, 3) end } do
      assert.matches("is a broadcast view, whose elements share memory", message(write))
    end
    assert.is_false(one:copy().is_read_only)
  end)

  it("stays inside the array that it is of", function()
    assert.matches("leaves the array", message(view, a, 0, { 7, 4 }, { 1, 6 }))
    assert.matches("leaves the array", message(view, a, 0, { 2 }, { -1 }))
    assert.matches("leaves the array", message(view, a:sub(1, 4), 0, { 5 }, { 1 }))
    assert.matches("leaves the array", message(view, a, 0, { 2 }, { 2 ^ 45 }))
    assert.equal(0, #view(a, 0, { 0 }, { 100 }))
  end)

  it("is refused by functions that need contiguous memory, which say what to write", function()
    local t = view(a, 0, { 6, 4 }, { 1, 6 })
    local m = mw.compile [[
struct box { float *p; };
__global__ void k(float *x) { x[0] = 1; }
__global__ void b(box x) {}]]
    assert.matches("parameter 1 'x' of k is a strided view, .* pass x:contiguous%(%)", message(m.k(1, 1), t))
    assert.matches("give it a:contiguous%(%)", message(m.b(1, 1), { p = t }))
    assert.matches("a:contiguous%(%):host%(%)", message(t.host, t))
    assert.matches("a:contiguous%(%)", message(mw.texture, view(a, 0, { 12 }, { 2 })))
  end)
end)

describe("copies between random layouts", function()
  it("move each element to its place", function()
    for _ = 1, 60 do
      local rank = random(1, 4)
      local shape, count = {}, 1
      for d = 1, rank do
        shape[d] = random(1, 6)
        count = count * shape[d]
      end
      -- a layout of a random order of dimensions, some of them backwards, with gaps
      local function layout()
        local order, steps, first, span = {}, {}, 0, random(1, 2)
        for d = 1, rank do table.insert(order, random(1, #order + 1), d) end
        for _, d in ipairs(order) do
          steps[d] = span
          span = span * shape[d] + random(0, 2)
        end
        for d = 1, rank do
          if random(1, 3) == 1 then
            first = first + (shape[d] - 1) * steps[d]
            steps[d] = -steps[d]
          end
        end
        return first, steps, span + count * 2
      end
      local first_a, steps_a, size_a = layout()
      local first_b, steps_b, size_b = layout()
      local source, target = mw.arange(size_a, "int"), mw.full(size_b, -1, "int")
      view(target, first_b, shape, steps_b):copy_from(view(source, first_a, shape, steps_a))
      local wanted = walk(source:totable(), first_a, shape, steps_a)
      assert.same(wanted, walk(target:totable(), first_b, shape, steps_b))
      local untouched = 0
      for _, x in ipairs(target:totable()) do untouched = untouched + (x == -1 and 1 or 0) end
      assert.equal(size_b - count, untouched)
    end
  end)
end)
