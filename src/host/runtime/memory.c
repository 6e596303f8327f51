/* Linear memory: allocation, freeing, copies, fills. Addresses are the core's (mw_memory_new); an address that the
 * core does not know is taken for host memory. */
#include "host/host.h"

/* ---- making and freeing ---- */

int host_memory_new(host_context *context, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address) {
  return mw_memory_new(context->device, kind, host_flags_in(context, flags), bytes, address);
}

int host_memory_free(host_context *context, uint64_t address, unsigned kinds, const char *function) {
  mw_memory_info info;
  if (address == 0) return MW_SUCCESS;
  int code = mw_memory_find(context->device, address, &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind != MW_MEMORY_UNKNOWN && !(kinds >> info.kind & 1))
    return host_fail(MW_INVALID_VALUE, "%s does not free this kind of memory", function);
  return mw_memory_free(address);
}

int host_memory_pitched(host_context *context, size_t width, size_t height, uint64_t *address, size_t *pitch) {
  mw_properties facts;
  size_t bytes;
  int code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  size_t align = facts.texture_alignment, rows = width / align + (width % align != 0);
  if (__builtin_mul_overflow(rows * align, height, &bytes))
    return host_fail(MW_MEMORY_ALLOCATION, "%zu rows of %zu bytes are more than memory", height, width);
  code = host_memory_new(context, MW_MEMORY_DEVICE, 0, bytes, address);
  if (code == MW_SUCCESS) *pitch = rows * align;
  return code;
}

int host_memory_mapped(host_context *context, void *host, unsigned flags, uint64_t *address) {
  mw_memory_info info;
  if (flags != 0) return host_fail(MW_INVALID_VALUE, "the flags of cudaHostGetDevicePointer are 0");
  int code = mw_memory_find(context->device, host_address(host), &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind == MW_MEMORY_REGISTERED)
    return host_fail(MW_NOT_SUPPORTED, "this device maps what cudaHostAlloc made, not registered memory");
  if (info.kind != MW_MEMORY_PINNED) return host_fail(MW_INVALID_VALUE, "this is not memory that cudaHostAlloc made");
  *address = host_address(host);
  return MW_SUCCESS;
}

int host_memory_flags(host_context *context, void *host, unsigned *flags) {
  mw_memory_info info;
  int code = mw_memory_find(context->device, host_address(host), &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind != MW_MEMORY_PINNED) return host_fail(MW_INVALID_VALUE, "this is not pinned memory");
  *flags = info.flags & ((1u << HOST_FLAG_BITS) - 1);
  return MW_SUCCESS;
}

#define DEVICE_KINDS (1u << MW_MEMORY_DEVICE | 1u << MW_MEMORY_MANAGED)

/* *out = the address as a pointer. */
static int new_pointer(host_context *context, mw_memory_kind kind, unsigned flags, size_t bytes, void **out) {
  uint64_t address;
  if (!out) return host_fail(MW_INVALID_VALUE, "the pointer that receives the address is NULL");
  int code = host_memory_new(context, kind, flags, bytes, &address);
  if (code == MW_SUCCESS) *out = host_pointer(address);
  return code;
}

cudaError_t cudaMalloc(void **address, size_t size) {
  HOST_RUNTIME(new_pointer(context, MW_MEMORY_DEVICE, 0, size, address));
}
cudaError_t cudaMallocHost(void **address, size_t size) {
  HOST_RUNTIME(new_pointer(context, MW_MEMORY_PINNED, 0, size, address));
}
cudaError_t cudaHostAlloc(void **address, size_t size, unsigned flags) {
  HOST_RUNTIME(flags > 7 ? host_fail(MW_INVALID_VALUE, "the flags of cudaHostAlloc are 1, 2 and 4")
                         : new_pointer(context, MW_MEMORY_PINNED, flags, size, address));
}

static int new_managed(host_context *context, void **address, size_t size, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
    return host_fail(MW_INVALID_VALUE, "the flags of cudaMallocManaged are cudaMemAttachGlobal or cudaMemAttachHost");
  if (size == 0) return host_fail(MW_INVALID_VALUE, "managed memory of 0 bytes");
  return new_pointer(context, MW_MEMORY_MANAGED, flags, size, address);
}

cudaError_t cudaMallocManaged(void **address, size_t size, unsigned flags) {
  HOST_RUNTIME(new_managed(context, address, size, flags));
}

static int new_pitched(host_context *context, void **address, size_t *pitch, size_t width, size_t height) {
  uint64_t at;
  int code = host_memory_pitched(context, width, height, &at, pitch);
  if (code == MW_SUCCESS) *address = host_pointer(at);
  return code;
}

static int new_3d(host_context *context, struct cudaPitchedPtr *out, struct cudaExtent extent) {
  void *address;
  size_t pitch, rows;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return host_fail(MW_MEMORY_ALLOCATION, "the extent is more than memory");
  int code = new_pitched(context, &address, &pitch, extent.width, rows);
  if (code == MW_SUCCESS) *out = (struct cudaPitchedPtr){address, pitch, extent.width, extent.height};
  return code;
}

