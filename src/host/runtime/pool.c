/* Stream-ordered memory and its pools: allocated immediately, freed when the stream reaches the free.
 *
 * A pool counts and limits; freed memory returns to the device's own heap. A pool's number stands in the flags of its
 * allocations, so its use is counted over the living allocations when it is queried. */
#include "host/host.h"

#include <pthread.h>

enum { POOLS = 128, DEFAULTS = 64 }; /* the first are the devices' default pools, by ordinal */

#define POOL_FLAG 0x80u /* with a pool's number below it, among this library's flags */

struct CUmemPoolHandle_st {
  bool made;
  int ordinal;
  uint64_t most, high, options[5]; /* options: of cudaMemPoolReuseFollowEventDependencies to ReleaseThreshold */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUmemPoolHandle_st pools[POOLS];
static int current[DEFAULTS]; /* of each device: 0: its default pool, else a pool's number */

/* ---- under the lock ---- */

static void begin(struct CUmemPoolHandle_st *pool, int ordinal, size_t most) {
  *pool = (struct CUmemPoolHandle_st){.made = true, .ordinal = ordinal, .most = most, .options = {0, 1, 1, 1, 0}};
}

static struct CUmemPoolHandle_st *default_of(int ordinal) {
  if (!pools[ordinal].made) begin(&pools[ordinal], ordinal, 0);
  return &pools[ordinal];
}

static struct CUmemPoolHandle_st *current_of(int ordinal) {
  return current[ordinal] ? &pools[current[ordinal]] : default_of(ordinal);
}

static int check_pool(const struct CUmemPoolHandle_st *pool) {
  size_t distance = (size_t)((const char *)pool - (const char *)pools);
  bool ours = pool >= pools && pool < pools + POOLS && distance % sizeof *pool == 0;
  return ours && pool->made ? MW_SUCCESS
                            : host_fail(MW_INVALID_VALUE, "this is not a memory pool, or one that was destroyed");
}

static uint64_t used_by(const struct CUmemPoolHandle_st *pool) {
  mw_memory_info info;
  uint64_t used = 0;
  unsigned mark = POOL_FLAG | (unsigned)(pool - pools);
  for (size_t i = 0; mw_memory_live(i, &info) == MW_SUCCESS; i++)
    if (info.kind == MW_MEMORY_DEVICE && (info.flags & 0xff) == mark) used += info.bytes;
  return used;
}

/* ---- memory ---- */

/* pool NULL: the device's current one. */
static int take(host_context *context, struct CUmemPoolHandle_st *pool, void **out, size_t size, cudaStream_t handle) {
  mw_stream *stream;
  uint64_t address = 0;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&lock);
  if (!pool) pool = current_of(context->ordinal);
  code = check_pool(pool);
  if (code == MW_SUCCESS && (pool->ordinal != context->ordinal || mw_stream_device(stream) != context->device))
    code = host_fail(MW_INVALID_VALUE, "the pool, the stream and the current device are not one device's");
  uint64_t used = code ? 0 : used_by(pool);
  if (code == MW_SUCCESS && pool->most > 0 && used + size > pool->most)
    code = host_fail(MW_MEMORY_ALLOCATION, "the pool has %llu bytes at most, and %llu of them are in use",
                     (unsigned long long)pool->most, (unsigned long long)used);
  if (code == MW_SUCCESS)
    code = host_memory_new(context, MW_MEMORY_DEVICE, POOL_FLAG | (unsigned)(pool - pools), size, &address);
  if (code == MW_SUCCESS && used + size > pool->high) pool->high = used + size;
  pthread_mutex_unlock(&lock);
  mw_stream_release(stream);
  if (code == MW_SUCCESS) *out = host_pointer(address);
  return code;
}

static int give_back(host_context *context, void *address, cudaStream_t handle) {
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
  HOST_RUNTIME(take(context, NULL, address, size, stream));
}
cudaError_t cudaMallocFromPoolAsync(void **address, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  HOST_RUNTIME(pool ? take(context, pool, address, size, stream)
                    : host_fail(MW_INVALID_VALUE, "this is not a memory pool, or one that was destroyed"));
}
cudaError_t cudaFreeAsync(void *address, cudaStream_t stream) { HOST_RUNTIME(give_back(context, address, stream)); }

/* ---- pools ---- */

static int get_pool(cudaMemPool_t *out, int device, bool own) {
  if (!host_device_name(device)) return MW_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  *out = own ? default_of(device) : current_of(device);
  pthread_mutex_unlock(&lock);
  return MW_SUCCESS;
}

