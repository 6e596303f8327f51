/* Edges and attributes of graphs, memory pools, graphs and the rest under the driver API's names, and what is refused. */
#include "check.h"

#include <cudaD3D9.h>
#include <cuda_d3d9_interop.h>
#include <cuda_gl_interop.h>

static const char source[] = "extern \"C\" __global__ void add(int *p, int n, int value) {\n"
                             "  int i = threadIdx.x; if (i < n) p[i] += value; }\n"
                             "texture<float, 2, cudaReadModeElementType> image;\n";

static int calls;

static void note(void *data) { calls += *(int *)data; }

static void test_edges(void) {
  cudaGraph_t graph;
  cudaGraphNode_t a, b, c, kernel, other, from[8], to[8];
  cudaKernelNodeAttrValue window = {.accessPolicyWindow = {.num_bytes = 64, .hitRatio = 0.5f}}, got;
  size_t count = 8;
  int *p = NULL, n = 1, value = 2;
  void *arguments[] = {&p, &n, &value};
  struct cudaKernelNodeParams params = {
      .func = (void *)"add", .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = arguments};
  OK(mwCudaSource(source, NULL));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphAddEmptyNode(&a, graph, NULL, 0));
  OK(cudaGraphAddEmptyNode(&b, graph, NULL, 0));
  OK(cudaGraphAddEmptyNode(&c, graph, (cudaGraphNode_t[]){a, b}, 2));
  OK(cudaGraphAddKernelNode(&kernel, graph, &c, 1, &params));
  OK(cudaGraphAddKernelNode(&other, graph, &a, 1, &params));
  OK(cudaGraphGetEdges(graph, NULL, NULL, &count));
  EXPECT(count == 4);
  count = 8;
  OK(cudaGraphGetEdges(graph, from, to, &count));
  EXPECT(count == 4 && from[0] == a && to[0] == c && from[3] == a && to[3] == other);
  count = 8;
  OK(cudaGraphGetRootNodes(graph, from, &count));
  EXPECT(count == 2 && from[0] == a && from[1] == b);
  count = 8;
  OK(cudaGraphNodeGetDependentNodes(a, to, &count));
  EXPECT(count == 2 && to[0] == c && to[1] == other);
  count = 1;
  OK(cudaGraphNodeGetDependentNodes(a, to, &count));
  EXPECT(count == 1 && to[0] == c);
  OK(cudaGraphKernelNodeSetAttribute(kernel, cudaKernelNodeAttributeAccessPolicyWindow, &window));
  OK(cudaGraphKernelNodeCopyAttributes(kernel, other));
  OK(cudaGraphKernelNodeGetAttribute(other, cudaKernelNodeAttributeAccessPolicyWindow, &got));
  EXPECT(got.accessPolicyWindow.num_bytes == 64);
  CODE(cudaErrorInvalidValue, cudaGraphKernelNodeGetAttribute(a, cudaKernelNodeAttributeAccessPolicyWindow, &got));
  window.accessPolicyWindow.hitRatio = 2;
  CODE(cudaErrorInvalidValue,
       cudaGraphKernelNodeSetAttribute(kernel, cudaKernelNodeAttributeAccessPolicyWindow, &window));
  OK(cudaGraphDestroy(graph));
}

static void test_pools(void) {
  struct cudaMemPoolProps props = {cudaMemAllocationTypePinned, 0, {cudaMemLocationTypeDevice, 0}, NULL, 1024};
  cudaMemPool_t pool, got, own;
  unsigned long long used = 0;
  int *p, *q, option = 0;
  OK(cudaDeviceGetDefaultMemPool(&own, 0));
  OK(cudaMemPoolCreate(&pool, &props));
  OK(cudaMallocFromPoolAsync((void **)&p, 1000, pool, NULL));
  CODE(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync((void **)&q, 100, pool, NULL));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &used));
  EXPECT(used == 1000);
  OK(cudaFreeAsync(p, NULL));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used == 0);
  OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &option));
  OK(cudaDeviceSetMemPool(0, pool));
  OK(cudaDeviceGetMemPool(&got, 0));
  EXPECT(got == pool);
  OK(cudaMallocAsync((void **)&p, 500, NULL));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
  EXPECT(used == 1000);
  OK(cudaMemPoolDestroy(pool));
  OK(cudaDeviceGetMemPool(&got, 0));
  EXPECT(got == own);
  CODE(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
  CODE(cudaErrorInvalidValue, cudaMemPoolDestroy(own));
  CODE(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, pool));
  CODE(cudaErrorInvalidValue, cudaMallocFromPoolAsync((void **)&q, 4, pool, NULL));
  OK(cudaFreeAsync(p, NULL));
  props.location.id = 99;
  CODE(cudaErrorInvalidDevice, cudaMemPoolCreate(&pool, &props));
  props.allocType = cudaMemAllocationTypeInvalid;
  CODE(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
}

