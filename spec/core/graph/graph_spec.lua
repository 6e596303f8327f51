-- Graphs: captured from streams and made by hand, launched often, updated, and calls that a capture refuses.

local mw = require "moonwarp"
local failure = require "support.failure"
local run = require "support.child"

local m = mw.compile [[
__global__ void add(int n, int d, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += d;
}
__global__ void sum(const int *a, const int *b, int *c) { *c = *a * 1000 + *b; }
__global__ void await(volatile int *flag, int *seen) {
  for (long long i = 0; i < 2000000000ll && !*flag; i++) __nanosleep(100);
  *seen = *flag;
}
__global__ void set(volatile int *flag) { *flag = 1; }
]]

local function kinds(graph)
  local list = {}
  for i, node in ipairs(graph:nodes()) do list[i] = node.kind end
  return table.concat(list, " ")
end

describe("a captured graph", function()
  it("runs nothing while it is made, and everything each time it is launched", function()
    local s, x = mw.stream(), mw.zeros(4, "int")
    local graph = mw.capture(s, function()
      m.add(1, 32)(4, 1, x)
      m.add(1, 32)(4, 10, x)
    end)
    assert.same({ 0, 0, 0, 0 }, x:totable())
    local exec = graph:instantiate()
    for _ = 1, 3 do exec:launch(s) end
    s:synchronize()
    assert.same({ 33, 33, 33, 33 }, x:totable())
  end)

  it("keeps the scratch arrays of sums and sorts", function()
    local list = {}
    for i = 1, 100000 do list[i] = i - 1 end
    local x, sum, sorted = mw.array(list, "double"), mw.empty(1, "double"), mw.empty(100000, "double")
    x:sum { out = sum }
    x:sort { descending = true, out = sorted }
    local s = mw.stream()
    local exec = mw.capture(s, function()
      x:sum { out = sum }
      x:sort { descending = true, out = sorted }
    end):instantiate()
    exec:launch(s)
    s:synchronize()
    assert.equal(99999 * 50000, sum[1])
    assert.same({ 99999, 0 }, { sorted[1], sorted[100000] })
  end)

  it("has launches, fills, copies and functions, in the stream's order", function()
    local s, x, y, called = mw.stream(), mw.zeros(4, "int"), mw.zeros(4, "int"), {}
    local graph = mw.capture(s, function()
      x:fill(2)
      m.add(1, 32)(4, 3, x)
      y:copy_from(x)
      s:call(function() called[#called + 1] = y[1] end)
      m.add(1, 32)(4, 1, y)
    end)
    assert.equal("fill kernel copy host kernel", kinds(graph))
    assert.same({ { 1 }, { 2 }, { 3 }, { 4 } }, {
      graph:node(2).after, graph:node(3).after, graph:node(4).after, graph:node(5).after,
    })
    local exec = graph:instantiate()
    exec:launch(s)
    exec:launch()
    mw.synchronize()
    assert.same({ 5, 5 }, called)
    assert.same({ 6, 6, 6, 6 }, y:totable())
  end)

  it("takes in other streams by events, side by side", function()
    local a, b = mw.stream(), mw.stream()
    local x, y, z = mw.zeros(1, "int"), mw.zeros(1, "int"), mw.zeros(1, "int")
    local graph = mw.capture(a, function()
      x:fill(1)
      b:wait(a:record())
      m.add(1, 1, 0, a)(1, 4, x)
      m.add(1, 1, 0, b)(1, 7, y)
      a:wait(b:record())
      m.sum(1, 1, 0, a)(x, y, z)
    end)
    assert.same({ 1 }, graph:node(2).after)
    assert.same({ 1 }, graph:node(3).after)
    assert.same({ 2, 3 }, graph:node(4).after)
    local exec = graph:instantiate()
    for i = 1, 20 do
      exec:launch(a)
      assert.equal(5000 + 7 * i, z[1])
    end
  end)

  it("lets nodes overlap that do not depend on each other", function()
    if mw.properties().multiprocessors < 2 then return pending("one worker") end
    local flag, seen = mw.zeros(1, "int"), mw.zeros(1, "int")
    local graph = mw.graph()
    graph:kernel(nil, m.await(1, 1), flag, seen)
    graph:kernel(nil, m.set(1, 1), flag)
    graph:instantiate():launch()
    assert.equal(1, seen[1])
  end)

  it("keeps its arrays and its module, and runs in any stream after its earlier runs", function()
    local out = mw.zeros(1, "int")
    local function make()
      local own = mw.compile "__global__ void twice(int *x, int *y) { x[0] *= 2; y[0] = x[0]; }"
      local x = mw.ones(1, "int")
      return mw.capture(function() own.twice(1, 1)(x, out) end):instantiate()
    end
    local exec = make()
    collectgarbage()
    collectgarbage()
    mw.synchronize() -- such streams do not wait for the default one, which filled x, nor it for them
    local a, b = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    for _ = 1, 5 do
      exec:launch(a)
      exec:launch(b)
    end
    mw.synchronize()
    assert.equal(1024, out[1])
  end)

  it("fails to launch once an array of it was freed", function()
    local x = mw.zeros(4, "int")
    local exec = mw.capture(function() m.add(1, 32)(4, 1, x) end):instantiate()
    x:free()
    assert.matches("freed", failure(exec.launch, exec).message)
  end)

  it("ignores what the function returns, and passes its error to the caller", function()
    local s = mw.stream()
    assert.equal("mine", failure(mw.capture, s, function() error("mine", 0) end))
    local x = mw.zeros(1, "int")
    m.add(1, 1, 0, s)(1, 1, x) -- the stream runs work again
    assert.equal(1, x[1])
    assert.matches("function", failure(mw.capture, s, 5).message)
  end)
end)

describe("a capture", function()
  local x = mw.zeros(4, "int")

  local function refused(code, f, s)
    s = s or mw.stream()
    local err = failure(mw.capture, s, f)
    assert.equal(code, err.code)
    m.add(1, 32, 0, s)(4, 0, x)
    mw.synchronize()
    return err
  end

  it("refuses to read, at that line", function()
    local line
    local err = refused("cudaErrorStreamCaptureUnsupported", function()
      m.add(1, 32)(4, 1, x)
      line = debug.getinfo(1, "l").currentline + 1
      return x[1]
    end)
    assert.matches("graph_spec.lua:" .. line .. "$", err.where)
    assert.matches("captured", err.message)
    assert.same({ 0, 0, 0, 0 }, x:totable())
  end)

  it("refuses all calls that wait for the device", function()
    local s = mw.stream()
    for _, wait in ipairs {
      function() return x:sum() end,
      function() return x:totable() end,
      function() x[1] = 1 end,
      function() x:copy_from { 1, 2, 3, 4 } end,
      function() mw.synchronize() end,
      function() s:synchronize() end,
      function() return s:query() end,
    } do
      refused("cudaErrorStreamCaptureUnsupported", wait, s)
    end
  end)

  it("refuses work in the default stream, and the default stream itself", function()
    refused("cudaErrorStreamCaptureImplicit", function() m.add(1, 32, 0, mw.default_stream())(4, 1, x) end)
    assert.equal("cudaErrorStreamCaptureUnsupported",
      failure(mw.capture, mw.default_stream(), function() end).code)
  end)

  it("is invalid after a refused call", function()
    local err = failure(mw.capture, mw.stream(), function()
      pcall(function() return x[1] end)
    end)
    assert.equal("cudaErrorStreamCaptureInvalidated", err.code)
  end)

  it("refuses work outside, other captures, and loose ends", function()
    local outside = mw.stream():record()
    local own = mw.stream()
    refused("cudaErrorStreamCaptureIsolation", function() own:wait(outside) end, own)
    local a, b = mw.stream(), mw.stream()
    refused("cudaErrorStreamCaptureUnjoined", function()
      b:wait(a:record())
      m.add(1, 32, 0, a)(4, 1, x)
      m.add(1, 32, 0, b)(4, 1, x)
    end, a)
    refused("cudaErrorStreamCaptureMerge", function()
      mw.capture(b, function() b:wait(a:record()) end)
    end, a)
  end)

  -- A script that drops a stream during a capture, in a process of its own: one that hangs is killed.
  for what, text in pairs {
    ["in the function"] = [[
      local s = mw.stream()
      print(pcall(mw.capture, s, function() s:free() end))]],
    ["with the coroutine that captures"] = [[
      local co = coroutine.create(function() mw.capture(mw.stream(), function() coroutine.yield() end) end)
      coroutine.resume(co)
      co = nil
      collectgarbage()
      require("moonwarp.binding").stream_use(nil) -- else it is the one in use still
      collectgarbage()]],
    ["with the script"] = [[mw.capture(function()
        os.exit(0, true)
      end)]],
    ["by cudaStreamDestroy"] = [[
      local rt = require "moonwarp.runtime"
      local _, s = rt.cudaStreamCreate()
      rt.cudaStreamBeginCapture(s, 0)
      print(rt.cudaStreamDestroy(s))]],
  } do
    it("ends when its stream is collected " .. what, function()
      local result = run { 'local mw = require "moonwarp"\n' .. text .. "\nmw.zeros(3)\nmw.synchronize() print 'done'",
        seconds = 30 }
      assert.is_true(result.ok, result.output)
      assert.equal(what ~= "with the script", result.output:find("done", 1, true) ~= nil)
    end)
  end

  it("releases the streams that joined it when the stream where it began is collected", function()
    local raw = require "moonwarp.binding"
    local a, b, out = mw.stream(), mw.stream(), mw.zeros(4, "int")
    mw.synchronize()
    raw.graph_capture(mw.graph(), a, nil, nil)
    b:wait(a:record())
    m.add(1, 32, 0, b)(4, 1, out)
    a:free()
    assert.same({ 0, 0, 0, 0 }, out:totable())
    m.add(1, 32, 0, b)(4, 2, out)
    assert.same({ 2, 2, 2, 2 }, out:totable())
  end)

  it("leaves events that mark no work", function()
    local s, e = mw.stream(), mw.event()
    mw.capture(s, function() e:record(s) end)
    assert.equal("cudaErrorCapturedEvent", failure(e.query, e).code)
    assert.equal("cudaErrorCapturedEvent", failure(e.synchronize, e).code)
    assert.equal("cudaErrorCapturedEvent", failure(s.wait, s, e).code)
    e:record(s)
    e:synchronize()
  end)
end)

describe("a graph by hand", function()
  it("has nodes that depend on those they are given", function()
    local x, y, z, order = mw.zeros(1, "int"), mw.zeros(1, "int"), mw.zeros(1, "int"), {}
    local graph = mw.graph()
    local first = graph:fill(nil, x, 3)
    local second = graph:fill(nil, y, 4)
    local both = graph:empty { first, second }
    local kernel = graph:kernel({ both }, m.sum(1, 1), x, y, z)
    local host = graph:call({ kernel }, function() order[#order + 1] = z[1] end)
    local copy = graph:copy({ host }, x, z)
    local chain = graph:add({ copy }, function()
      m.add(1, 1)(1, 1, x)
      m.add(1, 1)(1, 1, x)
    end)
    assert.same({ 1, 2, 3, 4, 5, 6, 8 }, { first, second, both, kernel, host, copy, chain })
    assert.equal("fill fill empty kernel host copy kernel kernel", kinds(graph))
    assert.same({ 1, 2 }, graph:node(3).after)
    graph:instantiate():launch()
    assert.equal(3006, x[1])
    assert.same({ 3004 }, order)
  end)

  it("can be given more dependencies, on earlier nodes only", function()
    local graph = mw.graph()
    local a, b = graph:empty(), graph:empty()
    graph:depend(b, a)
    graph:depend(b, a)
    assert.same({ 1 }, graph:node(2).after)
    assert.matches("made before", failure(graph.depend, graph, a, b).message)
    assert.matches("no node", failure(graph.depend, graph, 7, a).message)
    assert.matches("no node", failure(graph.node, graph, 3).message)
    assert.matches("from 1 on", failure(graph.node, graph, 0).message)
    assert.matches("no node", failure(graph.empty, graph, { 9 }).message)
    assert.matches("g:kernel", failure(graph.kernel, graph, nil, m.set).message)
  end)

  it("shows itself as text and in Graphviz's language", function()
    local x = mw.zeros(4, "int")
    local graph = mw.capture(function()
      x:fill(0)
      m.add({ 2, 1 }, 32)(4, 1, x)
    end)
    assert.equal("graph of 2 nodes\n  1: fill of 16 bytes\n  2: add<<<(2,1,1), (32,1,1)>>> after 1", tostring(graph))
    local dot = graph:dot()
    assert.matches('^digraph moonwarp {\n  n1 %[label="fill of 16 bytes", shape=parallelogram%];', dot)
    assert.matches("\n  n1 %-> n2;\n}\n$", dot)
    assert.equal("graph of 0 nodes", tostring(mw.graph()))
  end)
end)

describe("a graph that is ready to launch", function()
  it("takes other arguments for a kernel", function()
    local x, y = mw.zeros(4, "int"), mw.zeros(4, "int")
    local exec = mw.capture(function()
      m.add(1, 32)(4, 1, x)
      m.add(1, 32)(4, 2, x)
    end):instantiate()
    exec:launch()
    assert.equal(exec, exec:set(2, m.add(1, 2):bind(4, 100, y)))
    exec:launch()
    assert.same({ 4, 4, 4, 4 }, x:totable())
    assert.same({ 100, 100, 0, 0 }, y:totable())
    local err = failure(exec.set, exec, 1, m.set(1, 1):bind(x))
    assert.equal("cudaErrorGraphExecUpdateFailure", err.code)
    assert.matches("another kernel", err.message)
    assert.matches("no node", failure(exec.set, exec, 3, m.add(1, 2):bind(4, 100, y)).message)
  end)

  it("takes another copy, fill or function for a node, out of a graph of one", function()
    local x, y, z, seen = mw.zeros(4, "int"), mw.zeros(4, "int"), mw.array({ 5, 6, 7, 8 }, "int"), {}
    local stream = mw.stream()
    local exec = mw.capture(stream, function()
      x:fill(1)
      stream:call(function() seen[#seen + 1] = "first" end)
      y:copy_from(x)
      stream:call(function() seen[#seen + 1] = "second" end)
    end):instantiate()
    local function launch()
      exec:launch()
      mw.synchronize()
      return y:totable()
    end
    assert.same({ 1, 1, 1, 1 }, launch())
    assert.equal(exec, exec:set(1, mw.capture(function() x:fill(9) end)))
    assert.same({ 9, 9, 9, 9 }, launch())
    exec:set(3, mw.capture(function() y:copy_from(z) end))
    exec:set(4, mw.capture(stream, function() stream:call(function() seen[#seen + 1] = "other" end) end))
    assert.same({ 5, 6, 7, 8 }, launch())
    assert.same({ 9, 9, 9, 9 }, x:totable())
    assert.same({ "first", "second", "first", "second", "first", "other" }, seen)
    local fill = mw.capture(function() x:fill(2) end)
    local err = failure(exec.set, exec, 2, fill)
    assert.equal("cudaErrorGraphExecUpdateFailure", err.code)
    assert.matches("another kind", err.message)
    assert.matches("no node", failure(exec.set, exec, 5, fill).message)
    assert.matches("a graph of one node, and this graph has 0", failure(exec.set, exec, 1, mw.graph()).message)
    assert.same({ 5, 6, 7, 8 }, launch())
  end)

  it("takes over a graph of the same form, and no other", function()
    local x, y, log = mw.zeros(4, "int"), mw.zeros(4, "int"), {}
    local function make(array, d, extra)
      return mw.capture(function()
        array:fill(d)
        m.add(1, 32)(4, d, array)
        if extra then m.add(1, 32)(4, d, array) end
      end)
    end
    local exec = make(x, 1):instantiate()
    exec:update(make(y, 5))
    exec:launch()
    assert.same({ 0, 0, 0, 0 }, x:totable())
    assert.same({ 10, 10, 10, 10 }, y:totable())
    assert.equal("cudaErrorGraphExecUpdateFailure", failure(exec.update, exec, make(y, 5, true)).code)
    local other = mw.graph()
    other:call(nil, function() log[1] = true end)
    other:empty()
    assert.matches("another kind", failure(exec.update, exec, other).message)
    exec:launch()
    assert.same({ 10, 10, 10, 10 }, y:totable())
    assert.same({}, log)
  end)

  it("runs a hundred branches, a thousand times", function()
    local arrays, graph = {}, mw.graph()
    for i = 1, 100 do
      arrays[i] = mw.zeros(2, "int")
      graph:kernel({ graph:kernel(nil, m.add(1, 2), 2, i, arrays[i]) }, m.add(1, 2), 2, 1, arrays[i])
    end
    local exec = graph:instantiate()
    for _ = 1, 1000 do exec:launch() end
    for i = 1, 100 do assert.same({ 1000 * (i + 1), 1000 * (i + 1) }, arrays[i]:totable()) end
  end)

  it("is closed by free", function()
    local exec = mw.graph():instantiate()
    exec:launch()
    exec:free()
    exec:free()
    assert.matches("closed", failure(exec.launch, exec).message)
  end)
end)
