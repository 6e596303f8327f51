-- Nodes of a graph in sequence, which the CPU device runs as one command: order, failures in the middle, changed
-- arguments between launches, and lifetimes of runs in flight.
-- CPU device only: a kernel's fault on a GPU ends the process's use of it

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local failure = require "support.failure"

local m = mw.compile [[
__global__ void multiply(int n, int factor, int offset, unsigned *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + offset;
}
__global__ void mix(int n, const unsigned *a, const unsigned *b, unsigned *c) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * 3 + b[n - 1 - i];
}
__global__ void wild(int *p) { p[1 << 20] = 1; }
__global__ void wild_block(int *p) { if (blockIdx.x == 5 && threadIdx.x == 0) p[1 << 20] = 1; }
__global__ void endless(volatile int *p) { while (*p == 0) {} }
__global__ void count(int *total) { atomicAdd(total, 1); }
__global__ void say(int number) { printf("%d ", number); }
__global__ void deep(int *out) {
  volatile int local[3000];
  for (int i = 0; i < 3000; i++) local[i] = i;
  out[0] += local[2999];
}
]]

local N = 1500

-- ---- any order, compared with a model of plain loops ----

local function fill(_, arrays, models, draw)
  local target, value = draw(#arrays), draw(1000)
  arrays[target]:fill(value)
  return function() for i = 1, N do models[target][i] = value end end
end

local function copy(_, arrays, models, draw)
  local target, source = draw(#arrays), draw(#arrays)
  if source == target then source = target % #arrays + 1 end
  arrays[target]:copy_from(arrays[source])
  return function() for i = 1, N do models[target][i] = models[source][i] end end
end

local function multiply(stream, arrays, models, draw)
  local target, factor, offset, few = draw(#arrays), draw(5), draw(100), draw(2) == 1
  local n, block = few and 64 or N, few and 64 or 2 ^ (4 + draw(4))
  m.multiply(mw.cdiv(n, block), block, 0, stream)(n, factor, offset, arrays[target])
  return function()
    local x = models[target]
    for i = 1, n do x[i] = (x[i] * factor + offset) % 2 ^ 32 end
  end
end

local function mix(stream, arrays, models, draw)
  local c = draw(#arrays)
  local a, b = c % #arrays + 1, (c + 1) % #arrays + 1
  m.mix(mw.cdiv(N, 128), 128, 0, stream)(N, arrays[a], arrays[b], arrays[c])
  return function()
    local x, y, z = models[a], models[b], models[c]
    for i = 1, N do z[i] = (x[i] * 3 + y[N + 1 - i]) % 2 ^ 32 end
  end
end

local function same(models, arrays)
  for k, array in ipairs(arrays) do
    local got = array:totable()
    for i = 1, N do
      if got[i] ~= models[k][i] then
        error(("array %d, element %d: %s, expected %s"):format(k, i, tostring(got[i]), tostring(models[k][i])), 2)
      end
    end
  end
end

describe("nodes one after the other", function()
  it("run in their order, kernels of one block and of many, fills and copies", function()
    local seed = os.time()
    print("seed of graph_chain_spec: " .. seed)
    math.randomseed(seed)
    local function draw(most) return math.random(most) end
    local operations = { fill, copy, multiply, multiply, multiply, mix }
    local s, arrays, models = mw.stream(), {}, {}
    for k = 1, 3 do
      arrays[k], models[k] = mw.full(N, k, "uint"), {}
      for i = 1, N do models[k][i] = k end
    end
    local steps = {}
    local exec = mw.capture(s, function()
      for i = 1, 60 do steps[i] = operations[draw(#operations)](s, arrays, models, draw) end
    end):instantiate()
    for _ = 1, 20 do exec:launch(s) end
    s:synchronize()
    for _ = 1, 20 do
      for _, step in ipairs(steps) do step() end
    end
    same(models, arrays)
  end)

  it("run as often as the graph is launched, in streams side by side", function()
    local streams, totals, execs = {}, {}, {}
    for i = 1, 4 do
      streams[i], totals[i] = mw.stream { nonblocking = true }, mw.zeros(1, "int")
      execs[i] = mw.capture(streams[i], function()
        for k = 1, 20 do m.count(k % 7 == 0 and 30 or 1, 32)(totals[i]) end
      end):instantiate()
    end
    mw.synchronize() -- these streams do not wait for the zeros
    for _ = 1, 300 do
      for i = 1, 4 do execs[i]:launch(streams[i]) end
    end
    mw.synchronize()
    for i = 1, 4 do assert.equal(300 * 32 * (18 + 2 * 30), totals[i][1]) end
  end)

  it("print in their order", function()
    local texts, expected, s = {}, {}, mw.stream()
    local exec = mw.capture(s, function()
      for i = 1, 20 do m.say(1, 1)(i) end
    end):instantiate()
    mw.on_print(function(text) texts[#texts + 1] = text end)
    for _ = 1, 3 do
      exec:launch(s)
      for i = 1, 20 do expected[#expected + 1] = i .. " " end
    end
    s:synchronize()
    mw.on_print()
    assert.equal(table.concat(expected), table.concat(texts))
  end)

  it("may precede and follow functions and other branches", function()
    local x, y, z, log = mw.ones(1, "uint"), mw.zeros(1, "uint"), mw.ones(1, "uint"), {}
    local a, b = mw.stream(), mw.stream()
    local exec = mw.capture(a, function()
      m.multiply(1, 1, 0, a)(1, 2, 0, x)
      m.multiply(1, 1, 0, a)(1, 1, 1, x)
      b:wait(a:record())
      m.multiply(1, 1, 0, a)(1, 10, 0, x)
      y:copy_from(x)
      m.multiply(1, 1, 0, b)(1, 5, 0, z)
      a:wait(b:record())
      m.mix(1, 1, 0, a)(1, x, z, x)
      a:call(function() log[#log + 1] = x[1] end)
      m.multiply(1, 1, 0, a)(1, 2, 0, x)
      x:fill(4)
      m.multiply(1, 1, 0, a)(1, 2, 1, x)
    end):instantiate()
    for _ = 1, 2 do
      exec:launch(a)
      a:synchronize()
      assert.equal(9, x[1])
    end
    assert.same({ 30 * 3 + 5, 190 * 3 + 25 }, log)
    assert.equal(190, y[1])
  end)
end)

describe("a failure among them", function()
  for _, case in ipairs { { "wild", 1 }, { "wild_block", 40 } } do
    it("is the kernel's, with its line, and the others run: " .. case[1], function()
      local s, before, after = mw.stream(), mw.zeros(1, "int"), mw.zeros(1, "int")
      local exec = mw.capture(s, function()
        m.count(1, 1)(before)
        m[case[1]](case[2], 32)(before) -- in blocks of a few threads it would not be known which one failed
        m.count(1, 1)(after)
        m.count(50, 1)(after)
        m.count(1, 1)(after)
      end):instantiate()
      for i = 1, 3 do
        exec:launch(s)
        local err = failure(s.synchronize, s)
        assert.equal(case[1], err.kernel)
        assert.equal("cudaErrorIllegalAddress", err.code)
        assert.matches("graph_chain_spec.lua:%d+$", err.message)
        if case[2] > 1 then assert.equal(5, err.block.x) end
        assert.equal(i, before[1])
        assert.equal(52 * i, after[1])
      end
    end)
  end

  it("is reported once for many launches in flight, and each time for those that are waited for", function()
    local s, after = mw.stream(), mw.zeros(1, "int")
    local exec = mw.capture(s, function()
      m.count(1, 1)(after)
      m.wild(1, 1)(after)
      m.count(1, 1)(after)
    end):instantiate()
    for _ = 1, 10 do exec:launch(s) end
    assert.equal("wild", failure(s.synchronize, s).kernel)
    s:synchronize()
    assert.equal(20, after[1])
  end)

  it("is a kernel's that ran past the time limit, which is each kernel's own", function()
    local s, x, y, before = mw.stream(), mw.zeros(1, "int"), mw.zeros(1, "int"), mw.limit "time"
    local exec = mw.capture(s, function()
      y:fill(1)
      m.endless(1, 1)(x)
      y:fill(2)
      m.endless(1, 1)(x)
      y:fill(3)
    end):instantiate()
    mw.limit("time", 0.1)
    exec:launch(s)
    local err = failure(s.synchronize, s)
    mw.limit("time", before)
    assert.equal("cudaErrorLaunchTimeout", err.code)
    assert.equal("endless", err.kernel)
    assert.equal(3, y[1])
    x:fill(1)
    exec:launch(s)
    s:synchronize()
  end)
end)

describe("between launches", function()
  it("other arguments are those of the launches that follow, while earlier ones are in flight", function()
    local s, x, opened = mw.stream(), mw.zeros(1, "uint"), 0
    local exec = mw.capture(s, function()
      s:call(function() opened = opened + 1 end)
      m.multiply(1, 1, 0, s)(1, 10, 1, x)
      m.multiply(1, 1, 0, s)(1, 1, 0, x)
    end):instantiate()
    exec:launch(s) -- none of them continues before the function has been called
    for i = 2, 4 do
      exec:set(2, m.multiply(1, 1):bind(1, 10, i, x))
      exec:launch(s)
    end
    assert.equal(0, opened)
    s:synchronize()
    assert.equal(4, opened)
    assert.equal(1234, x[1])
  end)

  it("arrays may be freed: launches in flight keep them, later ones are refused", function()
    collect()
    local s, x, out = mw.stream(), mw.full(50000, 7, "uint"), mw.zeros(50000, "uint")
    local before = mw.memory().bytes
    local exec = mw.capture(s, function()
      s:call(function() end)
      m.multiply(1, 1, 0, s)(1, 1, 1, x)
      out:copy_from(x)
    end):instantiate()
    exec:launch(s)
    x:free()
    local y = mw.full(50000, 99, "uint") -- would get the memory if it were free
    s:synchronize()
    assert.equal(8, out[1])
    assert.equal(7, out[50000])
    assert.equal(99, y[1])
    assert.matches("freed", failure(exec.launch, exec, s).message)
    s:synchronize()
    assert.equal(before, mw.memory().bytes) -- y's in place of x's: a graph keeps no memory that was freed
  end)

  it("limits are those of the launch", function()
    local s, out, before, specialise = mw.stream(), mw.zeros(1, "int"), mw.limit "stack", mw.limit "specialise"
    mw.limit("specialise", 1e15) -- code for blocks of one thread needs less
    local exec = mw.capture(s, function()
      m.deep(1, 1)(out)
      m.deep(1, 1)(out)
    end):instantiate()
    exec:launch(s)
    mw.limit("stack", 4096)
    local err = failure(exec.launch, exec, s)
    mw.limit("stack", before)
    mw.limit("specialise", specialise)
    assert.equal("deep", err.kernel)
    assert.matches("stack", err.message)
    exec:launch(s)
    s:synchronize()
    assert.equal(4 * 2999, out[1])
  end)

  it("a graph that is gone has launches that run to their end", function()
    local s, x = mw.stream(), mw.zeros(1, "int")
    do
      local own = mw.compile "__global__ void increment(int *x) { *x += 1; }"
      local exec = mw.capture(s, function()
        s:call(function() end)
        for _ = 1, 10 do own.increment(1, 1)(x) end
      end):instantiate()
      for _ = 1, 3 do exec:launch(s) end
      exec:free()
    end
    collectgarbage()
    collectgarbage()
    s:synchronize()
    assert.equal(30, x[1])
  end)
end)
