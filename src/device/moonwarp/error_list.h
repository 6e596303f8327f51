/* Every result code: X(code, number, CUDA's name, CUDA's text, kind). Names and texts, which kernels have too (device_runtime.h), are those that cudaGetErrorName
 * and cudaGetErrorString of the CUDA 13.0 runtime give; kinds are what moonwarp's error objects are sorted by. */
#ifndef MW_ERROR_LIST_H
#define MW_ERROR_LIST_H

/* clang-format off */
#define MW_ERROR_LIST(X)                                                                                               \
  X(MW_SUCCESS,                        0, "cudaSuccess",                      "no error", "usage")                     \
  X(MW_INVALID_VALUE,                  1, "cudaErrorInvalidValue",            "invalid argument", "usage")             \
  X(MW_MEMORY_ALLOCATION,              2, "cudaErrorMemoryAllocation",        "out of memory", "memory")               \
  X(MW_INITIALIZATION_ERROR,           3, "cudaErrorInitializationError",     "initialization error", "device")        \
  X(MW_INVALID_CONFIGURATION, 9, "cudaErrorInvalidConfiguration",                                                      \
    "invalid configuration argument", "launch")                                                                        \
  X(MW_INVALID_PITCH_VALUE,           12, "cudaErrorInvalidPitchValue",       "invalid pitch argument", "usage")       \
  X(MW_INVALID_SYMBOL,                13, "cudaErrorInvalidSymbol",           "invalid device symbol", "usage")        \
  X(MW_INVALID_HOST_POINTER,          16, "cudaErrorInvalidHostPointer",      "invalid host pointer", "usage")         \
  X(MW_INVALID_DEVICE_POINTER,        17, "cudaErrorInvalidDevicePointer",    "invalid device pointer", "usage")       \
  X(MW_INVALID_TEXTURE,               18, "cudaErrorInvalidTexture",          "invalid texture reference", "usage")    \
  X(MW_INVALID_TEXTURE_BINDING, 19, "cudaErrorInvalidTextureBinding",                                                  \
    "texture is not bound to a pointer", "launch")                                                                     \
  X(MW_INVALID_CHANNEL_DESCRIPTOR,    20, "cudaErrorInvalidChannelDescriptor", "invalid channel descriptor", "usage")  \
  X(MW_INVALID_MEMCPY_DIRECTION, 21, "cudaErrorInvalidMemcpyDirection",                                                \
    "invalid copy direction for memcpy", "usage")                                                                      \
  X(MW_INVALID_FILTER_SETTING, 26, "cudaErrorInvalidFilterSetting",                                                    \
    "linear filtering not supported for non-float type", "usage")                                                      \
  X(MW_INVALID_NORM_SETTING, 27, "cudaErrorInvalidNormSetting",                                                        \
    "read as normalized float not supported for 32-bit non float type", "usage")                                       \
  X(MW_INVALID_SURFACE,               37, "cudaErrorInvalidSurface",          "invalid surface reference", "usage")    \
  X(MW_MISSING_CONFIGURATION, 52, "cudaErrorMissingConfiguration",                                                     \
    "__global__ function call is not configured", "launch")                                                            \
  X(MW_INVALID_DEVICE_FUNCTION,       98, "cudaErrorInvalidDeviceFunction",   "invalid device function", "launch")     \
  X(MW_NO_DEVICE, 100, "cudaErrorNoDevice",                                                                            \
    "no CUDA-capable device is detected", "device")                                                                    \
  X(MW_INVALID_DEVICE,               101, "cudaErrorInvalidDevice",           "invalid device ordinal", "device")      \
  X(MW_INVALID_KERNEL_IMAGE,         200, "cudaErrorInvalidKernelImage",      "device kernel image is invalid", "io")  \
  X(MW_INVALID_CONTEXT,              201, "cudaErrorDeviceUninitialized",     "invalid device context", "usage")       \
  X(MW_MAP_FAILED, 205, "cudaErrorMapBufferObjectFailed",                                                              \
    "mapping of buffer object failed", "usage")                                                                        \
  X(MW_UNMAP_FAILED, 206, "cudaErrorUnmapBufferObjectFailed",                                                          \
    "unmapping of buffer object failed", "usage")                                                                      \
  X(MW_ALREADY_MAPPED,               208, "cudaErrorAlreadyMapped",           "resource already mapped", "usage")      \
  X(MW_NO_KERNEL_IMAGE_FOR_DEVICE, 209, "cudaErrorNoKernelImageForDevice",                                             \
    "no kernel image is available for execution on the device", "device")                                              \
  X(MW_NOT_MAPPED,                   211, "cudaErrorNotMapped",               "resource not mapped", "usage")          \
  X(MW_NOT_MAPPED_AS_ARRAY, 212, "cudaErrorNotMappedAsArray",                                                          \
    "resource not mapped as array", "usage")                                                                           \
  X(MW_NOT_MAPPED_AS_POINTER, 213, "cudaErrorNotMappedAsPointer",                                                      \
    "resource not mapped as pointer", "usage")                                                                         \
  X(MW_UNSUPPORTED_LIMIT, 215, "cudaErrorUnsupportedLimit",                                                            \
    "limit is not supported on this architecture", "usage")                                                            \
  X(MW_PEER_ACCESS_UNSUPPORTED, 217, "cudaErrorPeerAccessUnsupported",                                                 \
    "peer access is not supported between these two devices", "device")                                                \
  X(MW_INVALID_GRAPHICS_CONTEXT, 219, "cudaErrorInvalidGraphicsContext",                                               \
    "invalid OpenGL or DirectX context", "usage")                                                                      \
  X(MW_JIT_COMPILER_NOT_FOUND, 221, "cudaErrorJitCompilerNotFound",                                                    \
    "PTX JIT compiler library not found", "compile")                                                                   \
  X(MW_INVALID_SOURCE, 300, "cudaErrorInvalidSource",                                                                  \
    "device kernel image is invalid", "compile")                                                                       \
  X(MW_FILE_NOT_FOUND,               301, "cudaErrorFileNotFound",            "file not found", "io")                  \
  X(MW_OPERATING_SYSTEM, 304, "cudaErrorOperatingSystem",                                                              \
    "OS call failed or operation not supported on this OS", "io")                                                      \
  X(MW_INVALID_RESOURCE_HANDLE,      400, "cudaErrorInvalidResourceHandle",   "invalid resource handle", "usage")      \
  X(MW_SYMBOL_NOT_FOUND,             500, "cudaErrorSymbolNotFound",          "named symbol not found", "usage")       \
  X(MW_NOT_READY,                    600, "cudaErrorNotReady",                "device not ready", "device")            \
  X(MW_ILLEGAL_ADDRESS, 700, "cudaErrorIllegalAddress",                                                                \
    "an illegal memory access was encountered", "kernel")                                                              \
  X(MW_LAUNCH_OUT_OF_RESOURCES, 701, "cudaErrorLaunchOutOfResources",                                                  \
    "too many resources requested for launch", "launch")                                                               \
  X(MW_LAUNCH_TIMEOUT, 702, "cudaErrorLaunchTimeout",                                                                  \
    "the launch timed out and was terminated", "kernel")                                                               \
  X(MW_PEER_ACCESS_ALREADY_ENABLED, 704, "cudaErrorPeerAccessAlreadyEnabled",                                          \
    "peer access is already enabled", "usage")                                                                         \
  X(MW_PEER_ACCESS_NOT_ENABLED, 705, "cudaErrorPeerAccessNotEnabled",                                                  \
    "peer access has not been enabled", "usage")                                                                       \
  X(MW_ASSERT, 710, "cudaErrorAssert",                                                                                 \
    "device-side assert triggered", "kernel")                                                                          \
  X(MW_HOST_MEMORY_ALREADY_REGISTERED, 712, "cudaErrorHostMemoryAlreadyRegistered",                                    \
    "part or all of the requested memory range is already mapped", "usage")                                            \
  X(MW_HOST_MEMORY_NOT_REGISTERED, 713, "cudaErrorHostMemoryNotRegistered",                                            \
    "pointer does not correspond to a registered memory region", "usage")                                              \
  X(MW_HARDWARE_STACK_ERROR,         714, "cudaErrorHardwareStackError",      "hardware stack error", "kernel")        \
  X(MW_ILLEGAL_INSTRUCTION, 715, "cudaErrorIllegalInstruction",                                                        \
    "an illegal instruction was encountered", "kernel")                                                                \
  X(MW_MISALIGNED_ADDRESS,           716, "cudaErrorMisalignedAddress",       "misaligned address", "kernel")          \
  X(MW_INVALID_PC,                   718, "cudaErrorInvalidPc",               "invalid program counter", "kernel")     \
  X(MW_LAUNCH_FAILURE,               719, "cudaErrorLaunchFailure",           "unspecified launch failure", "kernel")  \
  X(MW_COOPERATIVE_LAUNCH_TOO_LARGE, 720, "cudaErrorCooperativeLaunchTooLarge",                                        \
    "too many blocks in cooperative launch", "launch")                                                                 \
  X(MW_NOT_SUPPORTED,                801, "cudaErrorNotSupported",            "operation not supported", "device")     \
  X(MW_STREAM_CAPTURE_UNSUPPORTED, 900, "cudaErrorStreamCaptureUnsupported",                                           \
    "operation not permitted when stream is capturing", "usage")                                                       \
  X(MW_STREAM_CAPTURE_INVALIDATED, 901, "cudaErrorStreamCaptureInvalidated",                                           \
    "operation failed due to a previous error during capture", "usage")                                                \
  X(MW_STREAM_CAPTURE_MERGE, 902, "cudaErrorStreamCaptureMerge",                                                       \
    "operation would result in a merge of separate capture sequences", "usage")                                        \
  X(MW_STREAM_CAPTURE_UNMATCHED, 903, "cudaErrorStreamCaptureUnmatched",                                               \
    "capture was not ended in the same stream as it began", "usage")                                                   \
  X(MW_STREAM_CAPTURE_UNJOINED, 904, "cudaErrorStreamCaptureUnjoined",                                                 \
    "capturing stream has unjoined work", "usage")                                                                     \
  X(MW_STREAM_CAPTURE_ISOLATION, 905, "cudaErrorStreamCaptureIsolation",                                               \
    "dependency created on uncaptured work in another stream", "usage")                                                \
  X(MW_STREAM_CAPTURE_IMPLICIT, 906, "cudaErrorStreamCaptureImplicit",                                                 \
    "operation would make the legacy stream depend on a capturing blocking stream", "usage")                           \
  X(MW_CAPTURED_EVENT, 907, "cudaErrorCapturedEvent",                                                                  \
    "operation not permitted on an event last recorded in a capturing stream", "usage")                                \
  X(MW_STREAM_CAPTURE_WRONG_THREAD, 908, "cudaErrorStreamCaptureWrongThread",                                          \
    "attempt to terminate a thread-local capture sequence from another thread", "usage")                               \
  X(MW_GRAPH_EXEC_UPDATE_FAILURE, 910, "cudaErrorGraphExecUpdateFailure",                                              \
    "the graph update was not performed because it included changes which violated constraints "                       \
    "specific to instantiated graph update", "usage")                                                                  \
  X(MW_INVALID_CLUSTER_SIZE, 912, "cudaErrorInvalidClusterSize",                                                       \
    "cluster misconfiguration in a kernel launch", "launch")                                                           \
  X(MW_UNKNOWN,                      999, "cudaErrorUnknown",                 "unknown error", "device")
/* clang-format on */

#endif
