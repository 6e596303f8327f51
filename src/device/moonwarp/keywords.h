/* CUDA C's keywords as attributes, macros that identify the compiler, and the integer types that every source
 * expects. */
#ifndef MOONWARP_KEYWORDS_H
#define MOONWARP_KEYWORDS_H

/* As with NVRTC, the source is a string without a host side, so __CUDACC_RTC__ is defined: a program that tests it
   takes the same path on both devices. Version numbers are those of the oldest NVRTC that moonwarp uses. */
#define __CUDACC__           1
#define __CUDACC_RTC__       1
#define __NVCC__             1 /* programs test this too, to see whether they may contain kernels */
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 76
#define CUDA_VERSION         12000
#define CUDART_VERSION       12000
#define __MOONWARP__         1

#include "moonwarp/atomic/lock_free.h"
/* The C library's string.h tests which semantics inline functions have. */
#define __GNUC_GNU_INLINE__ 1

#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __host__     __attribute__((host))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
/* Host and device share one view of device memory here, so a managed variable is a device variable. */
#ifdef __MW_NVPTX__ /* a GPU's driver has to know: mwcc translates the section's name into a directive */
#define __managed__ __attribute__((device, section("managed")))
#else
#define __managed__ __attribute__((device))
#endif
#define __forceinline__        __inline__ __attribute__((always_inline))
#define __align__(n)           __attribute__((aligned(n)))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __maxnreg__(n)
/* clang 19 has no attribute for it: mwcc reads the annotation. */
#define __cluster_dims__(...) __attribute__((annotate("mw_cluster", __VA_ARGS__)))
/* Declares that a parameter is not written, which the compiler finds out itself. */
#define __grid_constant__
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define __nv_pure__         __attribute__((pure))
#define __assume(condition) __builtin_assume(condition)
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
/* __noinline__ and __restrict__ are keywords of clang. */

/* How these headers declare functions: for device code, or for both sides. nodebug: a fault inside one is reported at
 * the line that called it. All are templates with a defaulted parameter: clang processes the body of an inline function
 * of a precompiled header in every compilation, but a template's only if it is used; and a program's own function of
 * the same name and type is preferred rather than an error. */
#define __mw_device_template static __inline__ __attribute__((device, always_inline, nodebug))
#define __mw_both_template   static __inline__ __attribute__((host, device, always_inline, nodebug))
#define __mw_device          template <int = 0> __mw_device_template
#define __mw_both            template <int = 0> __mw_both_template
/* At the start of a body: operations are neither contracted nor replaced by approximate ones. */
#define __mw_exactly _Pragma("clang fp contract(off) reassociate(off) reciprocal(off)")
/* A pure function of its arguments: mwcc merges equal calls. */
#define __mw_mergeable __attribute__((const))
/* A pure function for a branch that is rarely taken: mwcc keeps it out of line and calls it with vectors. */
#define __mw_cold   __attribute__((cold))
#define __mw_member __inline__ __attribute__((host, device, always_inline, nodebug))
/* Functions that are defined elsewhere: in libm, whose functions host code in the source may call too, or by mwcc. */
#define __mw_libm   extern "C" __attribute__((host, device))
#define __mw_import extern "C" __attribute__((device))

#include "moonwarp/checked_events.h"

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef long clock_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#endif
