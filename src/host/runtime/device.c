/* Devices: cudaDeviceProp, attributes, limits, choosing one, synchronising and resetting. */
#include "host/host.h"

#include <limits.h>
#include <stdatomic.h>

static int clamp(int64_t value) { return value > INT_MAX ? INT_MAX : (int)value; }

/* ---- properties ---- */

/* Fields about hardware that the machine does not have are 0, and so are those of a later compute capability than the
   device's. */
static void describe(const mw_properties *facts, const mw_capability *limits, int ordinal, struct cudaDeviceProp *out) {
  int cpu = strcmp(facts->driver, "cpu") == 0, capability = facts->major * 10 + facts->minor;
#define SINCE(number, value) (capability >= (number) ? (value) : 0)
  *out = (struct cudaDeviceProp){
      .totalGlobalMem = facts->total_memory,
      .sharedMemPerBlock = facts->shared_per_block,
      .regsPerBlock = facts->registers_per_block,
      .warpSize = facts->warp_size,
      .memPitch = facts->memory_pitch,
      .maxThreadsPerBlock = facts->max_threads_per_block,
      .clockRate = facts->clock_khz,
      .totalConstMem = facts->total_constant,
      .major = facts->major,
      .minor = facts->minor,
      .textureAlignment = facts->texture_alignment,
      .texturePitchAlignment = facts->texture_pitch_alignment,
      .deviceOverlap = SINCE(11, 1),
      .multiProcessorCount = facts->multiprocessors,
      .integrated = cpu,
      .canMapHostMemory = 1,
      .surfaceAlignment = facts->texture_alignment,
      .concurrentKernels = SINCE(20, 1),
      .pciDeviceID = ordinal,
      .l2CacheSize = SINCE(20, clamp((int64_t)facts->l2_cache)),
      .asyncEngineCount = SINCE(20, 2) + (capability < 20 ? SINCE(11, 1) : 0),
      .unifiedAddressing = SINCE(20, 1),
      .maxThreadsPerMultiProcessor = limits->warps * 32,
      .streamPrioritiesSupported = SINCE(35, 1),
      .globalL1CacheSupported = SINCE(20, 1),
      .localL1CacheSupported = SINCE(20, 1),
      .sharedMemPerMultiprocessor = (size_t)limits->shared,
      .regsPerMultiprocessor = limits->registers,
      .managedMemory = SINCE(30, 1),
      .multiGpuBoardGroupID = ordinal,
      .hostNativeAtomicSupported = SINCE(60, cpu),
      .concurrentManagedAccess = SINCE(60, cpu),
      .cooperativeLaunch = SINCE(60, 1),
      .sharedMemPerBlockOptin = facts->shared_per_block_optin,
      .directManagedMemAccessFromHost = SINCE(60, cpu),
      .maxBlocksPerMultiProcessor = limits->blocks,
      .reservedSharedMemPerBlock = (size_t)limits->shared_reserved,
  };
#undef SINCE
  memcpy(out->name, facts->name, sizeof out->name);
  for (int i = 0; i < 3; i++) {
    out->maxThreadsDim[i] = facts->max_block[i];
    out->maxGridSize[i] = clamp(facts->max_grid[i]);
  }
}

int host_properties(int ordinal, struct cudaDeviceProp *out) {
  host_context *context;
  mw_properties facts;
  mw_capability limits;
  int code = host_context_primary(ordinal, &context);
  if (code == MW_SUCCESS) code = mw_device_properties(context->device, &facts);
  if (code == MW_SUCCESS) code = host_capability(&facts, &limits);
  if (code == MW_SUCCESS) describe(&facts, &limits, ordinal, out);
  return code;
}

int host_attribute(int attribute, int ordinal, int *value) {
  struct cudaDeviceProp prop;
  int code = host_properties(ordinal, &prop);
  if (code != MW_SUCCESS) return code;
#define VALUE(number, runtime, driver, field)                                                                          \
  case number: *value = clamp((int64_t)prop.field); return MW_SUCCESS;
  switch (attribute) {
    MW_DEVICE_ATTRIBUTES(VALUE)
  case cudaDevAttrHostRegisterSupported: *value = 1; return MW_SUCCESS;
  default: return host_fail(MW_INVALID_VALUE, "a device has no attribute %d", attribute);
  }
#undef VALUE
}

