-- Arrays' memory: when it is freed, what is collected, and where large arrays begin.

local mw = require "moonwarp"
local lifetime = require "support.lifetime"
local collect, resident = lifetime.collect, lifetime.resident
local suite = require "support.suite"

-- The message of the error that f(...) raises.
local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message
end
describe("an array", function()
  describe("that was freed", function()
    it("gives its memory back at once, and that twice is fine", function()
      collect()
      local before = mw.memory().bytes
      local a = mw.zeros(100000)
      assert.is_true(mw.memory().bytes >= before + 400000)
      assert.is_false(a.freed)
      a:free()
      a:free()
      assert.is_true(a.freed)
      mw.synchronize() -- the fill with zeros may not have finished
      assert.equal(before, mw.memory().bytes)
    end)

    it("refuses every use, but says what it was", function()
      local a = mw.array { 1, 2, 3 }
      local view = a:sub(2)
      a:free()
      assert.same({ 3 }, a.shape)
      assert.equal("float", a.dtype)
      assert.matches("freed", tostring(a))
      for _, f in ipairs {
        function() return a[1] end,
        function() a[1] = 1 end,
        function() return a:totable() end,
        function() return a:bytes() end,
        function() return a:sum() end,
        function() a:fill(1) end,
        function() a:copy_from { 1, 2, 3 } end,
        function() return a:copy() end,
        function() return view[1] end,
        function() return view:totable() end,
      } do
        assert.matches("freed", message(f))
      end
    end)

    it("is freed at the end of its block (to-be-closed variables)", function()
      local kept
      do
        local a <close> = mw.ones(10)
        kept = a
        assert.equal(10, a:sum())
      end
      assert.is_true(kept.freed)
    end)

    it("closes in any order with its views, and by hand", function()
      if mw.binding ~= "c" then return pending "only userdata have a metatable to ask" end
      local a = mw.ones(10)
      local meta = getmetatable(a)
      local view = a:reshape(2, 5)
      meta.__gc(view)
      meta.__gc(view)
      assert.equal(10, a:sum())
      meta.__close(a)
      meta.__gc(a)
      meta.__gc(a)
      assert.matches("closed", message(function() return a[1] end))
      assert.equal("array (closed)", tostring(a))
    end)
  end)

  it("begins, if large, at a place of its page where the one made before it does not", function()
    if suite.on_gpu then return pending "CPU device only: where processors take loads to be of what was stored" end
    local page, lines = 4096, 256 -- bytes; of the latter stay apart a store and loads of its neighbours
    local before = mw.empty(2 ^ 20)
    for _ = 1, 10 do
      local a = mw.empty(2 ^ 20)
      local distance = (a.address - before.address) % page
      assert.is_true(distance >= lines and distance <= page - lines, ("%d bytes apart"):format(distance))
      assert.equal(0, a.address % 256)
      a[1], a[a.count] = 1, 2
      assert.same({ 1, 2 }, { a[1], a[a.count] })
      before = a
    end
  end)

  for _, mebi in ipairs { 64, 96 } do -- 1/16 of the machine's memory is kept, but at least 129 MiB
    it(("of %d MiB leaves its pages to the next when it is freed, and a second one its own"):format(mebi), function()
      if suite.on_gpu then return pending "CPU device only: a GPU's memory is the driver's" end
      if mebi > 64 and mw.memory().total < 2 ^ 32 then return pending "needs a machine with 4 GiB of memory" end
      local kept
      for _ = 1, 2 do -- the first time, pages of others that were freed may go
        local a, b = mw.zeros(mebi * 2 ^ 18), mw.zeros(mebi * 2 ^ 18)
        mw.synchronize()
        local before = resident()
        a:free()
        b:free()
        kept = before - resident() < mebi * 2 ^ 18
      end
      assert.is_true(kept)
    end)
  end

  it("is collected with the bytes that it holds on the device", function()
    collect()
    local before, peak = mw.memory().bytes, 0
    -- Garbage may take as much as a least span of memory before it is collected: src/lua/garbage_collection.c.
    local span = suite.on_gpu and math.max(2 ^ 25, mw.memory().total / 32) or 2 ^ 25
    local count = math.floor(span / 8 / 4)
    for _ = 1, 300 do
      local a = mw.empty(count) -- an eighth of that, of which Lua sees a few dozen bytes
      a[1] = 1
      peak = math.max(peak, mw.memory().bytes - before)
    end
    assert.is_true(peak < 8 * span, ("%.0f MB alive"):format(peak / 1e6))
  end)

  it("collects garbage before it fails for want of memory", function()
    collectgarbage()
    local limit = mw.limit("memory")
    mw.limit("memory", mw.memory().bytes + 40 * 2 ^ 20)
    local ok, err = pcall(function()
      collectgarbage("stop")
      for _ = 1, 50 do mw.empty(2 ^ 20) end -- 200 MiB, never more than 4 of them reachable
    end)
    local more, failure = pcall(mw.empty, 2 ^ 30)
    collectgarbage("restart")
    mw.limit("memory", limit)
    assert(ok, tostring(err))
    assert.is_false(more)
    assert.equal("memory", failure.kind)
    assert.equal("cudaErrorMemoryAllocation", failure.code)
  end)
end)
