-- The two bindings return the same raw table, and choosing between them. The whole suite runs on both (make test).

local suite = require "support.suite"
local child = require "support.child"

local function luajit()
  local pipe = io.popen "command -v luajit"
  local path = pipe:read "*a"
  pipe:close()
  return path ~= ""
end

-- The names in a binding's raw table, before the Lua layer adds its own; classes and properties by class.
local list_names = [[
local raw = require(arg[1])
local later = package.loaded["moonwarp.ffi.lazy_loading"]
if later then later.all() end
local names = {}
local function add(prefix, part)
  for name, value in pairs(part) do
    local group = prefix == "" and (name == "classes" or name == "properties")
    if type(value) == "table" and (group or prefix:find "^%l+%.$") then
      add(prefix .. name .. ".", value)
    else
      names[#names + 1] = prefix .. name .. ": " .. (name == "null" and "address" or type(value))
    end
  end
end
add("", raw)
table.sort(names)
print(table.concat(names, "\n"))
]]

local function names_of(module)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(list_names)
  file:close()
  local pipe = assert(io.popen(("luajit %s %s 2>&1"):format(path, module)))
  local text = pipe:read "*a"
  pipe:close()
  os.remove(path)
  return text
end

describe("the bindings", function()
  it("return raw tables with the same names", function()
    if not luajit() then return pending "there is no LuaJIT" end
    local c, ffi = names_of "moonwarp.core", names_of "moonwarp.ffi"
    assert.matches("array_new: function", c)
    assert.matches("classes%.array%.host: function", c)
    assert.equal(c, ffi)
  end)

  it("are chosen by MOONWARP_BINDING, and rightly by themselves", function()
    local script = 'local mw = require "moonwarp" print(mw.binding, mw.ones(3):sum() == 3)'
    local automatic = child { script, environment = { MOONWARP_BINDING = "" } }
    assert.equal((rawget(_G, "jit") and "ffi" or "c") .. "\ttrue\n", automatic.output)
    assert.equal("c\ttrue\n", child { script, environment = { MOONWARP_BINDING = "c" } }.output)
    local ffi = child { script, environment = { MOONWARP_BINDING = "ffi" } }.output
    if rawget(_G, "jit") then
      assert.equal("ffi\ttrue\n", ffi)
    else
      assert.matches("MOONWARP_BINDING is 'ffi', which needs LuaJIT; this is Lua 5.4, so write 'c'", ffi)
    end
    local wrong = child { script, environment = { MOONWARP_BINDING = "cffi" } }.output
    assert.matches("MOONWARP_BINDING is 'cffi'; moonwarp has the bindings 'c' and 'ffi'", wrong)
  end)

  it("may be loaded again: objects of the first time stay good", function()
    local result = child [[
      local first = require "moonwarp"
      local m = first.compile "__global__ void f(float *p, float v) { p[threadIdx.x] = v; }"
      local a = first.zeros(4)
      for name in pairs(package.loaded) do
        if name:find "^moonwarp" then package.loaded[name] = nil end
      end
      collectgarbage()
      local second = require "moonwarp"
      assert(second ~= first)
      m.f(1, 4)(a, 3)
      local b = second.zeros(4)
      m.f(1, 4)(b, 4)
      print(second.type(a), a:sum() + b:sum() == 28, tostring(a):find "^float {4}" ~= nil)
      local ok, err = pcall(second.zeros, "x")
      print(ok, second.type(err), first.type(err), err.where:match ":(%d+)$")
    ]]
    assert.equal("array\ttrue\ttrue\nfalse\terror\terror\t15\n", result.output)
    assert.is_true(result.ok)
  end)

  it("load rarely used files on demand, even if package.path has changed", function()
    local result = child { [[
      local mw = require "moonwarp"
      for _, name in ipairs { "graph", "texture.texture", "diagnostics.memory_trace", "show.text",
        "ffi.texture.texture", "ffi.array.bulk_conversion" } do
        if package.loaded["moonwarp." .. name] then print("too early: " .. name) end
      end
      local poll = mw.poll
      for name in pairs(package.loaded) do
        if name:find "^moonwarp" then package.loaded[name] = nil end
      end
      package.path = ""
      local m = mw.compile [=[
        struct pair { int a; float *to; };
        texture<float, 1> image;
        __constant__ pair both;
        __global__ void f(float *p) { *p += both.a + tex1Dfetch(image, 1); }
      ]=]
      local a = mw.array { 1, 2, 3 }
      m.both = { a = 40, to = a }
      m.image = mw.texture(a, { read = "element" })
      local g = mw.capture(function() m.f(1, 1)(a) end)
      g:instantiate():launch()
      print(a:totable()[1] == 43, tostring(a):match "^float {3}", poll(), mw.capability("8.0").major)
      a[2] = 5
      print(mw.occupancy({ threads = 64, capability = "8.0" }).blocks, #a:bytes(), mw.stream():query())
      local rows = mw.pitched(2, 3):copy_from { { 1, 2, 3 }, { 4, 5, 6 } }
      print(rows:array():sum() == 21, mw.memory().live, mw.type(a:host()))
    ]], environment = { MOONWARP_DEVICE = "cpu" } } -- where memory is the host's, too
    assert.equal("true\tfloat {3}\t0\t8\n32\t12\ttrue\ntrue\tnil\thost\n", result.output)
  end)

  it("may be loaded again: memory of the first time stays allocated", function()
    local result = child [[
      local first = require "moonwarp.runtime"
      local p = first.malloc(4, "int")
      p[0] = 7
      for name in pairs(package.loaded) do
        if name:find "^moonwarp" then package.loaded[name] = nil end
      end
      collectgarbage()
      collectgarbage()
      print(p[0], (require "moonwarp.runtime".cudaMallocHost(4)))
    ]]
    assert.equal("7\t0\n", result.output)
  end)
end)

describe("a 64-bit integer", function()
  local mw = require "moonwarp"
  local m = mw.compile [[
    __global__ void add(long long a, unsigned long long b, long long *x, unsigned long long *y) { *x += a; *y += b; }
    __device__ long long big;
  ]]

  -- 2^53 + 1, which no double is, out of the bytes.
  local odd = mw.from_bytes("\1\0\0\0\0\0\32\0", "longlong")[1]
  local top = mw.from_bytes(("\255"):rep(8), "ulonglong")[1]

  it("is read as it is", function()
    assert.equal("9007199254740993", (tostring(odd):gsub("LL$", "")))
    assert.equal(("\255"):rep(8), mw.array({ top }, "ulonglong"):bytes())
  end)

  it("is stored in arrays, arguments and variables unchanged", function()
    local x, y = mw.zeros(1, "longlong"), mw.zeros(1, "ulonglong")
    m.add(1, 1)(odd, top, x, y)
    assert.equal("\1\0\0\0\0\0\32\0", x:bytes())
    assert.equal(("\255"):rep(8), y:bytes())
    x[1] = odd
    y[1] = top
    m.add(1, 1):bind(odd, 1, x, y)()
    assert.equal("\2\0\0\0\0\0\64\0", x:bytes())
    assert.equal(("\0"):rep(8), y:bytes())
    m.big = odd
    assert.equal(odd, m.big)
    assert.equal("\1\0\0\0\0\0\32\0", m:symbol("big"):bytes())
    if not suite.on_gpu then assert.equal(odd, mw.array({ odd }, "longlong"):host()[1]) end
    assert.equal("18014398509481986", (tostring(mw.array({ odd, odd }, "longlong"):sum()):gsub("LL$", "")))
  end)

  it("is refused where it does not fit", function()
    local a = mw.zeros(1, "int")
    local ok, err = pcall(function() a[1] = odd end)
    assert.is_false(ok)
    assert.matches("9007199254740993", err.message)
    assert.equal(0, a[1])
    a = mw.zeros(1, "double")
    a[1] = odd -- rounded, as C converts it
    assert.equal(2 ^ 53, a[1])
  end)

  it("is a plain number wherever it fits one", function()
    local a = mw.array({ 5, -6 }, "longlong")
    assert.equal("number", type(a[1]))
    assert.equal(-1, a:sum())
    assert.equal("number", type(mw.array({ 7 }, "ulonglong"):totable()[1]))
  end)
end)

describe("require \"moonwarp\"", function()
  it("loads rarely used parts on demand, and knows their names", function()
    local result = child [[
      local mw = require "moonwarp"
      local before = {}
      for name, value in pairs(mw) do before[name] = value end
      for _, part in ipairs { "graph", "texture.texture_memory", "texture.texture" } do
        assert(package.loaded["moonwarp." .. part] == nil, part .. " is there")
        for name, value in pairs(require("moonwarp." .. part)) do
          assert(type(value) == type(before[name]), part .. " has more: " .. name)
        end
      end
      assert(mw.pitched == before.pitched)
      mw.pitched(2, 3)
      assert(mw.pitched ~= before.pitched)
      assert(mw.type(before.graph()) == "graph")
      print "good"
    ]]
    assert.equal("good\n", result.output)
  end)
end)