cudaError_t cudaMallocPitch(void **address, size_t *pitch, size_t width, size_t height) {
  HOST_RUNTIME(new_pitched(context, address, pitch, width, height));
}
cudaError_t cudaMalloc3D(struct cudaPitchedPtr *pointer, struct cudaExtent extent) {
  HOST_RUNTIME(new_3d(context, pointer, extent));
}
cudaError_t cudaFree(void *address) {
  HOST_RUNTIME(host_memory_free(context, host_address(address), DEVICE_KINDS, "cudaFree"));
}
cudaError_t cudaFreeHost(void *address) {
  HOST_RUNTIME(host_memory_free(context, host_address(address), 1u << MW_MEMORY_PINNED, "cudaFreeHost"));
}
cudaError_t cudaHostRegister(void *address, size_t size, unsigned flags) {
  HOST_RUNTIME(mw_memory_register(context->device, host_address(address), size, host_flags_in(context, flags & 0xff)));
}
cudaError_t cudaHostUnregister(void *address) { return host_end(mw_memory_unregister(host_address(address))); }

static int get_mapped(host_context *context, void **device, void *host, unsigned flags) {
  uint64_t address;
  int code = host_memory_mapped(context, host, flags, &address);
  if (code == MW_SUCCESS) *device = host_pointer(address);
  return code;
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) {
  HOST_RUNTIME(get_mapped(context, device, host, flags));
}
cudaError_t cudaHostGetFlags(unsigned *flags, void *address) {
  HOST_RUNTIME(host_memory_flags(context, address, flags));
}

/* ---- facts ---- */

static int get_info(host_context *context, size_t *unused, size_t *total) {
  mw_memory memory;
  int code = mw_device_memory(context->device, &memory);
  if (code != MW_SUCCESS) return code;
  if (unused) *unused = memory.total > memory.bytes ? memory.total - memory.bytes : 0;
  if (total) *total = memory.total;
  return MW_SUCCESS;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total) { HOST_RUNTIME(get_info(context, unused, total)); }
CUresult cuMemGetInfo(size_t *unused, size_t *total) { HOST_DRIVER(get_info(context, unused, total)); }

static int pointer_attributes(host_context *context, struct cudaPointerAttributes *out, const void *p) {
  static const enum cudaMemoryType types[] = {
      [MW_MEMORY_UNKNOWN] = cudaMemoryTypeUnregistered, [MW_MEMORY_HOST] = cudaMemoryTypeUnregistered,
      [MW_MEMORY_PINNED] = cudaMemoryTypeHost,          [MW_MEMORY_REGISTERED] = cudaMemoryTypeHost,
      [MW_MEMORY_DEVICE] = cudaMemoryTypeDevice,        [MW_MEMORY_MANAGED] = cudaMemoryTypeManaged};
  mw_memory_info info;
  int code = mw_memory_find(context->device, host_address(p), &info);
  if (code != MW_SUCCESS) return code;
  bool mapped = info.kind >= MW_MEMORY_DEVICE || info.kind == MW_MEMORY_PINNED;
  *out = (struct cudaPointerAttributes){.type = types[info.kind],
                                        .device = info.device ? host_device_ordinal(info.device) : context->ordinal,
                                        .devicePointer = mapped ? host_pointer(host_address(p)) : NULL,
                                        .hostPointer =
                                            info.kind != MW_MEMORY_DEVICE ? host_pointer(host_address(p)) : NULL};
  return MW_SUCCESS;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *address) {
  HOST_RUNTIME(pointer_attributes(context, attributes, address));
}

/* Advice about managed memory has no effect where device and host share memory. */
static int check_managed(host_context *context, const void *address, size_t count, const char *function) {
  mw_memory_info info;
  uint64_t at = host_address(address);
  int code = mw_memory_find(context->device, at, &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind == MW_MEMORY_MANAGED && count <= info.address + info.bytes - at) return MW_SUCCESS;
  return host_fail(MW_INVALID_VALUE, "%s needs managed memory", function);
}

cudaError_t cudaMemAdvise(const void *address, size_t count, enum cudaMemoryAdvise advice, int device) {
  (void)device;
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy)
    return host_end(host_fail(MW_INVALID_VALUE, "%d is not advice", (int)advice));
  HOST_RUNTIME(check_managed(context, address, count, "cudaMemAdvise"));
}

static int prefetch(host_context *context, const void *address, size_t count, int device, cudaStream_t handle) {
  mw_stream *stream;
  int code = check_managed(context, address, count, "cudaMemPrefetchAsync");
  if (code != MW_SUCCESS) return code;
  if (device != cudaCpuDeviceId && !host_device_name(device)) return MW_INVALID_DEVICE;
  code = host_stream(context, handle, &stream);
  if (code == MW_SUCCESS) mw_stream_release(stream);
  return code;
}

cudaError_t cudaMemPrefetchAsync(const void *address, size_t count, int device, cudaStream_t stream) {
  HOST_RUNTIME(prefetch(context, address, count, device, stream));
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t handle, void *address, size_t length, unsigned flags) {
  mw_stream *stream;
  host_context *context;
  (void)flags;
  int code = host_context_stream(handle, &context, &stream);
  if (code != MW_SUCCESS) return host_end(code);
  mw_stream_release(stream);
  return host_end(check_managed(context, address, length, "cudaStreamAttachMemAsync"));
}
