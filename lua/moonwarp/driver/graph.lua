-- cuGraph…: graphs are moonwarp's; a node is its number in the graph, as in moonwarp.runtime. Node parameters are
-- tables with the driver's field names.

local pointer = require "moonwarp.runtime.pointer"
local runtime = require "moonwarp.runtime"
local body = require("moonwarp.runtime.result").body
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"
local execution = require "moonwarp.driver.execution"
local textures = require "moonwarp.driver.texture"
local copies = require "moonwarp.driver.copy"
local graphs = require "moonwarp.runtime.graph"

local fail, call = result.fail, contexts.call
local M = {}

local function check_table(value, what)
  if type(value) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "%s is a table, got a %s", what, type(value)) end
  return value
end

-- CUDA_KERNEL_NODE_PARAMS with the runtime's field names.
local function kernel_params(p)
  check_table(p, "CUDA_KERNEL_NODE_PARAMS")
  textures.bind_all(execution.check(p.func).module)
  return {
    func = p.func, gridDim = { p.gridDimX, p.gridDimY or 1, p.gridDimZ or 1 },
    blockDim = { p.blockDimX, p.blockDimY or 1, p.blockDimZ or 1 }, sharedMemBytes = p.sharedMemBytes,
    kernelParams = p.kernelParams,
  }
end

---@param cu table
function M.install(cu)
  cu.CU_STREAM_CAPTURE_MODE_GLOBAL, cu.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, cu.CU_STREAM_CAPTURE_MODE_RELAXED = 0, 1, 2
  cu.CU_STREAM_CAPTURE_STATUS_NONE, cu.CU_STREAM_CAPTURE_STATUS_ACTIVE = 0, 1
  cu.CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
  cu.CU_GRAPH_NODE_TYPE_KERNEL, cu.CU_GRAPH_NODE_TYPE_MEMCPY, cu.CU_GRAPH_NODE_TYPE_MEMSET = 0, 1, 2
  cu.CU_GRAPH_NODE_TYPE_HOST, cu.CU_GRAPH_NODE_TYPE_EMPTY = 3, 5
  cu.CU_GRAPH_NODE_TYPE_CONDITIONAL, cu.CU_GRAPH_COND_ASSIGN_DEFAULT = 13, 1
  cu.CU_GRAPH_COND_TYPE_IF, cu.CU_GRAPH_COND_TYPE_WHILE, cu.CU_GRAPH_COND_TYPE_SWITCH = 0, 1, 2
  cu.CU_KERNEL_NODE_ATTRIBUTE_ACCESS_POLICY_WINDOW, cu.CU_KERNEL_NODE_ATTRIBUTE_COOPERATIVE = 1, 2

  contexts.forward(cu, {
    cuStreamBeginCapture = "cudaStreamBeginCapture", cuStreamEndCapture = "cudaStreamEndCapture",
    cuStreamIsCapturing = "cudaStreamIsCapturing",
    cuStreamBeginCaptureToGraph = "cudaStreamBeginCaptureToGraph", cuGraphCreate = "cudaGraphCreate",
    cuGraphDestroy = "cudaGraphDestroy", cuGraphAddEmptyNode = "cudaGraphAddEmptyNode",
    cuGraphAddHostNode = "cudaGraphAddHostNode", cuGraphAddDependencies = "cudaGraphAddDependencies",
    cuGraphGetNodes = "cudaGraphGetNodes", cuGraphGetRootNodes = "cudaGraphGetRootNodes",
    cuGraphGetEdges = "cudaGraphGetEdges", cuGraphNodeGetType = "cudaGraphNodeGetType",
    cuGraphNodeGetDependencies = "cudaGraphNodeGetDependencies",
    cuGraphNodeGetDependentNodes = "cudaGraphNodeGetDependentNodes", cuGraphDebugDotPrint = "cudaGraphDebugDotPrint",
    cuGraphInstantiate = "cudaGraphInstantiate", cuGraphLaunch = "cudaGraphLaunch",
    cuGraphExecHostNodeSetParams = "cudaGraphExecHostNodeSetParams",
    cuGraphExecDestroy = "cudaGraphExecDestroy", cuGraphExecUpdate = "cudaGraphExecUpdate",
    cuGraphKernelNodeSetAttribute = "cudaGraphKernelNodeSetAttribute",
    cuGraphKernelNodeGetAttribute = "cudaGraphKernelNodeGetAttribute",
    cuGraphKernelNodeCopyAttributes = "cudaGraphKernelNodeCopyAttributes",
  })
  local add_kernel, add_set = body(runtime.cudaGraphAddKernelNode), body(runtime.cudaGraphAddMemsetNode)
  local set_kernel = body(runtime.cudaGraphExecKernelNodeSetParams)
  cu.cuGraphAddKernelNode = call(function(graph, after, p) return add_kernel(graph, after, kernel_params(p)) end)
  -- In C the second argument is a context; here it is the current one.
  local new_condition = body(runtime.cudaGraphConditionalHandleCreate)
  cu.cuGraphConditionalHandleCreate = call(function(graph, value, flags) return new_condition(graph, value, flags) end)
  -- In C the last argument is a context; here it is the current one.
  local function copy_node(p)
    return function(stream) copies.copy(stream, p, "CUDA_MEMCPY3D") end
  end
  cu.cuGraphAddMemcpyNode = call(function(graph, after, p) return graphs.add(graph, after, copy_node(p)) end)
  cu.cuGraphExecMemcpyNodeSetParams = call(function(exec, node, p) graphs.replace(exec, node, copy_node(p)) end)
  local function memset_params(p)
    check_table(p, "CUDA_MEMSET_NODE_PARAMS")
    pointer.address(p.dst)
    return p
  end
  cu.cuGraphAddMemsetNode = call(function(graph, after, p) return add_set(graph, after, memset_params(p)) end)
  local renew_set = body(runtime.cudaGraphExecMemsetNodeSetParams)
  cu.cuGraphExecMemsetNodeSetParams = call(function(exec, node, p) renew_set(exec, node, memset_params(p)) end)
  local add_any = body(runtime.cudaGraphAddNode)
  cu.cuGraphAddNode = call(function(graph, after, params)
    check_table(params, "CUgraphNodeParams")
    if params.type == 0 then return add_kernel(graph, after, kernel_params(params.kernel)) end
    if params.type == 1 then
      return graphs.add(graph, after, copy_node(check_table(params.memcpy, "CUDA_MEMCPY_NODE_PARAMS").copyParams))
    end
    if params.type == 2 then return add_set(graph, after, memset_params(params.memset)) end
    return add_any(graph, after, params)
  end)
  cu.cuGraphExecKernelNodeSetParams = call(function(exec, node, p) set_kernel(exec, node, kernel_params(p)) end)
end

return M
