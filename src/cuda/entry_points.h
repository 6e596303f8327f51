/* Every function of libcuda and NVRTC that is used: X(name, CUDA version that introduced this form, parameters).
 * Functions of libcuda are looked up by name and version (cuGetProcAddress), those of NVRTC by name. */
#ifndef MW_CUDA_ENTRY_POINTS_H
#define MW_CUDA_ENTRY_POINTS_H

#include "cuda/types.h"

/* clang-format off */
#define MW_LIBCUDA(X)                                                                                                  \
  /* The functions that every launch calls stand next to each other. */                                                                       \
  X(cuCtxGetCurrent, 4000, (CUcontext *context))                                                                       \
  X(cuLaunchKernel, 4000, (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,       \
                           unsigned bz, unsigned shared, CUstream stream, void **params, void **extra))                \
  X(cuInit, 2000, (unsigned flags))                                                                                    \
  X(cuDriverGetVersion, 2020, (int *version))                                                                          \
  X(cuDeviceGetCount, 2000, (int *count))                                                                              \
  X(cuDeviceGet, 2000, (CUdevice *device, int ordinal))                                                                \
  X(cuDeviceGetName, 2000, (char *name, int size, CUdevice device))                                                    \
  X(cuDeviceTotalMem, 3020, (size_t *bytes, CUdevice device))                                                          \
  X(cuDeviceGetAttribute, 2000, (int *value, int attribute, CUdevice device))                                          \
  X(cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *pool, CUdevice device))                                           \
  X(cuDeviceCanAccessPeer, 4000, (int *can, CUdevice device, CUdevice peer))                                           \
  X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *context, CUdevice device))                                             \
  X(cuDevicePrimaryCtxRelease, 11000, (CUdevice device))                                                               \
  X(cuDevicePrimaryCtxReset, 11000, (CUdevice device))                                                                 \
  X(cuCtxSetCurrent, 4000, (CUcontext context))                                                                        \
  X(cuCtxEnablePeerAccess, 4000, (CUcontext peer, unsigned flags))                                                     \
  X(cuCtxDisablePeerAccess, 4000, (CUcontext peer))                                                                    \
  X(cuCtxSetLimit, 3010, (int limit, size_t value))                                                                    \
  X(cuCtxGetLimit, 3010, (size_t *value, int limit))                                                                   \
  X(cuCtxGetStreamPriorityRange, 5050, (int *least, int *greatest))                                                    \
  X(cuGetErrorName, 6000, (CUresult code, const char **name))                                                          \
  X(cuGetErrorString, 6000, (CUresult code, const char **text))                                                        \
  X(cuMemGetInfo, 3020, (size_t *free, size_t *total))                                                                 \
  X(cuMemAlloc, 3020, (CUdeviceptr *address, size_t bytes))                                                            \
  X(cuMemFree, 3020, (CUdeviceptr address))                                                                            \
  X(cuMemAllocAsync, 11020, (CUdeviceptr *address, size_t bytes, CUstream stream))                                     \
  X(cuMemFreeAsync, 11020, (CUdeviceptr address, CUstream stream))                                                     \
  X(cuMemPoolSetAttribute, 11020, (CUmemoryPool pool, int attribute, void *value))                                     \
  X(cuMemPoolSetAccess, 11020, (CUmemoryPool pool, const CUDA_MEM_ACCESS *access, size_t count))                       \
  X(cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep))                                                          \
  X(cuMemAllocManaged, 6000, (CUdeviceptr *address, size_t bytes, unsigned flags))                                     \
  X(cuMemHostAlloc, 2020, (void **memory, size_t bytes, unsigned flags))                                               \
  X(cuMemFreeHost, 2000, (void *memory))                                                                               \
  X(cuMemcpyHtoDAsync, 3020, (CUdeviceptr target, const void *source, size_t bytes, CUstream stream))                  \
  X(cuMemcpyDtoHAsync, 3020, (void *target, CUdeviceptr source, size_t bytes, CUstream stream))                        \
  X(cuMemcpyDtoDAsync, 3020, (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream))                  \
  X(cuMemcpyAsync, 4000, (CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream))                      \
  X(cuMemcpyPeerAsync, 4000, (CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, size_t bytes,      \
                              CUstream stream))                                                                        \
  X(cuMemcpy3DAsync, 3020, (const CUDA_MEMCPY3D *copy, CUstream stream))                                               \
  X(cuMemcpy3DPeerAsync, 4000, (const CUDA_MEMCPY3D *copy, CUstream stream))                                           \
  X(cuMemsetD8Async, 3020, (CUdeviceptr target, unsigned char value, size_t count, CUstream stream))                   \
  X(cuMemsetD16Async, 3020, (CUdeviceptr target, unsigned short value, size_t count, CUstream stream))                 \
  X(cuMemsetD32Async, 3020, (CUdeviceptr target, unsigned value, size_t count, CUstream stream))                       \
  X(cuMemsetD2D8Async, 3020, (CUdeviceptr target, size_t pitch, unsigned char value, size_t width, size_t height,      \
                              CUstream stream))                                                                        \
  X(cuMemsetD2D16Async, 3020, (CUdeviceptr target, size_t pitch, unsigned short value, size_t width, size_t height,    \
                               CUstream stream))                                                                       \
  X(cuMemsetD2D32Async, 3020, (CUdeviceptr target, size_t pitch, unsigned value, size_t width, size_t height,          \
                               CUstream stream))                                                                       \
  X(cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned flags, int priority))                                \
  X(cuStreamDestroy, 4000, (CUstream stream))                                                                          \
  X(cuStreamSynchronize, 2000, (CUstream stream))                                                                      \
  X(cuStreamQuery, 2000, (CUstream stream))                                                                            \
  X(cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags))                                         \
  X(cuStreamWaitValue32, 11070, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned flags))                \
  X(cuLaunchHostFunc, 10000, (CUstream stream, CUhostFn *function, void *context))                                     \
  X(cuEventCreate, 2000, (CUevent *event, unsigned flags))                                                             \
  X(cuEventDestroy, 4000, (CUevent event))                                                                             \
  X(cuEventRecord, 2000, (CUevent event, CUstream stream))                                                             \
  X(cuEventQuery, 2000, (CUevent event))                                                                               \
  X(cuEventSynchronize, 2000, (CUevent event))                                                                         \
  X(cuEventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end))                                       \
  X(cuModuleLoadData, 2000, (CUmodule *module, const void *image))                                                     \
  X(cuModuleLoadDataEx, 2010, (CUmodule *module, const void *image, unsigned count, int *options, void **values))      \
  X(cuLinkCreate, 6050, (unsigned count, int *options, void **values, CUlinkState *linker))                            \
  X(cuLinkAddData, 6050, (CUlinkState linker, int kind, void *data, size_t bytes, const char *name, unsigned count,    \
                          int *options, void **values))                                                                \
  X(cuLinkAddFile, 6050, (CUlinkState linker, int kind, const char *path, unsigned count, int *options,                \
                          void **values))                                                                              \
  X(cuLinkComplete, 5050, (CUlinkState linker, void **cubin, size_t *bytes))                                           \
  X(cuLinkDestroy, 5050, (CUlinkState linker))                                                                         \
  X(cuModuleUnload, 2000, (CUmodule module))                                                                           \
  X(cuModuleGetFunction, 2000, (CUfunction *function, CUmodule module, const char *name))                              \
  X(cuModuleGetGlobal, 3020, (CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name))                 \
  X(cuFuncGetAttribute, 2020, (int *value, int attribute, CUfunction function))                                        \
  X(cuFuncSetAttribute, 9000, (CUfunction function, int attribute, int value))                                         \
  X(cuTensorMapEncodeTiled, 12000,                                                                                     \
    (void *map, int type, unsigned dimensions, void *address, const uint64_t *sizes, const uint64_t *strides,          \
     const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill))                \
  X(cuTensorMapEncodeIm2col, 12000,                                                                                    \
    (void *map, int type, unsigned dimensions, void *address, const uint64_t *sizes, const uint64_t *strides,          \
     const int *lower, const int *upper, unsigned channels, unsigned pixels, const unsigned *steps, int interleave,    \
     int swizzle, int promotion, int fill))                                                                            \
  X(cuLaunchKernelEx, 11060, (const CUlaunchConfig *config, CUfunction function, void **params, void **extra))         \
  X(cuOccupancyMaxActiveClusters, 11070, (int *clusters, CUfunction function, const CUlaunchConfig *config))          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int *blocks, CUfunction function, int threads, size_t shared)) \
  X(cuArray3DCreate, 3020, (CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor))                                \
  X(cuArrayDestroy, 2000, (CUarray array))                                                                             \
  X(cuMipmappedArrayCreate, 5000, (CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,                 \
                                   unsigned levels))                                                                   \
  X(cuMipmappedArrayGetLevel, 5000, (CUarray *level, CUmipmappedArray array, unsigned number))                         \
  X(cuMipmappedArrayDestroy, 5000, (CUmipmappedArray array))                                                           \
  X(cuTexObjectCreate, 5000, (CUtexObject *texture, const CUDA_RESOURCE_DESC *resource,                                \
                              const CUDA_TEXTURE_DESC *descriptor, const void *view))                                  \
  X(cuTexObjectDestroy, 5000, (CUtexObject texture))                                                                   \
  X(cuSurfObjectCreate, 5000, (CUsurfObject *surface, const CUDA_RESOURCE_DESC *resource))                             \
  X(cuSurfObjectDestroy, 5000, (CUsurfObject surface))

