-- Lua functions that streams call: order, threads, errors.

local mw = require "moonwarp"
local suite = require "support.suite"
local failure = require "support.failure"

local m = mw.compile [[
__global__ void add(int n, int d, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += d;
}
// One thread that takes its time, and then sets what it was given.
__global__ void slow(int rounds, int value, int *x) {
  volatile int t = 0;
  for (int i = 0; i < rounds; i++) t = t + 1;
  *x = value;
}
__global__ void nothing() {}
]]

local ROUNDS = 3000000 -- of slow: some milliseconds

describe("a function that a stream calls", function()
  it("is called after the work before it and before the work after it", function()
    local s, x, seen = mw.stream(), mw.zeros(1, "int"), nil
    m.slow(1, 1, 0, s)(ROUNDS, 1, x)
    s:call(function() seen = x[1] end)
    m.add(1, 1, 0, s)(1, 1, x)
    assert.equal(s, s:call(function() seen = seen * 10 + x[1] end))
    assert.is_nil(seen)
    s:synchronize()
    assert.equal(12, seen)
    assert.equal(2, x[1])
  end)

  it("is called by a thread that waits or reads", function()
    for _, wait in ipairs {
      function(s) s:synchronize() end,
      function() mw.synchronize() end,
      function(_, x) return x[1] end,
      function(_, x) x[1] = 5 end,
      function(_, x) x:copy_from { 1 } end,
      function(_, x) return x:sum() end,
      function(s) s:record():synchronize() end,
      function(s) while not s:query() do end end,
      function() while mw.poll() == 0 do end end,
    } do
      local s, x, called = mw.stream(), mw.zeros(1, "int"), false
      s:call(function() called = true end)
      wait(s, x)
      assert.is_true(called)
    end
  end)

  it("runs on Lua's thread, not on the stream's", function()
    local s, x, log = mw.stream(), mw.zeros(1, "int"), {}
    for i = 1, 100 do
      m.add(1, 1, 0, s)(1, 1, x)
      s:call(function() log[i] = x[1] end)
    end
    mw.synchronize()
    for i = 1, 100 do assert.equal(i, log[i]) end
  end)

  it("may queue more work and more calls", function()
    local s, x, order = mw.stream(), mw.zeros(1, "int"), {}
    s:call(function()
      order[#order + 1] = "first"
      m.add(1, 1, 0, s)(1, 1, x)
      s:call(function() order[#order + 1] = "third" end)
    end)
    s:call(function() order[#order + 1] = "second" end)
    mw.synchronize()
    assert.same({ "first", "second", "third" }, order)
    assert.equal(1, x[1])
  end)

  it("passes its error to the call that waits, and the stream continues", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    s:call(function() error("in the middle", 0) end)
    m.add(1, 1, 0, s)(1, 1, x)
    assert.equal("in the middle", failure(s.synchronize, s))
    s:synchronize()
    assert.equal(1, x[1])
  end)

  it("holds up no more than the queue of a stream", function()
    if suite.on_gpu then return pending "CPU device only: CUDA's queues hold some 1000 launches" end
    local s, x = mw.stream(), mw.zeros(1, "int")
    s:call(function() end)
    for _ = 1, 3000 do m.add(1, 1, 0, s)(1, 1, x) end
    assert.equal(3000, x[1])
  end)

  it("is not called if the script ends before", function()
    local result = require "support.child" [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void nothing() {}"
      local s = mw.stream()
      s:call(function() print "called" end)
      m.nothing(1, 1, 0, s)()
      print "end"
    ]]
    assert.equal("end\n", result.output)
    assert.is_true(result.ok)
  end)
end)
