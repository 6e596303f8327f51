/* Functions of the driver API that equal one of the runtime API, with the same handles and numbers. They need a
 * current context, and leave what cudaGetLastError returns unchanged. */
#include "driver.h"

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
  HOST_THROUGH(cudaSuccess);
}
CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  HOST_THROUGH(cudaDeviceSetCacheConfig((enum cudaFuncCache)config));
}
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config) {
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  HOST_THROUGH(cudaSuccess);
}
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  HOST_THROUGH(cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)config));
}

/* ---- events, memory ---- */

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  HOST_THROUGH(cudaEventRecordWithFlags(event, stream, flags));
}
CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t bytes,
                           CUstream stream) {
  int peers = host_check_peers(dstContext, srcContext);
  if (peers != MW_SUCCESS) return host_end_driver(peers);
  HOST_THROUGH(cudaMemcpyAsync(host_pointer(dst), host_pointer(src), bytes, cudaMemcpyDefault, stream));
}
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  void *p = NULL;
  HOST_THROUGH_THEN(bytes == 0 ? (cudaError_t)host_fail(MW_INVALID_VALUE, "an allocation of 0 bytes")
                               : cudaMallocAsync(&p, bytes, stream),
                    if (code == MW_SUCCESS) *address = host_address(p));
}
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool, CUstream stream) {
  void *p = NULL;
  HOST_THROUGH_THEN(cudaMallocFromPoolAsync(&p, bytes, pool, stream),
                    if (code == MW_SUCCESS) *address = host_address(p));
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  HOST_THROUGH(cudaFreeAsync(host_pointer(address), stream));
}
CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  HOST_THROUGH(cudaMemAdvise(host_pointer(address), count, (enum cudaMemoryAdvise)advice, device));
}
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream) {
  HOST_THROUGH(cudaMemPrefetchAsync(host_pointer(address), count, device, stream));
}
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned flags) {
  HOST_THROUGH(cudaStreamAttachMemAsync(stream, host_pointer(address), length, flags));
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
  HOST_THROUGH(cudaDeviceGetDefaultMemPool(pool, device));
}
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) { HOST_THROUGH(cudaDeviceGetMemPool(pool, device)); }
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) { HOST_THROUGH(cudaDeviceSetMemPool(device, pool)); }
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *p) {
  struct cudaMemPoolProps same = {0};
  if (p)
    same = (struct cudaMemPoolProps){.allocType = (enum cudaMemAllocationType)p->allocType,
                                     .handleTypes = p->handleTypes,
                                     .location = {(enum cudaMemLocationType)p->location.type, p->location.id},
                                     .win32SecurityAttributes = p->win32SecurityAttributes,
                                     .maxSize = p->maxSize};
  HOST_THROUGH(cudaMemPoolCreate(pool, p ? &same : NULL));
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) { HOST_THROUGH(cudaMemPoolDestroy(pool)); }
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  HOST_THROUGH(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
  HOST_THROUGH(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) { HOST_THROUGH(cudaMemPoolTrimTo(pool, keep)); }
