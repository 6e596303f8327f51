-- The memory of temporary arrays: it does not grow in loops, since the collector accounts for bytes on the device and
-- the host's lead over the device is limited; fused expressions make no temporaries.

local mw = require "moonwarp"
local suite = require "support.suite"
local run = require "support.child"

-- Runs in a process of its own, so that the peak is that of the script, and prints MiB. Nothing calls collectgarbage.
local function peak(script, seconds)
  local result = run { [[
    local mw = require "moonwarp"
    collectgarbage()
    local before = mw.memory().bytes
    ]] .. script .. [[
    mw.synchronize()
    print(("peak %.3f"):format((mw.memory().peak - before) / 2^20))]], seconds = seconds or 120 }
  return assert(tonumber(result.output:match "peak ([%d.]+)"), result.output)
end

-- On a GPU, garbage of a part of its memory may wait for the collector.
local LIMIT = suite.on_gpu and 200 + mw.memory().total / 2^24 or 200

describe("temporaries", function()
  it("in a loop of 10^5 do not grow", function()
    -- 40 KB each, 4 GB in all
    assert.is_true(peak [[
      local x, y = mw.zeros(10000), nil
      for i = 1, 100000 do y = x + i end
      assert(y[1] == 100000)
    ]] < LIMIT)
  end)

  it("of one expression after the other do not grow", function()
    assert.is_true(peak [[
      local x = mw.ones(100000)
      for i = 1, 2000 do x = (x * 0.5 + 1) * 0.5 + x:sqrt() * 0.25 end
      assert(x[1] == 1)
    ]] < LIMIT)
  end)

  it("are collected by their bytes on the device, though their objects are small", function()
    -- 200 of 16 MB, whose objects are a few KB together
    assert.is_true(peak [[
      for _ = 1, 200 do mw.empty(2^22) end
    ]] < LIMIT)
  end)

  it("that became old in generational collections, as lua5.4 has them, are collected", function()
    if suite.on_gpu then return pending "CPU device only: a GPU's memory may wait longer" end
    assert.is_true(peak [[
      local a, b = mw.ones(2^22), mw.ones(2^22)
      for _ = 1, 100 do
        local r = (a + b) * (a - b) * 2 + a * b
        mw.synchronize()
        r:free()
      end
    ]] < 360)
  end)

  it("that a script frees itself ask for no collection", function()
    peak [[
      mw.empty(2^22):free()
      collectgarbage()
      local weak = setmetatable({ {} }, { __mode = "v" })
      for _ = 1, 200 do mw.empty(2^22):free() end
      assert(weak[1], "a collection took place")
    ]]
  end)

  it("do not wait in a queue that only grows", function()
    if suite.on_gpu then return pending "CPU device only: a GPU's memory is not the process's" end
    assert.is_true(peak [[
      local x, y = mw.zeros(2^22), nil
      for i = 1, 200 do y = x + i end
      assert(y[1] == 200)
    ]] < LIMIT)
  end)

  it("that are kept count as long as they are kept", function()
    local megabytes = peak [[
      local kept = {}
      for i = 1, 20 do kept[i] = mw.zeros(2^20) end
    ]]
    assert.is_true(megabytes >= 80)
  end)
end)

describe("a fused a*x + y", function()
  -- Device memory that f takes while the collector is stopped.
  local function taken(f)
    f() -- what is made once: kernels, tables
    collectgarbage()
    collectgarbage()
    mw.synchronize() -- no work holds memory any more
    collectgarbage "stop"
    local before = mw.memory()
    f()
    local after = mw.memory()
    collectgarbage "restart"
    return after.count - before.count, after.bytes - before.bytes
  end
  local a, n = 2.5, 2 ^ 20
  local x, y

  before_each(function() x, y = mw.ones(n), mw.ones(n) end)

  local function check_none(f, expected)
    local count, bytes = taken(f)
    assert.same({ 0, 0 }, { count, bytes })
    assert.equal(expected, y[n])
  end

  it("by mw.map into y makes none", function()
    local axpy = mw.map "y = a*x + y"
    check_none(function() axpy { a = a, x = x, y = y } end, 6)
  end)

  it("by mw.lazy, assigned to y, makes none", function()
    check_none(function() y:assign(mw.lazy(x) * a + y) end, 6)
  end)

  it("by mw.fuse makes its result alone", function()
    local axpy = mw.fuse(function(u, v) return u * a + v end)
    local results = {}
    local count, bytes = taken(function() results[#results + 1] = axpy(x, y) end)
    assert.same({ 1, 4 * n }, { count, bytes })
    assert.equal(3.5, results[2][n])
  end)

  it("one by one makes one for each operation, which shows that they are counted", function()
    local results = {}
    local count, bytes = taken(function() results[#results + 1] = x * a + y end)
    assert.same({ 2, 8 * n }, { count, bytes })
    assert.equal(3.5, results[2][1])
  end)

  it("in place makes none", function()
    check_none(function() mw.multiply(y, 2, { out = y }) end, 4)
  end)
end)
