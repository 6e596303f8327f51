-- Nodes of a graph in sequence, which the CPU device runs as one command: order, failures in the middle, changed
-- arguments between launches, and lifetimes of runs in flight.
-- CPU device only: a kernel's fault on a GPU ends the process's use of it

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local child = require "support.child"
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
__global__ void wild_block(int *p) { if (blockIdx.x == 5) p[1 << 20] = 1; }
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
        m[case[1]](case[2], 1)(before)
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
    exec:launch(s) -- none of them goes on before the function was called
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

describe("copies and fills by address among them", function()
  local rt = require "moonwarp.runtime"
  local runtime = require "support.api.runtime"
  local random = require "support.random" "graph_chain_spec"
  local ok, code = runtime.ok, runtime.code
  local COUNT, BYTES = 64, 256

  local function kernel(graph, after, x, factor, offset)
    return ok(rt.cudaGraphAddKernelNode(graph, after,
      { func = m.multiply, gridDim = 1, blockDim = COUNT, kernelParams = { COUNT, factor, offset, x } }))
  end

  it("run in their order, between memory of every kind", function()
    for _ = 1, 10 do
      local places, models, graph, after = {}, {}, ok(rt.cudaGraphCreate(0)), {}
      for i = 1, 3 do
        places[i] = ok((i < 3 and rt.cudaMalloc or rt.cudaMallocHost)(BYTES))
        ok(rt.cudaMemset(places[i], i, BYTES))
        models[i] = i * 0x1010101
      end
      local steps = {}
      for _ = 1, random(12) do
        local target, source, kind, factor = random(3), random(3), random(3), random(9)
        if kind == 1 then
          after = { kernel(graph, after, places[target], factor, source) }
          steps[#steps + 1] = function() models[target] = (models[target] * factor + source) % 2 ^ 32 end
        elseif kind == 2 then
          after = { ok(rt.cudaGraphAddMemsetNode(graph, after,
            { dst = places[target], value = factor, elementSize = 4, width = COUNT, height = 1 })) }
          steps[#steps + 1] = function() models[target] = factor end
        elseif target ~= source then
          after = { ok(rt.cudaGraphAddMemcpyNode1D(graph, after, places[target], places[source], BYTES,
            rt.cudaMemcpyDefault)) }
          steps[#steps + 1] = function() models[target] = models[source] end
        end
      end
      local exec = ok(rt.cudaGraphInstantiate(graph))
      for _ = 1, 3 do
        ok(rt.cudaGraphLaunch(exec, nil))
        for _, step in ipairs(steps) do step() end
      end
      for i = 1, 3 do
        local got = runtime.fetch(places[i], "uint", COUNT)
        for k = 1, COUNT do assert.equal(models[i], got[k], ("place %d, element %d"):format(i, k)) end
        ok((i < 3 and rt.cudaFree or rt.cudaFreeHost)(places[i]))
      end
      ok(rt.cudaGraphExecDestroy(exec))
    end
  end)

  it("are checked at each launch: memory that was freed is refused", function()
    local a, b, graph = ok(rt.cudaMalloc(BYTES)), ok(rt.cudaMalloc(BYTES)), ok(rt.cudaGraphCreate(0))
    local first = ok(rt.cudaGraphAddMemsetNode(graph, {},
      { dst = a, value = 7, elementSize = 1, width = BYTES, height = 1 }))
    local second = kernel(graph, { first }, a, 1, 1)
    ok(rt.cudaGraphAddMemcpyNode1D(graph, { second }, b, a, BYTES, rt.cudaMemcpyDeviceToDevice))
    local exec, stream = ok(rt.cudaGraphInstantiate(graph)), ok(rt.cudaStreamCreate())
    ok(rt.cudaLaunchHostFunc(stream, function() end)) -- the stream stands until somebody waits
    ok(rt.cudaGraphLaunch(exec, stream))
    ok(rt.cudaFreeAsync(b, stream)) -- in flight: not gone before that
    ok(rt.cudaStreamSynchronize(stream))
    code("cudaErrorInvalidValue", rt.cudaGraphLaunch(exec, stream))
    assert.matches("no memory that is allocated", rt.story().message)
    ok(rt.cudaFree(a))
    ok(rt.cudaGraphExecDestroy(exec))
    ok(rt.cudaStreamDestroy(stream))
  end)

  it("use other memory at the address of freed memory", function()
    local result = child [[ -- whose heap is fresh, and gives out the same place again
      local rt = require "moonwarp.runtime"
      local function ok(err, ...)
        assert(err == 0, tostring(rt.story()))
        return ...
      end
      local a, b, graph = ok(rt.cudaMalloc(256)), ok(rt.cudaMalloc(256)), ok(rt.cudaGraphCreate(0))
      local node = ok(rt.cudaGraphAddMemsetNode(graph, {},
        { dst = a, value = 7, elementSize = 1, width = 256, height = 1 }))
      ok(rt.cudaGraphAddMemcpyNode1D(graph, { node }, b, a, 256, rt.cudaMemcpyDeviceToDevice))
      local exec, h, again = ok(rt.cudaGraphInstantiate(graph)), rt.malloc(256), nil
      ok(rt.cudaGraphLaunch(exec, nil))
      ok(rt.cudaFree(b))
      print(rt.cudaGraphLaunch(exec, nil))
      for _ = 1, 1000 do
        again = ok(rt.cudaMalloc(256))
        if again == b then break end
      end
      assert(again == b)
      for _ = 1, 2 do
        ok(rt.cudaMemset(again, 0, 256))
        ok(rt.cudaGraphLaunch(exec, nil))
        ok(rt.cudaMemcpy(h, again, 256, rt.cudaMemcpyDeviceToHost))
        print(h:cast("uchar")[0], h:cast("uchar")[255])
      end
    ]]
    assert.equal("1\n7\t7\n7\t7\n", result.output)
  end)

  it("take other arguments by an update", function()
    local a, b = ok(rt.cudaMalloc(BYTES)), ok(rt.cudaMalloc(BYTES))
    local function make(value, target)
      local graph = ok(rt.cudaGraphCreate(0))
      local node = ok(rt.cudaGraphAddMemsetNode(graph, {},
        { dst = a, value = value, elementSize = 1, width = BYTES, height = 1 }))
      ok(rt.cudaGraphAddMemcpyNode1D(graph, { node }, target, a, BYTES, rt.cudaMemcpyDeviceToDevice))
      return graph
    end
    local exec, c = ok(rt.cudaGraphInstantiate(make(1, b))), ok(rt.cudaMalloc(BYTES))
    ok(rt.cudaGraphLaunch(exec, nil))
    ok(rt.cudaGraphExecUpdate(exec, make(2, c)))
    ok(rt.cudaGraphLaunch(exec, nil))
    assert.same({ 1 }, runtime.fetch(b, "uchar", 1))
    assert.same({ 2 }, runtime.fetch(c, "uchar", 1))
    for _, p in ipairs { a, b, c } do ok(rt.cudaFree(p)) end
  end)
end)

describe("kernels with texture references among them", function()
  local t = mw.compile [[
  texture<float, 1, cudaReadModeElementType> from;
  surface<void, 1> to;
  __global__ void fetch(float shift, float *x) { x[threadIdx.x] = tex1D(from, threadIdx.x + shift) + 1; }
  __global__ void draw(const float *x) { surf1Dwrite(x[threadIdx.x], to, threadIdx.x * 4); }
  texture<float, 1, cudaReadModeElementType> table;
  __global__ void add(float *x) { x[threadIdx.x] += tex1Dfetch(table, threadIdx.x); }
  ]]

  local function texels(values) return mw.cuda_array(values, { kind = "1d" }) end

  -- x is drawn, fetched to the right by one place, and what the table has is added: three kernels a round.
  local function graph(rounds)
    local x = mw.array { 5, 6, 7, 8 }
    return mw.capture(function()
      for _ = 1, rounds do
        t.draw(1, 4)(x)
        t.fetch(1, 4)(-0.5, x)
        t.add(1, 4)(x)
      end
    end):instantiate(), x
  end

  -- The same in Lua; outside there is the first number, or 0.
  local function model(x, rounds, list, clamp)
    for _ = 1, rounds do
      for i = 4, 1, -1 do x[i] = (x[i - 1] or clamp and x[1] or 0) + 1 + list[i] end
    end
    return x
  end

  local function bind(array, list)
    t.from, t.to, t.table = mw.texture(array, { address = "border" }), mw.surface(array), mw.texture(mw.array(list))
  end

  it("read the texture that is bound when the graph is launched, in each launch", function()
    bind(texels { 1, 2, 3, 4 }, { 1, 2, 3, 4 })
    local exec, x = graph(2)
    local expected = model({ 5, 6, 7, 8 }, 2, { 1, 2, 3, 4 })
    exec:launch()
    assert.same(expected, x:totable())
    exec:launch()
    assert.same(model(expected, 2, { 1, 2, 3, 4 }), x:totable())
    t.table = mw.texture(mw.array { 10, 20, 30, 40 })
    exec:launch()
    assert.same(model(expected, 2, { 10, 20, 30, 40 }), x:totable())
    t.from.address = "clamp"
    exec:launch()
    assert.same(model(expected, 2, { 10, 20, 30, 40 }, true), x:totable())
  end)

  it("draw to the bound surface, and not to the earlier one", function()
    local first, second = texels { 0, 0, 0, 0 }, texels { 0, 0, 0, 0 }
    bind(first, { 1, 2, 3, 4 })
    local exec = graph(1)
    exec:launch()
    bind(second, { 1, 2, 3, 4 })
    exec:launch()
    assert.same({ 5, 6, 7, 8 }, first:totable())
    assert.same(model({ 5, 6, 7, 8 }, 1, { 1, 2, 3, 4 }), second:totable())
  end)

  it("are refused while nothing is bound, and go on when something is", function()
    bind(texels { 1, 2, 3, 4 }, { 1, 2, 3, 4 })
    local exec, x = graph(1)
    t.table = nil
    assert.matches("nothing is bound to it", failure(exec.launch, exec).message)
    t.table = mw.texture(mw.array { 1, 1, 1, 1 })
    local before = x:totable()
    exec:launch()
    assert.same(model(before, 1, { 1, 1, 1, 1 }), x:totable())
    t.table = nil
    assert.matches("nothing is bound to it", failure(exec.launch, exec).message)
  end)

  it("are refused where their memory was freed, and launches in flight keep it", function()
    local array, other = texels { 1, 2, 3, 4 }, mw.texture(texels { 9, 9, 9, 9 }, { address = "clamp" })
    bind(array, { 1, 2, 3, 4 })
    local exec, x = graph(3)
    local s = mw.stream()
    s:call(function() end)
    exec:launch(s):launch(s)
    t.from = other
    array:free()
    s:synchronize()
    assert.same(model({ 5, 6, 7, 8 }, 6, { 1, 2, 3, 4 }), x:totable())
    assert.matches("freed", failure(exec.launch, exec).message) -- the surface's
    t.to = mw.surface(texels { 0, 0, 0, 0 })
    exec:launch()
    assert.same({ 11, 12, 13, 14 }, x:totable())
  end)
end)

describe("kernels with textures among them", function()
  local t = mw.compile [[
  __global__ void fetch(cudaTextureObject_t from, float shift, float *to) {
    to[threadIdx.x] = tex1D<float>(from, threadIdx.x + shift) + 1;
  }
  __global__ void draw(cudaSurfaceObject_t to, const float *from) {
    surf1Dwrite(from[threadIdx.x], to, threadIdx.x * 4);
  }
  ]]

  -- x is drawn, and fetched to the right by one place: as often as there are rounds in a launch.
  local function graph(rounds)
    local texels, x = mw.cuda_array({ 1, 2, 3, 4 }, { kind = "1d" }), mw.array { 5, 6, 7, 8 }
    local texture, surface = mw.texture(texels, { address = "border" }), mw.surface(texels)
    local exec = mw.capture(function()
      for _ = 1, rounds do
        t.draw(1, 4)(surface, x)
        t.fetch(1, 4)(texture, -0.5, x)
      end
    end):instantiate()
    return exec, x, texture, texels
  end

  it("read what earlier nodes wrote, in each launch", function()
    local exec, x = graph(2)
    exec:launch()
    assert.same({ 1, 2, 7, 8 }, x:totable()) -- of the border: 0 + 1, and one more from place to place
    exec:launch()
    assert.same({ 1, 2, 3, 4 }, x:totable())
  end)

  it("read with options that are set between launches", function()
    local exec, x, texture = graph(1)
    exec:launch()
    assert.same({ 1, 6, 7, 8 }, x:totable())
    texture.address = "clamp"
    exec:launch()
    assert.same({ 2, 2, 7, 8 }, x:totable())
  end)

  it("are refused where their memory was freed, and launches in flight keep it", function()
    local exec, x, _, texels = graph(3)
    local s = mw.stream()
    s:call(function() end)
    exec:launch(s):launch(s)
    texels:free()
    s:synchronize()
    assert.same({ 1, 2, 3, 4 }, x:totable())
    local err = failure(exec.launch, exec, s)
    assert.matches("freed", err.message)
  end)
end)
