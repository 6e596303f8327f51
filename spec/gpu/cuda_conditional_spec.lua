-- Conditional nodes on a GPU: graphs of CUDA's. With a fake driver (support/fake), and with NVIDIA's own NVRTC where
-- the machine has it.

local gpu = require "support.fake.gpu"
local paths = require "support.compile.paths"

local source = [==[
  local m = mw.compile [[
    __global__ void step(cudaGraphConditionalHandle handle, int *left) { cudaGraphSetConditional(handle, --*left); }
    __global__ void add(float *x, float d) { x[threadIdx.x] += d; }
  ]]
  local x, left = mw.zeros(64), mw.zeros(1, "int")
  local g = mw.graph()
  local first = g:kernel(nil, m.add(2, 32), x, 1)
]==]

local loop = source .. [==[
  local condition = g:condition(1)
  local node, body = g:conditional({ first }, "while", condition)
  local a = body:kernel(nil, m.add(3, 32), x, 1)
  local b = body:fill({ a }, x, 2)
  local c = body:copy({ b }, mw.zeros(64), x)
  local inner = body:condition(1)
  local d, one, two = body:conditional({ c }, "if", inner, 2)
  one:kernel(nil, m.add(4, 32), x, 1)
  two:kernel(nil, m.add(5, 32), x, 1)
  body:kernel({ d }, m.step(1, 1), condition, left)
  g:kernel({ node }, m.add(6, 32), x, 1)
  local exec = g:instantiate()
  print(pcall(function() for _ = 1, 3 do exec:launch() end mw.synchronize() end))
]==]

local function graph_calls(result)
  local list = {}
  for _, line in ipairs(result.calls) do
    if line:find "^cuGraph[CAIL]" or line:find "^cuLaunchKernel" then list[#list + 1] = line end
  end
  return list
end

describe("a graph with conditional nodes on a GPU", function()
  local library = os.tmpname()
  teardown(function() os.remove(library) end)

  it("becomes a graph of CUDA's where the conditional node is", function()
    local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library } }
    assert.equal("true\n", result.output)
    local list = graph_calls(result)
    -- Nodes and handles of conditions are counted together.
    assert.matches("^cuLaunchKernel %(2,1,1%)", list[1])
    assert.same({
      "cuGraphCreate flags 0",
      "cuGraphConditionalHandleCreate graph 1 value 0 flags 0",
      "cuGraphAddKernelNode graph 1 after 0 (1,1,1) (1,1,1)", -- hands the value to CUDA
      "cuGraphAddNode graph 1 after 2 type 13 kind 1 bodies 1",
      "cuGraphAddKernelNode graph 2 after 0 (3,1,1) (32,1,1)",
      "cuGraphAddMemsetNode graph 2 after 4 value 40000000 of 4, 64 x 1",
      "cuGraphAddMemcpyNode graph 2 after 5 bytes 256",
      "cuGraphConditionalHandleCreate graph 2 value 0 flags 0",
      "cuGraphAddKernelNode graph 2 after 6 (1,1,1) (1,1,1)",
      "cuGraphAddNode graph 2 after 8 type 13 kind 0 bodies 2",
      "cuGraphAddKernelNode graph 3 after 0 (4,1,1) (32,1,1)",
      "cuGraphAddKernelNode graph 4 after 0 (5,1,1) (32,1,1)",
      "cuGraphAddKernelNode graph 2 after 9 (1,1,1) (1,1,1)",
      "cuGraphAddKernelNode graph 2 after 12 (1,1,1) (1,1,1)", -- for the next iteration
      "cuGraphInstantiateWithFlags graph 1 flags 0",
      "cuGraphLaunch 1 stream 0",
    }, { table.unpack(list, 2, 17) })
    assert.matches("^cuLaunchKernel %(6,1,1%)", list[18])
    assert.equal(3, gpu.count(result, "cuGraphLaunch"))
    assert.equal(1, gpu.count(result, "cuGraphInstantiateWithFlags"))
  end)

  it("gives its conditions their values before each launch", function()
    local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library } }
    local fills = 0
    for _, line in ipairs(result.calls) do
      if line == "cuMemsetD32Async 1" then fills = fills + 1 end
    end
    assert.equal(6, fills, table.concat(result.calls, "\n"))
  end)

  it("is linked with the device runtime, and says what to install without it", function()
    local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library } }
    assert.equal(1, gpu.count(result, "cuLinkComplete"))
    result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = "/nowhere/libcudadevrt.a" } }
    assert.matches("conditional nodes of graphs need CUDA's device runtime library, libcudadevrt.a, which is not at " ..
      "/nowhere/libcudadevrt.a", result.output, 1, true)
  end)

  it("needs a driver that has them", function()
    local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library },
      fail = "cuGraphConditionalHandleCreate@0=1" }
    assert.matches("conditional nodes need a driver of CUDA 12.3 or newer", result.output)
  end)

  it("passes on the driver's failures, and frees what it made", function()
    for _, name in ipairs { "cuGraphCreate", "cuGraphAddKernelNode", "cuGraphAddNode", "cuGraphAddMemsetNode",
      "cuGraphAddMemcpyNode", "cuGraphInstantiateWithFlags" } do
      local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library },
        fail = name .. "@1=1" }
      assert.matches("^false\t.*failed: invalid argument", result.output, nil, nil, name)
      assert.equal(name == "cuGraphCreate" and 0 or 1, gpu.count(result, "cuGraphDestroy"), name)
    end
    local result = gpu { loop, nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library },
      fail = "cuGraphLaunch@2=1" }
    assert.matches("launching a graph failed", result.output)
    assert.equal(1, gpu.count(result, "cuGraphExecDestroy"))
  end)

  it("fills with patterns of several words, a column each", function()
    local result = gpu { source .. [==[
      local _, body = g:conditional(nil, "if", g:condition(1))
      body:fill(nil, mw.zeros(10, "double"), 1.5)
      g:instantiate():launch()
    ]==], nvrtc = "mwcc=1", environment = { MOONWARP_CUDADEVRT = library } }
    local list = {}
    for _, line in ipairs(result.calls) do
      if line:find "^cuGraphAddMemsetNode" then list[#list + 1] = line:match "value.*" end
    end
    assert.same({ "value 0 of 4, 1 x 10", "value 3ff80000 of 4, 1 x 10" }, list)
  end)

  it("has kernels that each compiler for GPUs takes", function()
    paths.assert_compiles_for_gpus { source = source:match "%[%[(.-)%]%]", options = {} }
  end)

  it("has kernels that need no device runtime", function()
    local outputs = paths.outputs(source:match "local m.-%]%]" .. [==[
      local path = os.tmpname()
      m:save(path)
      local file = io.open(path, "rb")
      print((file:read "a":find(".extern .func cudaGraphSetConditional", 1, true)))
      file:close()
      os.remove(path)
    ]==], { "mwcc for a GPU", "NVRTC" })
    for path, output in pairs(outputs) do assert.equal("nil\n", output, path) end
  end)
end)
