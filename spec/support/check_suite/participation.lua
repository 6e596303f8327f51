-- Who takes part in barriers and warp functions.

return {
  { "barrier under threadIdx", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = 1;
  @{if (threadIdx.x < 48) { __syncthreads(); y[threadIdx.x] = s[47 - threadIdx.x]; }|__syncthreads();
    if (threadIdx.x < 48) y[threadIdx.x] = s[47 - threadIdx.x];} //1
}]==] },
  { "early return before a barrier", kind = "barrier_divergence", run = { 2, 64, {"int:100", 100} }, text = [==[
__global__ void k(int *y, int n) {
  __shared__ int s[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  @{if (i >= n) return;|}
  s[threadIdx.x] = i;
  __syncthreads(); //1
  if (i < n) y[i] = s[@{threadIdx.x|threadIdx.x}];
}]==] },
  { "early return uniform in block is fine",
    has_bug = false, kind = "barrier_divergence", run = { 2, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  if (blockIdx.x == 1) return;
  __syncthreads();
  y[threadIdx.x] = 1;
}]==] },
  { "barrier in data-dependent loop", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  int n = y[threadIdx.x] + @{threadIdx.x % 3|3};
  for (int i = 0; i < n; i++) __syncthreads(); //1
  y[threadIdx.x] = n;
}]==] },
  { "warp-level divergent barrier", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x / 32 == 0) { y[threadIdx.x] = 1; @{__syncthreads();|} } //1
  else y[threadIdx.x] = 2;
}]==] },
  { "barrier in short circuit", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  bool a = threadIdx.x & 1;
  if (@{a && __syncthreads_or(y[threadIdx.x])|__syncthreads_or(y[threadIdx.x]) && a}) y[threadIdx.x] = 1; //1
}]==] },
  { "barrier in called function under divergent if",
    kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
__device__ void step(int *y) { __syncthreads(); y[threadIdx.x] += 1; } //1
__global__ void k(int *y) { if (@{threadIdx.x < 10|true}) step(y); }
]==] },
  { "cooperative groups block sync divergent", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
#include <cooperative_groups.h>
__global__ void k(int *y) {
  auto b = cooperative_groups::this_thread_block();
  @{if (threadIdx.x & 1)|} b.sync(); //1
  y[threadIdx.x] = 1;
}]==], lines = false },
  { "grid sync skipped by one block", more = true, kind = "barrier_divergence", text = [==[
#include <cooperative_groups.h>
__global__ void k(int *y) {
  auto g = cooperative_groups::this_grid();
  y[blockIdx.x] = 1;
  @{if (blockIdx.x == 3) return;|}
  g.sync(); //1
  y[blockIdx.x] += 1;
}]==], lines = false, call = function(mw, m) m.k:cooperative(4, 32)(mw.zeros(4, "int")) end, clean = [==[
#include <cooperative_groups.h>
__global__ void k(int *y) {
  auto g = cooperative_groups::this_grid();
  if (threadIdx.x == 0) y[blockIdx.x] = 1;
  g.sync();
  if (threadIdx.x == 0) y[blockIdx.x] += 1;
}]==] },
  { "cuda::barrier expected too few", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, @{128|64});
  __syncthreads();
  b.arrive_and_wait();
  y[threadIdx.x] = 1;
}]==], lines = false },
  { "cuda::barrier thread that never arrives", kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  @{if (threadIdx.x != 7)|} b.arrive_and_wait();
  y[threadIdx.x] = 1;
}]==], lines = false },
  { "cuda::barrier arrive_and_drop ok",
    has_bug = false, kind = "barrier_divergence", run = { 1, 64, {"int:64"} }, text = [==[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  if (threadIdx.x >= 32) { b.arrive_and_drop(); return; }
  b.arrive_and_wait();
  b.arrive_and_wait();
  y[threadIdx.x] = 1;
}]==] },
  { "named barrier wrong count", kind = "barrier_divergence", run = { 1, 128, {"int:128"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, @{96|64};" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  y[threadIdx.x] = 1;
}]==], lines = false },
  { "syncwarp full mask in diverged code", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 16) { y[threadIdx.x] = 1; __syncwarp(@{0xffffffff|0xffff}); } //1
}]==] },
  { "shfl in a divergent branch, full mask", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  int v = threadIdx.x;
  if (threadIdx.x & 1) v = __shfl_sync(@{0xffffffff|0xaaaaaaaa}, v, 1); //1
  y[threadIdx.x] = v;
}]==] },
  { "shfl on both sides with full mask", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  int v;
  if (threadIdx.x & 1) v = __shfl_sync(@{0xffffffff|0xaaaaaaaa}, threadIdx.x, 1); //1
  else v = __shfl_sync(@{0xffffffff|0x55555555}, threadIdx.x, 0); //2
  y[threadIdx.x] = v;
}]==], lines = false },
  { "ballot over exited lanes", kind = "warp_mask", run = { 1, 32, {"int:32", 20} }, text = [==[
__global__ void k(int *y, int n) {
  if (threadIdx.x >= n) return;
  y[threadIdx.x] = __ballot_sync(@{0xffffffff|(1u << n) - 1}, 1); //1
}]==] },
  { "activemask then shuffle, diverged", has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 8) { unsigned m = __activemask(); y[threadIdx.x] = __shfl_sync(m, threadIdx.x, 0); }
}]==] },
  { "warp aggregated atomics clean", has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x % 3 == 0) {
    unsigned m = __activemask(); int leader = __ffs(m) - 1, at;
    if (threadIdx.x == leader) at = atomicAdd(y, __popc(m));
    at = __shfl_sync(m, at, leader);
    y[1 + at + __popc(m & ((1u << threadIdx.x) - 1))] = threadIdx.x;
  }
}]==] },
  { "match_any mask clean", has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  unsigned m = __match_any_sync(0xffffffff, threadIdx.x % 5);
  y[threadIdx.x] = __reduce_add_sync(m, 1);
}]==] },
  { "shfl_down source beyond the half-warp group", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 16) {
    int v = threadIdx.x;
    for (int d = 8; d; d /= 2) v += __shfl_down_sync(0xffff, v, d@{ * 2|});
    if (threadIdx.x == 0) y[0] = v;
  }
}]==], lines = false },
  { "shfl_down tail in partial mask, result of lane 0 only is used",
    has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  if (threadIdx.x < 8) {
    int v = threadIdx.x;
    for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d);
    if (threadIdx.x == 0) y[0] = v;
  }
}]==] },
  { "block smaller than a warp, full mask",
    has_bug = false, kind = "warp_mask", run = { 1, 16, {"int:16"} }, text = [==[
__global__ void k(int *y) {
  int v = threadIdx.x;
  for (int d = 8; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  y[threadIdx.x] = v;
}]==] },
  { "last warp partial, full mask", has_bug = false, kind = "warp_mask", run = { 1, 48, {"int:48"} }, text = [==[
__global__ void k(int *y) {
  y[threadIdx.x] = __ballot_sync(0xffffffff, threadIdx.x & 1);
}]==] },
  { "mask computed per lane differs", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  unsigned m = @{1u << threadIdx.x | 1|0xffffffff};
  y[threadIdx.x] = __shfl_sync(m, (int)threadIdx.x, 0); //1
}]==] },
  { "zero mask", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) { y[threadIdx.x] = __any_sync(@{0|0xffffffff}, 1); } //1
]==] },
  { "stale ballot mask after further return", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  unsigned m = __ballot_sync(0xffffffff, threadIdx.x < 20);
  if (threadIdx.x < 20) {
    @{if (threadIdx.x == 3) return;|}
    y[threadIdx.x] = __shfl_sync(m, threadIdx.x, 0); //1
  }
}]==] },
  { "loop where lanes drop out, reuse initial mask", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  int n = threadIdx.x % 4;
  unsigned m = 0xffffffff;
  for (int i = 0; i < 4; i++) {
    @{|m = __ballot_sync(m, i < n);}
    if (i >= n) break;
    y[threadIdx.x] += __popc(__ballot_sync(m, 1)); //1
  }
}]==] },
  { "tile shfl by non-members", kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  auto t = cg::tiled_partition<8>(cg::this_thread_block());
  if (@{t.thread_rank() < 4|t.meta_group_rank() < 2}) y[threadIdx.x] = t.shfl((int)threadIdx.x, 0); //1
}]==], lines = false },
  { "coalesced group after branch ok", has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  if (threadIdx.x & 1) { auto g = cg::coalesced_threads(); y[threadIdx.x] = g.shfl((int)threadIdx.x, 0) + g.size(); }
}]==] },
  { "labeled partition and reduce ok", has_bug = false, kind = "warp_mask", run = { 1, 32, {"int:32"} }, text = [==[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  auto g = cg::coalesced_threads();
  auto p = cg::labeled_partition(g, (int)threadIdx.x % 3);
  y[threadIdx.x] = cg::reduce(p, 1, cg::plus<int>());
}]==] },
}
