-- Constructs that need launches from kernels, tensor cores, clusters, or the hardware's asynchronous copies, for
-- spec/device/constructs_spec.lua: { name, program, refused = { a compiler that refuses it = what it says } }.

-- mma's inline PTX: sums in `kind` (f, d, i), which are its last operand too; a and b registers of factors.
local function product(form, kind, sums, a, b, factor, more)
  local names, given = { d = "d", f = "f", r = "i" }, {}
  local function list(first, count)
    local operands = {}
    for i = first, first + count - 1 do operands[#operands + 1] = "%" .. i end
    return "{" .. table.concat(operands, ", ") .. "}"
  end
  local results = {}
  for i = 0, sums - 1 do results[#results + 1] = ('"+%s"(%s[%d])'):format(kind, names[kind], i) end
  for i = 0, a + b - 1 do
    given[#given + 1] = factor == "d" and ('"d"(d[%d])'):format(i + 4) or ('"r"(u[%d])'):format(i)
  end
  if more then given[#given + 1] = '"r"(u[15])' end
  local operands = { list(0, sums), list(sums, a), list(sums + a, b), list(0, sums) }
  if more then operands[5] = "%" .. sums + a + b .. ", 0" end
  return ('asm("%s %s;" : %s : %s);\n'):format(form, table.concat(operands, ", "), table.concat(results, ", "),
    table.concat(given, ", "))
end

local function products(...)
  return "__global__ void k(float *f, double *d, int *i, const unsigned *u) {\n" .. table.concat { ... } .. "}"
end

return {
  { "launches from kernels", [[
    __global__ void child(int *p, int n) { p[n] = n; }
    __global__ void k(int *p, int n) {
      if (n > 0) k<<<1, 1>>>(p, n - 1);
      cudaStream_t stream;
      cudaEvent_t event;
      void *memory;
      cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
      cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
      child<<<2, 32, 64, stream>>>(p, n);
      cudaEventRecord(event, stream);
      cudaStreamWaitEvent(stream, event, 0);
      if (cudaMalloc(&memory, 64) == cudaSuccess) {
        cudaMemsetAsync(memory, 0, 64, stream);
        cudaMemcpyAsync(p, memory, 4, cudaMemcpyDeviceToDevice, stream);
        cudaFree(memory);
      }
      child<<<1, 1, 0, cudaStreamFireAndForget>>>(p, n);
      child<<<1, 1, 0, cudaStreamTailLaunch>>>(p, n);
      p[0] = cudaGetLastError();
      cudaEventDestroy(event);
      cudaStreamDestroy(stream);
    }]] },
  { "programmatic dependent launches", [[
    cudaGridDependencySynchronize();
    p[0] = 1;
    cudaTriggerProgrammaticLaunchCompletion();]] },
  { "tiles of 128 threads", [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(int *p) {
      __shared__ cg::block_tile_memory<256> memory;
      auto tile = cg::tiled_partition<128>(cg::this_thread_block(memory));
      p[threadIdx.x] = cg::reduce(tile, 1, cg::plus<int>()) + tile.any(1);
    }]] },
  { "cuda::pipeline of thread and block scope", [[
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
    }]] },
  { "memcpy_async in all its forms", [[
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
    }]] },
  { "clusters with __cluster_dims__", [[
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
    }]] },
  { "clusters without cooperative groups", [[
    __global__ void k(int *p) {
      __shared__ int s;
      p[0] = __clusterDimIsSpecified() + __clusterDim().x + __clusterRelativeBlockIdx().x + __clusterIdx().x +
             __clusterGridDimInClusters().x + __clusterRelativeBlockRank() + __clusterSizeInBlocks();
      __cluster_barrier_arrive();
      __cluster_barrier_wait();
      p[1] = *(int *)__cluster_map_shared_rank(&s, 0) + __cluster_query_shared_rank(&s) + __isClusterShared(&s);
    }]] },
  { "distributed shared memory in PTX", [[
    __shared__ int s;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s), other, rank;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(at), "r"(0));
    asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(other), "r"(1) : "memory");
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("barrier.cluster.arrive.aligned;\n barrier.cluster.wait.aligned;" : : : "memory");
    p[0] = rank;]] },
  { "barriers with transaction counts", [[
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
    }]] },
  { "bulk copies (cp_async_bulk)", [[
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
    }]] },
  { "copies with tensor maps", [[
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
    }]] },
  { "copies with tensor maps of pixels (im2col)", [[
    #include <cuda.h>
    __global__ void k(const __grid_constant__ CUtensorMap map, const __grid_constant__ CUtensorMap to) {
      __shared__ alignas(128) int s[64];
      __shared__ unsigned long long b;
      unsigned at = (unsigned)__cvta_generic_to_shared(s), barrier = (unsigned)__cvta_generic_to_shared(&b);
      short x = 1, y = 2;
      asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %2, %2, %2}], [%3], {%4, %5};"
                   : : "r"(at), "l"(&map), "r"(0), "r"(barrier), "h"(x), "h"(y) : "memory");
      asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group [%0, {%1, %1, %1, %1}], [%2];"
                   : : "l"(&to), "r"(0), "r"(at) : "memory");
      asm volatile("cp.async.bulk.prefetch.tensor.4d.L2.global.im2col [%0, {%1, %1, %1, %1}], {%2, %3};"
                   : : "l"(&map), "r"(0), "h"(x), "h"(y));
    }]] },
  { "st.async and red.async in PTX", [[
    __shared__ int s;
    __shared__ unsigned long long b;
    unsigned at = (unsigned)__cvta_generic_to_shared(&s), barrier = (unsigned)__cvta_generic_to_shared(&b);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
                 : : "r"(at), "r"(p[0]), "r"(barrier) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
                 : : "r"(at), "r"(p[0]), "r"(barrier) : "memory");]] },
  { "copies and fills of rows in kernels", [[
    __global__ void k(int *p) {
      cudaMemset2DAsync(p, 64, 0, 16, 2);
      cudaMemcpy2DAsync(p, 64, p + 64, 64, 16, 2, cudaMemcpyDeviceToDevice);
      cudaMemset3DAsync(cudaPitchedPtr{p, 64, 64, 1}, 0, cudaExtent{4, 1, 1});
    }]] },
  { "cudaGraphSetConditional", [[
    __global__ void k(cudaGraphConditionalHandle handle, int *p) { cudaGraphSetConditional(handle, p[0] > 0); }]] },
  { "elect.sync", [[
    unsigned lane, chosen;
    asm volatile("{\n .reg .pred q;\n elect.sync %0|q, 0xffffffff;\n selp.u32 %1, 1, 0, q;\n}"
                 : "=r"(lane), "=r"(chosen));
    p[threadIdx.x] = lane + chosen;]] },
  { "wmma of half matrices", [[
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
    }]] },
  { "wmma of half, bfloat16, tf32, 8-bit integers, double", [[
    #include <mma.h>
    #include <cuda_bf16.h>
    using namespace nvcuda;
    template <class A, class C, int M, int N, int K, class T> __device__ void product(const T *a, C *c) {
      wmma::fragment<wmma::matrix_a, M, N, K, A, wmma::row_major> x;
      wmma::fragment<wmma::matrix_b, M, N, K, A, wmma::col_major> y;
      wmma::fragment<wmma::accumulator, M, N, K, C> z;
      wmma::fill_fragment(z, (C)0);
      wmma::load_matrix_sync(x, a, 64);
      wmma::load_matrix_sync(y, a, 64);
      wmma::mma_sync(z, x, y, z);
      wmma::store_matrix_sync(c, z, 32, wmma::mem_col_major);
    }
    __global__ void k(half *h, const __nv_bfloat16 *b, const signed char *s, const unsigned char *u, float *f,
                      double *d, int *i) {
      product<half, float, 16, 16, 16>(h, f);
      product<half, half, 32, 8, 16>(h, h);
      product<__nv_bfloat16, float, 8, 32, 16>(b, f);
      product<signed char, int, 16, 16, 16>(s, i);
      product<unsigned char, int, 32, 8, 16>(u, i);
      product<wmma::precision::tf32, float, 16, 16, 8>(f, f);
      product<double, double, 8, 8, 4>(d, d);
    }]] },
  { "wmma of 4-bit and 1-bit integers", [[
    #include <mma.h>
    using namespace nvcuda;
    using namespace nvcuda::wmma::experimental;
    template <class A, int K> struct fragments {
      wmma::fragment<wmma::matrix_a, 8, 8, K, A, wmma::row_major> a;
      wmma::fragment<wmma::matrix_b, 8, 8, K, A, wmma::col_major> b;
      wmma::fragment<wmma::accumulator, 8, 8, K, int> c;
      __device__ fragments(const int *from) {
        wmma::fill_fragment(c, 0);
        wmma::load_matrix_sync(a, from, K);
        wmma::load_matrix_sync(b, from, K);
      }
    };
    __global__ void k(const int *a, int *c) {
      fragments<precision::s4, 32> x(a);
      wmma::mma_sync(x.c, x.a, x.b, x.c);
      wmma::store_matrix_sync(c, x.c, 8, wmma::mem_row_major);
      fragments<precision::b1, 128> y(a);
      wmma::bmma_sync(y.c, y.a, y.b, y.c, bmmaBitOpAND, bmmaAccumulateOpPOPC);
      wmma::store_matrix_sync(c, y.c, 8, wmma::mem_row_major);
    }]] },
  { "mma.sync of half, bfloat16, tf32, fp8, double", products(
    product("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "f", 4, 4, 2),
    product("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "f", 4, 4, 2),
    product("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "f", 4, 4, 2),
    product("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "f", 4, 4, 2),
    product("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "d", 2, 1, 1, "d"),
    product("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "d", 4, 4, 2, "d")) },
  { "mma.sync of 8-bit, 4-bit and 1-bit integers", products(
    product("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "r", 4, 4, 2),
    product("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "r", 4, 4, 2),
    product("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "r", 4, 4, 2)) },
  { "mma.sp (sparse matrices)", products(
    product("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "f", 4, 4, 4, "r", true)) },
  { "ldmatrix and stmatrix", [[
    __shared__ __align__(16) unsigned short s[512];
    unsigned at = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 8), a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(a), "=r"(b) : "r"(at));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};"
                 : : "r"(at), "r"(a), "r"(b) : "memory");
    p[threadIdx.x] = a ^ b ^ c ^ d;]] },
  { "cp.async and mbarrier in PTX", [[
    __shared__ __align__(16) int s[256];
    __shared__ unsigned long long b;
    unsigned at = (unsigned)__cvta_generic_to_shared(s + 4 * threadIdx.x), done;
    unsigned barrier = (unsigned)__cvta_generic_to_shared(&b);
    unsigned long long token;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(at), "l"(p + 4 * threadIdx.x) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 2;" : : "r"(at), "l"(p + 4 * threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;\n cp.async.wait_group 0;" : : : "memory");
    if (threadIdx.x == 0)
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(barrier), "r"(blockDim.x) : "memory");
    __syncthreads();
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(barrier) : "memory");
    do
      asm volatile("{\n.reg .pred q;\n mbarrier.test_wait.shared.b64 q, [%1], %2;\n selp.u32 %0, 1, 0, q;\n}"
                   : "=r"(done) : "r"(barrier), "l"(token) : "memory");
    while (!done);
    p[threadIdx.x] = s[threadIdx.x];]] },
  { "bulk copies in PTX", [[
    __shared__ __align__(128) char s[1024];
    __shared__ unsigned long long b;
    unsigned at = (unsigned)__cvta_generic_to_shared(s), barrier = (unsigned)__cvta_generic_to_shared(&b), done;
    if (threadIdx.x) return;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(barrier) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(barrier), "r"(1024) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 : : "r"(at), "l"(p), "r"(1024), "r"(barrier) : "memory");
    do
      asm volatile("{\n.reg .pred q;\n mbarrier.try_wait.parity.shared::cta.b64 q, [%1], %2;\n"
                   " selp.u32 %0, 1, 0, q;\n}"
                   : "=r"(done) : "r"(barrier), "r"(0) : "memory");
    while (!done);
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;"
                 : : "l"(p), "r"(at), "r"(1024) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group.read 0;" : : : "memory");
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(p), "r"(1024));
    asm volatile("fence.proxy.async.shared::cta;" : : : "memory");]] },
}
