/* Linear memory under the driver API's names. */
#include "driver.h"

#define DEVICE_KINDS (1u << MW_MEMORY_DEVICE | 1u << MW_MEMORY_MANAGED)

/* ---- making and freeing ---- */

/* The driver API refuses allocations of 0 bytes. */
static int new_memory(host_context *context, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address) {
  if (bytes == 0) return host_fail(MW_INVALID_VALUE, "an allocation of 0 bytes");
  return host_memory_new(context, kind, flags, bytes, address);
}

static int new_device(host_context *context, mw_memory_kind kind, unsigned flags, size_t bytes, CUdeviceptr *out) {
  uint64_t address;
  int code = new_memory(context, kind, flags, bytes, &address);
  if (code == MW_SUCCESS) *out = address;
  return code;
}

static int new_host(host_context *context, unsigned flags, size_t bytes, void **out) {
  uint64_t address;
  if (flags > 7) return host_fail(MW_INVALID_VALUE, "the flags of cuMemHostAlloc are 1, 2 and 4");
  int code = new_memory(context, MW_MEMORY_PINNED, flags, bytes, &address);
  if (code == MW_SUCCESS) *out = host_pointer(address);
  return code;
}

static int new_pitched(host_context *context, CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                       unsigned element) {
  uint64_t address;
  if (element != 4 && element != 8 && element != 16)
    return host_fail(MW_INVALID_VALUE, "elements of %u bytes: cuMemAllocPitch wants 4, 8 or 16", element);
  if (width == 0 || height == 0) return host_fail(MW_INVALID_VALUE, "an allocation of 0 bytes");
  int code = host_memory_pitched(context, width, height, &address, pitch);
  if (code == MW_SUCCESS) *out = address;
  return code;
}

static int free_memory(host_context *context, uint64_t address, unsigned kinds, const char *function) {
  if (address == 0) return host_fail(MW_INVALID_VALUE, "%s of the null pointer", function);
  return host_memory_free(context, address, kinds, function);
}

CUresult cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  HOST_DRIVER(new_device(context, MW_MEMORY_DEVICE, 0, bytes, address));
}
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  HOST_DRIVER(flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST
                  ? host_fail(MW_INVALID_VALUE, "the flags of cuMemAllocManaged are CU_MEM_ATTACH_GLOBAL or _HOST")
                  : new_device(context, MW_MEMORY_MANAGED, flags, bytes, address));
}
CUresult cuMemAllocPitch(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element) {
  HOST_DRIVER(new_pitched(context, address, pitch, width, height, element));
}
CUresult cuMemAllocHost(void **address, size_t bytes) { HOST_DRIVER(new_host(context, 0, bytes, address)); }
CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags) {
  HOST_DRIVER(new_host(context, flags, bytes, address));
}
CUresult cuMemFree(CUdeviceptr address) { HOST_DRIVER(free_memory(context, address, DEVICE_KINDS, "cuMemFree")); }
CUresult cuMemFreeHost(void *address) {
  HOST_DRIVER(free_memory(context, host_address(address), 1u << MW_MEMORY_PINNED, "cuMemFreeHost"));
}
CUresult cuMemHostRegister(void *address, size_t bytes, unsigned flags) {
  HOST_DRIVER(mw_memory_register(context->device, host_address(address), bytes, host_flags_in(context, flags & 0xff)));
}
CUresult cuMemHostUnregister(void *address) { HOST_DRIVER(mw_memory_unregister(host_address(address))); }

static int get_mapped(host_context *context, CUdeviceptr *device, void *host, unsigned flags) {
  uint64_t address;
  int code = host_memory_mapped(context, host, flags, &address);
  if (code == MW_SUCCESS) *device = address;
  return code;
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *device, void *host, unsigned flags) {
  HOST_DRIVER(get_mapped(context, device, host, flags));
}
CUresult cuMemHostGetFlags(unsigned *flags, void *host) { HOST_DRIVER(host_memory_flags(context, host, flags)); }

static int get_range(host_context *context, CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  mw_memory_info info;
  int code = mw_memory_find(context->device, address, &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind == MW_MEMORY_UNKNOWN)
    return host_fail(MW_INVALID_VALUE, "nothing was allocated there, or it was freed");
  if (base) *base = info.address;
  if (bytes) *bytes = info.bytes;
  return MW_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address) {
  HOST_DRIVER(get_range(context, base, bytes, address));
}

