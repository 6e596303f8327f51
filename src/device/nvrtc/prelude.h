/* Declarations for kernels that NVRTC compiles, in addition to its built-in ones: names that nvcc provides without an
 * #include, texture and surface references, and the macros that our other headers use.
 *
 * A reference is a class with a texture object; with -default-device, a variable of it at file scope is a variable of
 * the device, which the host writes before a launch. Fetches are the hardware's. */
#ifndef MOONWARP_NVRTC_PRELUDE_H
#define MOONWARP_NVRTC_PRELUDE_H

#define __MOONWARP__ 1
#define __NVCC__     1 /* as keywords.h says */
#ifndef __MW_CCCL__    /* mwcc's: headers of C++ hosts ask for a compiler that they know, and CCCL's know NVRTC */
#define __GNUC__            4
#define __GNUC_MINOR__      2
#define __GNUC_PATCHLEVEL__ 1
#endif
#define __MW_NVRTC__ 1
#include "moonwarp/atomic/lock_free.h"

/* Host functions in the source are compiled for the device: they are not called. */
#undef __host__
#define __host__

#define register            /* C++17 has done away with the word; nvcc takes it */
#define __assume(condition) __builtin_assume(condition)

typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#ifdef __MW_CCCL__ /* CCCL's own, which differ */
#include <cuda/std/climits>
#include <cuda/std/cstdint>
#else
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
#include "moonwarp/arithmetic/limits.h"
#endif
typedef float float_t;
typedef double double_t;

/* ---- how our headers declare functions; moonwarp/keywords.h explains the two kinds ---- */

#define __mw_device_template static __device__ __forceinline__
#define __mw_both_template   static __device__ __forceinline__
#define __mw_device          template <int = 0> __mw_device_template
#define __mw_both            template <int = 0> __mw_both_template
#define __mw_member          __device__ __forceinline__
#define __mw_exactly
#include "moonwarp/checked_events.h"

__device__ __forceinline__ unsigned int __nvvm_read_ptx_sreg_laneid() {
  unsigned int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}
#define __mw_special_register(name)                                                                                    \
  __device__ __forceinline__ unsigned int __nvvm_read_ptx_sreg_##name() {                                              \
    unsigned int value;                                                                                                \
    asm volatile("mov.u32 %0, %%" #name ";" : "=r"(value));                                                            \
    return value;                                                                                                      \
  }
__mw_special_register(warpid) __mw_special_register(nwarpid) __mw_special_register(lanemask_eq)
    __mw_special_register(lanemask_lt) __mw_special_register(lanemask_le) __mw_special_register(lanemask_gt)
        __mw_special_register(lanemask_ge)
#undef __mw_special_register

            __device__ inline int memcmp(const void *a, const void *b, size_t bytes) {
  const unsigned char *left = (const unsigned char *)a, *right = (const unsigned char *)b;
  for (size_t i = 0; i < bytes; i++)
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  return 0;
}

#define __builtin_memcpy      memcpy
#define __builtin_inff()      __int_as_float(0x7f800000)
#define __builtin_nanf(text)  __int_as_float(0x7fffffff)
#define __builtin_huge_valf() __int_as_float(0x7f800000)
#define __builtin_huge_val()  __longlong_as_double(0x7ff0000000000000ll)

/* Failures that end the launch, but leave the GPU usable for the next one. */
#include "moonwarp/guard.h"
#include "moonwarp/assertion.h"
#define __trap()          __mw_fail_trap(__FILE__, __LINE__, __PRETTY_FUNCTION__)
#define __assertfail(...) __mw_fail_assertion(__VA_ARGS__)

