-- Loops over tables, which betas of LuaJIT 2.1 miscompile (lua/moonwarp/luajit_next.lua).

local child = require "support.child"
local guard = require "moonwarp.luajit_next"

describe("next in LuaJIT's machine code", function()
  it("is wrong where the pointer that it returns is exchanged as 32 bits", function()
    local call, through_r15, exchange = "\232\51\14\32\208", "\65\255\215", "\146"
    assert.is_true(guard.is_wrong("\51\246" .. call .. exchange .. "\76\139"))
    assert.is_true(guard.is_wrong(call .. "\72\139\208" .. through_r15 .. exchange))
    assert.is_false(guard.is_wrong(call .. "\72" .. exchange), "all 64 bits")
    assert.is_false(guard.is_wrong(call .. "\72\139\208"), "a move")
  end)

  it("is watched only where a LuaJIT has the fault", function()
    assert.is_true(guard.is_affected("LuaJIT 2.1.0-beta3", "x64"))
    assert.is_false(guard.is_affected("LuaJIT 2.1.0-beta3", "arm64"))
    assert.is_false(guard.is_affected("LuaJIT 2.1.1700206165", "x64"))
  end)

  it("is watched beside other handlers of traces, of before and after", function()
    if not rawget(_G, "jit") then return end
    local result = child [[
      local guard, seen = require "moonwarp.luajit_next", {}
      if not guard.is_affected(jit.version, jit.arch) then guard.is_affected = function() return true end end
      local function handler(name)
        seen[name] = { start = 0, stop = 0, flush = 0, abort = 0 }
        return function(event) seen[name][event] = seen[name][event] + 1 end
      end
      local function run() for i = 1, 200 do local _ = i * 2 end end
      local first, second = handler "first", handler "second"
      jit.attach(first, "trace")
      run()
      local stops, flushes = seen.first.stop, seen.first.flush
      guard.start()
      -- What was not watched is thrown away.
      print(stops > 0, seen.first.flush > flushes, require("jit.util").traceinfo(1) == nil)
      run()
      print(seen.first.stop > stops)
      jit.attach(second, "trace") -- instead of the first, as LuaJIT does
      guard.is_wrong = function() return true end
      stops, flushes = seen.first.stop, seen.second.flush
      for i = 1, 200 do local _ = i * 3 end
      print(seen.first.stop == stops, seen.second.stop > 0, seen.second.flush > flushes)
      jit.attach(second)
      guard.is_wrong = function() return false end
      stops = seen.second.stop
      local function again() for i = 1, 200 do local _ = i * 4 end end
      again()
      print(seen.second.stop == stops)
      print(pcall(jit.attach, 1, "trace"))
    ]]
    assert.equal("true\ttrue\ttrue\ntrue\ntrue\ttrue\ttrue\ntrue\n" ..
      "false\tbad argument #1 to '?' (function expected, got number)\n", result.output)
  end)

  it("does not end a process that passes structs again and again", function()
    for _ = 1, 4 do
      local result = child [[
        local mw = require "moonwarp"
        local m = mw.compile "struct Pair { int a, b; float *p; }; __global__ void f(Pair p, int *out) { *out += p.a; }"
        local p, out = mw.zeros(8), mw.zeros(1, "int")
        local launch = m.f(1, 1)
        for _ = 1, 60 do
          if jit then jit.flush() end -- so that registers are assigned anew
          for _ = 1, 100 do
            launch({ a = 1, b = 4, p = p }, out)
            assert(not pcall(launch, { 3, 2, p }, out))
            assert(not pcall(launch, { a = 3, b = 4, p = p, c = 3 }, out))
            assert(not pcall(launch, { a = 3, b = 4, p = 3 }, out))
          end
        end
        print(out[1])
      ]]
      assert.is_true(result.ok, result.output)
      assert.matches("6000", result.output)
    end
  end)
end)