/* ---- choosing ---- */

/* How many of the requested properties (those that are not 0 or "") the device has; capability counts most. */
static int score(const struct cudaDeviceProp *wanted, const struct cudaDeviceProp *have) {
  int points = 0;
  if (wanted->major * 10 + wanted->minor <= have->major * 10 + have->minor) points += 1000;
  if (*wanted->name && strcmp(wanted->name, have->name) == 0) points += 10;
#define WISH(field)                                                                                                    \
  if (wanted->field && have->field >= wanted->field) points++
  WISH(totalGlobalMem);
  WISH(sharedMemPerBlock);
  WISH(regsPerBlock);
  WISH(maxThreadsPerBlock);
  WISH(clockRate);
  WISH(totalConstMem);
  WISH(textureAlignment);
  WISH(multiProcessorCount);
  WISH(canMapHostMemory);
  WISH(concurrentKernels);
  WISH(unifiedAddressing);
  WISH(managedMemory);
#undef WISH
  return points;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted) {
  struct cudaDeviceProp have;
  int best = 0, most = -1, code = MW_SUCCESS;
  if (!device || !wanted) return host_end(host_fail(MW_INVALID_VALUE, "cudaChooseDevice wants properties"));
  for (int i = 0; i < host_device_count() && code == MW_SUCCESS; i++) {
    code = host_properties(i, &have);
    int points = code ? -1 : score(wanted, &have);
    if (points > most) {
      most = points;
      best = i;
    }
  }
  if (code == MW_SUCCESS) *device = best;
  return host_end(code);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device) {
  return host_end(host_properties(device, prop));
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device) {
  return host_end(host_attribute((int)attr, device, value));
}

cudaError_t cudaSetValidDevices(int *list, int count) {
  for (int i = 0; i < count; i++)
    if (!host_device_name(list[i])) return host_end(MW_INVALID_DEVICE);
  return host_end(MW_SUCCESS);
}

/* ---- limits ---- */

/* Resources that the device allocates on demand: a limit on them is accepted and reported. */
static atomic_size_t accepted[] = {[cudaLimitPrintfFifoSize] = 1048576, [cudaLimitPersistingL2CacheSize] = 0};

static bool is_accepted(int limit) {
  return limit == cudaLimitPrintfFifoSize || limit == cudaLimitPersistingL2CacheSize;
}

static int core_limit(int limit) {
  return limit == cudaLimitStackSize                      ? MW_LIMIT_STACK
         : limit == cudaLimitMallocHeapSize               ? MW_LIMIT_HEAP
         : limit == cudaLimitDevRuntimePendingLaunchCount ? MW_LIMIT_LAUNCHES
                                                          : -1;
}

int host_limit_get(host_context *context, int limit, size_t *value) {
  double number;
  if (is_accepted(limit)) {
    *value = atomic_load(&accepted[limit]);
    return MW_SUCCESS;
  }
  if (core_limit(limit) < 0) return host_fail(MW_UNSUPPORTED_LIMIT, "%d is not a limit that this device has", limit);
  int code = mw_device_limit_get(context->device, (mw_limit)core_limit(limit), &number);
  if (code == MW_SUCCESS) *value = (size_t)number;
  return code;
}

void host_limits_reset(host_context *context) {
  const mw_limit limits[] = {MW_LIMIT_STACK, MW_LIMIT_HEAP, MW_LIMIT_LAUNCHES};
  for (int i = 0; i < 3; i++)
    if (context->limits[i] > 0) mw_device_limit_set(context->device, limits[i], context->limits[i]);
  memset(context->limits, 0, sizeof context->limits);
}

