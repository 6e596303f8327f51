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

describe("a forked child", function()
  it("is told that its parent's device is lost, whatever it asks of it, and opens one of its own", function()
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
]], environment = { MOONWARP_DEVICE = "cpu" }, seconds = 60 }
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