/* A sum rounded to odd, so that rounding it again to fewer bits is correct (moonwarp/arithmetic/arithmetic.h). */
__mw_member double __mw_sum_to_odd(double x, double y) {
  double sum = __dadd_rn(x, y), other = __dsub_rn(sum, x);
  double error = __dadd_rn(__dsub_rn(x, __dsub_rn(sum, other)), __dsub_rn(y, other));
  long long bits = __double_as_longlong(sum);
  if ((error > 0 || error < 0) && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
  return __longlong_as_double(bits);
}

/* Functions that NVRTC does not have: memmove, and older names. */
__mw_device_template void *memmove(void *target, const void *source, size_t bytes) {
  unsigned char *to = (unsigned char *)target;
  const unsigned char *from = (const unsigned char *)source;
  if (to <= from)
    for (size_t i = 0; i < bytes; i++) to[i] = from[i];
  else
    for (size_t i = bytes; i > 0; i--) to[i - 1] = from[i - 1];
  return target;
}
__mw_device int mul24(int x, int y) { return __mul24(x, y); }
__mw_device unsigned int umul24(unsigned int x, unsigned int y) { return __umul24(x, y); }
__mw_device int mulhi(int x, int y) { return __mulhi(x, y); }
__mw_device unsigned int umulhi(unsigned int x, unsigned int y) { return __umulhi(x, y); }
#include "moonwarp/math/math_overloads.h"
#include "moonwarp/math/long_double.h"

#include "nvrtc/cache_hints.h"

/* CUDA's headers have 16-bit atomics in device scope only; the other scopes are made from them. */
__mw_device unsigned short atomicCAS_block(unsigned short *cell, unsigned short expected, unsigned short desired) {
  return atomicCAS(cell, expected, desired);
}
__mw_device unsigned short atomicCAS_system(unsigned short *cell, unsigned short expected, unsigned short desired) {
  unsigned short old;
  asm volatile("atom.sys.cas.b16 %0, [%1], %2, %3;" : "=h"(old) : "l"(cell), "h"(expected), "h"(desired) : "memory");
  return old;
}

/* Half precision and bfloat16, with conversions only. */
struct _Float16 {
  unsigned short __mw_bits;
  _Float16() = default;
  __mw_member _Float16(float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(__mw_bits) : "f"(x)); }
  __mw_member operator float() const {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(__mw_bits));
    return x;
  }
};

#include "moonwarp/sync/dependent_launch.h"
#include "moonwarp/sync/graph_condition.h"

#if __CUDACC_VER_MAJOR__ >= 13
#define __mw_make_four(name, T)                                                                                        \
  __mw_device name make_##name(T x, T y, T z, T w) { return name{x, y, z, w}; }
__mw_make_four(long4_16a, long) __mw_make_four(long4_32a, long) __mw_make_four(ulong4_16a, unsigned long)
    __mw_make_four(ulong4_32a, unsigned long)
#undef __mw_make_four
#endif

#ifdef __CUDACC_RDC__ /* of the device runtime, what NVRTC leaves out: templates, and arguments by default */
        template <class T>
        static __inline__ __device__ cudaError_t cudaMalloc(T **pointer, size_t bytes) {
  return cudaMalloc((void **)(void *)pointer, bytes);
}
template <class T> static __inline__ __device__ cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out, T *kernel) {
  return cudaFuncGetAttributes(out, (const void *)kernel);
}
__mw_device cudaError_t cudaMemsetAsync(void *target, int value, size_t bytes) {
  return cudaMemsetAsync(target, value, bytes, (cudaStream_t)0);
}
__mw_device cudaError_t cudaMemcpyAsync(void *target, const void *source, size_t bytes, cudaMemcpyKind kind) {
  return cudaMemcpyAsync(target, source, bytes, kind, (cudaStream_t)0);
}
__mw_device cudaError_t cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height) {
  return cudaMemset2DAsync(target, pitch, value, width, height, (cudaStream_t)0);
}
__mw_device cudaError_t cudaMemset3DAsync(cudaPitchedPtr target, int value, cudaExtent extent) {
  return cudaMemset3DAsync(target, value, extent, (cudaStream_t)0);
}
__mw_device cudaError_t cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                          size_t width, size_t height, cudaMemcpyKind kind) {
  return cudaMemcpy2DAsync(target, target_pitch, source, source_pitch, width, height, kind, (cudaStream_t)0);
}
__mw_device cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p) { return cudaMemcpy3DAsync(p, (cudaStream_t)0); }
__mw_device cudaError_t cudaEventRecordWithFlags(cudaEvent_t event) {
  return cudaEventRecordWithFlags(event, (cudaStream_t)0, 0);
}
__mw_device cudaError_t cudaEventRecord(cudaEvent_t event) { return cudaEventRecord(event, (cudaStream_t)0); }
__mw_device cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event) {
  return cudaStreamWaitEvent(stream, event, 0);
}
#endif