/* OpenGL interoperability, which not every driver supports. */
#define MW_LIBCUDA_GRAPHICS(X)                                                                                         \
  X(cuGraphicsGLRegisterBuffer, 3000, (CUgraphicsResource *resource, unsigned buffer, unsigned flags))                 \
  X(cuGraphicsGLRegisterImage, 3000, (CUgraphicsResource *resource, unsigned image, unsigned target, unsigned flags))  \
  X(cuGraphicsUnregisterResource, 3000, (CUgraphicsResource resource))                                                 \
  X(cuGraphicsResourceSetMapFlags, 6050, (CUgraphicsResource resource, unsigned flags))                                \
  X(cuGraphicsMapResources, 3000, (unsigned count, CUgraphicsResource *resources, CUstream stream))                    \
  X(cuGraphicsUnmapResources, 3000, (unsigned count, CUgraphicsResource *resources, CUstream stream))                  \
  X(cuGraphicsResourceGetMappedPointer, 3020, (CUdeviceptr *address, size_t *bytes, CUgraphicsResource resource))      \
  X(cuGraphicsSubResourceGetMappedArray, 3000, (CUarray *array, CUgraphicsResource resource, unsigned layer,           \
                                                unsigned level))                                                       \
  X(cuGraphicsResourceGetMappedMipmappedArray, 5000, (CUmipmappedArray *array, CUgraphicsResource resource))           \
  X(cuGLGetDevices, 6050, (unsigned *count, CUdevice *devices, unsigned size, unsigned list))

