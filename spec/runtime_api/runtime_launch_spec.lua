-- moonwarp.runtime: launches with attributes, clusters, and conditional nodes under CUDA's names.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local ok, code = runtime.ok, runtime.code

local m = mw.compile [[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void sizes(int *p) {
  if (threadIdx.x == 0) p[blockIdx.x] = cg::this_cluster().num_blocks() * 100 + cg::this_cluster().block_rank();
}
__global__ void __cluster_dims__(2, 1, 1) pairs(int *p) { p[blockIdx.x] = cg::this_cluster().num_blocks(); }
__global__ void together(int *p) { cg::this_grid().sync(); p[blockIdx.x] = 1; }
__global__ void add(int *p, int value) { p[threadIdx.x] += value; }
__global__ void doubled(int *p) { cudaGridDependencySynchronize(); p[threadIdx.x] *= 2; }
__global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *runs) {
  *runs += 1;
  cudaGraphSetConditional(handle, --*left);
}
]]

local function cluster(x)
  return { id = rt.cudaLaunchAttributeClusterDimension, val = { clusterDim = { x = x, y = 1, z = 1 } } }
end

describe("cudaLaunchKernelEx", function()
  it("launches clusters", function()
    local p = mw.zeros(8, "int")
    local config = { gridDim = 8, blockDim = 32, attrs = { cluster(4), { id = rt.cudaLaunchAttributeIgnore } } }
    ok(rt.cudaLaunchKernelEx(config, m.sizes, p))
    assert.same({ 400, 401, 402, 403, 400, 401, 402, 403 }, p:totable())
    ok(rt.cudaLaunchKernelExC({ gridDim = 8, blockDim = 32 }, m.pairs, { p }))
    assert.equal(2, p[8])
    code("cudaErrorInvalidClusterSize", rt.cudaLaunchKernelEx(config, m.pairs, p))
    config.attrs[1] = cluster(3)
    code("cudaErrorInvalidClusterSize", rt.cudaLaunchKernelExC(config, m.sizes, { p }))
    code("cudaErrorInvalidDeviceFunction", rt.cudaLaunchKernelExC(config, "nothing", { p }))
    code("cudaErrorInvalidDeviceFunction", rt.cudaLaunchKernelEx(config, "nothing", p))
  end)

  it("takes more than 8 blocks a cluster if the kernel allows it", function()
    local p, config = mw.zeros(16, "int"), { gridDim = 16, blockDim = 32, attrs = { cluster(16) } }
    assert.equal(8, ok(rt.cudaOccupancyMaxPotentialClusterSize(m.sizes, config)))
    code("cudaErrorInvalidClusterSize", rt.cudaLaunchKernelEx(config, m.sizes, p))
    code("cudaErrorInvalidClusterSize", rt.cudaOccupancyMaxActiveClusters(m.sizes, config))
    ok(rt.cudaFuncSetAttribute(m.sizes, rt.cudaFuncAttributeNonPortableClusterSizeAllowed, 1))
    ok(rt.cudaLaunchKernelEx(config, m.sizes, p))
    assert.equal(1615, p[16])
    assert.equal(16, ok(rt.cudaOccupancyMaxPotentialClusterSize(m.sizes, config)))
    ok(rt.cudaFuncSetAttribute(m.sizes, rt.cudaFuncAttributeNonPortableClusterSizeAllowed, 0))
  end)

  it("uses the clusters that were set for the kernel", function()
    local p, config = mw.zeros(8, "int"), { gridDim = 8, blockDim = 32 }
    for _, axis in ipairs { "Width", "Height", "Depth" } do
      ok(rt.cudaFuncSetAttribute(m.sizes, rt["cudaFuncAttributeRequiredCluster" .. axis], axis == "Width" and 2 or 1))
    end
    ok(rt.cudaLaunchKernelEx(config, m.sizes, p))
    assert.equal(201, p[8])
    local facts = ok(rt.cudaFuncGetAttributes(m.sizes))
    assert.same({ 2, 1, 1, 0 }, { facts.requiredClusterWidth, facts.requiredClusterHeight, facts.requiredClusterDepth,
      facts.clusterDimMustBeSet })
    assert.equal(2, ok(rt.cudaFuncGetAttributes(m.pairs)).requiredClusterWidth)
    ok(rt.cudaFuncSetAttribute(m.sizes, rt.cudaFuncAttributeRequiredClusterWidth, 0))
    code("cudaErrorInvalidValue", rt.cudaFuncSetAttribute(m.pairs, rt.cudaFuncAttributeRequiredClusterWidth, 4))
    code("cudaErrorInvalidValue", rt.cudaFuncSetAttribute(m.sizes, rt.cudaFuncAttributeRequiredClusterWidth, 17))
  end)

  it("says how many clusters the device holds", function()
    local config = { gridDim = 8, blockDim = 32, attrs = { cluster(4) } }
    assert.is_true(ok(rt.cudaOccupancyMaxActiveClusters(m.sizes, config)) > 0)
    config.attrs = nil
    assert.is_true(ok(rt.cudaOccupancyMaxActiveClusters(m.pairs, config)) > 0)
    code("cudaErrorInvalidClusterSize", rt.cudaOccupancyMaxActiveClusters(m.sizes, config))
    code("cudaErrorInvalidDeviceFunction", rt.cudaOccupancyMaxActiveClusters("nothing", config))
    code("cudaErrorInvalidDeviceFunction", rt.cudaOccupancyMaxPotentialClusterSize("nothing", config))
    code("cudaErrorInvalidValue", rt.cudaOccupancyMaxPotentialClusterSize(m.sizes, 5))
  end)

  it("launches cooperatively, and after the launch before it", function()
    local p = mw.zeros(32, "int")
    ok(rt.cudaLaunchKernelEx({ gridDim = 2, blockDim = 32, attrs = {
      { id = rt.cudaLaunchAttributeCooperative, val = { cooperative = 1 } },
    } }, m.together, p))
    assert.equal(1, p[2])
    ok(rt.cudaLaunchKernel(m.add, 1, 32, { p, 3 }))
    ok(rt.cudaLaunchKernelEx({ gridDim = 1, blockDim = 32, attrs = {
      { id = rt.cudaLaunchAttributeProgrammaticStreamSerialization,
        val = { programmaticStreamSerializationAllowed = 1 } },
    } }, m.doubled, p))
    assert.equal(8, p[1])
  end)

  it("records events, and checks what has no effect", function()
    local p, done, began = mw.zeros(32, "int"), ok(rt.cudaEventCreate()), ok(rt.cudaEventCreate())
    local carveout = { id = rt.cudaLaunchAttributePreferredSharedMemoryCarveout, val = { sharedMemCarveout = 50 } }
    local config = { gridDim = 1, blockDim = 32, attrs = {
      { id = rt.cudaLaunchAttributePriority, val = { priority = -1 } }, { id = rt.cudaLaunchAttributeMemSyncDomain },
      { id = rt.cudaLaunchAttributeAccessPolicyWindow, val = { accessPolicyWindow = { hitRatio = 1 } } }, carveout,
      { id = rt.cudaLaunchAttributeProgrammaticEvent, val = { programmaticEvent = { event = done } } },
      { id = rt.cudaLaunchAttributeLaunchCompletionEvent, val = { launchCompletionEvent = { event = began } } },
    } }
    ok(rt.cudaLaunchKernelEx(config, m.add, p, 3))
    ok(rt.cudaEventSynchronize(done))
    ok(rt.cudaEventSynchronize(began))
    assert.equal(3, p[32])
    carveout.val.sharedMemCarveout = 101
    code("cudaErrorInvalidValue", rt.cudaLaunchKernelEx(config, m.add, p, 3))
    code("cudaErrorInvalidValue", rt.cudaLaunchKernelExC({ gridDim = 1, blockDim = 1, attrs = { { id = 99 } } }, m.add))
    ok(rt.cudaEventDestroy(done))
    carveout.val.sharedMemCarveout = 1
    code("cudaErrorInvalidResourceHandle", rt.cudaLaunchKernelExC(config, m.add, { p, 3 }))
  end)
end)

