-- Sorting, searching and counting.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local numpy = require "support.numpy"
local random = require "support.random"

local function message(...) return failure(...).message end

numpy.run("order", describe, it, { tolerance = 4 })

describe("order", function()
  it("of long lines is stable, by chunks and by tiles", function()
    random "order"
    mw.zeros(1):sort()
    local settings = raw.sort_settings
    local alone, tiles, wide = settings.ALONE, settings.tiles, settings.WIDE
    finally(function() settings.ALONE, settings.tiles, settings.WIDE = alone, tiles, wide end)
    settings.ALONE = 10
    local ways = { [false] = { "uchar", "short", "int", "float", "double" }, [true] = { "uchar", "float" } }
    for way, dtypes in pairs(ways) do
      settings.tiles = way
      for _, dtype in ipairs(dtypes) do
        settings.WIDE = dtype == "uchar" and 1000 or wide
        local list = {}
        for i = 1, 9000 do list[i] = math.random(0, 200) end
        local a = mw.array(list, dtype)
        local places = {}
        for i = 1, #list do places[i] = i end
        table.sort(places, function(p, q)
          if list[p] ~= list[q] then return list[p] < list[q] end
          return p < q
        end)
        local values, order = a:sort():totable(), a:argsort():totable()
        for i = 1, #list do
          if list[places[i]] ~= values[i] or places[i] ~= tonumber(order[i]) then
            error(("%s, tiles %s: element %d is %s from %s, not %s from %d"):format(dtype, tostring(way), i, values[i],
              tostring(order[i]), list[places[i]], places[i]))
          end
        end
      end
    end
  end)

  it("of keys that have bytes in common is stable by tiles, which skip those bytes' passes", function()
    random "common bytes"
    mw.zeros(1):sort()
    local settings = raw.sort_settings
    local alone, tiles = settings.ALONE, settings.tiles
    finally(function() settings.ALONE, settings.tiles = alone, tiles end)
    settings.ALONE, settings.tiles = 10, true
    for varying = 0, 15 do -- a bit for each byte that is not the same in all
      local list, places = {}, {}
      for i = 1, 8000 do
        local key = 0
        for byte = 0, 3 do
          local one = math.floor(varying / 2 ^ byte) % 2 == 1 and math.random(0, 255) or 90 + byte
          key = key + one * 2 ^ (8 * byte)
        end
        list[i], places[i] = key, i
      end
      table.sort(places, function(p, q)
        if list[p] ~= list[q] then return list[p] < list[q] end
        return p < q
      end)
      local a = mw.array(list, "uint")
      local values, order = a:sort():totable(), a:argsort():totable()
      for i = 1, #list do
        if list[places[i]] ~= values[i] or places[i] ~= tonumber(order[i]) then
          error(("bytes %d: element %d is %s from %s, not %s from %d"):format(varying, i, values[i], tostring(order[i]),
            list[places[i]], places[i]))
        end
      end
    end
  end)

  it("by tiles is the same in any stream and in captures, which count digits by another launch", function()
    mw.zeros(1):sort()
    local settings = raw.sort_settings
    local alone, tiles = settings.ALONE, settings.tiles
    finally(function() settings.ALONE, settings.tiles = alone, tiles end)
    for _, dtype in ipairs { "uchar", "half", "float", "double" } do
      local x = mw.randint(0, 200, 20000):to(dtype)
      settings.tiles = false
      local values, order = x:sort():totable(), x:argsort():totable()
      settings.ALONE, settings.tiles = 10, true
      local stream = mw.stream()
      for _ = 1, 2 do
        local a, b = mw.with(stream, function() return x:sort(), x:argsort() end)
        stream:synchronize()
        assert.same(values, a:totable())
        assert.same(order, b:totable())
      end
      local sorted, sorted_by
      local graph = mw.capture(stream, function() sorted, sorted_by = x:sort(), x:argsort() end):instantiate()
      for _ = 1, 2 do
        sorted:fill(0)
        sorted_by:fill(0)
        graph:launch(stream)
        stream:synchronize()
        assert.same(values, sorted:totable())
        assert.same(order, sorted_by:totable())
      end
    end
  end)

  it("of the first of many is that of all", function()
    random "topk"
    for _, dtype in ipairs { "float", "int", "uchar", "double" } do
      local list = {}
      for i = 1, 40000 do list[i] = dtype == "uchar" and math.random(0, 255) or math.random(-3000, 3000) end
      if dtype ~= "int" and dtype ~= "uchar" then list[17], list[18], list[19] = 0 / 0, -0.0, 0 end
      local a = mw.array(list, dtype)
      for _, largest in ipairs { true, false } do
        for _, k in ipairs { 1, 100, 2000 } do
          local order = a:argsort { descending = largest }:sub(1, k)
          local values, places = a:topk(k, { largest = largest })
          assert.same(order:totable(), places:totable())
          assert.same(a:take(order):totable(), values:totable())
        end
      end
    end
    -- Few of many elements, so that only some chunks are searched; with equal elements, some after the last whole
    -- chunk.
    for _, dtype in ipairs { "float", "longlong" } do
      local a = (mw.rand(66001) * 1e6):floor():to(dtype)
      a[66001], a[65990], a[70] = 2000000, 2000000, 2000000
      if dtype == "float" then a[3], a[66000], a[9] = 0 / 0, 0 / 0, -0.0 end
      for _, largest in ipairs { true, false } do
        for _, k in ipairs { 1, 2, 40 } do
          local values, places = a:topk(k, { largest = largest })
          local order = a:argsort { descending = largest }:sub(1, k)
          assert.same(order:totable(), places:totable())
          assert.same(a:take(order):totable(), values:totable())
        end
      end
    end
    local column = mw.randn(40000, 1)
    local values, places = column:topk(3, 1)
    assert.same({ 3, 1 }, values.shape)
    assert.same(column:reshape(-1):argsort { descending = true }:sub(1, 3):totable(), places:reshape(-1):totable())
    local few = mw.full({ 40000 }, 0 / 0)
    few[5] = 1
    assert.same({ 1, 5 }, { few:topk(2)[1], tonumber((select(2, few:topk(2)))[1]) })
  end)

  it("of integers of a small range is counted", function()
    random "counts"
    for _, dtype in ipairs { "char", "ushort", "int", "longlong" } do
      local list, counts, distinct = {}, {}, {}
      local low = dtype == "ushort" and 100 or -100
      for i = 1, 5000 do
        list[i] = low + 3 * math.random(0, 60)
        counts[list[i]] = (counts[list[i]] or 0) + 1
      end
      for value in pairs(counts) do distinct[#distinct + 1] = value end
      table.sort(distinct)
      local a = mw.array(list, dtype)
      local values, how_often, inverse = a:unique { counts = true, inverse = true }
      assert.equal(dtype, values.dtype)
      assert.equal(#distinct, values.count)
      for i, value in ipairs(distinct) do
        assert.equal(value, tonumber(values[i]))
        assert.equal(counts[value], tonumber(how_often[i]))
      end
      assert.is_true(values:take(inverse):eq(a):all())
    end
    for _, bins in ipairs { 5, 8192, 20000 } do -- in shared memory, and in the result
      local list, expected = {}, {}
      for v = 1, bins do expected[v] = 0 end
      for i = 1, 9000 do
        list[i] = math.random(0, bins - 1)
        expected[list[i] + 1] = expected[list[i] + 1] + 1
      end
      local counts = mw.array(list, "int"):bincount { minlength = bins }:totable()
      for v = 1, bins do assert.equal(expected[v], tonumber(counts[v])) end
    end
  end)

  it("is written into out, also in place", function()
    local a = mw.array { { 3, 1 }, { 2, 5 } }
    assert.is_true(a:sort { axis = 1, out = a } == a)
    assert.same({ 2, 1, 3, 5 }, a:reshape(-1):totable())
    local order = mw.zeros(2, 2, "longlong")
    a:argsort { out = order }
    assert.same({ 2, 1, 1, 2 }, order:to "int":reshape(-1):totable())
    assert.matches("cannot be written into out, int {2, 2}", message(a.argsort, a, { out = mw.zeros(2, 2, "int") }))
  end)

  it("that cannot be is refused, with the reason", function()
    local a = mw.zeros(4)
    assert.matches("there is no axis 2", message(a.sort, a, 2))
    assert.matches("descending is true or false", message(a.sort, a, { descending = 1 }))
    assert.matches("has no option 'reverse'", message(a.sort, a, { reverse = true }))
    assert.matches("works on numbers, not on elements of float2", message(a.sort, mw.zeros(2, "float2")))
    assert.matches("k is from 0 to the 4 elements along axis 1, got 5", message(a.topk, a, 5))
    assert.matches("wants a sorted vector, got {2, 2}", message(a.searchsorted, mw.zeros(2, 2), 1))
    assert.matches("counts whole numbers, not elements of float; see a:histogram", message(a.bincount, a))
    assert.matches("values of at least 0, got %-1", message(a.bincount, mw.array({ -1 }, "int")))
    assert.matches("4 numbers, one for each element, got {2}", message(a.histogram, a, { weights = mw.zeros(2) }))
    assert.matches("edges must ascend, but 1", message(a.histogram, a, { bins = { 0, 2, 1 } }))
    assert.matches("at most 2%^24 equal bins", message(a.histogram, a, 2 ^ 62))
    assert.matches("wants a range", message(a.histogram, mw.array { 1 / 0, 0 }))
  end)
end)
