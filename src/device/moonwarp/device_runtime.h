/* CUDA's runtime for kernels: launches, and the functions of the host's interface that device code has.
 *
 * mwcc writes a launch, kernel<<<grid, block, shared, stream>>>(…), as __mw_launch<type, &kernel>(grid, block, shared,
 * stream)(…), since clang knows launches of host code alone (launch_rewrite.c). On the CPU device a kernel's address is
 * its number in the module, plus 1 (launched_kernels.c). */
#ifndef MOONWARP_DEVICE_RUNTIME_H
#define MOONWARP_DEVICE_RUNTIME_H

#include "error_list.h"
#include "runtime_types.h"
#include "sync/graph_condition.h"
#include "vector_types.h"

#define cudaStreamDefault       0
#define cudaStreamNonBlocking   1
#define cudaEventDefault        0
#define cudaEventBlockingSync   1
#define cudaEventDisableTiming  2
#define cudaStreamLegacy        ((cudaStream_t)0x1)
#define cudaStreamPerThread     ((cudaStream_t)0x2)
#define cudaStreamTailLaunch    ((cudaStream_t)0x3)
#define cudaStreamFireAndForget ((cudaStream_t)0x4)

__mw_device const char *cudaGetErrorName(cudaError_t error) {
  switch ((int)error) {
#define __mw_error_name(code, number, name, text, kind)                                                                \
  case number: return name;
    MW_ERROR_LIST(__mw_error_name)
#undef __mw_error_name
  }
  return "unrecognized error code";
}
__mw_device const char *cudaGetErrorString(cudaError_t error) {
  switch ((int)error) {
#define __mw_error_text(code, number, name, text, kind)                                                                \
  case number: return text;
    MW_ERROR_LIST(__mw_error_text)
#undef __mw_error_text
  }
  return "unrecognized error code";
}
template <typename T> __mw_device_template cudaError_t cudaMalloc(T **memory, size_t bytes) {
  *memory = (T *)malloc(bytes);
  return *memory || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation;
}
__mw_device cudaError_t cudaFree(void *memory) {
  free(memory);
  return cudaSuccess;
}

#ifdef __MW_NVPTX__
#include "nvptx_runtime.h"
#else
/* mw_device_call and mw_device_request of mwo.h. */
enum __mw_device_call {
  __MW_LAUNCH,
  __MW_COPY,
  __MW_FILL,
  __MW_STREAM_NEW,
  __MW_STREAM_FREE,
  __MW_EVENT_NEW,
  __MW_EVENT_FREE,
  __MW_EVENT_RECORD,
  __MW_EVENT_WAIT,
  __MW_LAST_ERROR,
  __MW_PEEK_ERROR,
  __MW_SYNCHRONIZE,
  __MW_LIMIT
};
struct __mw_device_request {
  unsigned long long kernel, stream, event;
  unsigned int grid[3], block[3];
  unsigned long long shared, target, source, bytes, value;
  const void *params;
  unsigned long long param_bytes;
};
__mw_import unsigned int __mw_device_runtime(unsigned int call, __mw_device_request *request);
#endif

template <typename F, F kernel> __attribute__((device, nodebug)) constexpr F __mw_kernel_address = kernel;

/* The parameter block: each parameter at the next multiple of its alignment. */
template <typename... P> struct __mw_parameters {
  char value;
};
template <typename T, typename... P> struct __mw_parameters<T, P...> {
  static constexpr size_t place(size_t at) { return (at + alignof(T) - 1) / alignof(T) * alignof(T); }
  static constexpr size_t end(size_t at) { return __mw_parameters<P...>::end(place(at) + sizeof(T)); }
};
template <> struct __mw_parameters<> {
  static constexpr size_t end(size_t at) { return at; }
};