/* Graphs with conditional nodes, which came with CUDA 12.3. */
#define MW_LIBCUDA_GRAPHS(X)                                                                                           \
  X(cuGraphCreate, 10000, (CUgraph *graph, unsigned flags))                                                            \
  X(cuGraphDestroy, 10000, (CUgraph graph))                                                                            \
  X(cuGraphAddKernelNode, 10000, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,            \
                                  const CUDA_KERNEL_NODE_PARAMS *params))                                              \
  X(cuGraphAddMemcpyNode, 10000, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,            \
                                  const CUDA_MEMCPY3D *copy, CUcontext context))                                       \
  X(cuGraphAddMemsetNode, 10000, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,            \
                                  const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context))                           \
  X(cuGraphAddNode, 12020, (CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,                  \
                            CUgraphNodeParams *params))                                                                \
  X(cuGraphConditionalHandleCreate, 12030, (uint64_t *handle, CUgraph graph, CUcontext context, unsigned value,        \
                                            unsigned flags))                                                           \
  X(cuGraphInstantiateWithFlags, 11040, (CUgraphExec *exec, CUgraph graph, unsigned long long flags))                  \
  X(cuGraphLaunch, 10000, (CUgraphExec exec, CUstream stream))                                                         \
  X(cuGraphExecDestroy, 10000, (CUgraphExec exec))

#define MW_NVRTC(X)                                                                                                    \
  X(nvrtcVersion, 12000, (int *major, int *minor))                                                                     \
  X(nvrtcGetNumSupportedArchs, 12000, (int *count))                                                                    \
  X(nvrtcGetSupportedArchs, 12000, (int *archs))                                                                       \
  X(nvrtcCreateProgram, 12000, (nvrtcProgram *program, const char *text, const char *name, int headers,                \
                                const char *const *texts, const char *const *names))                                   \
  X(nvrtcDestroyProgram, 12000, (nvrtcProgram *program))                                                               \
  X(nvrtcAddNameExpression, 12000, (nvrtcProgram program, const char *expression))                                     \
  X(nvrtcCompileProgram, 12000, (nvrtcProgram program, int count, const char *const *options))                         \
  X(nvrtcGetLoweredName, 12000, (nvrtcProgram program, const char *expression, const char **name))                     \
  X(nvrtcGetProgramLogSize, 12000, (nvrtcProgram program, size_t *size))                                               \
  X(nvrtcGetProgramLog, 12000, (nvrtcProgram program, char *log))                                                      \
  X(nvrtcGetPTXSize, 12000, (nvrtcProgram program, size_t *size))                                                      \
  X(nvrtcGetPTX, 12000, (nvrtcProgram program, char *ptx))                                                             \
  X(nvrtcGetCUBINSize, 12000, (nvrtcProgram program, size_t *size))                                                    \
  X(nvrtcGetCUBIN, 12000, (nvrtcProgram program, char *cubin))
/* clang-format on */

#endif