int host_limit_set(host_context *context, int limit, size_t value) {
  if (is_accepted(limit)) {
    atomic_store(&accepted[limit], value);
    return MW_SUCCESS;
  }
  if (core_limit(limit) < 0) return host_fail(MW_UNSUPPORTED_LIMIT, "%d is not a limit that this device has", limit);
  mw_limit core = (mw_limit)core_limit(limit);
  double before;
  int code = mw_device_limit_get(context->device, core, &before);
  if (code == MW_SUCCESS) code = mw_device_limit_set(context->device, core, (double)value);
  double *first = &context->limits[core == MW_LIMIT_STACK ? 0 : core == MW_LIMIT_HEAP ? 1 : 2];
  if (code == MW_SUCCESS && *first == 0) *first = before;
  return code;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
  HOST_RUNTIME(host_limit_get(context, (int)limit, value));
}
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value) {
  HOST_RUNTIME(host_limit_set(context, (int)limit, value));
}
CUresult cuCtxGetLimit(size_t *value, CUlimit limit) { HOST_DRIVER(host_limit_get(context, (int)limit, value)); }
CUresult cuCtxSetLimit(CUlimit limit, size_t value) { HOST_DRIVER(host_limit_set(context, (int)limit, value)); }

/* ---- flags and configurations: accepted and reported ---- */

static int set_flags(host_context *context, unsigned value) {
  if (value > 31) return host_fail(MW_INVALID_VALUE, "a device's flags are 0 to 31");
  context->flags = value;
  return MW_SUCCESS;
}

static int get_flags(const host_context *context, unsigned *value) {
  *value = context->flags;
  return MW_SUCCESS;
}

cudaError_t cudaSetDeviceFlags(unsigned value) { HOST_RUNTIME(set_flags(context, value)); }
cudaError_t cudaGetDeviceFlags(unsigned *value) { HOST_RUNTIME(get_flags(context, value)); }

static int check_range(unsigned value, unsigned most, const char *what) {
  return value <= most ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "a %s configuration is 0 to %u", what, most);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config) {
  *config = cudaFuncCachePreferNone;
  return host_end(MW_SUCCESS);
}
cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config) {
  return host_end(check_range((unsigned)config, 3, "cache"));
}
cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config) {
  *config = cudaSharedMemBankSizeFourByte;
  return host_end(MW_SUCCESS);
}
cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config) {
  return host_end(check_range((unsigned)config, 2, "shared memory"));
}

/* The names before CUDA 4.0. */
cudaError_t cudaThreadGetLimit(size_t *value, enum cudaLimit limit) { return cudaDeviceGetLimit(value, limit); }
cudaError_t cudaThreadSetLimit(enum cudaLimit limit, size_t value) { return cudaDeviceSetLimit(limit, value); }
cudaError_t cudaThreadGetCacheConfig(enum cudaFuncCache *config) { return cudaDeviceGetCacheConfig(config); }
cudaError_t cudaThreadSetCacheConfig(enum cudaFuncCache config) { return cudaDeviceSetCacheConfig(config); }

/* Access policy windows are accepted and reported, but no cache lines persist for them. */
static int reset_persisting(const host_context *context) { return context ? MW_SUCCESS : MW_INVALID_CONTEXT; }
cudaError_t cudaCtxResetPersistingL2Cache(void) { HOST_RUNTIME(reset_persisting(context)); }
CUresult cuCtxResetPersistingL2Cache(void) { HOST_DRIVER(reset_persisting(context)); }

static int check_kernel(host_context *context, const void *func, unsigned config, unsigned most, const char *what) {
  mw_kernel *kernel;
  int code = host_kernel(context, func, &kernel);
  return code ? code : check_range(config, most, what);
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config) {
  HOST_RUNTIME(check_kernel(context, func, (unsigned)config, 3, "cache"));
}
cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config) {
  HOST_RUNTIME(check_kernel(context, func, (unsigned)config, 2, "shared memory"));
}

