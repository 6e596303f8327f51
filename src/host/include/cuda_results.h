/* CUresult, with CUDA's numbers: X(name, number, the runtime API's code that the driver API says this for). A code of the
 * runtime API that has no line here is CUDA_ERROR_INVALID_VALUE below 100, else CUDA_ERROR_UNKNOWN. */
#ifndef MOONWARP_CUDA_RESULTS_H
#define MOONWARP_CUDA_RESULTS_H

/* clang-format off */
#define MW_CUDA_RESULTS(X)                                                                                             \
  X(CUDA_SUCCESS, 0, cudaSuccess)                                                                                      \
  X(CUDA_ERROR_INVALID_VALUE, 1, cudaErrorInvalidValue)                                                                \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, cudaErrorMemoryAllocation)                                                            \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, cudaErrorInitializationError)                                                       \
  X(CUDA_ERROR_DEINITIALIZED, 4, cudaErrorCudartUnloading)                                                             \
  X(CUDA_ERROR_NO_DEVICE, 100, cudaErrorNoDevice)                                                                      \
  X(CUDA_ERROR_INVALID_DEVICE, 101, cudaErrorInvalidDevice)                                                            \
  X(CUDA_ERROR_INVALID_IMAGE, 200, cudaErrorInvalidKernelImage)                                                        \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, cudaErrorDeviceUninitialized)                                                     \
  X(CUDA_ERROR_MAP_FAILED, 205, cudaErrorMapBufferObjectFailed)                                                        \
  X(CUDA_ERROR_UNMAP_FAILED, 206, cudaErrorUnmapBufferObjectFailed)                                                    \
  X(CUDA_ERROR_ALREADY_MAPPED, 208, cudaErrorAlreadyMapped)                                                            \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, cudaErrorNoKernelImageForDevice)                                                \
  X(CUDA_ERROR_NOT_MAPPED, 211, cudaErrorNotMapped)                                                                    \
  X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212, cudaErrorNotMappedAsArray)                                                    \
  X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213, cudaErrorNotMappedAsPointer)                                                \
  X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215, cudaErrorUnsupportedLimit)                                                      \
  X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217, cudaErrorPeerAccessUnsupported)                                           \
  X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219, cudaErrorInvalidGraphicsContext)                                         \
  X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221, cudaErrorJitCompilerNotFound)                                              \
  X(CUDA_ERROR_INVALID_SOURCE, 300, cudaErrorInvalidSource)                                                            \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, cudaErrorFileNotFound)                                                             \
  X(CUDA_ERROR_OPERATING_SYSTEM, 304, cudaErrorOperatingSystem)                                                        \
  X(CUDA_ERROR_INVALID_HANDLE, 400, cudaErrorInvalidResourceHandle)                                                    \
  X(CUDA_ERROR_NOT_FOUND, 500, cudaErrorSymbolNotFound)                                                                \
  X(CUDA_ERROR_NOT_READY, 600, cudaErrorNotReady)                                                                      \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, cudaErrorIllegalAddress)                                                          \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, cudaErrorLaunchOutOfResources)                                            \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, cudaErrorLaunchTimeout)                                                            \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, cudaErrorPeerAccessAlreadyEnabled)                                    \
  X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, cudaErrorPeerAccessNotEnabled)                                            \
  X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709, cudaErrorContextIsDestroyed)                                                 \
  X(CUDA_ERROR_ASSERT, 710, cudaErrorAssert)                                                                           \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, cudaErrorHostMemoryAlreadyRegistered)                              \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, cudaErrorHostMemoryNotRegistered)                                      \
  X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714, cudaErrorHardwareStackError)                                                 \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, cudaErrorIllegalInstruction)                                                  \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, cudaErrorMisalignedAddress)                                                    \
  X(CUDA_ERROR_INVALID_PC, 718, cudaErrorInvalidPc)                                                                    \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, cudaErrorLaunchFailure)                                                             \
  X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720, cudaErrorCooperativeLaunchTooLarge)                                  \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, cudaErrorNotSupported)                                                              \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, cudaErrorStreamCaptureUnsupported)                                     \
  X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901, cudaErrorStreamCaptureInvalidated)                                     \
  X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902, cudaErrorStreamCaptureMerge)                                                 \
  X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903, cudaErrorStreamCaptureUnmatched)                                         \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, cudaErrorStreamCaptureUnjoined)                                           \
  X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905, cudaErrorStreamCaptureIsolation)                                         \
  X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906, cudaErrorStreamCaptureImplicit)                                           \
  X(CUDA_ERROR_CAPTURED_EVENT, 907, cudaErrorCapturedEvent)                                                            \
  X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908, cudaErrorStreamCaptureWrongThread)                                    \
  X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910, cudaErrorGraphExecUpdateFailure)                                        \
  X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912, cudaErrorInvalidClusterSize)                                                 \
  X(CUDA_ERROR_UNKNOWN, 999, cudaErrorUnknown)
/* clang-format on */

#define MW_CUDA_RESULT(name, number, runtime) name = number,
typedef enum cudaError_enum {
  MW_CUDA_RESULTS(MW_CUDA_RESULT)
  /* Two names of CUDA 1.1. */
  CUDA_ERROR_INVALID_DEVICE_IMAGE = 200,
  CUDA_ERROR_FILE_OPEN_FAILED = 301
} CUresult;
#undef MW_CUDA_RESULT

#endif