/* The old warp functions without masks, which NVRTC no longer has: of the active lanes. */
#define __mw_without_mask(name, second)                                                                                \
  template <class T> __mw_device_template T name(T value, second lane, int width = 32) {                               \
    return name##_sync(__activemask(), value, lane, width);                                                            \
  }
__mw_without_mask(__shfl, int) __mw_without_mask(__shfl_up, unsigned int) __mw_without_mask(__shfl_down, unsigned int)
    __mw_without_mask(__shfl_xor, int)
#undef __mw_without_mask
        __mw_device_template unsigned int __ballot(int predicate) {
  return __ballot_sync(__activemask(), predicate);
}
__mw_device_template int __any(int predicate) { return __any_sync(__activemask(), predicate); }
__mw_device_template int __all(int predicate) { return __all_sync(__activemask(), predicate); }

/* Attributes in our headers that clang supports and NVRTC does not. */
#pragma nv_diag_suppress 1097

/* ---- references ---- */

#include "moonwarp/texture/texture_kinds.h"

template <class T, int Type = cudaTextureType1D, cudaTextureReadMode Mode = cudaReadModeElementType> struct texture {
  unsigned long long __mw_handle;
};
template <class T, int Type = cudaSurfaceType1D> struct surface {
  unsigned long long __mw_handle;
};

/* The result of a fetch from such a reference: with normalized reading, as many floats as channels. */
template <class T, cudaTextureReadMode Mode> struct __mw_fetched {
  typedef T type;
};
#define __mw_normalized(T, F)                                                                                          \
  template <> struct __mw_fetched<T, cudaReadModeNormalizedFloat> {                                                    \
    typedef F type;                                                                                                    \
  };
