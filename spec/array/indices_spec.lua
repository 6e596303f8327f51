-- Elements by index arrays and masks.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "indices_spec"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

numpy.run("indices", describe, it, { layouts = numpy.layouts })

describe("an index outside", function()
  local a = mw.arange(12, "int"):reshape(3, 4)
  local far = mw.array({ { 1, 2 }, { 13, 14 } }, "longlong")

  it("raises with its position, whatever the function, and nothing is written", function()
    assert.matches("a:take: index {2, 1} is 13, which is outside 1..12", message(a.take, a, far))
    assert.matches("a:take: index 2 is %-4, which is outside 1..3", message(a.take, a, { 1, -4 }, { axis = 1 }))
    assert.matches("a:put: index {2, 1} is 13", message(a.put, a, far, 0))
    assert.matches("a:scatter_add: index {2, 1} is 13", message(a.scatter_add, a, far, 1))
    assert.matches("index 1 is 0, which is outside 1..12 %(Lua counts from 1%)", message(a.take, a, { 0 }))
    assert.matches("a:gather: index {1, 3} is 5, which is outside 1..4",
      message(a.gather, a, 2, mw.array({ { 1, 1, 5 }, { 5, 1, 1 }, { 1, 1, 1 } }, "int")))
    assert.matches("a%[indices%]: index 1 is 4", message(function() a[mw.array({ 4 }, "int")] = 0 end))
    assert.matches("index 1 is 1, which is outside 1..0", message(mw.zeros(0).take, mw.zeros(0), { 1 }))
    assert.same(mw.arange(12, "int"):totable(), flat(a))
  end)

  it("is the first one, among many", function()
    local list = {}
    for i = 1, 5000 do list[i] = random(1, 12) end
    list[3777], list[4001] = 99, 77
    assert.matches("index 3777 is 99", message(a.take, a, mw.array(list, "int")))
    local big = mw.array(list, "double")
    assert.matches("indices are whole numbers, .* these are of double", message(a.take, a, big))
    assert.matches("index 2 is 300, which", message(a.take, a, mw.array({ 1, 300 }, "ushort")))
  end)

  it("may be the extreme number of its type", function()
    local line, rows = mw.arange(100), mw.arange(200):reshape(2, 100)
    for dtype, bits in pairs { char = 7, uchar = 8, short = 15, ushort = 16, int = 31, uint = 32, longlong = 63,
      ulonglong = 64 } do
      local last = mw.array({ 1, 0, 2 }, dtype)
      for _ = 1, bits do last[2] = last[2] + last[2] + 1 end
      for _, options in ipairs { {}, { axis = -1 } } do
        for _, x in ipairs { line, rows } do
          if x == line or options.axis then
            assert.matches("a:take: index 2 is %-?%d+L*, which is outside", message(x.take, x, last, options))
          end
        end
      end
      if not dtype:find "^u" then
        assert.same({ 99, 0, 98 }, line:take(mw.array({ -1, -100, -2 }, dtype)):totable())
        assert.same({ 99, 199 }, flat(rows:take(mw.array({ -1 }, dtype), { axis = 2 })))
        local least = last:copy()
        least[2] = -1 - last[2]
        assert.matches("a:take: index 2 is %-?%d+L*, which is outside", message(line.take, line, least))
        assert.matches("a:take: index 2 is %-?%d+L*, which is outside", message(rows.take, rows, least, { axis = 2 }))
      end
    end
  end)
end)