describe("cudaGetDriverEntryPoint", function()
  it("finds functions of the driver API", function()
    local f, found = ok(rt.cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", rt.cudaEnableDefault))
    assert.equal(require("moonwarp.driver").cuTensorMapEncodeTiled, f)
    assert.equal(rt.cudaDriverEntryPointSuccess, found)
    assert.equal(f, (ok(rt.cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", 12000, 0))))
    local none, why = ok(rt.cudaGetDriverEntryPoint("cuNothing", 0))
    assert.same({ nil, rt.cudaDriverEntryPointSymbolNotFound }, { none, why })
    code("cudaErrorInvalidValue", rt.cudaGetDriverEntryPoint("", 0))
    code("cudaErrorInvalidValue", rt.cudaGetDriverEntryPointByVersion("cuInit", 12000, 5))
  end)
end)

describe("conditional nodes", function()
  it("are added by cudaGraphAddNode, as are others", function()
    local left, runs, x = mw.array({ 3 }, "int"), mw.zeros(1, "int"), mw.zeros(4, "int")
    local graph = ok(rt.cudaGraphCreate(0))
    local handle = ok(rt.cudaGraphConditionalHandleCreate(graph, 1, rt.cudaGraphCondAssignDefault))
    local params = { type = rt.cudaGraphNodeTypeConditional,
      conditional = { handle = handle, type = rt.cudaGraphCondTypeWhile, size = 1 } }
    local node = ok(rt.cudaGraphAddNode(graph, nil, params))
    assert.equal(rt.cudaGraphNodeTypeConditional, ok(rt.cudaGraphNodeGetType(graph, node)))
    local body = params.conditional.phGraph_out[0]
    local inside = ok(rt.cudaGraphAddNode(body, nil, { type = rt.cudaGraphNodeTypeKernel, kernel = {
      func = m.count_down, gridDim = 1, blockDim = 1, kernelParams = { handle, left, runs },
    } }))
    local s = ok(rt.cudaStreamCreate())
    ok(rt.cudaStreamBeginCaptureToGraph(s, body, { inside }, nil, rt.cudaStreamCaptureModeRelaxed))
    ok(rt.cudaLaunchKernel(m.add, 1, 4, { x, 5 }, 0, s))
    assert.equal(body, ok(rt.cudaStreamEndCapture(s)))
    ok(rt.cudaGraphAddNode(graph, { node }, { type = rt.cudaGraphNodeTypeEmpty }))
    ok(rt.cudaGraphAddNode(graph, { node },
      { type = rt.cudaGraphNodeTypeMemset, memset = { dst = left, value = 9, elementSize = 4, width = 1 } }))
    local exec = ok(rt.cudaGraphInstantiate(graph))
    ok(rt.cudaGraphLaunch(exec, s))
    ok(rt.cudaStreamSynchronize(s))
    assert.same({ 9, 3, 15 }, { left[1], runs[1], x[4] })
    code("cudaErrorInvalidValue", rt.cudaGraphAddNode(graph, nil, params))
    code("cudaErrorInvalidValue", rt.cudaGraphAddNode(graph, nil, nil))
    code("cudaErrorNotSupported", rt.cudaGraphAddNode(graph, nil, { type = 4 }))
    code("cudaErrorInvalidValue", rt.cudaGraphConditionalHandleCreate(graph, 1, 2))
    code("cudaErrorInvalidValue", rt.cudaStreamBeginCaptureToGraph(s, graph, nil, nil, 3))
    code("cudaErrorInvalidResourceHandle", rt.cudaStreamBeginCaptureToGraph("s", graph))
    body:call({ inside }, function() end)
    code("cudaErrorNotSupported", rt.cudaGraphInstantiate(graph))
  end)
end)