template <typename F, F kernel> struct __mw_launch;
template <typename... P, void (*kernel)(P...)> struct __mw_launch<void (*)(P...), kernel> {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;

  __mw_member __mw_launch(dim3 grid_, dim3 block_, size_t shared_ = 0, cudaStream_t stream_ = 0)
      : grid(grid_), block(block_), shared(shared_), stream(stream_) {}

  static __mw_member void put(char *, size_t) {}
  template <typename T, typename... Q>
  static __mw_member void put(char *block, size_t at, const T &value, const Q &...rest) {
    at = __mw_parameters<T>::place(at);
    __builtin_memcpy(block + at, &value, sizeof(T));
    put(block, at + sizeof(T), rest...);
  }

  __mw_member void operator()(P... arguments) const {
    constexpr size_t bytes = __mw_parameters<P...>::end(0);
    const void *address = (const void *)__mw_kernel_address<void (*)(P...), kernel>;
#ifdef __MW_NVPTX__
    char *params = (char *)__cudaCDP2GetParameterBufferV2((void *)address, {grid.x, grid.y, grid.z},
                                                          {block.x, block.y, block.z}, (unsigned int)shared);
    if (!params) return;
    put(params, 0, arguments...);
    __cudaCDP2LaunchDeviceV2(params, stream);
#else
    alignas(16) char params[bytes ? bytes : 1];
    put(params, 0, arguments...);
    __mw_device_request r = {};
    r.kernel = (unsigned long long)address;
    r.grid[0] = grid.x, r.grid[1] = grid.y, r.grid[2] = grid.z;
    r.block[0] = block.x, r.block[1] = block.y, r.block[2] = block.z;
    r.shared = shared;
    r.stream = (unsigned long long)stream;
    r.params = params;
    r.param_bytes = bytes;
    __mw_device_runtime(__MW_LAUNCH, &r);
#endif
  }
};

#ifndef __MW_NVPTX__
__mw_device cudaError_t cudaGetLastError() {
  __mw_device_request r = {};
  return (cudaError_t)__mw_device_runtime(__MW_LAST_ERROR, &r);
}
__mw_device cudaError_t cudaPeekAtLastError() {
  __mw_device_request r = {};
  return (cudaError_t)__mw_device_runtime(__MW_PEEK_ERROR, &r);
}
__mw_device cudaError_t cudaDeviceSynchronize() {
  __mw_device_request r = {};
  return (cudaError_t)__mw_device_runtime(__MW_SYNCHRONIZE, &r);
}

__mw_device cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                                        cudaMemcpyKind = cudaMemcpyDefault, cudaStream_t stream = 0) {
  __mw_device_request r = {};
  r.target = (unsigned long long)target, r.source = (unsigned long long)source, r.bytes = bytes;
  r.stream = (unsigned long long)stream;
  return (cudaError_t)__mw_device_runtime(__MW_COPY, &r);
}
__mw_device cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream = 0) {
  __mw_device_request r = {};
  r.target = (unsigned long long)target, r.value = (unsigned char)value, r.bytes = bytes;
  r.stream = (unsigned long long)stream;
  return (cudaError_t)__mw_device_runtime(__MW_FILL, &r);
}

/* Handles are numbers: see device_objects.c. */
__mw_device cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  __mw_device_request r = {};
  r.value = flags;
  cudaError_t code = (cudaError_t)__mw_device_runtime(__MW_STREAM_NEW, &r);
  *stream = (cudaStream_t)r.stream;
  return code;
}
__mw_device cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  __mw_device_request r = {};
  r.stream = (unsigned long long)stream;
  return (cudaError_t)__mw_device_runtime(__MW_STREAM_FREE, &r);
}
__mw_device cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  __mw_device_request r = {};
  r.value = flags;
  cudaError_t code = (cudaError_t)__mw_device_runtime(__MW_EVENT_NEW, &r);
  *event = (cudaEvent_t)r.event;
  return code;
}
__mw_device cudaError_t cudaEventDestroy(cudaEvent_t event) {
  __mw_device_request r = {};
  r.event = (unsigned long long)event;
  return (cudaError_t)__mw_device_runtime(__MW_EVENT_FREE, &r);
}
__mw_device cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0) {
  __mw_device_request r = {};
  r.event = (unsigned long long)event, r.stream = (unsigned long long)stream;
  return (cudaError_t)__mw_device_runtime(__MW_EVENT_RECORD, &r);
}
__mw_device cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int = 0) {
  __mw_device_request r = {};
  r.event = (unsigned long long)event, r.stream = (unsigned long long)stream;
  return (cudaError_t)__mw_device_runtime(__MW_EVENT_WAIT, &r);
}

