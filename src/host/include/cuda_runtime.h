/* CUDA's runtime API for host code in C11 and C++: moonwarp's <cuda_runtime.h>. */
#ifndef MOONWARP_CUDA_RUNTIME_H
#define MOONWARP_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"
#include "vector_functions.h"

static inline struct cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t xsize, size_t ysize) {
  struct cudaPitchedPtr v = {p, pitch, xsize, ysize};
  return v;
}

static inline struct cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  struct cudaExtent v = {width, height, depth};
  return v;
}

static inline struct cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
  struct cudaPos v = {x, y, z};
  return v;
}

#ifdef __cplusplus

/* The typed forms that the guides' C++ host code uses. */
template <typename T> static inline cudaError_t cudaMalloc(T **p, size_t size) { return cudaMalloc((void **)p, size); }
template <typename T> static inline cudaError_t cudaMallocHost(T **p, size_t size) {
  return cudaMallocHost((void **)p, size);
}
template <typename T> static inline cudaError_t cudaHostAlloc(T **p, size_t size, unsigned flags) {
  return cudaHostAlloc((void **)p, size, flags);
}
template <typename T>
static inline cudaError_t cudaMallocManaged(T **p, size_t size, unsigned flags = cudaMemAttachGlobal) {
  return cudaMallocManaged((void **)p, size, flags);
}
template <typename T> static inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height) {
  return cudaMallocPitch((void **)p, pitch, width, height);
}
template <typename T> static inline cudaError_t cudaMallocAsync(T **p, size_t size, cudaStream_t stream) {
  return cudaMallocAsync((void **)p, size, stream);
}
template <typename T> static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags) {
  return cudaHostGetDevicePointer((void **)device, host, flags);
}
template <typename T> static inline cudaError_t cudaSetupArgument(T argument, size_t offset) {
  return cudaSetupArgument((const void *)&argument, sizeof(T), offset);
}

/* A launch with attributes, whose arguments have the parameters' types: of a function of the program (mwCudaRegister), or of
   a kernel's name, whose arguments then have these types already. */
template <typename... P, typename... A>
cudaError_t inline cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(P...), A &&...arguments) {
  return [&](P... values) {
    void *pointers[] = {const_cast<void *>(static_cast<const void *>(&values))..., nullptr};
    return cudaLaunchKernelExC(config, reinterpret_cast<const void *>(kernel), pointers);
  }(static_cast<A &&>(arguments)...);
}
template <typename... A>
cudaError_t inline cudaLaunchKernelEx(const cudaLaunchConfig_t *config, const char *kernel, A... arguments) {
  void *pointers[] = {static_cast<void *>(&arguments)..., nullptr};
  return cudaLaunchKernelExC(config, kernel, pointers);
}

/* CUDA 13's forms, with edges' data. */
static inline cudaError_t cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                                           const cudaGraphEdgeData *edges, size_t count, cudaGraphNodeParams *params) {
  return cudaGraphAddNode_v2(node, graph, after, edges, count, params);
}

/* cudaCreateChannelDesc<float4>() */
template <typename T> struct mw_channel;
#define MW_CHANNEL(type, bits, kind)                                                                                   \
  template <> struct mw_channel<type> {                                                                                \
    static cudaChannelFormatDesc desc(int count) {                                                                     \
      cudaChannelFormatDesc v = {bits, count > 1 ? bits : 0, count > 2 ? bits : 0, count > 3 ? bits : 0, kind};        \
      return v;                                                                                                        \
    }                                                                                                                  \
    enum { count = 1 };                                                                                                \
  };
#define MW_CHANNELS(scalar, name, bits, kind)                                                                          \
  MW_CHANNEL(scalar, bits, kind)                                                                                       \
  template <> struct mw_channel<name##1> : mw_channel<scalar> {                                                        \
    enum { count = 1 };                                                                                                \
  };                                                                                                                   \
  template <> struct mw_channel<name##2> : mw_channel<scalar> {                                                        \
    enum { count = 2 };                                                                                                \
  };                                                                                                                   \
  template <> struct mw_channel<name##4> : mw_channel<scalar> {                                                        \
    enum { count = 4 };                                                                                                \
  };
