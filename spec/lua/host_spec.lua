-- a:host(): access of the host to an array's memory.
-- CPU device only: a GPU's memory is not the host's

local mw = require "moonwarp"
local child = require "support.child"

local function message(...)
  local ok, err = pcall(...)
  assert.is_false(ok, "no error was raised")
  assert.equal("error", mw.type(err))
  return err.message
end

describe("a host view", function()
  it("reads and writes the array's own elements", function()
    local a = mw.array { 1, 2, 3 }
    local h = a:host()
    assert.equal("host", mw.type(h))
    assert.equal(3, #h)
    assert.same({ 1, 2, 3 }, { h[1], h[2], h[3] })
    h[2] = 20
    assert.same({ 1, 20, 3 }, a:totable())
    a[3] = 30
    assert.equal(30, h[3])
  end)

  it("holds every scalar type, bit for bit", function()
    for name in ("char uchar short ushort int uint longlong ulonglong float double half bool"):gmatch "%a+" do
      local a = mw.zeros(3, name)
      local value = name == "bool" and true or 101
      a:host()[2] = value
      assert.equal(value, a[2], name)
      assert.equal(value, a:host()[2], name)
      assert.equal(a[1], a:host()[3], name)
    end
  end)

  it("counts through all dimensions, along the rows", function()
    local h = mw.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int"):host()
    assert.equal(6, #h)
    assert.equal(6, h.count)
    assert.equal("int", h.dtype)
    for i = 1, 6 do assert.equal(i, h[i]) end
  end)

  it("of a view begins where the view does", function()
    local a = mw.arange(10, "int")
    local h = a:sub(4, 6):host()
    assert.same({ 3, 4, 5 }, { h[1], h[2], h[3] })
    h[1] = 77
    assert.equal(77, a[4])
  end)

  it("of vectors has tables, as the array has", function()
    local a = mw.array({ { 1, 2 }, { 3, 4 } }, "float2")
    local h = a:host()
    assert.same({ 3, 4 }, h[2])
    assert.equal(4, h[2].y)
    h[1] = { x = 8, y = 9 }
    assert.same({ 8, 9 }, a[1])
  end)

  it("ends as a sequence does", function()
    if rawget(_G, "jit") and mw.binding == "c" then return pending "LuaJIT's ipairs takes tables and cdata" end
    local h, list = mw.array({ 5, 6 }, "int"):host(), {}
    assert.is_nil(h[3])
    for i, value in ipairs(h) do list[i] = value end
    assert.same({ 5, 6 }, list)
  end)

  it("refuses indices out of range and values that do not fit, and is unchanged", function()
    local a = mw.array({ 1, 2, 3 }, "uchar")
    local h = a:host()
    assert.matches("0 is outside 1..3 %(Lua counts from 1", message(function() return h[0] end))
    assert.matches("5 is outside 1..3", message(function() return h[5] end))
    assert.matches("4 is outside 1..3", message(function() h[4] = 1 end))
    assert.matches("whole number, got the number 1.5", message(function() return h[1.5] end))
    assert.matches("256", message(function() h[1] = 256 end))
    assert.matches("got a table", message(function() h[1] = {} end))
    assert.same({ 1, 2, 3 }, a:totable())
  end)

  -- In a process of its own, where nobody else's garbage is counted.
  it("keeps the memory of an array that the script has released", function()
    local result = child [[
      local mw = require "moonwarp"
      local function count() for _ = 1, 3 do collectgarbage() end return mw.memory().count end
      local before = count()
      local h = mw.full(1000, 7, "int"):host()
      mw.synchronize()
      local kept, value = count() - before, h[1000]
      h = nil
      print(kept, value, count() - before)]]
    assert.equal("1\t7\t0\n", result.output)
  end)

  it("refuses every access once the array is freed", function()
    local a = mw.ones(4)
    local h = a:host()
    a:free()
    assert.matches("was freed", message(function() return h[1] end))
    assert.matches("was freed", message(function() h[1] = 2 end))
    assert.matches("was freed", message(a.host, a))
  end)

  it("is there after the kernels that write it, and sees the next ones after a synchronization", function()
    local m = mw.compile "__global__ void add(int *p) { p[threadIdx.x] += threadIdx.x; }"
    local a = mw.zeros(8, "int")
    m.add(1, 8)(a)
    local h = a:host()
    assert.equal(7, h[8])
    m.add(1, 8)(a)
    mw.synchronize()
    assert.equal(14, h[8])
  end)

  it("reports the failure of a kernel that should have written it", function()
    local m = mw.compile "__global__ void fail(int *p) { p[1 << 28] = 1; }"
    local a = mw.zeros(8, "int")
    m.fail(1, 1)(a)
    assert.matches("fail", message(a.host, a))
  end)

  it("of nothing is empty", function()
    local h = mw.zeros(0):host()
    assert.equal(0, #h)
    assert.is_nil(h[1])
  end)

  it("has the address of the first element", function()
    local h = mw.array({ 3.5, 4.5 }, "double"):host()
    if mw.binding == "ffi" then
      assert.equal(4.5, h.pointer[1]) -- a double *, from 0
    else
      assert.equal("userdata", type(h.pointer))
    end
  end)
end)
