-- Streams and events: order, waiting, and Lua functions that streams call.

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
__global__ void copy(const int *from, int *to) { *to = *from; }
// Ends when another kernel has set *flag.
__global__ void await(volatile int *flag, int *seen) {
  for (long long i = 0; i < 2000000000ll && !*flag; i++) __nanosleep(100);
  *seen = *flag;
}
__global__ void set(volatile int *flag) { *flag = 1; }
// Takes a number that says when its block was begun.
__global__ void order(int *counter, int *out) {
  volatile int t = 0;
  for (int i = 0; i < 20000; i++) t = t + 1;
  out[blockIdx.x] = atomicAdd(counter, 1);
}
__global__ void wild(int *x) { x[1 << 28] = 1; }
__global__ void nothing() {}
]]

local ROUNDS = 3000000 -- of slow: some milliseconds

describe("a stream", function()
  it("runs its work in order", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    m.slow(1, 1, 0, s)(ROUNDS, 1, x)
    for _ = 1, 50 do m.add(1, 1, 0, s)(1, 1, x) end
    s:synchronize()
    assert.equal(51, x[1])
  end)

  it("says whether all is done", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    assert.is_true(s:query())
    local go = false
    s:call(function() go = true end)
    m.add(1, 1, 0, s)(1, 1, x)
    assert.is_true(s:query() == false or go)
    s:synchronize()
    assert.is_true(s:query())
    assert.equal(1, x[1])
  end)

  it("overlaps with others where there are workers for both", function()
    if mw.properties().multiprocessors < 2 then return pending("one worker") end
    local a, b = mw.stream(), mw.stream()
    local flag, seen = mw.zeros(1, "int"), mw.zeros(1, "int")
    m.await(1, 1, 0, a)(flag, seen)
    m.set(1, 1, 0, b)(flag)
    assert.equal(1, seen[1])
  end)

  it("waits for an event of another", function()
    local a, b = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    local x, y = mw.zeros(1, "int"), mw.zeros(1, "int")
    mw.synchronize()
    m.slow(1, 1, 0, a)(ROUNDS, 7, x)
    b:wait(a:record())
    m.copy(1, 1, 0, b)(x, y)
    b:synchronize()
    assert.equal(7, y[1])
    assert.is_true(a:query())
  end)

  it("waits for another as it is now", function()
    local a, b = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    local x, y = mw.zeros(1, "int"), mw.zeros(1, "int")
    mw.synchronize()
    m.slow(1, 1, 0, a)(ROUNDS, 7, x)
    assert.equal(b, b:wait(a))
    m.slow(1, 1, 0, a)(10, 8, mw.zeros(1, "int"))
    m.copy(1, 1, 0, b)(x, y)
    b:synchronize()
    assert.equal(7, y[1])
  end)

  it("does not wait for an event that was never recorded", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    s:wait(mw.event())
    m.add(1, 1, 0, s)(1, 1, x)
    s:synchronize()
    assert.equal(1, x[1])
  end)

  it("waits along a chain of streams", function()
    local x = mw.zeros(1, "int")
    mw.synchronize()
    local before = mw.stream { nonblocking = true }
    m.slow(1, 1, 0, before)(ROUNDS, 1, x)
    for _ = 1, 20 do
      local after = mw.stream { nonblocking = true }
      after:wait(before)
      m.add(1, 1, 0, after)(1, 1, x)
      before = after
    end
    before:synchronize()
    assert.equal(21, x[1])
  end)

  it("keeps itself and the objects that its work uses alive without the script", function()
    local seen = mw.zeros(1, "int")
    do
      local s, x = mw.stream(), mw.full(1, 5, "int")
      m.slow(1, 1, 0, s)(ROUNDS, 6, x)
      m.copy(1, 1, 0, s)(x, seen)
      x:free()
      s:free()
    end
    collectgarbage()
    assert.equal(6, seen[1])
  end)

  it("is refused once it is closed, and where it is not one", function()
    local s = mw.stream()
    local launch = m.nothing(1, 1, 0, s)
    s:free()
    s:free()
    assert.matches("closed", failure(launch).message)
    assert.matches("closed", failure(s.query, s).message)
    assert.matches("closed", failure(m.nothing, 1, 1, 0, s).message)
    assert.matches("stream", failure(m.nothing, 1, 1, 0, "fast").message)
    assert.matches("no option 'nonblock'", failure(mw.stream, { nonblock = true }).message)
    assert.matches("whole number", failure(mw.stream, { priority = 0.5 }).message)
  end)

  it("reports its own kernel's failure, once, and other streams go on", function()
    if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
    local a, b, x = mw.stream(), mw.stream(), mw.zeros(1, "int")
    m.wild(1, 1, 0, a)(x)
    m.add(1, 1, 0, b)(1, 1, x)
    b:synchronize()
    local err = failure(a.synchronize, a)
    assert.equal("cudaErrorIllegalAddress", err.code)
    assert.equal("wild", err.kernel)
    a:synchronize()
    mw.synchronize()
    assert.equal(1, x[1])
  end)

  suite.apart(it, "reports a failure to whoever waits for the device, even when it is closed", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    m.wild(1, 1, 0, s)(x)
    s:free()
    assert.equal("wild", failure(mw.synchronize).kernel)
    if not suite.on_gpu then mw.synchronize() end -- a fault makes a GPU unusable
  end)

  it("has its properties as fields", function()
    local least, greatest = mw.stream_priorities()
    assert.is_true(greatest < least)
    local s = mw.stream { priority = greatest - 10, nonblocking = true }
    assert.equal(greatest, s.priority)
    assert.equal("non-blocking", s.kind)
    assert.equal("legacy", mw.default_stream().kind)
    assert.equal(mw.device(), s.device)
    assert.equal("stream", mw.type(s))
    assert.equal("event", mw.type(mw.event()))
    assert.matches("non%-blocking", tostring(s))
  end)

  it("of a higher priority runs first", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has room for both at once" end
    local high, low = mw.stream { priority = -5 }, mw.stream { priority = 0 }
    local gate, counter = mw.stream(), mw.zeros(1, "int")
    local first, second = mw.zeros(64, "int"), mw.zeros(64, "int")
    -- Both wait for the same event, and the stream of low priority was queued first.
    gate:call(function() end)
    local start = gate:record()
    low:wait(start)
    high:wait(start)
    m.order(64, 1, 0, low)(counter, second)
    m.order(64, 1, 0, high)(counter, first)
    mw.synchronize()
    assert.equal(127 * 64, first:sum() + second:sum())
    assert.is_true(first:sum() < second:sum()) -- a thread may take long to run the blocks that it took
  end)
end)

