/* Stream-ordered memory: given out at once, taken back when the stream comes to it. Each device has one pool, whose
 * figures are counted where they are asked for, over the memory that has its mark. */
#include "host.h"

#include <pthread.h>

#define POOL_FLAG 0x80u /* among the flags that are ours */

struct CUmemPoolHandle_st {
  uint64_t threshold, high;
};

enum { POOLS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUmemPoolHandle_st pools[POOLS];

static uint64_t used_by(const host_context *context) {
  mw_memory_info info;
  uint64_t used = 0;
  for (size_t i = 0; mw_memory_live(i, &info) == MW_SUCCESS; i++)
    if (info.kind == MW_MEMORY_DEVICE && info.device == context->device && info.flags & POOL_FLAG) used += info.bytes;
  return used;
}

static int pool_malloc(host_context *context, void **out, size_t size, cudaStream_t handle) {
  mw_stream *stream;
  uint64_t address;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  mw_stream_release(stream);
  code = host_memory_new(context, MW_MEMORY_DEVICE, POOL_FLAG, size, &address);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&lock);
  struct CUmemPoolHandle_st *pool = &pools[context->ordinal];
  uint64_t used = used_by(context);
  if (used > pool->high) pool->high = used;
  pthread_mutex_unlock(&lock);
  *out = host_pointer(address);
  return MW_SUCCESS;
}

static int pool_free(host_context *context, void *address, cudaStream_t handle) {
  mw_stream *stream;
  mw_memory_info info;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  if (address) {
    code = mw_memory_find(context->device, host_address(address), &info);
    if (code == MW_SUCCESS && info.kind != MW_MEMORY_DEVICE && info.kind != MW_MEMORY_MANAGED)
      code = host_fail(MW_INVALID_VALUE, "nothing was allocated there, or it was freed");
    if (code == MW_SUCCESS) code = mw_memory_free_in(stream, host_address(address));
  }
  mw_stream_release(stream);
  return code;
}

cudaError_t cudaMallocAsync(void **address, size_t size, cudaStream_t stream) {
  HOST_RUNTIME(pool_malloc(context, address, size, stream));
}
cudaError_t cudaFreeAsync(void *address, cudaStream_t stream) { HOST_RUNTIME(pool_free(context, address, stream)); }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  if (!host_device_name(device)) return host_end(MW_INVALID_DEVICE);
  *pool = &pools[device];
  return host_end(MW_SUCCESS);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }

static int check_pool(cudaMemPool_t pool, host_context **context) {
  if (pool < pools || pool >= pools + POOLS) return host_fail(MW_INVALID_VALUE, "this is no memory pool");
  return host_context_primary((int)(pool - pools), context);
}

static int get(cudaMemPool_t pool, int attr, void *value) {
  host_context *context;
  int code = check_pool(pool, &context);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&lock);
  switch (attr) {
  case cudaMemPoolAttrReleaseThreshold: *(uint64_t *)value = pool->threshold; break;
  case cudaMemPoolAttrUsedMemCurrent: *(uint64_t *)value = used_by(context); break;
  case cudaMemPoolAttrUsedMemHigh: *(uint64_t *)value = pool->high; break;
  default: code = host_fail(MW_INVALID_VALUE, "a pool has no attribute %d", attr);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int set(cudaMemPool_t pool, int attr, const void *value) {
  host_context *context;
  int code = check_pool(pool, &context);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&lock);
  if (attr == cudaMemPoolAttrReleaseThreshold)
    pool->threshold = *(const uint64_t *)value;
  else if (attr == cudaMemPoolAttrUsedMemHigh && *(const uint64_t *)value == 0)
    pool->high = used_by(context);
  else
    code = host_fail(MW_INVALID_VALUE, "a pool has no attribute %d that can be set so", attr);
  pthread_mutex_unlock(&lock);
  return code;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
  return host_end(get(pool, (int)attr, value));
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
  return host_end(set(pool, (int)attr, value));
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  host_context *context;
  (void)keep;
  return host_end(check_pool(pool, &context));
}