#define __mw_normalized_kinds(name, scalar)                                                                            \
  __mw_normalized(scalar, float) __mw_normalized(name##1, float1) __mw_normalized(name##2, float2)                     \
      __mw_normalized(name##4, float4)
__mw_normalized_kinds(char, signed char) __mw_normalized(char, float) __mw_normalized_kinds(uchar, unsigned char)
    __mw_normalized_kinds(short, short) __mw_normalized_kinds(ushort, unsigned short)
#undef __mw_normalized
#undef __mw_normalized_kinds
    /* Fetches of halves return floats. */
    struct __half;
struct __half2;
template <cudaTextureReadMode Mode> struct __mw_fetched<__half, Mode> {
  typedef float type;
};
template <cudaTextureReadMode Mode> struct __mw_fetched<__half2, Mode> {
  typedef float2 type;
};

/* A gather returns one component of four texels. */
template <class T> struct __mw_gathered;
#define __mw_gather(T, Q)                                                                                              \
  template <> struct __mw_gathered<T> {                                                                                \
    typedef Q type;                                                                                                    \
  };
#define __mw_gathers(name, scalar)                                                                                     \
  __mw_gather(scalar, name##4) __mw_gather(name##1, name##4) __mw_gather(name##2, name##4) __mw_gather(name##4, name##4)
__mw_gathers(char, signed char) __mw_gather(char, char4) __mw_gathers(uchar, unsigned char) __mw_gathers(short, short)
    __mw_gathers(ushort, unsigned short) __mw_gathers(int, int) __mw_gathers(uint, unsigned int)
        __mw_gathers(float, float)
#undef __mw_gather
#undef __mw_gathers

#define __mw_list(...) , __VA_ARGS__
#define __mw_fetch(name, kind, parameters, arguments)                                                                  \
  template <class T, cudaTextureReadMode Mode>                                                                         \
  __mw_device_template typename __mw_fetched<T, Mode>::type name(                                                      \
      texture<T, kind, Mode> reference __mw_list parameters) {                                                         \
    return name<typename __mw_fetched<T, Mode>::type>((cudaTextureObject_t)reference.__mw_handle __mw_list arguments); \
  }
#define __mw_fetches(name, kind, coordinates, values, step)                                                            \
  __mw_fetch(name, kind, (__mw_open coordinates), (__mw_open values))                                                  \
      __mw_fetch(name##Lod, kind, (__mw_open coordinates, float level), (__mw_open values, level))                     \
          __mw_fetch(name##Grad, kind, (__mw_open coordinates, step dx, step dy), (__mw_open values, dx, dy))
#define __mw_open(...) __VA_ARGS__

            __mw_fetch(tex1Dfetch, cudaTextureType1D, (int x), (x));
__mw_fetches(tex1D, cudaTextureType1D, (float x), (x), float);
__mw_fetches(tex2D, cudaTextureType2D, (float x, float y), (x, y), float2);
__mw_fetches(tex3D, cudaTextureType3D, (float x, float y, float z), (x, y, z), float4);
__mw_fetches(tex1DLayered, cudaTextureType1DLayered, (float x, int layer), (x, layer), float);
__mw_fetches(tex2DLayered, cudaTextureType2DLayered, (float x, float y, int layer), (x, y, layer), float2);
__mw_fetches(texCubemap, cudaTextureTypeCubemap, (float x, float y, float z), (x, y, z), float4);
__mw_fetches(texCubemapLayered, cudaTextureTypeCubemapLayered, (float x, float y, float z, int layer), (x, y, z, layer),
             float4);
template <class T, cudaTextureReadMode Mode>
__mw_device_template typename __mw_gathered<typename __mw_fetched<T, Mode>::type>::type
tex2Dgather(texture<T, cudaTextureType2D, Mode> reference, float x, float y, int component = 0) {
  return tex2Dgather<typename __mw_gathered<typename __mw_fetched<T, Mode>::type>::type>(
      (cudaTextureObject_t)reference.__mw_handle, x, y, component);
}

#define __mw_surface(name, kind, parameters, arguments)                                                                \
  template <class T, class V>                                                                                          \
  __mw_device_template T name##read(surface<V, kind> surf __mw_list parameters,                                        \
                                    cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                             \
    return name##read<T>((cudaSurfaceObject_t)surf.__mw_handle __mw_list arguments, mode);                             \
  }                                                                                                                    \
  template <class T, class V>                                                                                          \
  __mw_device_template void name##read(T *to, surface<V, kind> surf __mw_list parameters,                              \
                                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                          \
    *to = name##read<T>((cudaSurfaceObject_t)surf.__mw_handle __mw_list arguments, mode);                              \
  }                                                                                                                    \
  template <class T, class V>                                                                                          \
  __mw_device_template void name##write(T value, surface<V, kind> surf __mw_list parameters,                           \
                                        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
    name##write(value, (cudaSurfaceObject_t)surf.__mw_handle __mw_list arguments, mode);                               \
  }
__mw_surface(surf1D, cudaSurfaceType1D, (int x), (x));
__mw_surface(surf2D, cudaSurfaceType2D, (int x, int y), (x, y));
__mw_surface(surf3D, cudaSurfaceType3D, (int x, int y, int z), (x, y, z));
__mw_surface(surf1DLayered, cudaSurfaceType1DLayered, (int x, int layer), (x, layer));
__mw_surface(surf2DLayered, cudaSurfaceType2DLayered, (int x, int y, int layer), (x, y, layer));
__mw_surface(surfCubemap, cudaSurfaceTypeCubemap, (int x, int y, int face), (x, y, face));
__mw_surface(surfCubemapLayered, cudaSurfaceTypeCubemapLayered, (int x, int y, int layer_face), (x, y, layer_face));

#undef __mw_surface
#undef __mw_fetches
#undef __mw_fetch
#undef __mw_list
#undef __mw_open

#endif
