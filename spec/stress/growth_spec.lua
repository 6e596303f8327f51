-- The memory of the process does not grow with the number of repetitions.

local mw = require "moonwarp"
local suite = require "support.suite"
local lifetime = require "support.lifetime"

local failure, collect, text = lifetime.failure, lifetime.collect, lifetime.text
local resident, sanitized = lifetime.resident, lifetime.sanitized

-- Run `step` for `warm` rounds, and then for `rounds`: the process may not have grown by more than `most` bytes. It may
-- once, as an interpreter's heap does now and then: what leaks grows every time. Returns how many rounds there were.
local function check_growth(warm, rounds, most, step)
  local TRIALS, growth, total = 3, nil, warm
  for i = 1, warm do step(i) end
  for _ = 1, TRIALS do
    collect()
    local before = resident()
    for i = 1, rounds do step(i) end
    collect()
    growth, total = resident() - before, total + rounds
    if sanitized or growth < most then return total end -- sanitizers keep freed memory for a while
  end
  error(("%d rounds made it grow by %d KiB, again and again"):format(rounds, growth // 1024))
end

describe("the process does not grow by", function()
  local less = sanitized and 20 or 1

  it("a million launches", function()
    local m = mw.compile(text)
    local p = mw.zeros(1, "int")
    local launch, bound = m.count(1, 1), m.count(1, 1):bind(p)
    local warm, rounds = 20000 // less, 330000 // less
    local total = check_growth(warm, rounds, 2 ^ 20, function()
      m.count(1, 1)(p)
      launch(p)
      bound()
    end)
    assert.equal(3 * total, p[1])
  end)

  it("a hundred thousand arrays", function()
    collect()
    local before = mw.memory()
    check_growth(5000, 50000 // less, 2 * 2 ^ 20, function(i)
      local a = mw.empty(1 + i % 1000)
      mw.empty({ 3, 4 }, "int"):reshape(12)
      if i % 3 == 0 then a:free() end
    end)
    -- Less, where garbage from before outlived the first collection.
    local after = mw.memory()
    assert.is_true(after.bytes <= before.bytes and after.count <= before.count,
      ("%d bytes in %d arrays became %d in %d"):format(before.bytes, before.count, after.bytes, after.count))
  end)

  it("arrays with contents, of many sizes", function()
    check_growth(2000, 10000 // less, 4 * 2 ^ 20, function(i)
      local a = mw.full(1 + i * 37 % 20000, i % 100)
      if i % 100 == 0 then assert.equal(i % 100, a[#a]) end
    end)
  end)

  it("modules, template instances and symbols", function()
    check_growth(20, 100 // less, 2 * 2 ^ 20, function()
      local m = mw.compile(text)
      m["plus<4>"](1, 1)(mw.zeros(1, "int"))
      m.factor = 3
      assert.equal(3, m:symbol "factor":get())
    end)
  end)

  it("errors of all kinds", function()
    local m = mw.compile(text)
    local wild = m.count(1, 1)
    check_growth(50, 300 // less, 2 ^ 20, function(i)
      failure(mw.zeros, "x")
      failure(function() m.add(1, 1)(1, 2, 3) end)
      failure(function() return m.nothing_of_this_name end)
      if i % 10 == 0 and not suite.on_gpu then -- which would be lost
        wild(nil)
        failure(mw.synchronize)
      end
    end)
  end)
end)
