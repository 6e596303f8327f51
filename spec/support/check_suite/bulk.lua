-- Races of bulk copies: which threads wait for the barrier that counts the bytes, or for the group of copies.

local head = [==[
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;
]==]

return {
  { "a bulk copy is read before its barrier is waited for",
    kind = "race", run = { 1, 64, {"int:64","int:64"} }, text = head .. [==[
__global__ void k(const int *x, int *y) {
  __shared__ alignas(16) int tile[64];
  __shared__ barrier bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  barrier::arrival_token token;
  if (t == 0) {
    cde::cp_async_bulk_global_to_shared(tile, x, sizeof tile, bar); //1
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
  } else {
    token = bar.arrive();
  }
  @{|bar.wait(static_cast<barrier::arrival_token &&>(token));}
  y[t] = tile[63 - t]; //2
  @{bar.wait(static_cast<barrier::arrival_token &&>(token));|}
}]==] },
  { "the thread that copies waits for the barrier, and others do not",
    kind = "race", run = { 1, 64, {"int:64","int:64"} }, text = head .. [==[
__global__ void k(const int *x, int *y) {
  __shared__ alignas(16) int tile[64];
  __shared__ barrier bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 1);
  __syncthreads();
  if (t == 0) {
    cde::cp_async_bulk_global_to_shared(tile, x, sizeof tile, bar); //1
    bar.wait(cuda::device::barrier_arrive_tx(bar, 1, sizeof tile));
  }
  @{|__syncthreads();}
  y[t] = tile[63 - t]; //2
}]==] },
  { "a bulk copy reads what other threads write",
    kind = "race", run = { 1, 64, {"int:64","int:64"} }, text = head .. [==[
__global__ void k(int *x, int *y) {
  __shared__ alignas(16) int tile[64];
  __shared__ barrier bar;
  int t = threadIdx.x;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  x[t] = t; //1
  @{|__syncthreads();}
  barrier::arrival_token token;
  if (t == 0) {
    cde::cp_async_bulk_global_to_shared(tile, x, sizeof tile, bar); //2
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
  } else {
    token = bar.arrive();
  }
  bar.wait(static_cast<barrier::arrival_token &&>(token));
  y[t] = tile[63 - t];
}]==] },
  { "the next bulk copy overwrites what others still read",
    kind = "race", run = { 1, 64, {"int:256","int:64"} }, text = head .. [==[
__global__ void k(const int *x, int *y) {
  __shared__ alignas(16) int tile[64];
  __shared__ barrier bar;
  int t = threadIdx.x, sum = 0;
  if (t == 0) init(&bar, 64);
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    barrier::arrival_token token;
    if (t == 0) {
      cde::cp_async_bulk_global_to_shared(tile, x + 64 * i, sizeof tile, bar); //1
      token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
    } else {
      token = bar.arrive();
    }
    bar.wait(static_cast<barrier::arrival_token &&>(token));
    sum += tile[63 - t]; //2
    @{|__syncthreads();}
  }
  y[t] = sum;
}]==] },
  { "a bulk copy to global memory reads a tile that others write",
    kind = "race", run = { 1, 64, {"int:64"} }, text = head .. [==[
__global__ void k(int *y) {
  __shared__ alignas(16) int tile[64];
  int t = threadIdx.x;
  tile[t] = t; //1
  cde::fence_proxy_async_shared_cta();
  @{|__syncthreads();}
  if (t == 0) {
    cde::cp_async_bulk_shared_to_global(y, tile, sizeof tile); //2
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}]==] },
  { "a tile is written again before a bulk copy has read it",
    kind = "race", run = { 1, 64, {"int:128"} }, text = head .. [==[
__global__ void k(int *y) {
  __shared__ alignas(16) int tile[64];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    tile[t] = t + i; //1
    cde::fence_proxy_async_shared_cta();
    __syncthreads();
    if (t == 0) {
      cde::cp_async_bulk_shared_to_global(y + 64 * i, tile, sizeof tile); //2
      cde::cp_async_bulk_commit_group();
      @{|cde::cp_async_bulk_wait_group_read<0>();}
    }
    __syncthreads();
  }
  if (t == 0) cde::cp_async_bulk_wait_group_read<0>();
}]==] },
  { "blocks copy to the same place",
    kind = "race", run = { 2, 64, {"int:128"} }, text = head .. [==[
__global__ void k(int *y) {
  __shared__ alignas(16) int tile[64];
  int t = threadIdx.x;
  tile[t] = t;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (t == 0) {
    cde::cp_async_bulk_shared_to_global(y + @{0|64 * blockIdx.x}, tile, sizeof tile); //1
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}]==] },
  { "another block reads what a bulk copy writes, without a barrier of the grid",
    kind = "race", call = function(mw, m) m.k:cooperative(2, 64)(mw.zeros(128, "int"), mw.zeros(128, "int")) end,
    text = "#include <cooperative_groups.h>\n" .. head .. [==[
__global__ void k(int *y, int *z) {
  __shared__ alignas(16) int tile[64];
  int t = threadIdx.x, i = 64 * blockIdx.x;
  tile[t] = t;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (t == 0) {
    cde::cp_async_bulk_shared_to_global(y + i, tile, sizeof tile); //1
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group<0>();
  }
  if (@{0|1}) cooperative_groups::this_grid().sync();
  z[i + t] = y[64 - i + t]; //2
}]==] },
  { "a bulk copy of PTX is read before its phase ends",
    kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
__global__ void k(const float *x, float *y) {
  __shared__ alignas(128) float tile[64];
  __shared__ unsigned long long full;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&full), place = (unsigned)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(bar), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(bar), "r"(256) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" //1
                 : : "r"(place), "l"(x), "r"(256), "r"(bar) : "memory");
  }
  if (@{0|1})
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
                 "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" : : "r"(bar), "r"(0) : "memory");
  y[threadIdx.x] = tile[63 - threadIdx.x]; //2
}]==] },
}
