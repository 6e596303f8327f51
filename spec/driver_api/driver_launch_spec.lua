-- moonwarp.driver: launches with attributes, clusters, tensor maps, and conditional nodes under CUDA's names.

local cu = require "moonwarp.driver"
local driver = require "support.api.driver"

local ok, code = driver.ok, driver.code

local context, sizes, count_down, box
setup(function()
  context = driver.context()
  local module = ok(cu.cuModuleLoadData [[
    #include <cooperative_groups.h>
    #include <cuda.h>
    #include <cuda/barrier>
    namespace cg = cooperative_groups;
    namespace cde = cuda::device::experimental;
    __global__ void sizes(int *p) {
      if (threadIdx.x == 0) p[blockIdx.x] = cg::this_cluster().num_blocks() * 100 + cg::this_cluster().block_rank();
    }
    __global__ void count_down(cudaGraphConditionalHandle handle, int *left, int *runs) {
      *runs += 1;
      cudaGraphSetConditional(handle, --*left);
    }
    __global__ void box(const __grid_constant__ CUtensorMap map, int *out) {
      __shared__ alignas(128) int tile[2][4];
      __shared__ cuda::barrier<cuda::thread_scope_block> bar;
      if (threadIdx.x == 0) init(&bar, blockDim.x);
      __syncthreads();
      cuda::barrier<cuda::thread_scope_block>::arrival_token token;
      if (threadIdx.x == 0) {
        cde::fence_proxy_async_shared_cta();
        cde::cp_async_bulk_tensor_2d_global_to_shared(tile, &map, 4, 1, bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
      } else {
        token = bar.arrive();
      }
      bar.wait(static_cast<decltype(token) &&>(token));
      if (threadIdx.x < 8) out[threadIdx.x] = tile[threadIdx.x / 4][threadIdx.x % 4];
    }
  ]])
  sizes = ok(cu.cuModuleGetFunction(module, "sizes"))
  count_down = ok(cu.cuModuleGetFunction(module, "count_down"))
  box = ok(cu.cuModuleGetFunction(module, "box"))
end)
teardown(function() ok(cu.cuCtxDestroy(context)) end)

local function values(p, count)
  local h = cu.malloc(4 * count, "int")
  ok(cu.cuMemcpyDtoH(h, p, 4 * count))
  return h:totable(count)
end

describe("cuLaunchKernelEx", function()
  it("launches clusters, and says how large and how many they can be", function()
    local p = ok(cu.cuMemAlloc(64))
    local attribute = { id = cu.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION }
    attribute.value = { clusterDim = { x = 2, y = 1, z = 1 } }
    local config = { gridDimX = 4, blockDimX = 32, attrs = { attribute }, numAttrs = 1 }
    ok(cu.cuLaunchKernelEx(config, sizes, { p }))
    assert.same({ 200, 201, 200, 201 }, values(p, 4))
    assert.equal(8, ok(cu.cuOccupancyMaxPotentialClusterSize(sizes, config)))
    assert.is_true(ok(cu.cuOccupancyMaxActiveClusters(sizes, config)) > 0)
    ok(cu.cuFuncSetAttribute(sizes, cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1))
    assert.equal(1, ok(cu.cuFuncGetAttribute(cu.CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, sizes)))
    assert.equal(16, ok(cu.cuOccupancyMaxPotentialClusterSize(sizes, config)))
    attribute.value.clusterDim.x = 3
    code("CUDA_ERROR_INVALID_CLUSTER_SIZE", cu.cuLaunchKernelEx(config, sizes, { p }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernelEx(nil, sizes, { p }))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuLaunchKernelEx(config, 5, { p }))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuOccupancyMaxPotentialClusterSize(5, config))
    config.attrs = {}
    config.numAttrs = nil
    code("CUDA_ERROR_INVALID_CLUSTER_SIZE", cu.cuOccupancyMaxActiveClusters(sizes, config))
    ok(cu.cuMemFree(p))
  end)
end)

