-- Failures of kernels that the script did not wait for: they are reported at the end of the script, whose status is not
-- 0.

local child = require "support.child"
local suite = require "support.suite"

-- CUDA does not say which address it was.
local wild = suite.on_gpu and "kernel wild read or wrote memory that no array holds; wild launched at [^\n]*:%d+%. " or
  "kernel wild wrote to address [^\n]*; launched at [^\n]*:%d+\n"

local script = [[
local mw = require "moonwarp"
local m = mw.compile "__global__ void wild(int *p) { p[1 << 28] = 1; }"
m.wild(1, 1)(mw.zeros(4, "int"))
]]

local function count(text, pattern) return (select(2, text:gsub(pattern, ""))) end

describe("a kernel's failure that nothing waits for", function()
  it("is reported at the end of the script, whose status is not 0", function()
    local result = child(script)
    assert.matches("^moonwarp: " .. wild, result.output)
    assert.equal(1, count(result.output, "kernel wild"))
    assert.is_false(result.ok)
    assert.equal("exit", result.how)
    assert.equal(1, result.code)
  end)

  it("is reported after the script's output, which is not lost", function()
    local result = child('io.write "before, unflushed"\n' .. script)
    assert.matches("before, unflushed", result.output)
    assert.equal(1, result.code)
  end)

  it("is not reported twice", function()
    local result = child(script .. "print(pcall(mw.synchronize))")
    assert.equal(1, count(result.output, "kernel wild"))
    assert.is_true(result.ok)
    if suite.on_gpu then return end -- which is lost
    assert.is_true(child(script .. "assert(not pcall(mw.synchronize)) local a = mw.ones(3)").ok)
  end)

  it("is not reported if kernels did not fail", function()
    local result = child [[
      local mw = require "moonwarp"
      mw.compile("__global__ void tame(int *p) { *p = 1; }").tame(1, 1)(mw.zeros(4, "int"))
    ]]
    assert.equal("", result.output)
    assert.is_true(result.ok)
  end)

  it("leaves the status to a program that is not an interpreter", function()
    local result = child("arg = nil\n" .. script)
    assert.matches("^moonwarp: " .. wild, result.output)
    assert.is_true(result.ok)
  end)
end)
