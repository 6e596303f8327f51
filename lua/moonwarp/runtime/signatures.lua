-- The parameters of functions under CUDA's names that do not check them themselves. The notation is that of
-- moonwarp/check/arguments.lua. Functions whose names end in Async take a stream as well.

local extent = "{width: integer, height: integer, depth: integer}"
local linear = "dst: any, src: any, count: integer, kind: integer"
local memset = "{dst: any, value: integer, elementSize: integer, width: integer, height: integer, pitch: integer}"

return {
  cuModuleLoadDataEx = "image: any, options?: table",
  cuEventCreate = "flags?: integer",
  cudaMemcpyArrayToArray = "dst: cuda_array, dx: integer, dy: integer, src: cuda_array, sx: integer, sy: integer, "
    .. "count: integer, kind?: integer",
  cudaMallocArray = "desc: any, width: integer, height?: integer, flags?: integer",
  cudaDeviceGetByPCIBusId = "id: string",
  cudaSetValidDevices = "list: table",
  cudaLaunchCooperativeKernel = "kernel: any, grid: any, block: any, arguments?: table, shared?: any, stream?: any",
  cudaLaunchKernel = "kernel: any, grid: any, block: any, arguments?: table, shared?: any, stream?: any",
  cudaOccupancyMaxActiveBlocksPerMultiprocessor = "kernel: any, block: integer, shared?: integer",
  cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags =
    "kernel: any, block: integer, shared?: integer, flags?: integer",
  cudaOccupancyMaxPotentialBlockSize = "kernel: any, shared?: integer|function, limit?: integer",
  cudaGraphAddDependencies = "graph: graph, from: table, to: table",
  cudaGraphAddMemcpyNode1D = "graph: graph, after?: table, " .. linear,
  cudaGraphAddMemcpyNode = "graph: graph, after?: table, params: table",
  cudaGraphAddMemsetNode = "graph: graph, after?: table, params: " .. memset,
  cudaGraphAddHostNode = "graph: graph, after?: table, params: table",
  cudaGraphExecMemcpyNodeSetParams1D = "exec: graph_exec, node: integer, " .. linear,
  cudaGraphExecMemcpyNodeSetParams = "exec: graph_exec, node: integer, params: table",
  cudaGraphExecMemsetNodeSetParams = "exec: graph_exec, node: integer, params: " .. memset,
  cudaGraphExecHostNodeSetParams = "exec: graph_exec, node: integer, params: table",
  cudaGraphDebugDotPrint = "graph: graph, path: path, flags?: integer",
  cudaHostRegister = "p: any, bytes: integer, flags?: integer",
  cudaMalloc3D = "extent: " .. extent,
  cudaMemcpy = "dst: any, src: any, count: any, kind: any",
  cudaMemcpy2D = "dst: any, dpitch: integer, src: any, spitch: integer, width: integer, height: integer, kind: any",
  cudaMemcpy3D = "p: table",
  cudaMemcpy3DPeer = "p: table",
  cudaMemcpyFromSymbol = "dst: any, symbol: any, count: integer, offset?: integer, kind?: integer",
  cudaMemcpyPeer = "dst: any, to: integer, src: any, from: integer, count: any",
  cudaMemcpyToSymbol = "symbol: any, src: any, count: integer, offset?: integer, kind?: integer",
  cudaMemset = "dst: any, value: any, count: any",
  cudaMemset2D = "dst: any, pitch: integer, value: integer, width: integer, height: integer",
  cudaMemset3D = "p: table, value: integer, extent: " .. extent,
  malloc = "bytes: integer, dtype?: dtype",
  cudaEventCreateWithFlags = "flags: integer",
  cudaStreamCreateWithPriority = "flags: any, priority?: integer",
  cudaCreateTextureObject = "resource: table, texture?: table, view?: any",
}