describe("the default stream", function()
  it("waits for the others, and they for it", function()
    local s, x, y = mw.stream(), mw.zeros(1, "int"), mw.zeros(1, "int")
    m.slow(1, 1, 0, s)(ROUNDS, 3, x)
    m.copy(1, 1)(x, y)
    m.add(1, 1, 0, s)(1, 10, y)
    s:synchronize()
    assert.equal(13, y[1])
    m.slow(1, 1)(ROUNDS, 4, x)
    m.copy(1, 1, 0, s)(x, y)
    s:synchronize()
    assert.equal(4, y[1])
  end)

  it("leaves non-blocking ones alone", function()
    local s, x = mw.stream { nonblocking = true }, mw.zeros(1, "int")
    mw.synchronize()
    local other, called = mw.stream(), false
    other:call(function() called = true end) -- the default stream waits for this one …
    m.nothing(1, 1)()
    m.add(1, 1, 0, s)(1, 1, x)
    s:synchronize() -- … and this one for neither
    assert.is_false(called)
    assert.equal(1, x[1])
    assert.is_true(called)
  end)

  it("can be named", function()
    local x = mw.zeros(1, "int")
    m.add(1, 1, 0, mw.default_stream())(1, 1, x)
    mw.default_stream():synchronize()
    assert.equal(1, x[1])
  end)
end)