static void test_driver_graph(CUfunction add, const char *folder) {
  CUgraph graph, captured;
  CUgraphExec exec;
  CUgraphNode zero, kernel, host, join, list[8], wrong;
  CUgraphNodeType type;
  CUgraphExecUpdateResult result;
  CUstream stream;
  CUstreamCaptureStatus status;
  CUdeviceptr p;
  size_t count = 8;
  int n = 4, three = 3, five = 5, got[4] = {0};
  char path[512];
  OK(cuMemAlloc(&p, sizeof got));
  void *arguments[] = {&p, &n, &three}, *others[] = {&p, &n, &five};
  CUDA_KERNEL_NODE_PARAMS params = {add, 1, 1, 1, 4, 1, 1, 0, arguments, NULL};
  CUDA_MEMSET_NODE_PARAMS fill = {p, 0, 7, 4, 4, 1};
  CUDA_HOST_NODE_PARAMS function = {note, &three};
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddMemsetNode(&zero, graph, NULL, 0, &fill, NULL));
  OK(cuGraphAddKernelNode(&kernel, graph, &zero, 1, &params));
  OK(cuGraphAddHostNode(&host, graph, &kernel, 1, &function));
  OK(cuGraphAddEmptyNode(&join, graph, NULL, 0));
  OK(cuGraphAddDependencies(graph, &host, &join, 1));
  OK(cuGraphGetNodes(graph, list, &count));
  EXPECT(count == 4 && list[3] == join);
  count = 8;
  OK(cuGraphGetRootNodes(graph, list, &count));
  EXPECT(count == 1 && list[0] == zero);
  count = 8;
  OK(cuGraphGetEdges(graph, NULL, NULL, &count));
  EXPECT(count == 3);
  count = 8;
  OK(cuGraphNodeGetDependencies(join, list, &count));
  EXPECT(count == 1 && list[0] == host);
  count = 8;
  OK(cuGraphNodeGetDependentNodes(zero, list, &count));
  EXPECT(count == 1 && list[0] == kernel);
  OK(cuGraphNodeGetType(host, &type));
  EXPECT(type == cudaGraphNodeTypeHost);
  snprintf(path, sizeof path, "%s/driver.dot", folder);
  OK(cuGraphDebugDotPrint(graph, path, 0));
  OK(cuGraphInstantiate(&exec, graph, &wrong, NULL, 0));
  OK(cuGraphLaunch(exec, NULL));
  OK(cuMemcpyDtoH(got, p, sizeof got));
  EXPECT(got[0] == 10 && got[3] == 10 && calls == 3);
  params.kernelParams = others;
  OK(cuGraphExecKernelNodeSetParams(exec, kernel, &params));
  OK(cuGraphLaunch(exec, NULL));
  OK(cuMemcpyDtoH(got, p, sizeof got));
  EXPECT(got[0] == 12);
  CUDA_MEMCPY3D box = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = p,
                       .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = got,
                       .WidthInBytes = 4,
                       .Height = 1,
                       .Depth = 1};
  fill.value = 20, function.userData = &five;
  OK(cuGraphExecMemsetNodeSetParams(exec, zero, &fill, NULL));
  OK(cuGraphExecHostNodeSetParams(exec, host, &function));
  CODE(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecMemcpyNodeSetParams(exec, zero, &box, NULL));
  int before = calls;
  OK(cuGraphLaunch(exec, NULL));
  OK(cuMemcpyDtoH(got, p, sizeof got));
  EXPECT(got[0] == 25 && calls == before + 5);
  OK(cuGraphExecUpdate(exec, graph, &wrong, &result));
  EXPECT(result == cudaGraphExecUpdateSuccess);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  CODE(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  OK(cuStreamCreate(&stream, 0));
  OK(cuStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cuMemsetD2D32Async(p, 16, 1, 4, 1, stream));
  OK(cuMemsetD2D16Async(p, 16, 0x0202, 2, 1, stream));
  OK(cuMemsetD2D8Async(p, 16, 3, 1, 1, stream));
  OK(cuStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  OK(cuStreamEndCapture(stream, &captured));
  OK(cuGraphInstantiate(&exec, captured, NULL, NULL, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(got, p, sizeof got));
  EXPECT(got[0] == 0x02020203 && got[1] == 1 && got[3] == 1);
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(captured));
  OK(cuStreamDestroy(stream));
  OK(cuMemFree(p));
}

static void test_driver_memory(CUcontext context) {
  CUdeviceptr p, q, managed;
  CUmemoryPool pool, own;
  CUevent event;
  CUfunc_cache cache;
  CUsharedconfig config;
  unsigned long long used = 0, threshold = 4096;
  unsigned number, flags;
  int ordinal = -1, can = -1, active = -1;
  char id[16];
  OK(cuMemAllocAsync(&p, 64, NULL));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync(&q, 0, NULL));
  OK(cuDeviceGetDefaultMemPool(&own, 0));
  OK(cuDeviceGetMemPool(&pool, 0));
  EXPECT(pool == own);
  OK(cuDeviceSetMemPool(0, own));
  OK(cuMemAllocFromPoolAsync(&q, 64, own, NULL));
  OK(cuMemPoolGetAttribute(own, cudaMemPoolAttrUsedMemCurrent, &used));
  EXPECT(used >= 128);
  OK(cuMemPoolSetAttribute(own, cudaMemPoolAttrReleaseThreshold, &threshold));
  OK(cuMemPoolTrimTo(own, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(own));
  OK(cuMemcpyPeerAsync(q, context, p, context, 64, NULL));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuMemcpyPeerAsync(q, NULL, p, context, 64, NULL));
  OK(cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  EXPECT(number == CU_MEMORYTYPE_DEVICE);
  OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
  EXPECT(ordinal == 0);
  CODE(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(&number, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 12345));
  OK(cuMemFreeAsync(p, NULL));
  OK(cuMemFreeAsync(q, NULL));
  OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, 0));
  OK(cuMemPrefetchAsync(managed, 64, 0, NULL));
  OK(cuStreamAttachMemAsync(NULL, managed, 0, CU_MEM_ATTACH_GLOBAL));
  OK(cuMemFree(managed));
  OK(cuEventCreate(&event, 0));
  OK(cuEventRecordWithFlags(event, NULL, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(event, NULL, 9));
  OK(cuEventDestroy(event));
  OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  OK(cuCtxGetCacheConfig(&cache));
  OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
  OK(cuCtxResetPersistingL2Cache());
  OK(cuCtxGetSharedMemConfig(&config));
  CODE(CUDA_ERROR_INVALID_VALUE, cuCtxSetCacheConfig((CUfunc_cache)9));
  OK(cuDeviceCanAccessPeer(&can, 0, 0));
  EXPECT(can == 0);
  CODE(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 99));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(NULL, 0));
  CODE(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(context, 1));
  CODE(CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess(NULL));
  OK(cuDeviceGetPCIBusId(id, sizeof id, 0));
  OK(cuDeviceGetByPCIBusId(&ordinal, id));
  EXPECT(ordinal == 0);
  OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT(flags == CU_CTX_SCHED_YIELD && active == 0);
  /* The runtime API's last error is none of the driver API's. */
  cudaGetLastError();
  CODE(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(NULL, 0));
  EXPECT(strstr(mwCudaErrorMessage(), "not a memory pool"));
  CODE(cudaSuccess, cudaGetLastError());
}

