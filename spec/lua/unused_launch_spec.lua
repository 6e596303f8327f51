-- Launches that were configured and never called: reported with their line when they are collected or the state closes.

local child = require "support.child"

local head = [==[
local mw = require "moonwarp"
local m = mw.compile [[
extern "C" __global__ void k(int *p) { p[threadIdx.x] = 1; }
extern "C" __global__ void other() {}
]]
local x = mw.zeros(4, "int")
]==]
local function output(script) return child(head .. script).output end

local function count(text) return select(2, text:gsub("never called", "")) end

describe("a launch that was configured and never called", function()
  it("is reported with its line at the end of the script", function()
    local text = output 'io.stderr:write(debug.getinfo(1, "l").currentline, "\\n") m.k(1, 4)\nm.k:each(8)\n'
    local first = tonumber(text:match "^%d+")
    assert.matches((":%d: warning: a launch of k was configured here and never called: the arguments are given in a " ..
      "second call, k%%(grid, block%%)%%(arguments%%)\n"):format(first), text)
    assert.matches((":%d: warning: a launch of k was"):format(first + 1), text)
    assert.equal(2, count(text))
  end)

  it("is reported when it is collected, once for each line", function()
    local text = output [[
for i = 1, 3 do
  m.k(i, 4)
  m.k(1, 4)(x)
end
collectgarbage() collectgarbage()
print "collected"
]]
    assert.matches("never called.*collected\n$", text)
    assert.equal(1, count(text))
  end)

  it("is not reported if it was called, bound or inspected, or its arguments were refused", function()
    assert.equal("", output [[
m.k(1, 4)(x)
m.k:each(4)(x)
m.k(1, 2):bind(x)
local grid = m.k(7, 1).grid
m.other(1, 1)()
local later = m.k(2, 2)
mw.synchronize()
later(x)
pcall(m.k(1, 3))
pcall(m.k, 1, 5000)
m = nil
collectgarbage() collectgarbage()
]])
  end)

  it("is handled like other warnings", function()
    assert.equal("", output "mw.warnings(false)\nm.k(1, 4)\n")
    assert.equal("warning\tk\ttrue\n", output [[
local line = debug.getinfo(1, "l").currentline + 2
mw.warnings(function(w) print(w.kind, w.message:match "launch of (%a+)", w.line == line) end)
m.k(1, 4)
]])
    assert.equal("", output "mw.warnings(function() error 'no' end)\nm.k(1, 4)\n")
  end)
end)
