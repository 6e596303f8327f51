/* Functions of the driver API that are the runtime API's under other names, with the same handles and numbers. Both work on
 * the thread's current context; here it has to be one, and what cudaGetLastError would say stays as it was. */
#include "host.h"

#define THROUGH(call)                                                                                                  \
  host_context *context;                                                                                               \
  int code = host_context_driver(&context), before = host_last_error();                                                \
  return code ? host_end_driver(code) : host_end_through((int)(call), before)

/* ---- devices ---- */

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  int before = host_last_error();
  return host_end_through((int)cudaDeviceCanAccessPeer(can, device, peer), before);
}
CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device) {
  int before = host_last_error();
  return host_end_through((int)cudaDeviceGetPCIBusId(id, length, device), before);
}
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id) {
  int before = host_last_error();
  return host_end_through((int)cudaDeviceGetByPCIBusId(device, id), before);
}
CUresult cuCtxGetCacheConfig(CUfunc_cache *config) {
  *config = CU_FUNC_CACHE_PREFER_NONE;
  THROUGH(cudaSuccess);
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) { THROUGH(cudaDeviceSetCacheConfig((enum cudaFuncCache)config)); }
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  THROUGH(cudaSuccess);
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  THROUGH(cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)config));
}

/* ---- events, memory ---- */

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  THROUGH(cudaEventRecordWithFlags(event, stream, flags));
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t bytes,
                           CUstream stream) {
  if (!host_handle_find(HOST_CONTEXT, dstContext) || !host_handle_find(HOST_CONTEXT, srcContext))
    return host_end_driver(host_fail(MW_INVALID_CONTEXT, "this is no context, or one that was destroyed"));
  THROUGH(cudaMemcpyAsync(host_pointer(dst), host_pointer(src), bytes, cudaMemcpyDefault, stream));
}
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  void *p = NULL;
  host_context *context;
  int code = host_context_driver(&context), before = host_last_error();
  if (code == MW_SUCCESS && bytes == 0) code = host_fail(MW_INVALID_VALUE, "an allocation of 0 bytes");
  if (code != MW_SUCCESS) return host_end_driver(code);
  code = (int)cudaMallocAsync(&p, bytes, stream);
  if (code == MW_SUCCESS) *address = host_address(p);
  return host_end_through(code, before);
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  void *p = NULL;
  host_context *context;
  int code = host_context_driver(&context), before = host_last_error();
  if (code != MW_SUCCESS) return host_end_driver(code);
  code = (int)cudaMallocFromPoolAsync(&p, bytes, pool, stream);
  if (code == MW_SUCCESS) *address = host_address(p);
  return host_end_through(code, before);
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) { THROUGH(cudaFreeAsync(host_pointer(address), stream)); }
CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  THROUGH(cudaMemAdvise(host_pointer(address), count, (enum cudaMemoryAdvise)advice, device));
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream) {
  THROUGH(cudaMemPrefetchAsync(host_pointer(address), count, device, stream));
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned flags) {
  THROUGH(cudaStreamAttachMemAsync(stream, host_pointer(address), length, flags));
}

