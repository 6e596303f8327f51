-- Reductions of arrays: over all axes or some, compared with plain loops.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "reduction_spec"

local function message(...) return failure(...).message end

-- The sums along the axes of a nested walk, by a plain loop.
local function reference(shape, list, axes, init, step)
  local reduced, out_shape, results = {}, {}, {}
  for _, axis in ipairs(axes) do reduced[axis] = true end
  for d = 1, #shape do if not reduced[d] then out_shape[#out_shape + 1] = shape[d] end end
  local at = 0
  local function go(d, place)
    if d > #shape then
      at = at + 1
      if results[place] == nil then results[place] = init end
      results[place] = step(results[place], list[at])
      return
    end
    for i = 0, shape[d] - 1 do
      go(d + 1, reduced[d] and place or place * shape[d] + i)
    end
  end
  go(1, 0)
  local flat = {}
  for i = 0, #list do if results[i] ~= nil then flat[#flat + 1] = results[i] end end
  return out_shape, flat
end

describe("a reduction", function()
  it("is compiled without warnings", function()
    local before = mw.warnings "error"
    local ok, why = pcall(function()
      for _, dtype in ipairs { "int", "ulonglong", "short", "float", "double", "half" } do
        local a = mw.array({ 3, 1, 2 }, dtype)
        assert.same({ 6, 1, 3, 2, 1, 2 }, { a:sum(), a:min(), a:max(), a:mean(), a:argmax(), a:argmin() })
      end
    end)
    mw.warnings(before)
    assert.is_true(ok, tostring(why))
  end)

  it("equals a plain loop, for random shapes and axes", function()
    for _ = 1, 40 do
      local rank, shape, count = random(1, 4), {}, 1
      for d = 1, rank do
        shape[d] = random(1, 7) * (random(1, 6) == 1 and 30 or 1)
        count = count * shape[d]
      end
      local list, axes = {}, {}
      for i = 1, count do list[i] = random(-9, 9) end
      for d = 1, rank do if random(1, 2) == 1 then axes[#axes + 1] = d end end
      if #axes == 0 then axes[1] = rank end
      local a = mw.array(list, "int"):reshape(shape)
      for name, step in pairs { sum = function(x, y) return x + y end, max = math.max, min = math.min } do
        local init = name == "sum" and 0 or name == "max" and -100 or 100
        local out_shape, wanted = reference(shape, list, axes, init, step)
        local got = a[name](a, { axis = axes })
        if #out_shape == 0 then
          assert.equal(wanted[1], got)
        else
          assert.same(out_shape, got.shape)
          assert.same(wanted, got:reshape(-1):totable())
        end
      end
    end
  end)

  it("keeps its dimensions on request, and writes into a given array", function()
    local a = mw.arange(6):reshape(2, 3)
    assert.same({ 2, 1 }, a:sum { axis = 2, keepdims = true }.shape)
    assert.same({ 1, 1 }, a:sum { keepdims = true }.shape)
    local y = mw.zeros(3)
    assert.equal(y, a:sum { axis = 1, out = y })
    assert.same({ 3, 5, 7 }, y:totable())
    assert.matches("a:sum: out has to be an array of float with the shape {3}, got float {2}",
      message(a.sum, a, { axis = 1, out = mw.zeros(2) }))
  end)

  it("of views is of their elements", function()
    local a = mw.arange(12, "int"):reshape(3, 4)
    assert.same({ 12, 15, 18, 21 }, a:transpose():sum { axis = 2 }:totable())
    assert.equal(1 + 3 + 5 + 7 + 9 + 11, a[{ {}, { 2, 4, 2 } }]:sum())
  end)

  it("sums integers in 64 bits, and halves in float", function()
    assert.equal(2 ^ 31 * 10, mw.full(10, 2 ^ 31, "uint"):sum())
    assert.equal("longlong", mw.ones({ 2, 2 }, "char"):sum { axis = 1 }.dtype)
    assert.equal("ulonglong", mw.ones({ 2, 2 }, "uchar"):sum { axis = 1 }.dtype)
    assert.equal(60000, mw.ones(60000, "half"):sum())
    assert.equal(1, mw.ones(2 ^ 20, "half"):mean())
    assert.equal(2 ^ 31 - 1, mw.full(100, 2 ^ 31 - 1, "int"):mean())
  end)

  it("sums long columns side by side, of any number", function()
    for _, inner in ipairs { 2, 3, 7, 100, 129, 255, 256, 257, 511, 513 } do
      local length = inner > 257 and random(257, 530) or random(33, 1 + math.floor(60000 / inner))
      local list, sums, greatest = {}, {}, {}
      for k = 1, length * inner do
        local c, value = (k - 1) % inner + 1, random(-99, 99)
        list[k], sums[c], greatest[c] = value, (sums[c] or 0) + value, math.max(greatest[c] or -99, value)
      end
      local a = mw.array(list):reshape(length, inner)
      assert.same(sums, a:sum { axis = 1 }:totable())
      assert.same(greatest, a:max { axis = 1 }:totable())
    end
  end)

  it("takes many short lines, of any length, with NaN among them", function()
    local nan = 0 / 0
    for length = 1, 9 do
      local lines = random(300, 900)
      local list, sums, greatest, places = {}, {}, {}, {}
      for o = 1, lines do
        sums[o], places[o] = 0, 0
        for k = 1, length do
          local value = random(1, 3) == 1 and nan or random(-9, 9)
          list[#list + 1] = value
          if value == value then sums[o] = sums[o] + value end
          if value == value and (places[o] == 0 or value > greatest[o]) then greatest[o], places[o] = value, k end
        end
      end
      local a = mw.array(list):reshape(lines, length)
      assert.same(places, a:argmax { axis = 2 }:totable())
      for o, value in ipairs(a:max { axis = 2 }:totable()) do
        assert.is_true(value == greatest[o] or (value ~= value and greatest[o] == nil))
      end
      assert.same(sums, mw.where(a:isnan(), 0, a):sum { axis = 2 }:totable())
    end
  end)

  it("sums doubles in twice their precision", function()
    assert.equal(1, mw.array({ 1e300, 1, -1e300 }, "double"):sum())
    local list = {}
    for i = 1, 30000 do
      list[2 * i - 1], list[2 * i] = 1e16 * i, -1e16 * i
    end
    list[#list + 1] = 0.5
    local a = mw.array(list, "double")
    assert.equal(0.5, a:sum())
    assert.equal(0.5, a:reshape(-1, 1):sum { axis = 1 }[1])
    assert.equal(math.huge, mw.array({ math.huge, 1 }, "double"):sum())
  end)

  it("leaves NaN out of min and max, and of where they are", function()
    local nan = 0 / 0
    assert.equal(1, mw.array { nan, 3, 1 }:min())
    assert.equal(2, mw.array { nan, 3, 1 }:argmax())
    assert.equal(0, mw.array { nan, nan }:argmin())
    local all = mw.array { nan, nan }:max()
    assert.is_true(all ~= all)
    assert.same({ 1, 2 }, mw.array { { nan, 7 }, { 1, 2 } }:min { axis = 1 }:totable())
  end)

  it("finds the first of several extremes, from 1", function()
    assert.equal(2, mw.array { 1, 5, 5, 0 }:argmax())
    assert.same({ 2, 1 }, mw.array { { 1, 2 }, { 3, 0 } }:argmax { axis = 2 }:totable())
    local a = mw.zeros(100000)
    a[77777], a[88888] = 3, 3
    assert.equal(77777, a:argmax())
  end)

  it("finds whether any or all elements are not 0, and how many", function()
    local a = mw.array({ { 0, 1 }, { 0, 0 } }, "int")
    assert.is_true(a:any())
    assert.is_false(a:all())
    assert.same({ true, false }, a:any { axis = 2 }:totable())
    assert.same({ 0, 1 }, a:count_nonzero { axis = 1 }:totable())
  end)

  it("of nothing is 0, 1 or NaN, and min and max refuse it", function()
    local empty = mw.zeros(0)
    assert.equal(0, empty:sum())
    local mean = empty:mean()
    assert.is_true(mean ~= mean)
    assert.equal(1, empty:prod())
    for _, name in ipairs { "min", "max", "argmin", "argmax" } do
      assert.matches("of an empty array", message(empty[name], empty))
    end
    assert.same({ 0, 0 }, mw.zeros(0, 2):sum { axis = 1 }:totable())
  end)

  it("is the same for any number of threads", function()
    local list = {}
    for i = 1, 200000 do list[i] = random() * 2 - 1 end
    local a = mw.array(list)
    local first = a:sum()
    for _ = 1, 5 do assert.equal(first, a:sum()) end
    assert.equal(a:sum({ keepdims = true })[1], a:reshape(1, -1):sum { axis = 2 }[1])
  end)

  -- Lines that one thread, a warp or a block reads, those cut into chunks, and lines side by side, with equal elements.
  it("of all elements by one launch, as on GPUs, is that by two", function()
    local named = require("moonwarp.array.reduction").named
    local chunk, threads, device = 16384, 256, mw.device()
    local done, flag = mw.zeros(1, "ulonglong"), mw.zeros(1, "uint")
    for _, n in ipairs { 8193, 16385, 8 * chunk, 8 * chunk + 1, 300001 } do
      local plain = mw.rand(n) - 0.5
      local x = plain:copy()
      x[1], x[2], x[n] = 0 / 0, -2, -2 -- NaN first, and the least twice
      local chunks = math.floor((n + chunk - 1) / chunk)
      local parts = mw.empty(chunks * 16, "uchar")
      for name, result in pairs { total = "double", max = "float", argmin = "longlong", argmax = "longlong" } do
        local y, of = mw.zeros(1, result), name == "total" and plain or x
        for run = 1, 3 do
          y:fill(0)
          if run == 3 then done:fill((n - 1) * 2 ^ 32 + 1) end -- of an earlier launch that was stopped
          named(name, "float").module(device).whole(chunks, threads)(n, chunk, of, done, parts, y, flag, n)
          assert.equal(n, flag[1])
          assert.equal(of[name == "total" and "sum" or name](of), y[1], n .. " " .. name)
        end
      end
    end
  end)

  it("into arrays by one launch, as on GPUs, is that by two, in any stream and in captures", function()
    local settings = require("moonwarp.binding").reduction_settings
    finally(function() settings.joins = nil end)
    local x = mw.rand(2 * 600 * 300) - 0.5
    local line = x:sub(1, 150001)
    local cases = {
      function() return line:sum { keepdims = true } end, function() return line:max { axis = 1, keepdims = true } end,
      function() return x:reshape(1200, 300):sum { axis = 1 } end,
      function() return x:reshape(2, 600, 300):argmin { axis = 2 } end,
      function() return x:reshape(2, 600, 300):mean { axis = 2 } end,
    }
    local streams = { mw.stream() }
    for k = 2, 12 do streams[k] = mw.stream() end
    for number, case in ipairs(cases) do
      settings.joins = false
      local expected = case():reshape(-1):totable()
      settings.joins = true
      for _ = 1, 3 do assert.same(expected, case():reshape(-1):totable(), number) end
      for _, stream in ipairs(streams) do
        local got = mw.with(stream, case)
        stream:synchronize()
        assert.same(expected, got:reshape(-1):totable(), number)
      end
      local results = {}
      local graph = mw.capture(streams[1], function()
        for k = 1, 3 do results[k] = case() end
      end)
      local ready = graph:instantiate()
      for _ = 1, 2 do
        ready:launch()
        mw.synchronize()
        for k = 1, 3 do
          assert.same(expected, results[k]:reshape(-1):totable(), number)
          results[k]:fill(0)
        end
      end
    end
  end)

  it("finds the first place of the extreme along lines of any length", function()
    local shapes = { { 40, 2, 1 }, { 3, 33, 1 }, { 2, 9000, 1 }, { 1, 40000, 1 }, { 2, 3, 300 }, { 2, 40, 5 },
      { 1, 300, 300 }, { 1, 263, 520 } }
    for _, shape in ipairs(shapes) do
      for _, dtype in ipairs { "float", "int" } do
        local outer, length, inner, list = shape[1], shape[2], shape[3], {}
        for i = 1, outer * length * inner do
          list[i] = math.floor(random() * 40) - 20
          if dtype == "float" and random() < 0.3 then list[i] = 0 / 0 end
        end
        local a = mw.array(list, dtype):reshape(shape)
        local greatest = a:argmax { axis = 2 }:reshape(-1):totable()
        local least = a:argmin { axis = 2 }:reshape(-1):totable()
        for o = 0, outer - 1 do
          for c = 1, inner do
            local high, low = 0, 0
            for k = 1, length do
              local x = list[(o * length + k - 1) * inner + c]
              if x == x and (high == 0 or x > list[(o * length + high - 1) * inner + c]) then high = k end
              if x == x and (low == 0 or x < list[(o * length + low - 1) * inner + c]) then low = k end
            end
            assert.equal(high, greatest[o * inner + c])
            assert.equal(low, least[o * inner + c])
          end
        end
      end
    end
  end)
end)