__mw_device cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit) {
  __mw_device_request r = {};
  r.value = limit;
  cudaError_t code = (cudaError_t)__mw_device_runtime(__MW_LIMIT, &r);
  if (code == cudaSuccess) *value = r.bytes;
  return code;
}
__mw_device cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config) {
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
__mw_device cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config) {
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
__mw_device cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 11020; /* as on the host */
  return cudaSuccess;
}

__mw_device cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
/* Attributes that are the same on every device of the capability; the host has the others. */
__mw_device cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  switch ((int)attribute) {
  case cudaDevAttrMaxThreadsPerBlock:
  case cudaDevAttrMaxBlockDimX:
  case cudaDevAttrMaxBlockDimY: *value = 1024; return cudaSuccess;
  case cudaDevAttrMaxBlockDimZ: *value = 64; return cudaSuccess;
  case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; return cudaSuccess;
  case cudaDevAttrMaxGridDimY:
  case cudaDevAttrMaxGridDimZ: *value = 65535; return cudaSuccess;
  case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; return cudaSuccess;
  case cudaDevAttrWarpSize: *value = 32; return cudaSuccess;
  case cudaDevAttrComputeCapabilityMajor: *value = __CUDA_ARCH__ / 100; return cudaSuccess;
  case cudaDevAttrComputeCapabilityMinor: *value = __CUDA_ARCH__ / 10 % 10; return cudaSuccess;
  }
  return cudaErrorNotSupported;
}
__mw_device cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}

#endif

__mw_device cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream = 0, unsigned int = 0) {
  return cudaEventRecord(event, stream);
}

/* Rows, one command each. */
__mw_device cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                          size_t width, size_t height, cudaMemcpyKind kind = cudaMemcpyDefault,
                                          cudaStream_t stream = 0) {
  if (width > target_pitch || width > source_pitch) return cudaErrorInvalidPitchValue;
  for (size_t y = 0; y < height; y++) {
    cudaError_t code = cudaMemcpyAsync((char *)target + y * target_pitch, (const char *)source + y * source_pitch,
                                       width, kind, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
__mw_device cudaError_t cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                                          cudaStream_t stream = 0) {
  if (width > pitch) return cudaErrorInvalidPitchValue;
  for (size_t y = 0; y < height; y++) {
    cudaError_t code = cudaMemsetAsync((char *)target + y * pitch, value, width, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
__mw_device cudaError_t cudaMemset3DAsync(cudaPitchedPtr target, int value, cudaExtent extent,
                                          cudaStream_t stream = 0) {
  for (size_t z = 0; z < extent.depth; z++) {
    char *slice = (char *)target.ptr + z * target.pitch * target.ysize;
    cudaError_t code = cudaMemset2DAsync(slice, target.pitch, value, extent.width, extent.height, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}
/* Between pitched memory; there are no CUDA arrays in kernels. */
__mw_device cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream = 0) {
  if (p->srcArray || p->dstArray) return cudaErrorInvalidValue;
  for (size_t z = 0; z < p->extent.depth; z++) {
    const char *from = (const char *)p->srcPtr.ptr + p->srcPos.x +
                       p->srcPtr.pitch * (p->srcPos.y + p->srcPtr.ysize * (p->srcPos.z + z));
    char *to =
        (char *)p->dstPtr.ptr + p->dstPos.x + p->dstPtr.pitch * (p->dstPos.y + p->dstPtr.ysize * (p->dstPos.z + z));
    cudaError_t code = cudaMemcpy2DAsync(to, p->dstPtr.pitch, from, p->srcPtr.pitch, p->extent.width, p->extent.height,
                                         p->kind, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

#endif