static void test_reference(CUmodule module) {
  CUtexref image;
  float color[4] = {1, 2, 3, 4}, got[4] = {0};
  int most = 0;
  OK(cuModuleGetTexRef(&image, module, "image"));
  OK(cuTexRefSetBorderColor(image, color));
  OK(cuTexRefGetBorderColor(got, image));
  EXPECT(memcmp(got, color, sizeof got) == 0);
  OK(cuTexRefSetMaxAnisotropy(image, 4));
  OK(cuTexRefGetMaxAnisotropy(&most, image));
  EXPECT(most == 4);
}

static void test_refused(void) {
  cudaError_t (*const runtime[])() = {cudaD3D9Begin,
                                      cudaD3D9End,
                                      cudaD3D9SetDirect3DDevice,
                                      cudaD3D9GetDirect3DDevice,
                                      cudaD3D9GetDevice,
                                      cudaD3D9RegisterResource,
                                      cudaD3D9RegisterVertexBuffer,
                                      cudaD3D9UnregisterResource,
                                      cudaD3D9UnregisterVertexBuffer,
                                      cudaD3D9MapResources,
                                      cudaD3D9MapVertexBuffer,
                                      cudaD3D9UnmapResources,
                                      cudaD3D9UnmapVertexBuffer,
                                      cudaD3D9ResourceGetMappedPointer,
                                      cudaD3D9ResourceGetMappedPitch,
                                      cudaD3D9ResourceGetMappedSize,
                                      cudaD3D9ResourceGetSurfaceDimensions,
                                      cudaD3D9ResourceSetMapFlags,
                                      cudaD3D9GetDevices,
                                      cudaGraphicsD3D9RegisterResource,
                                      cudaD3D10GetDevice,
                                      cudaD3D10GetDevices,
                                      cudaGraphicsD3D10RegisterResource,
                                      cudaD3D11GetDevice,
                                      cudaD3D11GetDevices,
                                      cudaGraphicsD3D11RegisterResource,
                                      cudaIpcGetMemHandle,
                                      cudaIpcOpenMemHandle,
                                      cudaIpcCloseMemHandle,
                                      cudaIpcGetEventHandle,
                                      cudaIpcOpenEventHandle,
                                      cudaImportExternalMemory,
                                      cudaExternalMemoryGetMappedBuffer,
                                      cudaExternalMemoryGetMappedMipmappedArray,
                                      cudaDestroyExternalMemory,
                                      cudaImportExternalSemaphore,
                                      cudaSignalExternalSemaphoresAsync,
                                      cudaWaitExternalSemaphoresAsync,
                                      cudaDestroyExternalSemaphore,
                                      cudaDeviceGetNvSciSyncAttributes};
  CUresult (*const driver[])() = {cuD3D9Begin,
                                  cuD3D9End,
                                  cuD3D9GetDevice,
                                  cuD3D9RegisterVertexBuffer,
                                  cuD3D9MapVertexBuffer,
                                  cuD3D9UnmapVertexBuffer,
                                  cuD3D9UnregisterVertexBuffer,
                                  cuD3D9CtxCreate,
                                  cuD3D9GetDevices,
                                  cuD3D9GetDirect3DDevice,
                                  cuGraphicsD3D9RegisterResource,
                                  cuD3D10GetDevice,
                                  cuD3D10GetDevices,
                                  cuGraphicsD3D10RegisterResource,
                                  cuD3D11GetDevice,
                                  cuD3D11GetDevices,
                                  cuGraphicsD3D11RegisterResource,
                                  cuIpcGetMemHandle,
                                  cuIpcOpenMemHandle,
                                  cuIpcCloseMemHandle,
                                  cuIpcGetEventHandle,
                                  cuIpcOpenEventHandle,
                                  cuImportExternalMemory,
                                  cuExternalMemoryGetMappedBuffer,
                                  cuExternalMemoryGetMappedMipmappedArray,
                                  cuDestroyExternalMemory,
                                  cuImportExternalSemaphore,
                                  cuSignalExternalSemaphoresAsync,
                                  cuWaitExternalSemaphoresAsync,
                                  cuDestroyExternalSemaphore,
                                  cuDeviceGetNvSciSyncAttributes};
  for (size_t i = 0; i < sizeof runtime / sizeof *runtime; i++) CODE(cudaErrorNotSupported, runtime[i](0));
  for (size_t i = 0; i < sizeof driver / sizeof *driver; i++) CODE(CUDA_ERROR_NOT_SUPPORTED, driver[i](0));
  EXPECT(strstr(mwCudaErrorMessage(), "cannot be imported"));
  CODE(cudaErrorNotSupported, cudaIpcGetMemHandle(&(cudaIpcMemHandle_t){{0}}, NULL));
  EXPECT(strstr(mwCudaErrorMessage(), "one process"));
  CODE(CUDA_ERROR_NOT_SUPPORTED, cuD3D9Begin(0));
  EXPECT(strstr(mwCudaErrorMessage(), "Direct3D"));
}

int main(int count, char **arguments) {
  const char *folder = count > 1 ? arguments[1] : "/tmp";
  CUmodule module;
  test_edges();
  test_pools();
  CUcontext context = open_module(&module, source);
  test_driver_graph(function_of(module, "add"), folder);
  test_driver_memory(context);
  test_reference(module);
  test_refused();
  OK(cuCtxDestroy(context));
  return finish();
}
