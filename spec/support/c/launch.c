/* Launches with attributes, clusters, tensor maps and conditional nodes under the names of both APIs. */
#include "check.h"

static const char source[] =
    "#include <cooperative_groups.h>\n"
    "#include <cuda.h>\n"
    "namespace cg = cooperative_groups;\n"
    "extern \"C\" {\n"
    "__global__ void add(int *p, int n, int value) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) p[i] += value;\n"
    "}\n"
    "__global__ void sizes(int *p) {\n"
    "  if (threadIdx.x == 0) p[blockIdx.x] = cg::this_cluster().num_blocks() * 100 + cg::this_cluster().block_rank();\n"
    "}\n"
    "__global__ void __cluster_dims__(2, 1, 1) pairs(int *p) { p[blockIdx.x] = cg::this_cluster().num_blocks(); }\n"
    "__global__ void waits(int *p) { cudaGridDependencySynchronize(); p[0] *= 2; }\n"
    "__global__ void together(int *p) { cg::this_grid().sync(); p[blockIdx.x] = 1; }\n"
    "__global__ void count_down(cudaGraphConditionalHandle h, int *left, int *runs) {\n"
    "  *runs += 1;\n"
    "  cudaGraphSetConditional(h, --*left);\n"
    "}\n"
    "__global__ void first(const __grid_constant__ CUtensorMap map, unsigned long long *p) { *p = map.opaque[0]; }\n"
    "}\n";

static int *memory;

static int element(int i) {
  int value = 0;
  OK(cudaMemcpy(&value, memory + i, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

static cudaLaunchConfig_t config_of(unsigned grid, unsigned block, cudaLaunchAttribute *attributes, unsigned count) {
  return (cudaLaunchConfig_t){
      .gridDim = {grid, 1, 1}, .blockDim = {block, 1, 1}, .attrs = attributes, .numAttrs = count};
}

static cudaLaunchAttribute cluster_of(unsigned x) {
  cudaLaunchAttribute a = {.id = cudaLaunchAttributeClusterDimension};
  a.val.clusterDim.x = x, a.val.clusterDim.y = a.val.clusterDim.z = 1;
  return a;
}

static void test_clusters(void) {
  void *arguments[] = {&memory};
  cudaLaunchAttribute a[2] = {cluster_of(4), {.id = cudaLaunchAttributeIgnore}};
  cudaLaunchConfig_t config = config_of(8, 32, a, 2);
  struct cudaFuncAttributes facts;
  int size = 0, clusters = 0;
  OK(cudaLaunchKernelExC(&config, "sizes", arguments));
  EXPECT(element(0) == 400 && element(3) == 403 && element(4) == 400 && element(7) == 403);
  OK(cudaLaunchKernelExC(&config, "sizes", arguments));
  config.numAttrs = 0;
  OK(cudaLaunchKernelExC(&config, "pairs", arguments));
  EXPECT(element(7) == 2);
  config.numAttrs = 1;
  CODE(cudaErrorInvalidClusterSize, cudaLaunchKernelExC(&config, "pairs", arguments));
  a[0] = cluster_of(3);
  CODE(cudaErrorInvalidClusterSize, cudaLaunchKernelExC(&config, "sizes", arguments));
  a[0] = cluster_of(0);
  CODE(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, "sizes", arguments));
  /* more than 8 blocks want an attribute */
  a[0] = cluster_of(16);
  config.gridDim.x = 16;
  OK(cudaOccupancyMaxPotentialClusterSize(&size, "sizes", &config));
  EXPECT(size == 8);
  CODE(cudaErrorInvalidClusterSize, cudaLaunchKernelExC(&config, "sizes", arguments));
  CODE(cudaErrorInvalidClusterSize, cudaOccupancyMaxActiveClusters(&clusters, "sizes", &config));
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  OK(cudaLaunchKernelExC(&config, "sizes", arguments));
  EXPECT(element(15) == 1615);
  OK(cudaOccupancyMaxPotentialClusterSize(&size, "sizes", &config));
  EXPECT(size == 16);
  a[0] = cluster_of(2);
  OK(cudaOccupancyMaxActiveClusters(&clusters, "sizes", &config));
  EXPECT(clusters > 0);
  config.numAttrs = 0;
  CODE(cudaErrorInvalidClusterSize, cudaOccupancyMaxActiveClusters(&clusters, "sizes", &config));
  OK(cudaOccupancyMaxActiveClusters(&clusters, "pairs", &config));
  EXPECT(clusters > 0);
  /* clusters that are set for the kernel */
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeRequiredClusterWidth, 4));
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeRequiredClusterHeight, 1));
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeRequiredClusterDepth, 1));
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeClusterSchedulingPolicyPreference, 2));
  OK(cudaLaunchKernelExC(&config, "sizes", arguments));
  EXPECT(element(15) == 403);
  OK(cudaFuncGetAttributes(&facts, "sizes"));
  EXPECT(facts.requiredClusterWidth == 4 && facts.requiredClusterDepth == 1 && facts.nonPortableClusterSizeAllowed);
  EXPECT(facts.clusterSchedulingPolicyPreference == 2 && !facts.clusterDimMustBeSet);
  OK(cudaFuncGetAttributes(&facts, "pairs"));
  EXPECT(facts.requiredClusterWidth == 2 && facts.clusterDimMustBeSet);
  CODE(cudaErrorInvalidValue, cudaFuncSetAttribute("pairs", cudaFuncAttributeRequiredClusterWidth, 4));
  CODE(cudaErrorInvalidValue, cudaFuncSetAttribute("sizes", cudaFuncAttributeRequiredClusterWidth, 17));
  CODE(cudaErrorInvalidValue, cudaFuncSetAttribute("sizes", cudaFuncAttributeNonPortableClusterSizeAllowed, 2));
  OK(cudaFuncSetAttribute("sizes", cudaFuncAttributeRequiredClusterWidth, 0));
}