static int pointer_attribute(const host_context *context, void *value, int attribute, CUdeviceptr address) {
  mw_memory_info info;
  int code = mw_memory_find(context->device, address, &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind == MW_MEMORY_UNKNOWN)
    return host_fail(MW_INVALID_VALUE, "nothing was allocated there, or it was freed");
  bool host = info.kind == MW_MEMORY_PINNED || info.kind == MW_MEMORY_REGISTERED || info.kind == MW_MEMORY_HOST;
  switch (attribute) {
  case CU_POINTER_ATTRIBUTE_CONTEXT: *(void **)value = context->handle; break;
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: *(unsigned *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = address; break;
  case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    if (info.kind == MW_MEMORY_DEVICE) return host_fail(MW_INVALID_VALUE, "the host does not reach device memory");
    *(void **)value = host_pointer(address);
    break;
  case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(unsigned *)value = info.kind == MW_MEMORY_MANAGED; break;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: *(int *)value = context->ordinal; break;
  default: return host_fail(MW_INVALID_VALUE, "a pointer has no attribute %d", attribute);
  }
  return MW_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  HOST_DRIVER(pointer_attribute(context, value, (int)attribute, address));
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
  THROUGH(cudaDeviceGetDefaultMemPool(pool, device));
}
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { THROUGH(cudaDeviceGetMemPool(pool, device)); }
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) { THROUGH(cudaDeviceSetMemPool(device, pool)); }
CUresult cuMemPoolDestroy(CUmemoryPool pool) { THROUGH(cudaMemPoolDestroy(pool)); }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  THROUGH(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  THROUGH(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) { THROUGH(cudaMemPoolTrimTo(pool, keep)); }

/* ---- graphs ---- */

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  THROUGH(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) { THROUGH(cudaStreamEndCapture(stream, graph)); }
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  enum cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  host_context *context;
  int code = host_context_driver(&context), before = host_last_error();
  if (code != MW_SUCCESS) return host_end_driver(code);
  code = (int)cudaStreamIsCapturing(stream, &found);
  *status = (int)found;
  return host_end_through(code, before);
}
CUresult cuGraphCreate(CUgraph *graph, unsigned flags) { THROUGH(cudaGraphCreate(graph, flags)); }
CUresult cuGraphDestroy(CUgraph graph) { THROUGH(cudaGraphDestroy(graph)); }
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count) {
  THROUGH(cudaGraphAddEmptyNode(node, graph, after, count));
}

static struct cudaKernelNodeParams as_runtime(const CUDA_KERNEL_NODE_PARAMS *p) {
  return (struct cudaKernelNodeParams){.func = p->func,
                                       .gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                       .blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                       .sharedMemBytes = p->sharedMemBytes,
                                       .kernelParams = p->kernelParams};
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *params) {
  const struct cudaKernelNodeParams same = as_runtime(params);
  THROUGH(cudaGraphAddKernelNode(node, graph, after, count, &same));
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext where) {
  const struct cudaMemsetParams same = {host_pointer(params->dst), params->pitch, params->value,
                                        params->elementSize,       params->width, params->height};
  (void)where;
  THROUGH(cudaGraphAddMemsetNode(node, graph, after, count, &same));
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params) {
  const struct cudaHostNodeParams same = {params->fn, params->userData};
  THROUGH(cudaGraphAddHostNode(node, graph, after, count, &same));
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  THROUGH(cudaGraphAddDependencies(graph, from, to, count));
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  THROUGH(cudaGraphGetNodes(graph, nodes, count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  THROUGH(cudaGraphGetRootNodes(graph, nodes, count));
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  THROUGH(cudaGraphGetEdges(graph, from, to, count));
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  enum cudaGraphNodeType found = cudaGraphNodeTypeEmpty;
  host_context *context;
  int code = host_context_driver(&context), before = host_last_error();
  if (code != MW_SUCCESS) return host_end_driver(code);
  code = (int)cudaGraphNodeGetType(node, &found);
  *type = (int)found;
  return host_end_through(code, before);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  THROUGH(cudaGraphNodeGetDependencies(node, nodes, count));
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  THROUGH(cudaGraphNodeGetDependentNodes(node, nodes, count));
}
CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size) {
  THROUGH(cudaGraphInstantiate(exec, graph, node, log, size));
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { THROUGH(cudaGraphLaunch(exec, stream)); }
CUresult cuGraphExecDestroy(CUgraphExec exec) { THROUGH(cudaGraphExecDestroy(exec)); }
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result) {
  enum cudaGraphExecUpdateResult found = cudaGraphExecUpdateSuccess;
  host_context *context;
  int code = host_context_driver(&context), before = host_last_error();
  if (code != MW_SUCCESS) return host_end_driver(code);
  code = (int)cudaGraphExecUpdate(exec, graph, node, &found);
  if (result) *result = (int)found;
  return host_end_through(code, before);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  const struct cudaKernelNodeParams same = as_runtime(params);
  THROUGH(cudaGraphExecKernelNodeSetParams(exec, node, &same));
}
CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags) {
  THROUGH(cudaGraphDebugDotPrint(graph, path, flags));
}
