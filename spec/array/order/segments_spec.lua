-- Reductions, scans and sorts by keys.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "segments_spec"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

-- Keys in runs of random lengths up to `longest`; neighbouring runs differ. Returns the keys, and each run's first and
-- last position.
local function runs(n, longest)
  local keys, firsts, lasts, key = {}, {}, {}, 0
  while #keys < n do
    key = (key + random(1, 3)) % 7
    firsts[#firsts + 1] = #keys + 1
    for _ = 1, math.min(n - #keys, random(1, longest)) do keys[#keys + 1] = key end
    lasts[#lasts + 1] = #keys
  end
  return keys, firsts, lasts
end

local function whole_numbers(n, least, most)
  local list = {}
  for i = 1, n do list[i] = random(least, most) end
  return list
end

describe("a reduction by keys", function()
  local fold = {
    sum = function(r, x) return (r or 0) + x end,
    min = function(r, x) return r and r < x and r or x end,
    max = function(r, x) return r and r > x and r or x end,
    count_nonzero = function(r, x) return (r or 0) + (x ~= 0 and 1 or 0) end,
  }

  it("equals a plain loop, for runs of any lengths", function()
    for _, size in ipairs { { 1, 1 }, { 100, 1 }, { 5000, 4 }, { 20011, 300 }, { 90000, 90000 }, { 9000, 2, 3000 } } do
      local keys, firsts, lasts = runs(size[1], size[2])
      if size[3] then -- many short runs and a long one
        firsts[#firsts + 1] = #keys + 1
        for _ = 1, size[3] do keys[#keys + 1] = 99 end
        lasts[#lasts + 1] = #keys
      end
      local list = whole_numbers(#keys, -9, 9)
      local x, k = mw.array(list, "int"), mw.array(keys, "int")
      for name, step in pairs(fold) do
        local wanted, of = {}, {}
        for s = 1, #firsts do
          for i = firsts[s], lasts[s] do wanted[s] = step(wanted[s], list[i]) end
          of[s] = keys[firsts[s]]
        end
        local values, heads = x[name](x, { keys = k })
        assert.same(wanted, flat(values), name)
        assert.same(of, flat(heads), name)
        assert.equal("int", heads.dtype)
      end
    end
  end)

  it("equals the reduction of each run alone", function()
    local keys, firsts, lasts = runs(3000, 700)
    local of = { bool = "sum all", uchar = "sum prod any", longlong = "mean argmin", half = "min mean",
      float = "max std", double = "sum mean var norm argmax", complex64 = "sum prod std" }
    for dtype, names in pairs(of) do
      local x = mw.array(whole_numbers(3000, 0, 1), "int")
      if dtype == "float" or dtype == "double" then x = mw.random(7):normal(3000, { dtype = dtype })
      else x = x:to(dtype) end
      for name in names:gmatch "%S+" do
        local values = x[name](x, { keys = keys })
        assert.equal(#firsts, values.count)
        for s, first in ipairs(firsts) do
          local alone = x:sub(first, lasts[s])
          alone = alone[name](alone, { axis = 1, keepdims = true })
          if name:find "^arg" then alone = alone + (first - 1) end
          local got, expected = values[s], alone[1]
          if name == "var" or name == "std" or name == "prod" or name == "norm" then
            local difference = mw.abs(values:sub(s, s) - alone)[1]
            assert.is_true(got == expected or difference <= 1e-6 * math.abs(tonumber(expected)), name .. " " .. dtype)
          else
            assert.equal(tostring(expected), tostring(got), name .. " " .. dtype)
          end
        end
      end
    end
  end)

  it("goes along an axis", function()
    local keys, firsts, lasts = runs(40, 9)
    local x = mw.array(whole_numbers(3 * 40 * 5, -99, 99), "int"):reshape(3, 40, 5)
    local values, heads = x:sum { axis = 2, keys = keys }
    assert.same({ 3, #firsts, 5 }, values.shape)
    assert.equal(#firsts, heads.count)
    for s, first in ipairs(firsts) do
      assert.same(flat(x[{ {}, { first, lasts[s] } }]:sum { axis = 2 }), flat(values[{ {}, s }]))
    end
    local tall = mw.array(whole_numbers(6000, -99, 99), "int"):reshape(3000, 2)
    local parts = tall:sum { axis = 1, keys = mw.arange(3000):ge(1700) }
    assert.same(flat(tall[{ { 1, 1700 } }]:sum { axis = 1 }), flat(parts[1]))
    assert.same(flat(tall[{ { 1701, 3000 } }]:sum { axis = 1 }), flat(parts[2]))
    local last = x:max { axis = { -1 }, keys = { 1, 1, 2, 2, 2 } }
    assert.same(flat(x[{ {}, {}, { 1, 2 } }]:max { axis = 3 }), flat(last[{ {}, {}, 1 }]))
    local turned = x:permute(2, 3, 1)
    assert.same(flat(turned:copy():sum { axis = 1, keys = keys }), flat(turned:sum { axis = 1, keys = keys }))
  end)

  it("is as exact as a sum", function()
    local x = mw.array({ 1e16, 1, -1e16, 3, 1e300, 1, -1e300, 2 }, "double")
    assert.same({ 4, 3 }, flat(x:sum { keys = { 0, 0, 0, 0, 1, 1, 1, 1 } }))
    local long = mw.full({ 100000 }, 0.1)
    local exact = mw.full({ 50000 }, 0.1):to "double":sum()
    local sums = long:sum { keys = mw.arange(100000):ge(50000) }
    local half = mw.array { exact }
    assert.same({ half[1], half[1] }, flat(sums))
  end)

  it("makes nothing of nothing", function()
    local values, keys = mw.zeros { 0 }:max { keys = mw.zeros({ 0 }, "int") }
    assert.same({ 0, 0 }, { values.count, keys.count })
    assert.same({ 0, 2 }, mw.zeros { 0, 2 }:sum { axis = 1, keys = {} }.shape)
    assert.same({ 2, 0 }, mw.zeros { 3, 0 }:sum { axis = 1, keys = { 1, 1, 2 } }.shape)
  end)

  it("writes into an array, and takes keys from other dtypes", function()
    local x, out = mw.array { 1, 2, 3 }, mw.zeros { 2 }
    assert.equal(out, (x:sum { keys = { 0.5, 0.5, 2 }, out = out }))
    assert.same({ 3, 3 }, flat(out))
    local values, keys = x:sum { keys = mw.array({ { 1, 2 }, { 1, 2 }, { 1, 3 } }, "complex64") }
    assert.same({ 3, 3 }, flat(values))
    assert.equal("1+3i", tostring(keys[2]))
  end)

  it("works in expressions and with reductions of one's own", function()
    local x, keys = mw.array { 1, 2, 3 }, mw.array({ 1, 1, 2 }, "int")
    assert.same({ 6, 6 }, flat((mw.lazy(x) * 2):sum { keys = keys }))
    assert.same({ 6, 6 }, flat(mw.fuse(function(a) return (a * 2):sum { keys = keys } end)(x)))
    local mean_square = mw.reduce { map = "x * x", combine = "a + b", init = 0, finish = "a / n" }
    local values, heads = mean_square(x, { keys = keys })
    assert.same({ 2.5, 9 }, flat(values))
    assert.same({ 1, 2 }, flat(heads))
  end)
end)

describe("a scan by keys", function()
  it("uses nothing that is not written, and has no race", function()
    if require("support.suite").on_gpu then return pending "CPU device only: gpu_check_spec checks kernels on GPUs" end
    local x, keys = mw.ones(50000), mw.arange(50000):ge(20000)
    local report = mw.check(function()
      x:cumsum { keys = keys }
      x:sum { keys = keys }
      mw.synchronize()
    end)
    assert.equal("no findings", tostring(report))
  end)

  it("begins again at each run", function()
    for _, size in ipairs { { 100, 3 }, { 20011, 900 } } do
      local keys = runs(size[1], size[2])
      local list = whole_numbers(size[1], -9, 9)
      local wanted = {}
      for i = 1, #list do wanted[i] = list[i] + (keys[i] == keys[i - 1] and wanted[i - 1] or 0) end
      assert.same(wanted, flat(mw.array(list, "int"):cumsum { keys = keys }))
    end
    local x = mw.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, "int")
    assert.same({ 1, 2, 3, 8, 5, 6 }, flat(x:cumprod { axis = 1, keys = { 1, 1, 2 } }))
    local c = mw.array({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, "complex64")
    assert.equal("4+6i", tostring(c:cumsum { keys = { 1, 1, 2 } }[2]))
    assert.equal("5+6i", tostring(c:cumsum { keys = { 1, 1, 2 } }[3]))
  end)

  it("puts init before each run", function()
    local f = mw.scan { combine = "a + b", init = 100 }
    assert.same({ 101, 103, 103 }, flat(f(mw.array { 1, 2, 3 }, { keys = { 1, 1, 2 } })))
  end)
end)

describe("a sort by keys", function()
  it("sorts each run by itself, stably and along any axis", function()
    local keys, firsts, lasts = runs(3000, 500)
    local x = mw.array(whole_numbers(3000, -20, 20)) / 4
    x:sub(17, 17):fill(0 / 0)
    for _, descending in ipairs { false, true } do
      local sorted = x:sort { keys = keys, descending = descending }
      local order = x:argsort { keys = keys, descending = descending }
      for s, first in ipairs(firsts) do
        local alone = x:sub(first, lasts[s])
        assert.same(tostring(alone:sort { descending = descending }), tostring(sorted:sub(first, lasts[s])))
        assert.same(flat(alone:argsort { descending = descending } + (first - 1)), flat(order:sub(first, lasts[s])))
      end
    end
    local m = mw.array({ { 4, 1 }, { 3, 2 }, { 1, 9 } }, "int")
    assert.same({ 3, 1, 4, 2, 1, 9 }, flat(m:sort { axis = 1, keys = { 1, 1, 2 } }))
    assert.same({ 1, 4, 2, 3, 1, 9 }, flat(m:sort { keys = { 5, 5 } }))
  end)
end)

describe("keys", function()
  it("must fit the elements", function()
    local x = mw.zeros { 2, 3 }
    assert.matches("a:sum: keys has one key for each of the 6 elements, {6}; got {2}",
      message(x.sum, x, { keys = { 1, 2 } }), 1, true)
    assert.matches("along axis 1, {2}; got {3}", message(x.sum, x, { axis = 1, keys = { 1, 2, 3 } }), 1, true)
    assert.matches("keys is an array or a table, got the number 5", message(x.sum, x, { keys = 5 }), 1, true)
    assert.matches("keys are numbers, got", message(x.cumsum, x, { axis = 1, keys = { "a", "b" } }), 1, true)
    assert.matches("works along one axis, got 2", message(x.sum, x, { axis = { 1, 2 }, keys = { 1, 2 } }), 1, true)
    assert.matches("a:median has no option 'keys'", message(x.median, x, { keys = { 1, 2 } }), 1, true)
  end)
end)