describe("elements by indices", function()
  it("are those that a plain loop finds, for random arrays", function()
    for _ = 1, 10 do
      local n, count = random(1, 3000), random(1, 5000)
      local list, index, sums, last = {}, {}, {}, {}
      for i = 1, n do
        list[i] = random(-9, 9)
        sums[i], last[i] = list[i], list[i]
      end
      local taken, values = {}, {}
      for k = 1, count do
        index[k], values[k] = random(1, n), random(-9, 9)
        taken[k] = list[index[k]]
        sums[index[k]], last[index[k]] = sums[index[k]] + values[k], values[k]
      end
      for _, dtype in ipairs { "int", "float", "short" } do
        local a, at, v = mw.array(list, dtype), mw.array(index, "int"), mw.array(values, dtype)
        assert.same(taken, a:take(at):totable())
        assert.same(sums, a:copy():scatter_add(at, v):totable())
        assert.same(last, a:copy():put(at, v):totable())
      end
    end
  end)

  it("are added in the order of the indices", function()
    local n, list, index = 30000, {}, {}
    local sums = { 0, 0, 0 }
    for k = 1, n do
      list[k], index[k] = random() * 10 ^ random(-8, 8), random(1, 3)
      sums[index[k]] = sums[index[k]] + list[k]
    end
    assert.same(sums, mw.zeros(3, "double"):scatter_add(index, mw.array(list, "double")):totable())
  end)

  it("are written from the array itself and from its views as from copies", function()
    local a, n = mw.arange(6), mw.arange(6, "int")
    assert.same({ 0, 1, 2, 6, 8, 10 }, flat(a:copy():scatter_add({ 4, 5, 6 }, a:sub(4, 6))))
    assert.same({ 5, 5, 5, 5, 5, 5 }, flat((function(x) return x:scatter_add({ 6, 5, 4, 3, 2, 1 }, x) end)(a:copy())))
    assert.same({ 5, 4, 3, 2, 1, 0 }, flat((function(x) return x:put({ 6, 5, 4, 3, 2, 1 }, x) end)(n:copy())))
    assert.same({ 0, 0, 1, 2, 3, 4 }, flat((function(x) return x:put({ 2, 3, 4, 5, 6 }, x:sub(1, 5)) end)(n:copy())))
  end)

  it("are added by negative indices too, and along an axis", function()
    assert.same({ 0, 0, 3 }, mw.zeros(3):scatter_add({ -1, 3, -1 }, 1):totable())
    local rows, values = mw.array({ { 2, 1 }, { -1, 1 } }, "int"), mw.array { { 1, 2 }, { 2, 3 } }
    assert.same({ { 0, 5 }, { 3, 0 } }, mw.zeros(2, 2):scatter_add(1, rows, values):totable())
    assert.matches("index 1 is 1, which is outside 1..0", message(mw.zeros(0).scatter_add, mw.zeros(0), { 1 }, 1))
    assert.matches("index 2 is 0, which is outside 1..3", message(mw.zeros(3).scatter_add, mw.zeros(3), { 1, 0, 9 }, 1))
  end)

  it("may be vectors, structs, and one number", function()
    local v = mw.zeros(3, "float3")
    v:put({ 3, 1 }, { { 1, 2, 3 }, { 4, 5, 6 } })
    assert.equal(5, v[1].y)
    assert.equal(3, v:take({ 3 })[1].z)
    assert.equal(2, v:take(3).y)
    local m = mw.compile "struct odd { char a, b, c; }; __global__ void k(odd *x) {}"
    local x = mw.zeros(5, m:dtype "odd")
    x[2] = { a = 1, b = 2, c = 3 }
    assert.equal(3, x[mw.array({ 5, 2 }, "int")][2].c)
    assert.same({ 4, 5, 6, 7 }, mw.arange(12):reshape(3, 4):take(2, { axis = 1 }):totable())
  end)

  it("are written from numbers, tables and arrays that broadcast", function()
    local a = mw.zeros({ 3, 2 }, "int")
    a[mw.array({ 1, -1 }, "int")] = mw.array({ 5, 6 }, "short")
    assert.same({ 5, 6, 0, 0, 5, 6 }, flat(a))
    a[mw.array({ 2 }, "int")] = 7
    a:put({ 1, 2 }, { 8, 9 })
    assert.same({ 8, 9, 7, 7, 5, 6 }, flat(a))
    a[a:gt(7)] = 0
    a[a:eq(0)] = { 1, 2 }
    assert.same({ 1, 2, 7, 7, 5, 6 }, flat(a))
    local t = a:transpose()
    t[t:eq(7)] = -1
    assert.same({ 1, 2, -1, -1, 5, 6 }, flat(a))
    a:put({ 1, 2, 3 }, a:reshape(-1):sub(4, 6))
    assert.same({ -1, 5, 6, -1, 5, 6 }, flat(a))
  end)

  it("go into out", function()
    local out = mw.zeros(2)
    assert.equal(out, mw.arange(5):take({ 5, 1 }, { out = out }))
    assert.same({ 4, 0 }, out:totable())
    assert.matches("a:take: out has to be an array of int with the shape {2}, got float {2}",
      message(mw.arange(5, "int").take, mw.arange(5, "int"), { 1, 2 }, { out = out }))
    mw.where(mw.array({ true, false }, "bool"), mw.zeros(2), 3, { out = out })
    assert.same({ 0, 3 }, out:totable())
  end)

  it("are chosen with two numbers", function()
    local mask = mw.array({ true, false }, "bool")
    assert.same({ "longlong", { 1, 2 } }, { mw.where(mask, 1, 2).dtype, mw.where(mask, 1, 2):totable() })
    assert.same({ "double", { 1, 2.5 } }, { mw.where(mask, 1, 2.5).dtype, mw.where(mask, 1, 2.5):totable() })
    assert.same({ "bool", { false, true } }, { mw.where(mask, false, true).dtype,
      mw.where(mask, false, true):totable() })
    assert.same({ 1 }, mw.where(mask):totable())
  end)

  it("wants masks and indices that fit", function()
    local a = mw.zeros(3, 4)
    assert.matches("a mask has the array's shape, {3, 4}, or its first sizes; this one is {4}",
      message(function() return a[mw.zeros(4, "bool")] end))
    assert.matches("indices are whole numbers", message(function() return a[mw.zeros(3)] end))
    assert.matches("the condition has one dimension", message(a.compress, a, mw.zeros({ 3, 4 }, "bool")))
    assert.matches("holds at position 5, but there are 4", message(a.compress, a, mw.ones(5, "bool"), { axis = 2 }))
    assert.matches("indices along axis 1 of {3, 4} must have the array's other sizes; these are {2}",
      message(a.gather, a, 1, mw.ones(2, "int")))
    assert.matches("values of float do not go into an array of int",
      message(mw.zeros(2, "int").scatter_add, mw.zeros(2, "int"), { 1 }, mw.zeros(1)))
    assert.matches("values of the shape {3, 1, 1} do not fit the shape {2}",
      message(a.scatter_add, a, { 1, 2 }, mw.zeros(3, 1, 1)))
    assert.matches("mw.where wants", message(mw.where, 1, 2, 3))
  end)
end)
