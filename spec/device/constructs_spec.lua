-- Constructs of CUDA C as programs of a few lines, on each way to compile: the CPU device, mwcc for a GPU, and NVRTC.
-- What they compute is tested elsewhere; here it matters that all ways take them.
-- Lua 5.4 only: the bindings have nothing to do with it.

local paths = require "support.compile.paths"

-- name = the body of a kernel with `int *p, float x, double y`, or a whole source
local constructs = {
  ["functions of a number's kind"] = "p[0] = (fpclassify)(x) + (isnan)(y) + isgreater(x, y) + isunordered(x, x);",
  ["functions of long double"] = "p[0] = (int)(fmodl(y, 2) + erfcl(y) + fdiml(y, 1) + remainderl(y, 3) + sqrtl(y));",
  ["enumerations of the host's"] = [[
    cudaError_t e = cudaErrorInvalidValue;
    cudaSharedMemConfig s = cudaSharedMemBankSizeEightByte;
    cudaMemcpyKind m = cudaMemcpyDefault;
    cudaRoundMode r = cudaRoundZero;
    cudaDeviceAttr d = cudaDevAttrWarpSize;
    cudaChannelFormatKind c = cudaChannelFormatKindFloat;
    p[0] = e + s + m + r + d + c + cudaHostAllocMapped + cudaEventDisableTiming;]],
  ["address spaces"] = [[
    __shared__ int s;
    p[0] = __isShared(&s) + __isGlobal(p) + __isLocal(p) + __isConstant(p) + __isGridConstant(p);
    p[1] = (int)__cvta_generic_to_grid_constant(p);]],
  ["orders of atom's qualifiers"] = [[
    int old;
    asm volatile("atom.add.acq_rel.gpu.s32 %0, [%1], 2;" : "=r"(old) : "l"(p) : "memory");
    asm volatile("atom.relaxed.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(p) : "memory");
    p[1] = old;]],
  ["bmsk and szext"] = [[
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]));
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]));]],
  ["%globaltimer with one %"] = [[
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    p[0] = (int)t;]],
  ["register, assumptions, a trigger"] = [[
    register int i = p[1];
    __assume(i > 0);
    __builtin_assume(i > 1);
    __prof_trigger(1);
    p[0] = i;]],
  ["SIMD in a word, DPX"] = [[
    bool a, b;
    p[0] = __vabsdiffs4(p[1], p[2]) ^ __vsetltu2(p[1], p[2]) ^ __vimax3_s32(p[1], p[2], p[3]) ^
           __viaddmax_s16x2_relu(p[1], p[2], p[3]) ^ __vibmin_u16x2(p[1], p[2], &a, &b);]],
  ["conversions to 8 bits in PTX"] = [[
    unsigned short h;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(h) : "f"(x), "f"((float)y));
    asm("cvt.rn.f16x2.e5m2x2 %0, %1;" : "=r"(p[0]) : "h"(h));]],
  ["programmatic dependent launches"] = [[
    cudaGridDependencySynchronize();
    p[0] = 1;
    cudaTriggerProgrammaticLaunchCompletion();]],
  ["headers of the toolkit"] = [[
    #include <crt/host_defines.h>
    #include <library_types.h>
    #include <cuda_profiler_api.h>
    #include <device_launch_parameters.h>
    __global__ void k(int *p) { p[0] = 1; }]],
  ["cuda_fp8.h"] = [[
    #include <cuda_fp8.h>
    __global__ void k(float *p) {
      __nv_fp8x2_e4m3 two(make_float2(p[0], p[1]));
      p[2] = float2(two).y + float(__nv_fp8_e8m0(p[1]));
    }]],
  ["cuda_fp6.h and cuda_fp4.h"] = [[
    #include <cuda_fp4.h>
    __global__ void k(float *p) {
      __nv_fp6x2_e2m3 two(make_float2(p[0], p[1]));
      p[2] = float2(two).y + float(__nv_fp4_e2m1(p[1])) + float(__nv_fp6_e3m2(__float2half(p[3])));
    }]],
  ["macros of a host's compiler, constants of 64 bits"] = [[
    #if __GNUC__ < 4 || !defined __x86_64__ && !defined __aarch64__
    #error there is a host
    #endif
    #include <stdint.h>
    __global__ void k(uint64_t *p) { p[0] = UINT64_C(0xffffffffff); }]],
  ["half's functions for classes of its bits"] = [[
    #include <cuda_fp16.h>
    struct mine : __half_raw {
      __device__ mine(__half h) : __half_raw(h) {}
    };
    __global__ void k(float *p) {
      mine a(__float2half(p[0])), b(__float2half(p[1]));
      p[2] = __half2float(__hmul(a, b)) + __hlt(a, b) + __half2float(hsqrt(a)) + __half2float(__hneg(b));
    }]],
  ["half's divisions of pairs and approximate functions"] = [[
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    __global__ void k(__half2 *h, __nv_bfloat16 *b) {
      h[0] = h2div(h2tanh_approx(h[1]), h[2]);
      b[0] = htanh_approx(b[1]);
    }]],
  ["names and texts of errors"] = [[
    cudaError_t e = cudaGetLastError();
    p[0] = cudaGetErrorString(e)[0] + cudaGetErrorName(cudaPeekAtLastError())[0];]],
  ["functions of complex numbers"] = [[
    #include <cuda/std/complex>
    __global__ void k(float *p) {
      cuda::std::complex<float> z(p[0], p[1]);
      z = sin(z) + atan(exp(z)) + log10(z) + acosh(proj(z));
      p[2] = z.real();
    }]],
  ["vectors of four long integers by alignment"] = [[
    long4_16a a = make_long4_16a(1, 2, 3, 4);
    ulong4_32a b = make_ulong4_32a(1, 2, 3, 4);
    p[0] = (int)(a.x + b.w);]],
  ["enumerations of all of the runtime"] = [[
    #include <cuda.h>
    __global__ void k(int *p) {
      cudaGraphicsRegisterFlags g = cudaGraphicsRegisterFlagsReadOnly;
      cudaMemPoolAttr m = cudaMemPoolAttrReleaseThreshold;
      cudaDataType d = CUDA_R_16BF;
      CUresult r = CUDA_SUCCESS;
      p[0] = g + m + d + r;
    }]],
  ["vectors of 32 bytes by alignment"] = "double4_16a v = make_double4_16a(1, 2, 3, 4); p[0] = (int)v.w;",
  ["types of the host's in signatures"] = [[
    #include <cuda.h>
    __global__ void k(cudaPitchedPtr p, cudaExtent e, CUtexObject t, cudaGraphConditionalHandle h, float *o) {
      o[0] = tex1Dfetch<float>(t, 0) + p.pitch + e.width + h;
    }]],
  ["templates of nested types"] = [[
    template <class T> struct vec4;
    template <> struct vec4<float> { typedef float4 Type; };
    template <class T> __global__ void k(typename vec4<T>::Type *p, typename vec4<T>::Type v) { p[0] = v; }
    template __global__ void k<float>(vec4<float>::Type *, vec4<float>::Type);]],
  ["parameters of 32,700 bytes"] = [[
    struct Big { char a[32700]; };
    __global__ void k(int *p, const __grid_constant__ Big b) { p[0] = b.a[threadIdx.x]; }]],
  ["pointers to functions"] = [[
    typedef float (*op)(float, float);
    __global__ void k(op f, float *p) { p[0] = f(1, 2); }]],
  ["tiles of 128 threads"] = [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(int *p) {
      __shared__ cg::block_tile_memory<256> memory;
      auto tile = cg::tiled_partition<128>(cg::this_thread_block(memory));
      p[threadIdx.x] = cg::reduce(tile, 1, cg::plus<int>()) + tile.any(1);
    }]],
  ["pipelines of all scopes"] = [[
    #include <cuda/pipeline>
    #include <cooperative_groups.h>
    __global__ void k(const int *g, int *p) {
      __shared__ int s[2][64];
      __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
      auto block = cooperative_groups::this_thread_block();
      auto pipe = cuda::make_pipeline(block, &state);
      pipe.producer_acquire();
      cuda::memcpy_async(block, s[0], g, sizeof s[0], pipe);
      pipe.producer_commit();
      pipe.consumer_wait();
      p[threadIdx.x] = s[0][threadIdx.x];
      pipe.consumer_release();
      auto own = cuda::make_pipeline();
      own.producer_acquire();
      cuda::memcpy_async(&s[1][threadIdx.x], g + threadIdx.x, sizeof(int), own);
      own.producer_commit();
      cuda::pipeline_consumer_wait_prior<0>(own);
      own.consumer_release();
    }]],
  ["copies of memcpy_async of all forms"] = [[
    #include <cuda/barrier>
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    namespace cg = cooperative_groups;
    __global__ void k(const int *g, int *p) {
      __shared__ alignas(16) int s[64];
      __shared__ cuda::barrier<cuda::thread_scope_block> b;
      auto block = cg::this_thread_block();
      if (block.thread_rank() == 0) init(&b, block.size());
      block.sync();
      cuda::memcpy_async(block, s, g, cuda::aligned_size_t<16>(sizeof s), b);
      cuda::memcpy_async(s + threadIdx.x, g + threadIdx.x, 4, b);
      b.arrive_and_wait();
      cg::memcpy_async(block, s, 64, g, 64);
      cg::wait_prior<0>(block);
      p[threadIdx.x] = s[threadIdx.x];
    }]],
  ["clusters by __cluster_dims__"] = [[
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void __cluster_dims__(2, 1, 1) k(int *p) {
      __shared__ int s;
      cg::cluster_group cluster = cg::this_cluster();
      s = cluster.block_rank();
      cluster.sync();
      p[blockIdx.x] = *cluster.map_shared_rank(&s, cluster.block_rank() ^ 1) + cluster.num_threads();
      auto token = cluster.barrier_arrive();
      cluster.barrier_wait(static_cast<cg::cluster_group::arrival_token &&>(token));
      p[1] = cluster.query_shared_rank(&s) + cluster.dim_blocks().x + cluster.thread_rank();
    }]],
  ["clusters without cooperative groups"] = [[
    __global__ void k(int *p) {
      __shared__ int s;
      p[0] = __clusterDimIsSpecified() + __clusterDim().x + __clusterRelativeBlockIdx().x + __clusterIdx().x +
             __clusterGridDimInClusters().x + __clusterRelativeBlockRank() + __clusterSizeInBlocks();
      __cluster_barrier_arrive();
      __cluster_barrier_wait();
      p[1] = *(int *)__cluster_map_shared_rank(&s, 0) + __cluster_query_shared_rank(&s) + __isClusterShared(&s);
    }]],
  ["distributed shared memory in PTX"] = [[
    __shared__ int s;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s), other, rank;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(0));
    asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(other), "r"(1) : "memory");
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" : : : "memory");
    p[0] = rank;]],
  ["barriers with transaction counts"] = [[
    #include <cuda/barrier>
    __global__ void k(const int *g, int *p) {
      __shared__ alignas(16) int s[64];
      __shared__ cuda::barrier<cuda::thread_scope_block> b;
      if (threadIdx.x == 0) init(&b, blockDim.x);
      __syncthreads();
      cuda::barrier<cuda::thread_scope_block>::arrival_token token;
      if (threadIdx.x == 0) {
        cuda::device::memcpy_async_tx(s, g, cuda::aligned_size_t<16>(sizeof s), b);
        token = cuda::device::barrier_arrive_tx(b, 1, sizeof s);
      } else {
        token = b.arrive();
      }
      b.wait(static_cast<decltype(token) &&>(token));
      cuda::device::barrier_expect_tx(b, 0);
      p[threadIdx.x] = s[threadIdx.x];
    }]],
  ["bulk copies"] = [[
    #include <cuda/barrier>
    namespace cde = cuda::device::experimental;
    __global__ void k(const int *g, int *p) {
      __shared__ alignas(16) int s[64];
      __shared__ cuda::barrier<cuda::thread_scope_block> b;
      if (threadIdx.x == 0) { init(&b, 1); cde::fence_proxy_async_shared_cta(); }
      __syncthreads();
      if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(s, g, sizeof s, b);
        b.wait(cuda::device::barrier_arrive_tx(b, 1, sizeof s));
        cde::fence_proxy_async_shared_cta();
        cde::cp_async_bulk_shared_to_global(p, s, sizeof s);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
      }
    }]],
  ["copies by tensor maps"] = [[
    #include <cuda.h>
    #include <cuda/barrier>
    namespace cde = cuda::device::experimental;
    __global__ void k(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap to) {
      __shared__ alignas(128) int s[8][8];
      __shared__ cuda::barrier<cuda::thread_scope_block> b;
      if (threadIdx.x == 0) { init(&b, 1); cde::fence_proxy_async_shared_cta(); }
      __syncthreads();
      if (threadIdx.x == 0) {
        cde::cp_async_bulk_tensor_2d_global_to_shared(s, &map, 0, 0, b);
        b.wait(cuda::device::barrier_arrive_tx(b, 1, sizeof s));
        cde::cp_async_bulk_tensor_2d_shared_to_global(&to, 0, 0, s);
        cde::cp_async_bulk_commit_group();
        cde::cp_async_bulk_wait_group_read<0>();
      }
    }]],
  ["conditions of graphs"] = [[
    __global__ void k(cudaGraphConditionalHandle handle, int *p) { cudaGraphSetConditional(handle, p[0] > 0); }]],
  ["elect.sync"] = [[
    unsigned lane, chosen;
    asm volatile("{\n .reg .pred q;\n elect.sync %0|q, 0xffffffff;\n selp.u32 %1, 1, 0, q;\n}"
                 : "=r"(lane), "=r"(chosen));
    p[threadIdx.x] = lane + chosen;]],
  ["tensor cores"] = [[
    #include <mma.h>
    using namespace nvcuda;
    __global__ void k(const half *a, const half *b, float *c) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> x;
      wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> y;
      wmma::fragment<wmma::accumulator, 16, 16, 16, float> z;
      wmma::fill_fragment(z, 0.0f);
      wmma::load_matrix_sync(x, a, 16);
      wmma::load_matrix_sync(y, b, 16);
      wmma::mma_sync(z, x, y, z);
      wmma::store_matrix_sync(c, z, 16, wmma::mem_row_major);
    }]],
  ["video instructions"] = [[
    int r;
    asm("vadd.s32.s32.s32.sat %0, %1.b0, %2.h1;" : "=r"(r) : "r"(p[1]), "r"(p[2]));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]), "r"(r));
    asm("vset.u32.s32.lt %0, %1, %2;" : "=r"(p[3]) : "r"(p[1]), "r"(p[2]));
    asm("vshl.u32.u32.u32.wrap %0, %1, %2;" : "=r"(p[4]) : "r"(p[1]), "r"(p[2]));
    asm("vmad.s32.s32.s32 %0, %1, %2, %3;" : "=r"(p[5]) : "r"(p[1]), "r"(p[2]), "r"(r));
    asm("vmax2.s32.s32.s32 %0, %1, %2, %3;" : "=r"(p[6]) : "r"(p[1]), "r"(p[2]), "r"(r));]],
  ["SIMD in a word, all widths"] = [[
    p[0] = __vabs2(p[1]) ^ __vmaxs4(p[1], p[2]) ^ __vadd4(p[1], p[2]) ^ __vsadu4(p[1], p[2]) ^ __vneg4(p[1]) ^
           __vavgu2(p[1], p[2]) ^ __vhaddu4(p[1], p[2]) ^ __vcmpgts2(p[1], p[2]) ^ __vsetges4(p[1], p[2]) ^
           __vsubss2(p[1], p[2]) ^ __vminu2(p[1], p[2]) ^ __vabsss4(p[1]);]],
  ["loads and stores with cache hints"] = [[
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void k(__half2 *h, __nv_bfloat16 *b, float4 *f, double2 *d) {
      __stcs(h, __ldcs(h + 1));
      __stcg(b, __ldcg(b + 1));
      __stwt(f, __ldca(f + 1));
      __stwb(d, __ldcv(d + 1));
      f[2] = __ldg(f + 3);
      h[4] = __ldlu(h + 5);
    }]],
  ["shared memory configurations and host attributes"] = [[
    cudaFuncCache c = cudaFuncCachePreferL1;
    cudaLimit l = cudaLimitDevRuntimePendingLaunchCount;
    cudaLaunchAttributeID a = cudaLaunchAttributeClusterDimension;
    p[0] = c + l + a + cudaGraphCondTypeWhile + cudaStreamNonBlocking;]],
  ["reductions of structs over lanes"] = [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    struct pair { float value; int index; };
    struct larger { __device__ pair operator()(pair a, pair b) const { return a.value > b.value ? a : b; } };
    __global__ void k(const float *x, int *p) {
      auto warp = cg::tiled_partition<32>(cg::this_thread_block());
      pair best = cg::reduce(warp, pair{x[threadIdx.x], (int)threadIdx.x}, larger());
      p[threadIdx.x] = best.index;
    }]],
  ["uses of asm as nvcc takes it"] = [[
    int r;
    asm("add.s32 %0, %1 , %2;" : "=r"(r) : "r"(p[1]), "r"(p[2]));
    asm volatile("membar.gl;");
    p[0] = r;]],
}

local names = {}
for name in pairs(constructs) do names[#names + 1] = name end
table.sort(names)

describe("every way to compile", function()
  it("takes each construct", function()
    local lines = {}
    for _, name in ipairs(names) do
      local text = constructs[name]
      if not text:find "__global__" then
        text = "__global__ void k(int *p, float x, double y) {\n" .. text .. "\n}"
      end
      lines[#lines + 1] = ("try(%q, %q)"):format(name, text)
    end
    local script = [==[
      mw.warnings(false)
      local function try(name, text)
        local m, why = mw.try_compile { source = text, options = { "-O1" } }
        if not m then print(name, why.message) end
      end
    ]==] .. table.concat(lines, "\n") .. "\nprint 'all'"
    for path, output in pairs(paths.outputs(script)) do assert.equal("all\n", output, path) end
  end)
end)