describe("an event", function()
  it("takes the time", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    local before = s:record()
    m.slow(1, 1, 0, s)(ROUNDS, 1, x)
    local after = s:record()
    local long = s:record()
    s:synchronize()
    assert.is_true(after - before > 0)
    assert.is_true(long - before >= after - before)
    assert.is_true(before - after < 0)
    assert.equal(0, after - after)
  end)

  it("is the last of its records", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    local e, called = s:record(), false
    e:synchronize()
    s:call(function() called = true end)
    m.add(1, 1, 0, s)(1, 1, x)
    s:record(e)
    e:synchronize()
    assert.is_true(called)
    assert.is_true(e:query())
    assert.equal(1, x[1])
  end)

  it("is waited for as it was at the call, even if it is recorded again later", function()
    local a, b, x = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }, mw.zeros(1, "int")
    mw.synchronize()
    local e, called = a:record(), false
    b:wait(e)
    a:call(function() called = true end)
    a:record(e)
    m.add(1, 1, 0, b)(1, 1, x)
    b:synchronize()
    assert.is_false(called)
    e:synchronize()
    assert.is_true(called)
  end)

  it("that was never recorded is done, and has no time", function()
    local never, e = mw.event(), mw.default_stream():record()
    assert.is_true(never:query())
    never:synchronize()
    mw.synchronize()
    local err = failure(function() return e - never end)
    assert.equal("cudaErrorInvalidResourceHandle", err.code)
    assert.matches("first event was never recorded", err.message)
  end)

  it("that is not done has no time yet", function()
    local s = mw.stream()
    local first = s:record()
    s:call(function() end)
    local second = s:record()
    assert.equal("cudaErrorNotReady", failure(function() return second - first end).code)
    s:synchronize()
    assert.is_true(second - first >= 0)
  end)

  it("can do without a time", function()
    local e = mw.event { timing = false }
    e:record()
    e:synchronize()
    local err = failure(function() return e - e end)
    assert.equal("cudaErrorInvalidResourceHandle", err.code)
    assert.matches("without timing", err.message)
    assert.matches("no option", failure(mw.event, { time = true }).message)
  end)

  it("is recorded in the stream of mw.with", function()
    local s, called = mw.stream { nonblocking = true }, false
    local e = mw.event()
    s:call(function() called = true end)
    mw.with(s, e.record, e)
    assert.is_false(e:query() and not called)
    e:synchronize()
    assert.is_true(called)
  end)
end)

describe("mw.with", function()
  it("sends a stretch of a script to a stream", function()
    local s, called = mw.stream { nonblocking = true }, false
    local x, y = mw.zeros(4, "int"), mw.zeros(4, "int")
    mw.synchronize()
    s:call(function() called = true end)
    local a, b = mw.with(s, function(...)
      x:fill(3)
      m.add(1, 4)(4, 1, x)
      y:copy_from(x)
      return ...
    end, "passed", "on")
    assert.same({ "passed", "on" }, { a, b })
    assert.is_false(called)
    s:synchronize()
    assert.is_true(called)
    assert.same({ 4, 4, 4, 4 }, y:totable())
  end)

  it("ends after an error as well, and can be nested", function()
    local a, b = mw.stream(), mw.stream()
    local order = {}
    a:call(function() order[#order + 1] = "a" end)
    mw.with(a, function()
      mw.with(b, function() m.nothing(1, 1)() end)
      b:synchronize() -- nothing of b waits for a
      assert.same({}, order)
      m.nothing(1, 1)()
    end)
    a:synchronize()
    assert.equal("oops", failure(mw.with, b, function() error("oops", 0) end))
    b:call(function() order[#order + 1] = "b" end)
    m.nothing(1, 1, 0, a)()
    a:synchronize() -- work that names no stream is not b's
    assert.same({ "a" }, order)
    mw.synchronize()
    assert.matches("a function", failure(mw.with, a, 5).message)
  end)
end)

describe("host memory", function()
  it("is copied in streams, and kernels take it as it is", function()
    local s = mw.stream()
    local h, d = mw.pinned(1000, "int"), mw.empty(1000, "int")
    h:copy_from(mw.arange(1000, "int"))
    mw.with(s, function()
      d:copy_from(h)
      m.add(4, 256)(1000, 1, d)
      h:copy_from(d)
    end)
    s:synchronize()
    assert.equal(1000, h[1000])
    m.add(4, 256)(1000, 1, h)
    assert.equal(2, h[1])
  end)

  it("can be managed", function()
    local x = mw.managed({ 2, 3 }, "int")
    x:fill(4)
    m.add(1, 32)(6, 1, x)
    assert.same({ { 5, 5, 5 }, { 5, 5, 5 } }, x:totable())
  end)
end)
