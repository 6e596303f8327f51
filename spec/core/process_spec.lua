-- A process and its devices: children that it forks, and further Lua states in it.

local run = require "support.child"

local prelude = [[
local library = os.getenv "MOONWARP_HOME" .. "/test/libprocess.so"
local function load(name) return assert(package.loadlib(library, "process_" .. name)) end
local fork, wait = load "fork", load "wait"
local function tell(...) print(...) io.stdout:flush() end
local function try(name, f, ...)
  local ok, err = pcall(f, ...)
  tell(name, ok and "done" or err.code)
end
local mw = require "moonwarp"
local text = "__global__ void count(volatile int *p, int n) { for (int i = 0; i < n; i++) p[0] += 1; }"
]]

-- The driver's part of what a child inherits is not freed: it is the parent's.
local without_leaks = (os.getenv "ASAN_OPTIONS" or "") .. ":detect_leaks=0"

describe("a forked child", function()
  it("gets an error from every use of its parent's device, and can open one of its own", function()
    local result = run { prelude .. [[
local m, p, q = mw.compile(text), mw.zeros(2, "int"), mw.zeros(2, "int")
local stream, event = mw.stream(), mw.event()
local bound = m.count(1, 1):bind(q, 3)
bound()
mw.synchronize()
m.count(1, 1)(p, 50000000) -- still runs when the process forks
local child = fork()
if child == 0 then
  try("read", function() return p[1] end)
  try("wait", mw.synchronize)
  try("launch", m.count(1, 1), q, 1)
  try("bound", bound)
  try("allocate", mw.zeros, 3)
  try("write", function() q[1] = 4 end)
  try("fill", function() q:fill(1) end)
  try("record", function() stream:record(event) end)
  try("compile", mw.compile, text .. "//")
  try("free", function() p:free() end)
  local _, err = pcall(mw.synchronize)
  tell(err.kind, err.message)
  mw.use "cpu"
  local own = mw.zeros(2, "int")
  mw.compile(text).count(1, 1)(own, 5)
  tell("own", own[1])
  os.exit(7, true)
end
tell("child", wait(child))
tell("parent", p[1], q[1])
]], environment = { MOONWARP_DEVICE = "cpu", ASAN_OPTIONS = without_leaks }, seconds = 60 }
    for what in ("read wait launch bound allocate write fill record compile"):gmatch "%a+" do
      assert.matches(what .. "\tcudaErrorInitializationError", result.output)
    end
    assert.matches("free\tdone", result.output)
    assert.matches("device\tthe device was opened before the process forked", result.output)
    assert.matches("own\t5\n", result.output)
    assert.matches("child\t7\n", result.output)
    assert.matches("parent\t50000000\t3\n", result.output)
    assert.is_true(result.ok)
  end)
end)

describe("states of one process", function()
  local states = prelude .. [[
local open, in_state, close_state = load "open", load "run", load "close"
local other = open()
local function close(state)
  if state then close_state(state) end
  other = nil
end
local function there(code) tell("there", in_state(other, code)) end
in_state(other, "mw = require 'moonwarp' a = mw.full(4, 7, 'int') b = mw.zeros(4, 'int') c = mw.pinned(4, 'int')")
local wild = "__global__ void wild(int *p) { p[1 << 28] = 1; }"
local function code_of(f, ...)
  local ok, err = pcall(f, ...)
  return ok and "done" or err.code
end
local mine = mw.zeros(4, "int")
]]

  local function check(script, expected)
    local result = run { states .. script .. "\nclose(other)", environment = { MOONWARP_DEVICE = "cpu" }, seconds = 60 }
    assert.equal(expected, result.output)
    assert.is_true(result.ok)
  end

  it("receive the failures of their own kernels only, wherever they wait", function()
    check([[
      mw.compile(wild).wild(1, 1)(mine)
      there "mw.synchronize() return 'waited'"
      there "return tostring(a[2])"
      there "b[1] = 3 return tostring(b:sum())"
      there "local s = mw.stream() s:synchronize() s:free() return 'stream'"
      there "mw.default_stream():synchronize() return 'default stream'"
      there "local cuda = require 'moonwarp.runtime' return tostring(cuda.cudaMemcpy(a, b, 16, cuda.cudaMemcpyDefault))"
      tell("here", code_of(mw.synchronize))
      tell("here", code_of(mw.synchronize))
      there "mw.synchronize() return 'waited'"
    ]], "there\twaited\nthere\t7\nthere\t3\nthere\tstream\nthere\tdefault stream\nthere\t0\n" ..
      "here\tcudaErrorIllegalAddress\nhere\tdone\nthere\twaited\n")
  end)

  it("each receive theirs if several failed", function()
    check([[
      mw.compile(wild).wild(1, 1)(mine)
      in_state(other, "m = mw.compile '__global__ void trap() { __trap(); }' m.trap(1, 1)()")
      tell("here", code_of(function() return mine[1] end))
      there "local ok, err = pcall(mw.synchronize) return err.kernel"
      there "return tostring(a[2])"
      tell("here", code_of(function() return mine[1] end))
    ]], "here\tcudaErrorIllegalAddress\nthere\ttrap\nthere\t7\nhere\tdone\n")
  end)

  it("keep their streams' failures, and those of graphs and prepared launches", function()
    check([[
      local s, m = mw.stream(), mw.compile(wild)
      local graph = mw.capture(s, function() m.wild(1, 1, 0, s)(mine) end):instantiate()
      graph:launch(s)
      there "mw.synchronize() return tostring(a:sum())"
      tell("graph", code_of(s.synchronize, s))
      local bound = m.wild(1, 1, 0, s):bind(mine)
      bound()
      there "mw.synchronize() return tostring(a:sum())"
      s:free()
      there "mw.synchronize() return tostring(a:sum())"
      tell("bound", code_of(mw.synchronize))
    ]], "there\t28\ngraph\tcudaErrorIllegalAddress\nthere\t28\nthere\t28\nbound\tcudaErrorIllegalAddress\n")
  end)

  it("do not report another's failure when they are closed", function()
    check([[
      mw.compile(wild).wild(1, 1)(mine)
      in_state(other, "mw.compile '__global__ void tame() {}'.tame(1, 1)()")
      close(other)
      tell("here", code_of(mw.synchronize))
    ]], "here\tcudaErrorIllegalAddress\n")
  end)

  it("report their own when they are closed", function()
    local result = run { states .. [[
      in_state(other, "mw.compile '__global__ void trap() { __trap(); }'.trap(1, 1)()")
      tell("here", code_of(mw.synchronize))
      close(other)
      tell("here", code_of(mw.synchronize))
    ]], environment = { MOONWARP_DEVICE = "cpu" }, seconds = 60 }
    assert.matches("^here\tdone\nmoonwarp: kernel trap [^\n]*\n[^\n]*\nhere\tdone\n$", result.output)
    assert.is_true(result.ok)
  end)

  it("do not take over an owner while a stream's function runs another's code", function()
    check([[
      local s = mw.stream()
      mw.compile(wild).wild(1, 1, 0, s)(mine)
      s:call(function() there "mw.synchronize() return tostring(a[1])" end)
      tell("here", code_of(s.synchronize, s))
    ]], "there\t7\nhere\tcudaErrorIllegalAddress\n")
  end)
end)