cudaError_t cudaDriverGetVersion(int *version) {
  *version = CUDART_VERSION;
  return host_end(MW_SUCCESS);
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = CUDART_VERSION;
  return host_end(MW_SUCCESS);
}
CUresult cuDriverGetVersion(int *version) {
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

/* ---- PCI addresses and peers ---- */

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device) {
  if (!host_device_name(device)) return host_end(MW_INVALID_DEVICE);
  if (!id || length < 13) return host_end(host_fail(MW_INVALID_VALUE, "a bus id takes 13 bytes"));
  snprintf(id, (size_t)length, "0000:00:%02x.0", (unsigned)device & 0xff);
  return host_end(MW_SUCCESS);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id) {
  unsigned domain, bus, number, function;
  if (!device || !id || sscanf(id, "%x:%x:%x.%x", &domain, &bus, &number, &function) != 4)
    return host_end(host_fail(MW_INVALID_DEVICE, "a bus id is written 0000:00:00.0"));
  if (!host_device_name((int)number)) return host_end(MW_INVALID_DEVICE);
  *device = (int)number;
  return host_end(MW_SUCCESS);
}

static int can_reach(int ordinal, int peer, int *can) {
  host_context *from, *to;
  int code = host_context_primary(ordinal, &from);
  if (code == MW_SUCCESS) code = host_context_primary(peer, &to);
  return code ? code : mw_device_can_reach(from->device, to->device, can);
}

static int enable_peer(host_context *context, int peer, unsigned flags) {
  host_context *to;
  if (flags != 0) return host_fail(MW_INVALID_VALUE, "the flags of peer access are 0");
  int code = host_context_primary(peer, &to);
  return code ? code : mw_device_reach(context->device, to->device);
}

static int disable_peer(host_context *context, int peer) {
  host_context *to;
  int code = host_context_primary(peer, &to);
  return code ? code : mw_device_unreach(context->device, to->device);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) { return host_end(can_reach(device, peer, can)); }
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) { HOST_RUNTIME(enable_peer(context, peer, flags)); }
cudaError_t cudaDeviceDisablePeerAccess(int peer) { HOST_RUNTIME(disable_peer(context, peer)); }

/* ---- the driver API ---- */

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  struct cudaDeviceProp prop;
  if (!name || length < 1)
    return host_end_driver(host_fail(MW_INVALID_VALUE, "the pointer that receives the name is NULL"));
  int code = host_properties(device, &prop);
  if (code == MW_SUCCESS) snprintf(name, (size_t)length, "%s", prop.name);
  return host_end_driver(code);
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  struct cudaDeviceProp prop;
  int code = host_properties(device, &prop);
  if (code == MW_SUCCESS) *bytes = prop.totalGlobalMem;
  return host_end_driver(code);
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
  struct cudaDeviceProp prop;
  int code = host_properties(device, &prop);
  if (code != MW_SUCCESS) return host_end_driver(code);
  *major = prop.major;
  *minor = prop.minor;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  return host_end_driver(host_attribute((int)attribute, device, value));
}

CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice device) {
  struct cudaDeviceProp prop;
  int code = host_properties(device, &prop);
  if (code != MW_SUCCESS) return host_end_driver(code);
  *out = (CUdevprop){.maxThreadsPerBlock = prop.maxThreadsPerBlock,
                     .sharedMemPerBlock = (int)prop.sharedMemPerBlock,
                     .totalConstantMemory = (int)prop.totalConstMem,
                     .SIMDWidth = prop.warpSize,
                     .memPitch = clamp((int64_t)prop.memPitch),
                     .regsPerBlock = prop.regsPerBlock,
                     .clockRate = prop.clockRate,
                     .textureAlign = (int)prop.textureAlignment};
  memcpy(out->maxThreadsDim, prop.maxThreadsDim, sizeof out->maxThreadsDim);
  memcpy(out->maxGridSize, prop.maxGridSize, sizeof out->maxGridSize);
  return CUDA_SUCCESS;
}

/* ---- the whole device ---- */

cudaError_t cudaDeviceSynchronize(void) {
  host_context *context;
  int code = host_context_current(&context);
  return host_end(code ? code : mw_device_synchronize(context->device));
}

cudaError_t cudaThreadSynchronize(void) { return cudaDeviceSynchronize(); }

cudaError_t cudaDeviceReset(void) {
  host_context *context;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) host_context_empty(context);
  return host_end(code);
}

cudaError_t cudaThreadExit(void) { return cudaDeviceReset(); }