/* ---- copies ---- */

#define ASYNCHRONOUS(handle, call)                                                                                     \
  host_context *context;                                                                                               \
  mw_stream *stream = NULL;                                                                                            \
  int code = host_context_driver(&context);                                                                            \
  if (code == MW_SUCCESS) code = host_stream(context, handle, &stream);                                                \
  if (code != MW_SUCCESS) return host_end_driver(code);                                                                \
  code = (call);                                                                                                       \
  mw_stream_release(stream);                                                                                           \
  return host_end_driver(code)

#define COPY(to, from, kind) host_copy_line(context, stream, to, from, bytes, kind)
#define NOW(call)                                                                                                      \
  mw_stream *const stream = NULL;                                                                                      \
  HOST_DRIVER(call)

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { NOW(COPY(dst, src, cudaMemcpyDefault)); }
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle) {
  ASYNCHRONOUS(handle, COPY(dst, src, cudaMemcpyDefault));
}
CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t bytes) {
  NOW(COPY(dst, host_address(src), cudaMemcpyHostToDevice));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t bytes, CUstream handle) {
  ASYNCHRONOUS(handle, COPY(dst, host_address(src), cudaMemcpyHostToDevice));
}
CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t bytes) {
  NOW(COPY(host_address(dst), src, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t bytes, CUstream handle) {
  ASYNCHRONOUS(handle, COPY(host_address(dst), src, cudaMemcpyDeviceToHost));
}
CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t bytes) { NOW(COPY(dst, src, cudaMemcpyDeviceToDevice)); }
CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream handle) {
  ASYNCHRONOUS(handle, COPY(dst, src, cudaMemcpyDeviceToDevice));
}

int host_check_peers(CUcontext target, CUcontext source) {
  return host_handle_find(HOST_CONTEXT, target) && host_handle_find(HOST_CONTEXT, source)
             ? MW_SUCCESS
             : host_fail(MW_INVALID_CONTEXT, "this is not a context, or one that was destroyed");
}

static int copy_peer(host_context *context, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from,
                     size_t bytes) {
  int code = host_check_peers(to, from);
  return code ? code : host_copy_line(context, NULL, dst, src, bytes, cudaMemcpyDefault);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dstContext, CUdeviceptr src, CUcontext srcContext, size_t bytes) {
  HOST_DRIVER(copy_peer(context, dst, dstContext, src, srcContext, bytes));
}

/* ---- fills ---- */

static int fill_rows(host_context *context, mw_stream *stream, CUdeviceptr dst, size_t pitch, unsigned value,
                     size_t size, size_t width, size_t height) {
  if (dst % size || (height > 1 && pitch % size))
    return host_fail(MW_INVALID_VALUE, "an address or a pitch that is not a multiple of the element's %zu bytes", size);
  if (width * size > pitch)
    return host_fail(MW_INVALID_PITCH_VALUE, "rows of %zu bytes in a pitch of %zu", width * size, pitch);
  return host_fill(context, stream, dst, pitch, height, value, size, width, height, 1);
}

static int fill_line(host_context *context, mw_stream *stream, CUdeviceptr dst, unsigned value, size_t size,
                     size_t count) {
  if (dst % size)
    return host_fail(MW_INVALID_VALUE, "an address that is not a multiple of the element's %zu bytes", size);
  return host_fill(context, stream, dst, 0, 0, value, size, count, 1, 1);
}

#define FILL(bits, type)                                                                                               \
  CUresult cuMemsetD##bits(CUdeviceptr dst, type value, size_t count) {                                                \
    NOW(fill_line(context, stream, dst, value, bits / 8, count));                                                      \
  }                                                                                                                    \
  CUresult cuMemsetD##bits##Async(CUdeviceptr dst, type value, size_t count, CUstream handle) {                        \
    ASYNCHRONOUS(handle, fill_line(context, stream, dst, value, bits / 8, count));                                     \
  }                                                                                                                    \
  CUresult cuMemsetD2D##bits(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height) {                 \
    NOW(fill_rows(context, stream, dst, pitch, value, bits / 8, width, height));                                       \
  }                                                                                                                    \
  CUresult cuMemsetD2D##bits##Async(CUdeviceptr dst, size_t pitch, type value, size_t width, size_t height,            \
                                    CUstream handle) {                                                                 \
    ASYNCHRONOUS(handle, fill_rows(context, stream, dst, pitch, value, bits / 8, width, height));                      \
  }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)
