-- Constructs of the language, its intrinsics and headers, for spec/device/constructs_spec.lua: { name, program }, where
-- a program is a whole source, or the body of a kernel with `int *p, float x, double y`; refused = { a compiler that
-- refuses it = what it says }.

return {
  { "classification of numbers (isnan, fpclassify)",
    "p[0] = (fpclassify)(x) + (isnan)(y) + isgreater(x, y) + isunordered(x, x);" },
  { "mathematical functions of long double",
    "p[0] = (int)(fmodl(y, 2) + erfcl(y) + fdiml(y, 1) + remainderl(y, 3) + sqrtl(y));" },
  { "enumerations of cuda_runtime.h", [[
    cudaError_t e = cudaErrorInvalidValue;
    cudaSharedMemConfig s = cudaSharedMemBankSizeEightByte;
    cudaMemcpyKind m = cudaMemcpyDefault;
    cudaRoundMode r = cudaRoundZero;
    cudaDeviceAttr d = cudaDevAttrWarpSize;
    cudaChannelFormatKind c = cudaChannelFormatKindFloat;
    p[0] = e + s + m + r + d + c + cudaHostAllocMapped + cudaEventDisableTiming;]] },
  { "functions that test address spaces", [[
    __shared__ int s;
    p[0] = __isShared(&s) + __isGlobal(p) + __isLocal(p) + __isConstant(p) + __isGridConstant(p);
    p[1] = (int)__cvta_generic_to_grid_constant(p);]] },
  { "PTX atom with its qualifiers in any order", [[
    int old;
    asm volatile("atom.add.acq_rel.gpu.s32 %0, [%1], 2;" : "=r"(old) : "l"(p) : "memory");
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory");
    p[1] = old;]] },
  { "PTX fns, cache policies", [[
    unsigned n;
    unsigned long long policy;
    asm("fns.b32 %0, %1, 0, 3;" : "=r"(n) : "r"(p[0]));
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L2::cache_hint.b32 %0, [%1], %2;" : "=r"(n) : "l"(p), "l"(policy));
    asm volatile("st.global.L2::cache_hint.b32 [%0], %1, %2;" : : "l"(p), "r"(n), "l"(policy) : "memory");]] },
  { "PTX bmsk and szext", [[
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]));
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]));]] },
  { "PTX special registers with one %", [[
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    p[0] = (int)t;]] },
  { "register, __assume, __prof_trigger", [[
    register int i = p[1];
    __assume(i > 0);
    __builtin_assume(i > 1);
    __prof_trigger(1);
    p[0] = i;]] },
  { "SIMD within a word (comparisons), DPX", [[
    bool a, b;
    p[0] = __vabsdiffs4(p[1], p[2]) ^ __vsetltu2(p[1], p[2]) ^ __vimax3_s32(p[1], p[2], p[3]) ^
           __viaddmax_s16x2_relu(p[1], p[2], p[3]) ^ __vibmin_u16x2(p[1], p[2], &a, &b);]] },
  { "PTX conversions to and from fp8", [[
    unsigned short h;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"((float)y));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(p[0]) : "h"(h));]] },
  { "headers of the CUDA Toolkit", [[
    #include <crt/host_defines.h>
    #include <library_types.h>
    #include <cuda_profiler_api.h>
    #include <device_launch_parameters.h>
    __global__ void k(int *p) { p[0] = 1; }]] },
  { "macros of the host compiler, UINT64_C", [[
    #if __GNUC__ < 4 || !defined __x86_64__ && !defined __aarch64__
    #error there is a host
    #endif
    #include <stdint.h>
    __global__ void k(uint64_t *p) { p[0] = UINT64_C(0xffffffffff); }]] },
  { "half functions for classes derived from __half_raw", [[
    #include <cuda_fp16.h>
    struct mine : __half_raw {
      __device__ mine(__half h) : __half_raw(h) {}
    };
    __global__ void k(float *p) {
      mine a(__float2half(p[0])), b(__float2half(p[1]));
      p[2] = __half2float(__hmul(a, b)) + __hlt(a, b) + __half2float(hsqrt(a)) + __half2float(__hneg(b));
    }]] },
  { "half2 division, approximate half functions", [[
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    __global__ void k(__half2 *h, __nv_bfloat16 *b) {
      h[0] = h2div(h2tanh_approx(h[1]), h[2]);
      b[0] = htanh_approx(b[1]);
    }]] },
  { "cudaGetErrorName and cudaGetErrorString", [[
    cudaError_t e = cudaGetLastError();
    p[0] = cudaGetErrorString(e)[0] + cudaGetErrorName(cudaPeekAtLastError())[0];]] },
  { "functions of cuda::std::complex", [[
    #include <cuda/std/complex>
    __global__ void k(float *p) {
      cuda::std::complex<float> z(p[0], p[1]);
      z = sin(z) + atan(exp(z)) + log10(z) + acosh(proj(z));
      p[2] = z.real();
    }]] },
  { "long4_16a, ulong4_32a", [[
    long4_16a a = make_long4_16a(1, 2, 3, 4);
    ulong4_32a b = make_ulong4_32a(1, 2, 3, 4);
    p[0] = (int)(a.x + b.w);]] },
  { "enumerations of cuda.h and the runtime API", [[
    #include <cuda.h>
    __global__ void k(int *p) {
      cudaGraphicsRegisterFlags g = cudaGraphicsRegisterFlagsReadOnly;
      cudaMemPoolAttr m = cudaMemPoolAttrReleaseThreshold;
      cudaDataType d = CUDA_R_16BF;
      CUresult r = CUDA_SUCCESS;
      p[0] = g + m + d + r;
    }]] },
  { "double4_16a", "double4_16a v = make_double4_16a(1, 2, 3, 4); p[0] = (int)v.w;" },
  { "types of the host APIs as parameters", [[
    #include <cuda.h>
    __global__ void k(cudaPitchedPtr p, cudaExtent e, CUtexObject t, cudaGraphConditionalHandle h, float *o) {
      o[0] = tex1Dfetch<float>(t, 0) + p.pitch + e.width + h;
    }]] },
  { "handles of the host APIs in kernels", [[
    #include <cuda.h>
    __device__ bool none(const void *handle) { return handle == nullptr; }
    __global__ void k(cudaStream_t s, cudaEvent_t e, cudaGraph_t g, cudaGraphExec_t x, cudaGraphNode_t n,
                      cudaMemPool_t m, cudaArray_t a, cudaFunction_t f, cudaUserObject_t u, CUstream cs, CUevent ce,
                      CUmodule cm, CUfunction cf, CUcontext cc, CUdevice d, CUdeviceptr q, CUarray ca, CUgraph cg,
                      int *p) {
      cudaStream_t other = s;
      p[0] = none(other) + none(e) + none(g) + none(x) + none(n) + none(m) + none(a) + none(f) + none(u) + none(cs) +
             none(ce) + none(cm) + none(cf) + none(cc) + none(ca) + none(cg) + d + (int)q;
    }]] },
  { "templates with nested types as parameters", [[
    template <class T> struct vec4;
    template <> struct vec4<float> { typedef float4 Type; };
    template <class T> __global__ void k(typename vec4<T>::Type *p, typename vec4<T>::Type v) { p[0] = v; }
    template __global__ void k<float>(vec4<float>::Type *, vec4<float>::Type);]] },
  { "kernel parameters of 32,700 bytes", [[
    struct Big { char a[32700]; };
    __global__ void k(int *p, const __grid_constant__ Big b) { p[0] = b.a[threadIdx.x]; }]] },
  { "pointers to functions", [[
    typedef float (*op)(float, float);
    __global__ void k(op f, float *p) { p[0] = f(1, 2); }]] },
  { "PTX video instructions", [[
    int r;
    asm("vadd.s32.s32.s32.sat %0, %1.b0, %2.h1;" : "=r"(r) : "r"(p[1]), "r"(p[2]));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]), "r"(r));
    asm("vset.u32.s32.lt %0, %1, %2;" : "=r"(p[3]) : "r"(p[1]), "r"(p[2]));
    asm("vshl.u32.u32.u32.wrap %0, %1, %2;" : "=r"(p[4]) : "r"(p[1]), "r"(p[2]));
    asm("vmad.s32.s32.s32 %0, %1, %2, %3;" : "=r"(p[5]) : "r"(p[1]), "r"(p[2]), "r"(r));
    asm("vmax2.s32.s32.s32 %0, %1, %2, %3;" : "=r"(p[6]) : "r"(p[1]), "r"(p[2]), "r"(r));]] },
  { "SIMD within a word (arithmetic)", [[
    p[0] = __vabs2(p[1]) ^ __vmaxs4(p[1], p[2]) ^ __vadd4(p[1], p[2]) ^ __vsadu4(p[1], p[2]) ^ __vneg4(p[1]) ^
           __vavgu2(p[1], p[2]) ^ __vhaddu4(p[1], p[2]) ^ __vcmpgts2(p[1], p[2]) ^ __vsetges4(p[1], p[2]) ^
           __vsubss2(p[1], p[2]) ^ __vminu2(p[1], p[2]) ^ __vabsss4(p[1]);]] },
  { "loads and stores with cache hints", [[
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void k(__half2 *h, __nv_bfloat16 *b, float4 *f, double2 *d) {
      __stcs(h, __ldcs(h + 1));
      __stcg(b, __ldcg(b + 1));
      __stwt(f, __ldca(f + 1));
      __stwb(d, __ldcv(d + 1));
      f[2] = __ldg(f + 3);
      h[4] = __ldlu(h + 5);
    }]] },
  { "cache, limit and launch attribute enumerations", [[
    cudaFuncCache c = cudaFuncCachePreferL1;
    cudaLimit l = cudaLimitDevRuntimePendingLaunchCount;
    cudaLaunchAttributeID a = cudaLaunchAttributeClusterDimension;
    p[0] = c + l + a + cudaGraphCondTypeWhile + cudaStreamNonBlocking;]] },
  { "cg::reduce of structs", [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    struct pair { float value; int index; };
    struct larger { __device__ pair operator()(pair a, pair b) const { return a.value > b.value ? a : b; } };
    __global__ void k(const float *x, int *p) {
      auto warp = cg::tiled_partition<32>(cg::this_thread_block());
      pair best = cg::reduce(warp, pair{x[threadIdx.x], (int)threadIdx.x}, larger());
      p[threadIdx.x] = best.index;
    }]] },
  { "asm as nvcc accepts it: spaces, no operands", [[
    int r;
    asm("add.s32 %0, %1 , %2;" : "=r"(r) : "r"(p[1]), "r"(p[2]));
    asm volatile("membar.gl;");
    p[0] = r;]] },
  { "macros of GCC and nvcc", [[
    p[0] = __GCC_ATOMIC_INT_LOCK_FREE + __GCC_ATOMIC_POINTER_LOCK_FREE + __NVCC__ + __CUDACC_VER_MAJOR__;]] },
  { "functions declared before their definition", [[
    extern __device__ int twice(int x);
    __global__ void k(int *p) { p[0] = twice(p[0]); }
    __device__ int twice(int x) { return 2 * x; }]] },
  { "128-bit integers", "__int128 wide = (__int128)p[1] << 70; p[0] = (int)(wide >> 70);" },
  { "atomics of all scopes and of vectors", [[
    #include <cuda/atomic>
    __global__ void k(int *p, float *f) {
      cuda::atomic_ref<int, cuda::thread_scope_system> all(*p);
      all.fetch_max(3, cuda::memory_order_acq_rel);
      cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_block);
      atomicAdd_block(f, 1.0f);
      atomicMax_system(p, 3);
      atomicAdd((float2 *)f, make_float2(1, 1));
      atomicAdd((float4 *)f, make_float4(1, 1, 1, 1));
    }]] },
  { "special registers, nanosleep, warp functions", [[
    unsigned at;
    asm("mov.u32 %0, %%smid;" : "=r"(at));
    asm volatile("nanosleep.u32 20;");
    __nanosleep(10);
    p[0] = __reduce_add_sync(~0u, at) + __match_any_sync(~0u, at);]] },
  { "curand_kernel.h", [[
    #include <curand_kernel.h>
    __global__ void k(float *f) {
      curandState xorwow;
      curandStatePhilox4_32_10_t philox;
      curand_init(1, threadIdx.x, 0, &xorwow);
      curand_init(1, 2, 3, &philox);
      f[0] = curand_uniform(&xorwow) + curand_normal4(&philox).x + curand_poisson(&xorwow, 3);
    }]] },
  { "cuda_fp8.h", [[
    #include <cuda_fp8.h>
    #define CONVERT(format)                                                                              \
      p[n++] = __nv_cvt_float_to_fp8(x.x, __NV_SATFINITE, format) +                                      \
               __nv_cvt_double_to_fp8(x.y, __NV_NOSAT, format) +                                         \
               __nv_cvt_halfraw_to_fp8(h, __NV_NOSAT, format) +                                          \
               __nv_cvt_bfloat16raw_to_fp8(b, __NV_NOSAT, format) +                                      \
               __nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, format) +                                     \
               __nv_cvt_halfraw2_to_fp8x2(__half2(h, h), __NV_NOSAT, format) +                           \
               __nv_cvt_bfloat16raw2_to_fp8x2(__nv_bfloat162(b, b), __NV_NOSAT, format) +                \
               __nv_cvt_fp8_to_halfraw(n, format).x + __nv_cvt_fp8x2_to_halfraw2(n, format).x;
    __global__ void k(float *f, unsigned *p) {
      int n = 0;
      float2 x = make_float2(f[0], f[1]);
      __half_raw h = __half(x.x);
      __nv_bfloat16_raw b = __nv_bfloat16(x.x);
      CONVERT(__NV_E4M3)
      CONVERT(__NV_E5M2)
      p[n++] = __nv_cvt_bfloat16raw_to_e8m0(b, __NV_SATFINITE, cudaRoundPosInf) +
               __nv_cvt_float2_to_e8m0x2(x, __NV_SATFINITE, cudaRoundZero) + __nv_cvt_e8m0_to_bf16raw(n).x +
               __nv_cvt_double_to_e8m0(x.x, __NV_NOSAT, cudaRoundPosInf) + __nv_cvt_e8m0x2_to_bf162raw(n).y;
      p[n++] = __nv_fp8x4_e4m3(make_float4(1, 2, 3, 4)).__x + __nv_fp8x4_e8m0(make_float4(1, 2, 3, 4)).__x;
      f[2] = float2(__nv_fp8x2_e5m2(x)).y + float(__nv_fp8_e8m0(f[1])) +
             float4(__nv_fp8x4_e5m2(make_double4(1, 2, 3, 4))).x;
    }]] },
  { "cuda_fp6.h and cuda_fp4.h", [[
    #include <cuda_fp4.h>
    #define CONVERT(kind, format)                                                                        \
      p[n++] = __nv_cvt_float_to_##kind(x.x, format, cudaRoundNearest) +                                 \
               __nv_cvt_double_to_##kind(x.y, format, cudaRoundZero) +                                   \
               __nv_cvt_halfraw_to_##kind(h, format, cudaRoundNearest) +                                 \
               __nv_cvt_bfloat16raw_to_##kind(b, format, cudaRoundNearest) +                             \
               __nv_cvt_float2_to_##kind##x2(x, format, cudaRoundNearest) +                              \
               __nv_cvt_halfraw2_to_##kind##x2(__half2(h, h), format, cudaRoundNearest) +                \
               __nv_cvt_bfloat16raw2_to_##kind##x2(__nv_bfloat162(b, b), format, cudaRoundNearest) +     \
               __nv_cvt_##kind##_to_halfraw(n, format).x + __nv_cvt_##kind##x2_to_halfraw2(n, format).x;
    #define TYPES(T, T2, T4)                                                                             \
      f[n] = float(T(x.x)) + float2(T2(x)).y + float4(T4(make_float4(1, 2, 3, 4))).z + float(T(h)) + float(T(7));
    __global__ void k(float *f, unsigned *p) {
      int n = 0;
      float2 x = make_float2(f[0], f[1]);
      __half h = __half(x.x);
      __nv_bfloat16 b = __nv_bfloat16(x.x);
      CONVERT(fp4, __NV_E2M1)
      CONVERT(fp6, __NV_E2M3)
      CONVERT(fp6, __NV_E3M2)
      TYPES(__nv_fp4_e2m1, __nv_fp4x2_e2m1, __nv_fp4x4_e2m1)
      TYPES(__nv_fp6_e2m3, __nv_fp6x2_e2m3, __nv_fp6x4_e2m3)
      TYPES(__nv_fp6_e3m2, __nv_fp6x2_e3m2, __nv_fp6x4_e3m2)
    }]] },
}
