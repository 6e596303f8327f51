-- Lifetimes: references between objects, the orders in which they may be released, and that all memory is released.

local mw = require "moonwarp"
local lifetime = require "support.lifetime"
local random = require "support.random" "lifetime_spec"

local failure, collect, text = lifetime.failure, lifetime.collect, lifetime.text

describe("freeing an array", function()
  it("gives its bytes back at once", function()
    collect()
    local before = mw.memory()
    local a = mw.zeros(100000)
    assert.is_true(mw.memory().bytes >= before.bytes + 400000)
    mw.synchronize() -- filling it with zeros is work in flight
    a:free()
    assert.equal(before.bytes, mw.memory().bytes)
    assert.equal(before.count, mw.memory().count)
  end)

  it("twice, or after close, is fine", function()
    local a = mw.zeros(10)
    a:free()
    a:free()
    do
      local b <close> = mw.zeros(10)
      b:free()
    end
    do
      local c <close> = mw.zeros(10)
      c[1] = 1
    end
    collect()
    assert.is_true(a.freed)
    assert.equal(0, a.address)
  end)

  it("frees its views, whichever of them is freed", function()
    local a = mw.zeros { 4, 6 }
    local row, flat, bytes = a[2], a:reshape(24), a:as "uint"
    flat:free()
    for _, view in ipairs { a, row, flat, bytes } do
      assert.is_true(view.freed)
      assert.matches("freed", failure(function() return view:totable() end).message)
    end
    for _, view in ipairs { row, bytes, a } do view:free() end
  end)

  it("makes every use of it an error", function()
    local m = mw.compile(text)
    local a, b = mw.zeros(10, "int"), mw.zeros(10, "int")
    b:free()
    for what, use in pairs {
      element = function() return b[1] end,
      assign = function() b[1] = 1 end,
      get = function() return b:get(1) end,
      set = function() b:set(1, 2) end,
      totable = function() return b:totable() end,
      bytes = function() return b:bytes() end,
      fill = function() b:fill(1) end,
      sum = function() return b:sum() end,
      min = function() return b:min() end,
      copy = function() return b:copy() end,
      launch = function() m.add(1, 10)(10, a, b) end,
      bind = function() m.add(1, 10):bind(10, b, a) end,
      each = function() m.add:each(10)(10, b, a) end,
      symbol = function()
        local module = mw.compile "__device__ int *p;"
        module.p = b
      end,
    } do
      local err = failure(use)
      assert.equal("error", mw.type(err), what)
      assert.matches("freed", err.message, nil, nil, what)
    end
    assert.is_string(tostring(b))
    assert.equal(10, #b)
    assert.equal(0, a:sum())
  end)

  it("that a kernel in flight uses waits for the kernel", function()
    local m = mw.compile(text)
    for _ = 1, 20 do
      local a, out = mw.ones(50000, "int"), mw.zeros(50000, "int")
      for _ = 1, 5 do m.add:each(50000)(50000, a, out) end
      a:free()
      local others = {}
      for i = 1, 5 do others[i] = mw.full(50000, 99, "int") end -- would get a's memory if it were free
      assert.equal(250000, out:sum())
      assert.equal(5, #others)
    end
  end)
end)

describe("a view", function()
  it("keeps the memory when the array is collected", function()
    local view
    do
      local a = mw.arange(1000)
      view = a:reshape(10, 100)[3]
    end
    collect()
    local others = {}
    for i = 1, 10 do others[i] = mw.full(1000, 7) end
    assert.equal(200, view[1])
    assert.equal(24950, view:sum())
    assert.equal(10, #others)
  end)

  it("gives the memory back when it is the last", function()
    collect()
    local before = mw.memory().count
    local view
    do view = mw.arange(1000):reshape(10, 100)[3]:as "int" end
    collect()
    assert.equal(before + 1, mw.memory().count)
    assert.equal(100, #view)
    view = nil
    collect()
    assert.equal(before, mw.memory().count)
    assert.is_nil(view)
  end)
end)

describe("a module", function()
  it("lives as long as its kernels, launches and symbols", function()
    local kernel, launch, bound, symbol
    local p = mw.zeros(1, "int")
    do
      local m = mw.compile(text)
      kernel, launch, bound, symbol = m.count, m.count(1, 10), m.count(1, 100):bind(p), m:symbol "total"
    end
    collect()
    kernel(1, 1)(p)
    launch(p)
    bound()
    assert.equal(111, p[1])
    assert.equal(111, symbol:get())
    kernel, launch = nil, nil
    collect()
    bound()
    assert.equal(211, symbol:get())
    bound = nil
    collect()
    assert.equal(211, symbol:get())
    assert.is_nil(kernel or launch or bound)
  end)

  it("may be collected while its kernels are in flight", function()
    for i = 1, 30 do
      local a, b = mw.ones(10000, "int"), mw.zeros(10000, "int")
      do
        local m = mw.compile(text)
        for _ = 1, 10 do m.add(40, 256)(10000, a, b) end
        if i % 2 == 0 then m["plus<3>"](1, 1)(b) end
      end
      collectgarbage()
      collectgarbage()
      assert.equal(100000 + (i % 2 == 0 and 3 or 0), b:sum())
    end
  end)

  it("gives its variables back", function()
    collect()
    local before = mw.memory()
    do
      local modules = {}
      for i = 1, 10 do
        local options = { "-DROUND=" .. i % 2 }
        modules[i] = mw.compile { source = "__device__ float big[100000];\n" .. text, options = options }
        modules[i]["plus<5>"](1, 1)(mw.zeros(1, "int"))
      end
      assert.is_true(mw.memory().bytes >= before.bytes + 10 * 400000)
    end
    collect()
    assert.equal(before.bytes, mw.memory().bytes)
    assert.equal(before.count, mw.memory().count)
  end)

  it("has variables of its own, however often a text is compiled", function()
    local one, two = mw.compile(text), mw.compile(text)
    one.count(1, 5)(mw.zeros(1, "int"))
    two.factor = 7
    assert.equal(5, one.total)
    assert.equal(0, two.total)
    assert.equal(1, one.factor)
  end)
end)

describe("things may go in any order:", function()
  it("arrays, views, modules, kernels, launches and symbols, dropped at random", function()
    collect()
    local before = mw.memory()
    for _ = 1, 15 do
      local things = {}
      local function keep(thing)
        things[#things + 1] = thing
        return thing
      end
      local out = keep(mw.zeros(256, "int"))
      local grid = keep(mw.ones({ 16, 16 }, "int"))
      local m = keep(mw.compile(text))
      keep(m:symbol "total")
      local launch = keep(keep(m.add)(1, 256))
      keep(launch:bind(256, keep(grid:reshape(256)), out))()
      keep(grid[3])
      keep(m["plus<9>"])
      for _ = 1, 3 do launch(256, grid, out) end
      m, launch, grid = nil, nil, nil
      assert.equal(4 * 256, out:sum())
      out = nil
      while #things > 0 do
        local i = random(#things)
        local thing = table.remove(things, i)
        if mw.type(thing) == "array" and random(2) == 1 then thing:free() end
        thing = nil
        if random(3) == 1 then collectgarbage(random(2) == 1 and "collect" or "step") end
        assert.is_nil(thing)
      end
      assert.is_nil(m or launch or grid or out)
    end
    collect()
    assert.equal(before.bytes, mw.memory().bytes)
    assert.equal(before.count, mw.memory().count)
  end)
end)

describe("under a collector that", function()
  local function work()
    local m = mw.compile(text)
    local sum = mw.zeros(64, "int")
    for i = 1, 200 do
      local a = mw.full(64, i, "int")
      m.add(1, 64)(64, a, sum)
      m.add(2, 32):bind(64, a:reshape(8, 8):reshape(64), sum)()
      m.add:each(64)(64, a:copy(), sum)
      if i % 20 == 0 then m = mw.compile(text) end
    end
    assert.equal(3 * 64 * 200 * 201 // 2, sum:sum())
  end

  local before
  before_each(function()
    collect()
    before = mw.memory()
  end)
  after_each(function()
    collectgarbage "restart"
    collectgarbage("incremental", 200, 100, 13)
    collect()
    assert.equal(before.bytes, mw.memory().bytes)
    assert.equal(before.count, mw.memory().count)
  end)

  it("never rests nothing is lost", function()
    collectgarbage("incremental", 1, 1000, 1)
    work()
  end)

  it("is slow nothing is lost", function()
    collectgarbage("incremental", 1000, 1, 1)
    work()
  end)

  it("works by generations nothing is lost", function()
    collectgarbage("generational", 5, 20)
    work()
  end)

  it("is stopped nothing is lost", function()
    collectgarbage "stop"
    work()
  end)

  it("runs a full round before each launch nothing is lost", function()
    local m = mw.compile(text)
    local sum = mw.zeros(8, "int")
    for i = 1, 50 do
      local launch, a = m.add(1, 8), mw.full(8, i, "int")
      collectgarbage()
      launch(8, a, sum)
    end
    assert.equal(8 * 1275, sum:sum())
  end)

  it("finalizes Lua objects that use arrays in their finalizers nothing is lost", function()
    local m = mw.compile(text)
    local sum = mw.zeros(1, "int")
    for _ = 1, 100 do
      local a = mw.ones(1, "int")
      local function finalize()
        if not a.freed then m.add(1, 1)(1, a, sum) end
        a:free()
      end
      if rawget(_G, "jit") then -- tables have no finalizers there
        getmetatable(newproxy(true)).__gc = finalize
      else
        setmetatable({}, { __gc = finalize })
      end
    end
    collect()
    assert.equal(100, sum:sum())
  end)
end)

describe("memory", function()
  it("counts for the collector: garbage arrays do not pile up", function()
    collect()
    local before = mw.memory().bytes
    local most = 0
    for _ = 1, 2000 do
      mw.empty(250000) -- a megabyte
      most = math.max(most, mw.memory().bytes - before)
    end
    collect()
    assert.is_true(most < 500 * 2 ^ 20, ("%d MiB of garbage"):format(most // 2 ^ 20))
    assert.equal(before, mw.memory().bytes)
  end)

  it("of garbage is reclaimed before an allocation fails", function()
    collect()
    local old = mw.limit("memory", mw.memory().bytes + 10 * 2 ^ 20)
    collectgarbage "stop"
    for _ = 1, 100 do mw.zeros(500000) end -- two megabytes
    collectgarbage "restart"
    mw.limit("memory", old)
    collect()
  end)

  it("that is not there is an error, and nothing is lost by it", function()
    mw.zeros(1000000):sum() -- what the library keeps for sums is there from now on
    collect()
    local before = mw.memory()
    local old = mw.limit("memory", before.bytes + 10 * 2 ^ 20)
    local kept = mw.zeros(1000000)
    for _ = 1, 20 do
      local err = failure(mw.zeros, 3000000)
      assert.equal("cudaErrorMemoryAllocation", err.code)
      assert.equal("memory", err.kind)
    end
    mw.limit("memory", old)
    assert.equal(0, kept:sum())
    kept:free()
    mw.zeros(3000000):free()
    assert.equal("cudaErrorMemoryAllocation", failure(mw.zeros, 2 ^ 50).code)
    assert.equal("error", mw.type(failure(mw.zeros, { 2 ^ 40, 2 ^ 40 })))
    collect()
    assert.equal(before.bytes, mw.memory().bytes)
    assert.equal(before.count, mw.memory().count)
  end)
end)