describe("tensor maps", function()
  it("name the boxes that kernels copy", function()
    local p, out, h = ok(cu.cuMemAlloc(16 * 4 * 4)), ok(cu.cuMemAlloc(32)), cu.malloc(16 * 4 * 4, "int")
    for i = 0, 63 do h[i] = i end
    ok(cu.cuMemcpyHtoD(p, h, 256))
    local encode = ok(cu.cuGetProcAddress("cuTensorMapEncodeTiled", 12000, 0))
    local int = cu.CU_TENSOR_MAP_DATA_TYPE_INT32
    local map = ok(encode(int, 2, p, { 16, 4 }, { 64 }, { 4, 2 }, { 1, 1 }))
    ok(cu.cuLaunchKernel(box, 1, 1, 1, 32, 1, 1, 0, 0, { map, out }))
    assert.same({ 20, 21, 22, 23, 36, 37, 38, 39 }, values(out, 8))
    ok(cu.cuTensorMapEncodeTiled(int, 2, p, { 16, 4 }, { 64 }, { 4, 2 }, { 1, 1 }, cu.CU_TENSOR_MAP_INTERLEAVE_NONE,
      cu.CU_TENSOR_MAP_SWIZZLE_NONE, cu.CU_TENSOR_MAP_L2_PROMOTION_L2_128B, cu.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTensorMapEncodeTiled(int, 2, p, { 16, 4 }, { 60 }, { 4, 2 }, { 1, 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTensorMapEncodeTiled(int, 6, p, {}, {}, {}, {}))
    ok(cu.cuTensorMapEncodeIm2col(int, 3, p, { 4, 4, 4 }, { 16, 64 }, { -1 }, { -1 }, 4, 8, { 1, 1, 1 },
      cu.CU_TENSOR_MAP_INTERLEAVE_NONE, cu.CU_TENSOR_MAP_SWIZZLE_NONE, cu.CU_TENSOR_MAP_L2_PROMOTION_NONE,
      cu.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTensorMapEncodeIm2col(int, 3, p, { 4, 4, 4 }, { 16, 64 }, { -1 }, { -1 }, 4,
      1025, { 1, 1, 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuTensorMapEncodeIm2col(int, 2, p, { 4, 4 }, { 16 }, {}, {}, 4, 8, { 1, 1 }))
    code("CUDA_ERROR_NOT_FOUND", cu.cuGetProcAddress("cudaMalloc"))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGetProcAddress(""))
  end)
end)

describe("conditional nodes", function()
  it("are added by cuGraphAddNode, as are others", function()
    local p = ok(cu.cuMemAlloc(16))
    ok(cu.cuMemsetD32(p, 3, 2))
    local graph = ok(cu.cuGraphCreate(0))
    local handle = ok(cu.cuGraphConditionalHandleCreate(graph, 1, cu.CU_GRAPH_COND_ASSIGN_DEFAULT))
    local params = { type = cu.CU_GRAPH_NODE_TYPE_CONDITIONAL,
      conditional = { handle = handle, type = cu.CU_GRAPH_COND_TYPE_WHILE, size = 1 } }
    local node = ok(cu.cuGraphAddNode(graph, nil, params))
    ok(cu.cuGraphAddNode(params.conditional.phGraph_out[0], nil, { type = cu.CU_GRAPH_NODE_TYPE_KERNEL, kernel = {
      func = count_down, gridDimX = 1, blockDimX = 1, kernelParams = { handle, p, p + 4 },
    } }))
    ok(cu.cuGraphAddNode(graph, { node }, { type = cu.CU_GRAPH_NODE_TYPE_MEMSET,
      memset = { dst = p + 8, value = 7, elementSize = 4, width = 1, height = 1 } }))
    local s = ok(cu.cuStreamCreate(cu.CU_STREAM_NON_BLOCKING))
    ok(cu.cuStreamBeginCaptureToGraph(s, graph, { node }, nil, cu.CU_STREAM_CAPTURE_MODE_RELAXED))
    ok(cu.cuMemsetD32Async(p + 12, 8, 1, s))
    assert.equal(graph, ok(cu.cuStreamEndCapture(s)))
    local exec = ok(cu.cuGraphInstantiate(graph))
    ok(cu.cuGraphLaunch(exec, s))
    ok(cu.cuStreamSynchronize(s))
    assert.same({ 0, 6, 7, 8 }, values(p, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphAddNode(graph, nil, params))
    code("CUDA_ERROR_NOT_SUPPORTED", cu.cuGraphAddNode(graph, nil, { type = 4 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuGraphConditionalHandleCreate(graph, 1, 2))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuStreamBeginCaptureToGraph(s, 5))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuStreamBeginCaptureToGraph("s", graph))
  end)
end)