MW_CHANNELS(signed char, char, 8, cudaChannelFormatKindSigned)
MW_CHANNELS(unsigned char, uchar, 8, cudaChannelFormatKindUnsigned)
MW_CHANNELS(short, short, 16, cudaChannelFormatKindSigned)
MW_CHANNELS(unsigned short, ushort, 16, cudaChannelFormatKindUnsigned)
MW_CHANNELS(int, int, 32, cudaChannelFormatKindSigned)
MW_CHANNELS(unsigned, uint, 32, cudaChannelFormatKindUnsigned)
MW_CHANNELS(float, float, 32, cudaChannelFormatKindFloat)
#undef MW_CHANNELS
#undef MW_CHANNEL
template <typename T> static inline cudaChannelFormatDesc cudaCreateChannelDesc() {
  return mw_channel<T>::desc(mw_channel<T>::count);
}

#else

/* Optional last arguments, as in C++: MW_PICK selects the macro for the number of arguments. A parenthesised name,
   (cudaMallocArray)(…), is the function itself. */
#define MW_PICK(a, b, c, d, name, ...) name
#define MW_ARRAY_1(w)                  w, 0, 0
#define MW_ARRAY_2(w, h)               w, h, 0
#define MW_ARRAY_3(w, h, flags)        w, h, flags
#define cudaMallocArray(array, desc, ...)                                                                              \
  (cudaMallocArray)(array, desc, MW_PICK(__VA_ARGS__, MW_NONE, MW_ARRAY_3, MW_ARRAY_2, MW_ARRAY_1, )(__VA_ARGS__))
#define MW_EXTENT_1(extent)        extent, 0
#define MW_EXTENT_2(extent, flags) extent, flags
#define cudaMalloc3DArray(array, desc, ...)                                                                            \
  (cudaMalloc3DArray)(array, desc, MW_PICK(__VA_ARGS__, MW_NONE, MW_NONE, MW_EXTENT_2, MW_EXTENT_1, )(__VA_ARGS__))
#define MW_TO_1(n)             n, 0, cudaMemcpyHostToDevice
#define MW_TO_2(n, at)         n, at, cudaMemcpyHostToDevice
#define MW_FROM_1(n)           n, 0, cudaMemcpyDeviceToHost
#define MW_FROM_2(n, at)       n, at, cudaMemcpyDeviceToHost
#define MW_COPY_3(n, at, kind) n, at, kind
#define cudaMemcpyToSymbol(symbol, src, ...)                                                                           \
  (cudaMemcpyToSymbol)(symbol, src, MW_PICK(__VA_ARGS__, MW_NONE, MW_COPY_3, MW_TO_2, MW_TO_1, )(__VA_ARGS__))
#define cudaMemcpyFromSymbol(dst, symbol, ...)                                                                         \
  (cudaMemcpyFromSymbol)(dst, symbol, MW_PICK(__VA_ARGS__, MW_NONE, MW_COPY_3, MW_FROM_2, MW_FROM_1, )(__VA_ARGS__))
#define MW_WAIT_1(event)        event, 0
#define MW_WAIT_2(event, flags) event, flags
#define cudaStreamWaitEvent(stream, ...)                                                                               \
  (cudaStreamWaitEvent)(stream, MW_PICK(__VA_ARGS__, MW_NONE, MW_NONE, MW_WAIT_2, MW_WAIT_1, )(__VA_ARGS__))
/* The 1.1 guide passes a pointer to textureReference *, later guides one to const textureReference *. */
#define cudaGetTextureReference(reference, symbol)                                                                     \
  (cudaGetTextureReference)((const struct textureReference **)(reference), symbol)

#endif

#endif
