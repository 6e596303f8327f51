-- With LuaJIT's FFI the hot loops of a script are compiled to machine code: jit.v, which reports every trace,
-- reports no aborted one.

local child = require "support.child"

-- What jit.v says while `loop` runs, after what `setup` does.
local function traces(setup, loop)
  local result = child(([[
    local mw = require "moonwarp"
    local m = mw.compile "__global__ void f(int *p) { p[threadIdx.x] = 1; }"
    local a = mw.zeros(1000)
    %s
    jit.off()
    do %s end -- what is done once: symbols are looked up, signatures are read
    jit.on()
    local path = os.tmpname()
    require "jit.v".on(path)
    do %s end
    require "jit.v".off()
    for line in io.lines(path) do print(line) end
    os.remove(path)
  ]]):format(setup, loop, loop))
  assert.is_true(result.ok, result.output)
  return result.output
end

-- A trace that ends where it began, none that was given up, and no call that is interpreted.
local function is_compiled(output)
  return output:find "loop" and not (output:find "TRACE %-%-%-" or output:find "NYI" or output:find "stitch")
end

-- LuaJIT hashes addresses, which differ from run to run, to 64 counters. So a trace may begin in the middle of another
-- function, and be given up there: one run in 40. What cannot be compiled is given up in each run.
local function assert_compiled(setup, loop)
  local output
  for _ = 1, 3 do
    output = traces(setup, loop)
    if is_compiled(output) then return end
  end
  error(output)
end

describe("LuaJIT compiles", function()
  if not rawget(_G, "jit") or require("moonwarp").binding ~= "ffi" then
    it("loops where the FFI is the binding", function() pending "this Lua has no FFI" end)
    return
  end

  it("prepared launches", function()
    assert_compiled("local run = m.f(1, 4):bind(mw.zeros(4, 'int'))", "for _ = 1, 3000 do run() end")
  end)

  it("launches that are waited for, one by one", function()
    assert_compiled("local run = m.f(1, 4):bind(mw.zeros(4, 'int'))",
      "for _ = 1, 3000 do run() mw.synchronize() end")
  end)

  it("reading elements of arrays", function()
    assert_compiled("local sum = 0", "for i = 1, 1000 do sum = sum + a[i] end")
  end)

  it("writing elements of arrays", function()
    assert_compiled("", "for i = 1, 1000 do a[i] = i * 0.5 end")
  end)

  it("elements of integers, also of 64 bits", function()
    assert_compiled("local b, c, sum = mw.zeros(1000, 'int'), mw.ones(1000, 'longlong'), 0",
      "for i = 1, 1000 do b[i] = i sum = sum + c[i] + b[i] end")
  end)

  it("host views", function()
    assert_compiled("local h, sum = a:host(), 0", "for i = 1, 1000 do h[i] = h[i] + i end")
  end)

  it("and this spec would detect it if not", function()
    local output = traces("", "for i = 1, 1000 do a[i] = #debug.traceback() end")
    assert.is_true(output:find("TRACE ---", 1, true) ~= nil or output:find "stitch" ~= nil, output)
  end)
end)

describe("a plain launch", function()
  if not rawget(_G, "jit") or require("moonwarp").binding ~= "ffi" then
    it("where the FFI is the binding", function() pending "this Lua has no FFI" end)
    return
  end

  -- Which of its traces the compiler gives up differs from run to run. What a launch costs is how often the stack is
  -- asked and how much garbage it leaves: its line once, in a table of LuaJIT, and no table for its arguments.
  it("finds its line once, and makes no table for its arguments", function()
    local result = child [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void f(int n, float a, float *x, float *y, unsigned k) {}"
      local x, y, ask, asked = mw.zeros(8), mw.zeros(8), debug.getinfo, 0
      local function launches(count) for _ = 1, count do m.f(1, 8)(8, 2.5, x, y, 3) end end
      jit.off()
      jit.off(launches, true)
      launches(100)
      mw.synchronize()
      collectgarbage()
      collectgarbage("stop")
      local before = collectgarbage("count")
      launches(100)
      local bytes = (collectgarbage("count") - before) * 1024 / 100
      debug.getinfo = function(...) asked = asked + 1 return ask(...) end
      launches(100)
      print(asked, bytes < 1500 or bytes)
    ]]
    assert.equal("100\ttrue\n", result.output)
  end)
end)