static int set_pool(int device, cudaMemPool_t pool) {
  if (!host_device_name(device)) return MW_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  int code = check_pool(pool);
  if (code == MW_SUCCESS && pool->ordinal != device)
    code = host_fail(MW_INVALID_VALUE, "the pool is of device %d", pool->ordinal);
  if (code == MW_SUCCESS) current[device] = pool < pools + DEFAULTS ? 0 : (int)(pool - pools);
  pthread_mutex_unlock(&lock);
  return code;
}

static int create(cudaMemPool_t *out, const struct cudaMemPoolProps *props) {
  if (!out || !props || props->allocType != cudaMemAllocationTypePinned ||
      props->location.type != cudaMemLocationTypeDevice)
    return host_fail(
        MW_INVALID_VALUE,
        "a memory pool needs the type cudaMemAllocationTypePinned and a location of type cudaMemLocationTypeDevice");
  if (!host_device_name(props->location.id)) return MW_INVALID_DEVICE;
  pthread_mutex_lock(&lock);
  int i = DEFAULTS;
  while (i < POOLS && (pools[i].made || used_by(&pools[i]) > 0)) i++;
  if (i < POOLS) begin(&pools[i], props->location.id, props->maxSize);
  pthread_mutex_unlock(&lock);
  if (i == POOLS) return host_fail(MW_MEMORY_ALLOCATION, "there are %d pools at most", POOLS - DEFAULTS);
  *out = &pools[i];
  return MW_SUCCESS;
}

/* Allocations of a destroyed pool live until they are freed. */
static int destroy(cudaMemPool_t pool) {
  pthread_mutex_lock(&lock);
  int code = check_pool(pool);
  if (code == MW_SUCCESS && pool < pools + DEFAULTS)
    code = host_fail(MW_INVALID_VALUE, "the default pool of a device cannot be destroyed");
  if (code == MW_SUCCESS) {
    if (&pools[current[pool->ordinal]] == pool) current[pool->ordinal] = 0;
    pool->made = false;
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int get(cudaMemPool_t pool, int attr, void *value) {
  pthread_mutex_lock(&lock);
  int code = check_pool(pool);
  if (code == MW_SUCCESS) {
    if (attr >= 1 && attr <= cudaMemPoolReuseAllowInternalDependencies)
      *(int *)value = (int)pool->options[attr];
    else if (attr == cudaMemPoolAttrReleaseThreshold)
      *(uint64_t *)value = pool->options[attr];
    else if (attr == cudaMemPoolAttrUsedMemCurrent || attr == cudaMemPoolAttrReservedMemCurrent)
      *(uint64_t *)value = used_by(pool);
    else if (attr == cudaMemPoolAttrUsedMemHigh || attr == cudaMemPoolAttrReservedMemHigh)
      *(uint64_t *)value = pool->high;
    else
      code = host_fail(MW_INVALID_VALUE, "a pool has no attribute %d", attr);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int set(cudaMemPool_t pool, int attr, const void *value) {
  pthread_mutex_lock(&lock);
  int code = check_pool(pool);
  bool high = attr == cudaMemPoolAttrUsedMemHigh || attr == cudaMemPoolAttrReservedMemHigh;
  if (code == MW_SUCCESS) {
    if (attr >= 1 && attr <= cudaMemPoolReuseAllowInternalDependencies)
      pool->options[attr] = (uint64_t)*(const int *)value;
    else if (attr == cudaMemPoolAttrReleaseThreshold)
      pool->options[attr] = *(const uint64_t *)value;
    else if (high && *(const uint64_t *)value == 0)
      pool->high = used_by(pool);
    else
      code = host_fail(MW_INVALID_VALUE, "a pool has no attribute %d that can be set so", attr);
  }
  pthread_mutex_unlock(&lock);
  return code;
}

static int trim(cudaMemPool_t pool) {
  pthread_mutex_lock(&lock);
  int code = check_pool(pool);
  pthread_mutex_unlock(&lock);
  return code;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device) {
  return host_end(get_pool(pool, device, true));
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device) { return host_end(get_pool(pool, device, false)); }
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) { return host_end(set_pool(device, pool)); }
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
  return host_end(create(pool, props));
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return host_end(destroy(pool)); }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
  return host_end(get(pool, (int)attr, value));
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
  return host_end(set(pool, (int)attr, value));
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  (void)keep;
  return host_end(trim(pool));
}