static void test_attributes(void) {
  int n = 8, value = 3;
  void *arguments[] = {&memory, &n, &value}, *one[] = {&memory};
  cudaEvent_t done, began;
  cudaLaunchAttribute a[8] = {
      {.id = cudaLaunchAttributePriority},           {.id = cudaLaunchAttributeMemSyncDomain},
      {.id = cudaLaunchAttributeMemSyncDomainMap},   {.id = cudaLaunchAttributePreferredSharedMemoryCarveout},
      {.id = cudaLaunchAttributeAccessPolicyWindow}, {.id = cudaLaunchAttributeClusterSchedulingPolicyPreference},
      {.id = cudaLaunchAttributeProgrammaticEvent},  {.id = cudaLaunchAttributeLaunchCompletionEvent}};
  OK(cudaEventCreate(&done));
  OK(cudaEventCreate(&began));
  a[3].val.sharedMemCarveout = 50;
  a[6].val.programmaticEvent.event = done;
  a[7].val.launchCompletionEvent.event = began;
  cudaLaunchConfig_t config = config_of(1, 32, a, 8);
  OK(cudaMemset(memory, 0, 64));
  OK(cudaLaunchKernelExC(&config, "add", arguments));
  OK(cudaEventSynchronize(done));
  OK(cudaEventSynchronize(began));
  EXPECT(element(7) == 3);
  /* the second launch depends on the first */
  cudaLaunchAttribute depends = {.id = cudaLaunchAttributeProgrammaticStreamSerialization};
  depends.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t second = config_of(1, 1, &depends, 1);
  OK(cudaLaunchKernelExC(&config, "add", arguments));
  OK(cudaLaunchKernelExC(&second, "waits", one));
  EXPECT(element(0) == 12);
  cudaLaunchAttribute cooperative = {.id = cudaLaunchAttributeCooperative};
  cooperative.val.cooperative = 1;
  second = config_of(2, 32, &cooperative, 1);
  OK(cudaLaunchKernelExC(&second, "together", one));
  EXPECT(element(1) == 1);
  a[3].val.sharedMemCarveout = 101;
  CODE(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, "add", arguments));
  a[3].id = (cudaLaunchAttributeID)99;
  CODE(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, "add", arguments));
  config.attrs = NULL;
  CODE(cudaErrorInvalidValue, cudaLaunchKernelExC(&config, "add", arguments));
  CODE(cudaErrorInvalidValue, cudaLaunchKernelExC(NULL, "add", arguments));
  config.numAttrs = 0;
  CODE(cudaErrorInvalidDeviceFunction, cudaLaunchKernelExC(&config, "nothing", arguments));
  OK(cudaEventDestroy(done));
  config.numAttrs = 1, config.attrs = &a[6];
  CODE(cudaErrorInvalidResourceHandle, cudaLaunchKernelExC(&config, "add", arguments));
  OK(cudaEventDestroy(began));
}

