-- Errors: their fields, positions and messages.

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local suite = require "support.suite"
local failure = require "support.failure"

-- The line of this function's caller.
local function line() return debug.getinfo(2, "l").currentline end

local here = debug.getinfo(1, "S").source:sub(2)

-- Run a script of its own; its output and standard error together.
local function run(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local pipe = assert(io.popen(arg[-1] .. " " .. path .. " 2>&1"))
  local output = pipe:read("*a")
  pipe:close()
  os.remove(path)
  return output, path
end

describe("misuse", function()
  it("raises an error object that points at the caller", function()
    local a = mw.zeros(3)
    local err, at = failure(function() return a[7] end), line()
    assert.equal("error", mw.type(err))
    assert.equal("usage", err.kind)
    assert.equal("cudaErrorInvalidValue", err.code)
    assert.equal(here, err.file)
    assert.equal(at, err.line)
    assert.equal(here .. ":" .. at, err.where)
    assert.equal(("%s:%d: 7 is outside 1..3"):format(here, at), tostring(err))
  end)

  it("points at the caller, also through the Lua layer", function()
    local err, at = failure(function() mw.zeros() end), line()
    assert.equal(at, err.line)
    err, at = failure(function() mw.zeros(4):reshape(3) end), line()
    assert.equal(at, err.line)
    err, at = failure(function() mw.compile(7) end), line()
    assert.equal(at, err.line)
    err, at = failure(function() mw.cdiv(1, 0) end), line()
    assert.equal(at, err.line)
    assert.equal(here, err.file)
  end)

  it("has a traceback that begins at the caller", function()
    local function helper() mw.zeros("x") end
    local err = failure(function() helper() end)
    assert.matches("^stack traceback:\n[^\n]*error_spec.lua:%d+: in [^\n]*helper", err.traceback)
  end)

  it("is raised even by the forms that return errors", function()
    assert.equal("usage", failure(mw.try_compile, 5).kind)
    assert.equal("usage", failure(mw.try_load).kind)
  end)

  it("names the kernel it is about", function()
    local m = mw.compile "__global__ void f(int n) {}"
    assert.equal("f", failure(m.f(1, 1), "x").kernel)
    assert.equal("f", failure(m.f(1, 1), 1.5).kernel)
    assert.equal("f", failure(m.f(1, 1)).kernel)
  end)
end)

describe("a compile error", function()
  it("has the script's file, line and column", function()
    local first = line() + 1
    local m, err = mw.try_compile [[
      __global__ void f(int *p) {
        p[0] = missing;
      }
    ]]
    assert.is_nil(m)
    assert.equal("compile", err.kind)
    assert.equal("cudaErrorInvalidSource", err.code)
    assert.equal(here, err.file)
    assert.equal(first + 2, err.line)
    assert.equal(16, err.column)
    assert.matches("missing", err.message)
  end)

  it("reads as the compiler wrote it, in the script's words, with a caret", function()
    local first = line() + 1
    local _, err = mw.try_compile [[
      __global__ void f(int *p) {
        p[0] = missing;
      }
    ]]
    local text = tostring(err)
    local place = ("%s:%d:16: error: "):format(here, first + 2)
    assert.is_truthy(text:find(place, 1, true), text)
    assert.matches("\n[^\n]* p%[0%] = missing;\n[^\n]*%^", text)
    assert.is_nil(text:find("kernel.cu", 1, true), text)
  end)

  it("finds a text that was assigned before", function()
    local first = line() + 1
    local text = [==[

      __global__ void f() {
        broken(1);
      }
    ]==]
    local filler = "x"
    local _, err = mw.try_compile { source = text }
    assert.equal(here, err.file)
    assert.equal(first + 3, err.line)
    assert.equal("x", filler)
  end)

  it("takes the nearest of several equal texts", function()
    local _, one = mw.try_compile [[__global__ void f() { twin; }]]
    local at_one = line() - 1
    local _, two = mw.try_compile [[__global__ void f() { twin; }]]
    local at_two = line() - 1
    assert.equal(at_one, one.line)
    assert.equal(at_two, two.line)
  end)

  it("finds a text in a function that called the one that compiles", function()
    local function build(text) return mw.try_compile(text) end
    local first = line() + 1
    local _, err = build [[
      __global__ void f() { elsewhere; }
    ]]
    assert.equal(first + 1, err.line)
  end)

  it("in a string of one line has the line of the call", function()
    local _, err = mw.try_compile("__global__ void f() { \"\"; no" .. "where; }")
    assert.equal(line() - 1, err.line)
    assert.equal(here, err.file)
  end)

  it("in a text that is not in the script has the text's own lines, and names the line that compiled it", function()
    local text = table.concat({ "__global__ void f() {", "", "  gone;", "}" }, "\n")
    local _, err = mw.try_compile(text)
    local at = line() - 1
    assert.equal("kernel.cu", err.file)
    assert.equal(3, err.line)
    assert.equal(here .. ":" .. at, err.where)
    assert.is_truthy(tostring(err):find(err.where, 1, true), tostring(err))
  end)

  it("takes the name that it is given", function()
    local _, err = mw.try_compile { source = "\n__global__ void f() { gone; }", name = "blur.cu" }
    assert.equal("blur.cu", err.file)
    assert.equal(2, err.line)
  end)

  it("names a header that is at fault", function()
    local _, err = mw.try_compile {
      source = '#include "h.h"\n__global__ void f() {}',
      headers = { ["h.h"] = "\n\nint broken(;\n" },
    }
    assert.matches("h%.h$", err.file)
    assert.equal(3, err.line)
  end)

  it("is raised by mw.compile with the same words", function()
    local text = "__global__ void f() { same; }"
    local err = failure(mw.compile, { source = text, name = "n.cu" })
    local _, other = mw.try_compile { source = text, name = "n.cu" }
    assert.equal(other.message, err.message)
    assert.equal(other.log, err.log)
  end)

  it("ends a script that does not catch it", function()
    local output, path = run [[
local mw = require "moonwarp"
mw.compile [=[
__global__ void f(float *x) {
  x[0] = y;
}
]=]
]]
    assert.is_truthy(output:find(path .. ":4:10: error:", 1, true), output)
    assert.is_truthy(output:find("x[0] = y;", 1, true), output)
    assert.is_truthy(output:find("^", 1, true), output)
  end)
end)

describe("an error that is not caught", function()
  it("ends with a traceback, as Lua's own do", function()
    local output, path = run [[
local mw = require "moonwarp"
local function helper() mw.zeros("x") end
helper()
]]
    assert.is_truthy(output:find(path .. ":2: a shape is a whole number", 1, true), output)
    assert.is_truthy(output:find("stack traceback:\n", 1, true), output)
    if not rawget(_G, "jit") then -- whose interpreter has a traceback of its own, from inside the library
      assert.is_truthy(output:find("stack traceback:\n\t" .. path .. ":2: in ", 1, true), output)
    end
    assert.is_truthy(output:find(path .. ":3: in main chunk", 1, true), output)
  end)

  it("is another matter once it is caught", function()
    local output = run [[
local mw = require "moonwarp"
print(pcall(mw.zeros, "x")) print(select(2, pcall(mw.zeros, "x")))
local ok, err = pcall(mw.zeros, "x")
print(err)
]]
    assert.is_nil(output:find("traceback", 1, true), output)
    assert.equal(3, select(2, output:gsub("a shape is", "")))
  end)
end)

describe("a kernel's failure", function()
  local m = mw.compile [[
__global__ void boom(int *p, int at) {
  if (blockIdx.x == 3 && threadIdx.x == 5)
    __trap();
  p[0] = 1;
}
]]

  suite.apart(it, "is raised by the next that waits, and once", function()
    m.boom(8, 32)(mw.zeros(1, "int"), 0)
    local err = failure(mw.synchronize)
    assert.equal("kernel", err.kind)
    assert.equal("boom", err.kernel)
    if not suite.on_gpu then mw.synchronize() end -- a fault makes a GPU unusable
  end)

  it("is raised by every function that reads results", function()
    if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
    for _, read in ipairs {
      function(a) return a[1] end,
      function(a) return a:totable() end,
      function(a) return a:bytes() end,
      function(a) return a:sum() end,
      function(a) return tostring(a) end,
    } do
      local a = mw.zeros(1, "int")
      m.boom(8, 32)(a, 0)
      assert.equal("kernel", failure(read, a).kind)
      assert.has_no_error(function() return a[1] end) -- it is reported once
    end
  end)

  it("names the block, and the line of the launch", function()
    if suite.on_gpu then return pending "CPU device only: CUDA does not tell the block" end
    m.boom(8, 32)(mw.zeros(1, "int"), 0)
    local at = line() - 1
    local err = failure(mw.synchronize)
    assert.same({ 3, 0, 0 }, err.block)
    assert.is_truthy(tostring(err):find(("%s:%d"):format(here, at), 1, true), tostring(err))
  end)

  it("names the line of each launch, whatever called it", function()
    if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
    local x = mw.zeros(1, "int")
    local launch, first = m.boom(8, 32), line() + 2
    local function one(way)
      if way == 1 then launch(x, 0) end
      if way == 2 then launch(x, 0) end
      if way == 3 then pcall(launch, x, 0) end
      if way == 4 then coroutine.wrap(function() launch(x, 0) end)() end
    end
    for _ = 1, 3 do -- the same line again is not looked for as it was the first time
      for way = 1, 4 do
        one(way)
        local text = tostring(failure(mw.synchronize))
        assert.is_truthy(text:find(("launched at %s:%d"):format(here, first + way - 1), 1, true), way .. ": " .. text)
      end
    end
  end)

  it("names the script's line of launches that the library makes at one place", function()
    if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
    local sum = mw.reduce { map = "(x == 3 ? (__trap(), x) : x)", combine = "a + b", init = 0 }
    local good, bad, out = mw.zeros(2, 40), mw.full({ 2, 40 }, 3), mw.zeros(2)
    sum(good, { axis = 2, out = out })
    sum(good, { axis = 2, out = out })
    sum(bad, { axis = 2, out = out })
    local at = line() - 1
    local text = tostring(failure(mw.synchronize))
    assert.is_truthy(text:find(("launched at %s:%d"):format(here, at), 1, true), text)
  end)

  it("leaves arrays and the next launch working", function()
    if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
    local a, b = mw.ones(100), mw.zeros(1, "int")
    m.boom(8, 32)(b, 0)
    pcall(mw.synchronize)
    assert.equal(100, a:sum())
    m.boom(1, 32)(b, 0)
    mw.synchronize()
    assert.equal(1, b[1])
  end)
end)

describe("a device", function()
  it("that is not there is an error, or nil and one", function()
    local err = failure(mw.use, "no such device")
    assert.equal("cudaErrorInvalidDevice", err.code)
    local device, other = mw.try_use("no such device")
    assert.is_nil(device)
    assert.equal(err.message, other.message)
    local before = mw.device()
    assert.equal(mw.use "cpu", mw.use "cpu:0")
    assert.equal("cpu:0", tostring(mw.device()))
    mw.use(before.name)
    assert.equal(before, mw.device())
  end)

  it("has facts, limits and memory", function()
    local p = mw.properties()
    assert.equal(32, p.warp_size)
    assert.equal(suite.on_gpu and "cuda" or "cpu", p.driver)
    assert.same({ 1024, 1024, 64 }, p.max_block)
    assert.same(p, mw.device():properties())
    local old = mw.limit("time", 5)
    assert.equal(5, mw.limit "time")
    mw.limit("time", old)
    assert.equal(old, mw.device():limit "time")
    assert.matches('mw.limit wants "time"', failure(mw.limit, "tiem").message)
    assert.is_string(failure(mw.limit, "time", -1).message)
    assert.matches("wants a number as value", failure(mw.limit, "time", "x").message)
    collect()
    local before = mw.memory()
    local a = mw.zeros(1000)
    assert.equal(before.count + 1, mw.memory().count)
    assert.is_true(mw.memory().bytes >= before.bytes + 4000)
    assert.is_true(mw.memory().peak >= mw.memory().bytes)
    a:free()
  end)
end)

describe("mw", function()
  it("rounds up by cdiv", function()
    assert.equal(391, mw.cdiv(100000, 256))
    assert.equal(1, mw.cdiv(1, 256))
    assert.equal(0, mw.cdiv(0, 256))
    assert.equal(4, mw.cdiv(1024, 256))
    assert.equal("integer", math.type(mw.cdiv(10, 3)))
    assert.matches("wants a whole number as a, got the number 1.5", failure(mw.cdiv, 1.5, 2).message)
    assert.matches("wants a whole number as b, got nil", failure(mw.cdiv, 5).message)
  end)

  it("has a time that does not run backwards", function()
    local before = mw.time()
    for _ = 1, 100 do
      local now = mw.time()
      assert.is_true(now >= before)
      before = now
    end
  end)

  it("sets no global", function()
    local output = run [[
local before = {}
for name in pairs(_G) do before[name] = true end
local mw = require "moonwarp"
mw.compile("__global__ void f() {}").f(1, 1)()
print(mw.zeros(3), mw.cache.hits)
for name in pairs(_G) do if not before[name] then print("global " .. name) end end
]]
    assert.is_nil(output:find("global ", 1, true), output)
    assert.matches("^float {3} on", output)
  end)
end)
