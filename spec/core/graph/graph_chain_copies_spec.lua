-- Copies and fills by address among nodes of a graph in sequence, which the CPU device runs as one command.
-- CPU device only: a kernel's fault on a GPU ends the process's use of it

local mw = require "moonwarp"
local child = require "support.child"

local m = mw.compile [[
__global__ void multiply(int n, int factor, int offset, unsigned *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * factor + offset;
}
]]

describe("copies and fills by address among them", function()
  local rt = require "moonwarp.runtime"
  local runtime = require "support.api.runtime"
  local random = require "support.random" "graph_chain_copies_spec"
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
    ok(rt.cudaLaunchHostFunc(stream, function() end)) -- the stream is blocked until a wait
    ok(rt.cudaGraphLaunch(exec, stream))
    ok(rt.cudaFreeAsync(b, stream)) -- in flight: not gone before that
    ok(rt.cudaStreamSynchronize(stream))
    code("cudaErrorInvalidValue", rt.cudaGraphLaunch(exec, stream))
    assert.matches("is not in allocated memory", rt.story().message)
    ok(rt.cudaFree(a))
    ok(rt.cudaGraphExecDestroy(exec))
    ok(rt.cudaStreamDestroy(stream))
  end)

  it("use other memory at the address of freed memory", function()
    local result = child [[ -- whose heap is empty, and returns the same address again
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