static void test_tensor_maps(void) {
  typedef CUresult (*encode_tiled)(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                   const cuuint64_t *, const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave,
                                   CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
  void *found = NULL, *same = NULL, *again = NULL;
  cudaDriverEntryPointQueryResult result;
  CUdriverProcAddressQueryResult driver_result;
  CUtensorMap map;
  const cuuint64_t sizes[] = {64, 64}, strides[] = {256}, odd[] = {250};
  const cuuint32_t box[] = {32, 8}, steps[] = {1, 1};
  OK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSuccess && found == (void *)(size_t)cuTensorMapEncodeTiled);
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &same, 12000, cudaEnableDefault, &result));
  OK(cuGetProcAddress("cuTensorMapEncodeTiled", &again, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &driver_result));
  EXPECT(same == found && again == found);
  OK(cudaGetDriverEntryPoint("cuNothing", &same, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSymbolNotFound && !same);
  CODE(cudaErrorInvalidValue, cudaGetDriverEntryPoint("", &same, cudaEnableDefault, &result));
  CODE(CUDA_ERROR_NOT_FOUND, cuGetProcAddress("cudaMalloc", &again, 12000, 0, NULL));
  CODE(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", NULL, 12000, 0, NULL));
  encode_tiled encode;
  memcpy(&encode, &found, sizeof encode);
  OK(encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
            CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  void *arguments[] = {&map, &memory};
  cudaLaunchConfig_t config = config_of(1, 1, NULL, 0);
  OK(cudaLaunchKernelExC(&config, "first", arguments));
  EXPECT((unsigned)element(0) == (unsigned)map.opaque[0]);
  CODE(CUDA_ERROR_INVALID_VALUE,
       encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, memory, sizes, odd, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CODE(CUDA_ERROR_INVALID_VALUE,
       encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 6, memory, sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
              CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  const int corner[] = {-1};
  const cuuint64_t pixel_sizes[] = {4, 4, 4}, pixel_strides[] = {16, 64};
  const cuuint32_t pixel_steps[] = {1, 1, 1};
  OK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, memory, pixel_sizes, pixel_strides, corner, corner,
                             4, 8, pixel_steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  CODE(CUDA_ERROR_INVALID_VALUE,
       cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 3, memory, pixel_sizes, pixel_strides, corner,
                               corner, 4, 1025, pixel_steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

static void test_conditional(void) {
  cudaGraph_t graph, body, other;
  cudaGraphExec_t exec;
  cudaGraphNode_t node, inside, more;
  cudaStream_t stream;
  enum cudaGraphNodeType type;
  cudaGraphConditionalHandle handle;
  int *left = memory, *runs = memory + 1, three = 3;
  void *arguments[] = {&handle, &left, &runs};
  OK(cudaStreamCreate(&stream));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  CODE(cudaErrorInvalidValue, cudaGraphConditionalHandleCreate(&handle, graph, 1, 2));
  cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional};
  params.conditional.handle = handle;
  params.conditional.type = cudaGraphCondTypeWhile;
  params.conditional.size = 1;
  OK(cudaGraphAddNode(&node, graph, NULL, 0, &params));
  body = params.conditional.phGraph_out[0];
  OK(cudaGraphNodeGetType(node, &type));
  EXPECT(type == cudaGraphNodeTypeConditional);
  cudaGraphNodeParams kernel = {.type = cudaGraphNodeTypeKernel};
  kernel.kernel = (struct cudaKernelNodeParams){
      .func = (void *)"count_down", .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = arguments};
  OK(cudaGraphAddNode_v2(&inside, body, NULL, NULL, 0, &kernel));
  OK(cudaStreamBeginCaptureToGraph(stream, body, &inside, NULL, 1, cudaStreamCaptureModeRelaxed));
  OK(cudaMemsetAsync(memory + 2, 7, 4, stream));
  OK(cudaStreamEndCapture(stream, &other));
  EXPECT(other == body);
  OK(cudaMemset(memory, 0, 64));
  OK(cudaMemcpy(left, &three, sizeof three, cudaMemcpyHostToDevice));
  OK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
  OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(element(0) == 0 && element(1) == 3 && element(2) == 0x07070707);
  CODE(cudaErrorInvalidValue, cudaGraphAddNode(&more, graph, NULL, 0, &params)); /* its condition has a node */
  CODE(cudaErrorInvalidValue, cudaGraphAddNode(&more, graph, &inside, 1, &kernel));
  CODE(cudaErrorInvalidValue, cudaGraphDestroy(body));
  CODE(cudaErrorNotSupported, cudaGraphExecKernelNodeSetParams(exec, inside, &kernel.kernel));
  kernel.type = cudaGraphNodeTypeGraph;
  CODE(cudaErrorNotSupported, cudaGraphAddNode(&more, graph, NULL, 0, &kernel));
  const cudaGraphEdgeData edge = {.type = 1};
  CODE(cudaErrorNotSupported, cudaGraphAddNode_v2(&more, body, &inside, &edge, 1, &kernel));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  CODE(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&more, body, NULL, 0));
  OK(cudaStreamDestroy(stream));
}

static void test_driver(CUmodule module) {
  CUfunction sizes = function_of(module, "sizes"), count_down = function_of(module, "count_down");
  CUdeviceptr p = (CUdeviceptr)(size_t)memory;
  void *arguments[] = {&p};
  CUlaunchAttribute a[] = {{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION}};
  a[0].value.clusterDim.x = 2, a[0].value.clusterDim.y = a[0].value.clusterDim.z = 1;
  CUlaunchConfig config = {
      .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1};
  config.attrs = a, config.numAttrs = 1;
  int value = 0;
  OK(cuLaunchKernelEx(&config, sizes, arguments, NULL));
  EXPECT(element(3) == 201);
  CODE(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(NULL, sizes, arguments, NULL));
  OK(cuOccupancyMaxPotentialClusterSize(&value, sizes, &config));
  EXPECT(value == 8);
  OK(cuOccupancyMaxActiveClusters(&value, sizes, &config));
  EXPECT(value > 0);
  OK(cuFuncSetAttribute(sizes, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, sizes));
  EXPECT(value == 1);
  CUgraph graph, other;
  CUgraphNode node, inside;
  CUgraphExec exec;
  CUstream stream;
  CUgraphConditionalHandle handle;
  CUdeviceptr left = p, runs = p + 4;
  void *counting[] = {&handle, &left, &runs};
  OK(cuMemsetD32(p, 2, 2));
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphConditionalHandleCreate(&handle, graph, NULL, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
  params.conditional.size = 1;
  OK(cuGraphAddNode(&node, graph, NULL, 0, &params));
  CUgraphNodeParams kernel = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
  kernel.kernel = (CUDA_KERNEL_NODE_PARAMS){.func = count_down,
                                            .gridDimX = 1,
                                            .gridDimY = 1,
                                            .gridDimZ = 1,
                                            .blockDimX = 1,
                                            .blockDimY = 1,
                                            .blockDimZ = 1,
                                            .kernelParams = counting};
  OK(cuGraphAddNode_v2(&inside, params.conditional.phGraph_out[0], NULL, NULL, 0, &kernel));
  OK(cuStreamBeginCaptureToGraph(stream, graph, &node, NULL, 1, 2));
  OK(cuMemsetD32Async(p + 8, 9, 1, stream));
  OK(cuStreamEndCapture(stream, &other));
  EXPECT(other == graph);
  CUgraphNodeParams empty = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
  OK(cuGraphAddNode(&inside, graph, &node, 1, &empty));
  CODE(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&inside, graph, NULL, 0, NULL));
  OK(cuGraphInstantiate(&exec, graph, NULL, NULL, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT(element(0) == 0 && element(1) == 4 && element(2) == 9);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuStreamDestroy(stream));
}

int main(void) {
  CUmodule module;
  OK(mwCudaSource(source, NULL));
  OK(cudaMalloc((void **)&memory, 1 << 16));
  test_clusters();
  test_attributes();
  test_tensor_maps();
  test_conditional();
  OK(cuInit(0));
  CUcontext context;
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxPushCurrent(context));
  OK(cuModuleLoadData(&module, source));
  test_driver(module);
  OK(cuModuleUnload(module));
  OK(cuCtxPopCurrent(&context));
  OK(cudaFree(memory));
  OK(cuDevicePrimaryCtxRelease(0));
  return finish();
}
