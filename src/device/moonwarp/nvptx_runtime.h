/* CUDA's runtime for kernels on GPUs: functions of CUDA's device runtime library, with which the driver links a module
 * that calls them (src/cuda/link.c). A launch writes the child's parameters into a buffer of that library. (CUDA
 * Programming Guide, "CUDA Dynamic Parallelism", "Device-side Launch from PTX") */
#ifndef MOONWARP_NVPTX_RUNTIME_H
#define MOONWARP_NVPTX_RUNTIME_H

#define __mw_linked extern "C" __attribute__((device))

struct __mw_sizes {
  unsigned int x, y, z;
};
__mw_linked void *__cudaCDP2GetParameterBufferV2(void *kernel, __mw_sizes grid, __mw_sizes block, unsigned int shared);
__mw_linked cudaError_t __cudaCDP2LaunchDeviceV2(void *params, cudaStream_t stream);
__mw_linked cudaError_t __cudaCDP2MemcpyAsync(void *target, const void *source, size_t bytes, cudaMemcpyKind kind,
                                              cudaStream_t stream);
__mw_linked cudaError_t __cudaCDP2MemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream);
__mw_linked cudaError_t __cudaCDP2StreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
__mw_linked cudaError_t __cudaCDP2StreamDestroy(cudaStream_t stream);
__mw_linked cudaError_t __cudaCDP2StreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
__mw_linked cudaError_t __cudaCDP2EventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
__mw_linked cudaError_t __cudaCDP2EventDestroy(cudaEvent_t event);
__mw_linked cudaError_t __cudaCDP2EventRecord(cudaEvent_t event, cudaStream_t stream);
__mw_linked cudaError_t __cudaCDP2GetDevice(int *device);
__mw_linked cudaError_t __cudaCDP2GetDeviceCount(int *count);
__mw_linked cudaError_t __cudaCDP2DeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
__mw_linked cudaError_t __cudaCDP2DeviceGetLimit(size_t *value, cudaLimit limit);
__mw_linked cudaError_t __cudaCDP2DeviceGetCacheConfig(cudaFuncCache *config);
__mw_linked cudaError_t __cudaCDP2DeviceGetSharedMemConfig(cudaSharedMemConfig *config);
__mw_linked cudaError_t __cudaCDP2RuntimeGetVersion(int *version);
/* mwcc makes these the library's, or, if the module launches nothing that could fail, 0 (src/mwcc/gpu/nvptx.c). */
__mw_linked cudaError_t __mw_last_error();
__mw_linked cudaError_t __mw_peek_error();

__mw_device cudaError_t cudaGetLastError() { return __mw_last_error(); }
__mw_device cudaError_t cudaPeekAtLastError() { return __mw_peek_error(); }
__mw_device cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes,
                                        cudaMemcpyKind kind = cudaMemcpyDefault, cudaStream_t stream = 0) {
  return __cudaCDP2MemcpyAsync(target, source, bytes, kind, stream);
}
__mw_device cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream = 0) {
  return __cudaCDP2MemsetAsync(target, value, bytes, stream);
}
__mw_device cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
  return __cudaCDP2StreamCreateWithFlags(stream, flags);
}
__mw_device cudaError_t cudaStreamDestroy(cudaStream_t stream) { return __cudaCDP2StreamDestroy(stream); }
__mw_device cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0) {
  return __cudaCDP2StreamWaitEvent(stream, event, flags);
}
__mw_device cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
  return __cudaCDP2EventCreateWithFlags(event, flags);
}
__mw_device cudaError_t cudaEventDestroy(cudaEvent_t event) { return __cudaCDP2EventDestroy(event); }
__mw_device cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = 0) {
  return __cudaCDP2EventRecord(event, stream);
}
__mw_device cudaError_t cudaGetDevice(int *device) { return __cudaCDP2GetDevice(device); }
__mw_device cudaError_t cudaGetDeviceCount(int *count) { return __cudaCDP2GetDeviceCount(count); }
__mw_device cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  return __cudaCDP2DeviceGetAttribute(value, attribute, device);
}
__mw_device cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit) {
  return __cudaCDP2DeviceGetLimit(value, limit);
}
__mw_device cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config) {
  return __cudaCDP2DeviceGetCacheConfig(config);
}
__mw_device cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config) {
  return __cudaCDP2DeviceGetSharedMemConfig(config);
}
__mw_device cudaError_t cudaRuntimeGetVersion(int *version) { return __cudaCDP2RuntimeGetVersion(version); }

/* GPUs' device runtime has no such function since CUDA 12. */
__attribute__((device,
               unavailable("kernels on GPUs do not wait for their children: launch what follows into the stream "
                           "cudaStreamTailLaunch"))) cudaError_t
cudaDeviceSynchronize();

#undef __mw_linked

#endif
