-- Races between threads of a block that meet in groups, at barriers of their own, and by asynchronous copies.

return {
  { "tiled_partition sync of too small a tile", kind = "race", run = { 1, 32, {"int:32"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  __shared__ int s[32];
  auto tile = cg::tiled_partition<@{8|32}>(cg::this_thread_block());
  s[threadIdx.x] = threadIdx.x; //1
  tile.sync();
  y[threadIdx.x] = s[31 - threadIdx.x]; //2
}]==] },
  { "tile of 16 sync, in tile", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  __shared__ int s[64];
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  s[threadIdx.x] = threadIdx.x; //1
  @{|tile.sync();}
  y[threadIdx.x] = s[threadIdx.x ^ 15]; //2
}]==] },
  { "thread_block sync", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  __shared__ int s[64];
  cg::thread_block b = cg::this_thread_block();
  s[b.thread_rank()] = threadIdx.x; //1
  @{|b.sync();}
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
}]==] },
  { "coalesced group sync", kind = "race", run = { 1, 32, {"int:32"} }, text = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int *y) {
  __shared__ int s[32];
  if (threadIdx.x < 16) {
    auto g = cg::coalesced_threads();
    s[threadIdx.x] = threadIdx.x; //1
    @{|g.sync();}
    y[threadIdx.x] = s[15 - threadIdx.x]; //2
  }
}]==] },
  { "cuda::barrier arrive and wait", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ int s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  s[threadIdx.x] = threadIdx.x; //1
  auto token = b.arrive();
  @{|b.wait(static_cast<decltype(token)&&>(token));}
  int v = s[63 - threadIdx.x]; //2
  @{b.wait(static_cast<decltype(token)&&>(token));|}
  y[threadIdx.x] = v;
}]==] },
  { "cuda::barrier init without syncthreads", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ int s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, 64);
  @{|__syncthreads();}
  s[threadIdx.x] = threadIdx.x;
  b.arrive_and_wait();
  y[threadIdx.x] = s[63 - threadIdx.x];
}]==] },
  { "named barrier producer consumer", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[32];
  if (threadIdx.x < 32) {
    s[threadIdx.x] = y[threadIdx.x]; //1
    asm volatile("bar.arrive 1, 64;" ::: "memory");
  } else {
    @{|asm volatile("bar.sync 1, 64;" ::: "memory");}
    y[threadIdx.x] = s[threadIdx.x - 32]; //2
    @{asm volatile("bar.sync 1, 64;" ::: "memory");|}
  }
}]==] },
  { "cp.async without wait", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cuda_pipeline.h>
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4); //1
  __pipeline_commit();
  @{|__pipeline_wait_prior(0);}
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
}]==] },
  { "cp.async wait but no barrier", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cuda_pipeline.h>
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4); //1
  __pipeline_commit();
  __pipeline_wait_prior(0);
  @{|__syncthreads();}
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
}]==] },
  { "cp.async own element without wait", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cuda_pipeline.h>
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4); //1
  __pipeline_commit();
  @{|__pipeline_wait_prior(0);}
  y[threadIdx.x] = s[threadIdx.x]; //2
}]==] },
  { "cp.async two stages, wait for the wrong one", kind = "race", run = { 1, 64, {"float:256","float:64"} }, text = [==[
#include <cuda_pipeline.h>
__global__ void k(const float *x, float *y) {
  __shared__ float s[2][64];
  int t = threadIdx.x; float sum = 0;
  __pipeline_memcpy_async(&s[0][t], &x[t], 4);
  __pipeline_commit();
  for (int i = 0; i < 4; i++) {
    if (i < 3) __pipeline_memcpy_async(&s[(i + 1) & 1][t], &x[(i + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(@{2|1});
    __syncthreads();
    sum += s[i & 1][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}]==] },
  { "cuda::pipeline consumer_wait", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cuda/pipeline>
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  auto p = cuda::make_pipeline();
  p.producer_acquire();
  cuda::memcpy_async(&s[threadIdx.x], &x[threadIdx.x], sizeof(float), p); //1
  p.producer_commit();
  @{|p.consumer_wait();}
  __syncthreads();
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
  @{p.consumer_wait();|}
  p.consumer_release();
}]==] },
  { "cg memcpy_async without wait", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, x, sizeof(float) * 64); //1
  @{b.sync();|cg::wait(b);}
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
}]==] },
  { "memcpy_async with barrier not waited", kind = "race", run = { 1, 64, {"float:64","float:64"} }, text = [==[
#include <cuda/barrier>
#include <cooperative_groups.h>
__global__ void k(const float *x, float *y) {
  __shared__ float s[64];
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  auto g = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(&b, 64);
  g.sync();
  cuda::memcpy_async(g, s, x, sizeof(float) * 64, b); //1
  @{g.sync();|b.arrive_and_wait();}
  y[threadIdx.x] = s[63 - threadIdx.x]; //2
}]==] },
  { "write by warp 0, read by all after syncwarp", kind = "race", run = { 1, 64, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float m;
  if (threadIdx.x < 32) {
    float v = y[threadIdx.x];
    for (int d = 16; d; d /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, d));
    if (threadIdx.x == 0) m = v; //1
  }
  @{__syncwarp|__syncthreads}();
  y[threadIdx.x] -= m; //2
}]==] },
  { "array of struct in shared, neighbour's member",
    kind = "race", more = true, run = { 1, 64, {"float:64"} }, text = [==[
struct P { float x, y, z; };
__global__ void k(float *y) {
  __shared__ P p[64];
  p[threadIdx.x].x = threadIdx.x; p[threadIdx.x].y = 2; p[threadIdx.x].z = 3; //1
  @{|__syncthreads();}
  P q = p[(threadIdx.x + 1) % 64]; //2
  y[threadIdx.x] = q.x + q.y;
}]==] },
  { "bool flags neighbours are no race", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ bool f[64];
  f[threadIdx.x] = threadIdx.x & 1;
  @{f[(threadIdx.x + 1) & 63] = 0;|}
  __syncthreads();
  y[threadIdx.x] = f[threadIdx.x ^ 1];
}]==] },
  { "short neighbours", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ short f[64];
  f[threadIdx.x] = threadIdx.x;
  __syncthreads();
  f[threadIdx.x] += 1; @{f[threadIdx.x ^ 1] += 1;|}
  __syncthreads();
  y[threadIdx.x] = f[threadIdx.x ^ 1];
}]==] },
  { "queue in shared memory", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int q[64]; __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  if (threadIdx.x % 3 == 0) q[@{n++|atomicAdd(&n, 1)}] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = q[threadIdx.x];
}]==] },
  { "loop whose last barrier is skipped by condition", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  for (int i = 0; i < 4; i++) {
    if (i < @{3|4}) __syncthreads();
    int v = s[(threadIdx.x + 1) % 64]; //2
    __syncthreads();
    s[threadIdx.x] = v + 1; //1
  }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}]==] },
  { "shared pointer swap", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int a[64], b[64];
  int *p = a, *q = b;
  p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    q[threadIdx.x] = p[(threadIdx.x + 1) % 64];
    @{if (i & 1)|} __syncthreads();
    int *r = p; p = q; q = r;
  }
  y[threadIdx.x] = p[threadIdx.x];
}]==] },
  { "transposed 2D block, row barrier by syncwarp", kind = "race", run = { 1, {32, 4}, {"int:128"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[4][32];
  s[threadIdx.y][threadIdx.x] = threadIdx.x; //1
  __syncwarp();
  y[threadIdx.y * 32 + threadIdx.x] = s[@{3 - threadIdx.y|threadIdx.y}][31 - threadIdx.x]; //2
}]==] },
  { "rows that are no warps", kind = "race", run = { 1, {16, 4}, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[4][16];
  s[threadIdx.y][threadIdx.x] = threadIdx.x; //1
  __syncwarp();
  y[threadIdx.y * 16 + threadIdx.x] = s[@{(threadIdx.y + 2) & 3|threadIdx.y ^ 1}][threadIdx.x]; //2
}]==] },
  { "atomicMax shared and plain read of early exit", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  if (@{best|atomicAdd(&best, 0)} < (int)threadIdx.x) atomicMax(&best, threadIdx.x); //1
  __syncthreads();
  y[threadIdx.x] = best;
}]==], lines=false },
  { "barrier by __syncthreads_count", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x; //1
  int n = @{threadIdx.x|__syncthreads_count(threadIdx.x & 1)};
  y[threadIdx.x] = n + s[63 - threadIdx.x]; //2
}]==] },
  { "memset of the tile by each thread's neighbour", kind = "race", text = [==[
__global__ void k(int *y) {
  __shared__ int s[32 * 4];
  memset(s + 4 * threadIdx.x, 0, @{20|16});
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}]==], run = { 1, 31, {"int:32"} } },
  { "lock in shared memory without fence", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int lock, n;
  if (threadIdx.x == 0) { lock = 0; n = 0; }
  __syncthreads();
  bool done = false;
  while (!done) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      n += 1; //1 //2
      @{|__threadfence_block();}
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  y[threadIdx.x] = n;
}]==] },
  { "union float int pun", has_bug = false, kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  union { float f; int i; } u; u.f = threadIdx.x; y[threadIdx.x] = u.i;
}]==] },
}
