-- Barriers that not all threads reach, and warp functions with wrong masks or absent lanes.

return {
  { "a barrier for some threads", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  @{if (threadIdx.x < 32)|} __syncthreads(); //1
  y[threadIdx.x] = 1;
}]] },
  { "a barrier for some lanes", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  if (threadIdx.x @{% 2|>= 0}) __syncthreads(); //1
  y[threadIdx.x] = 1;
}]] },
  { "threads that return early", kind = "barrier_divergence", run = { 1, 64, { "int:64", 50 } }, text = [[
__global__ void k(int *y, int n) {
  __shared__ int s[64];
  @{if (threadIdx.x >= n) return;|}
  s[threadIdx.x] = 1;
  __syncthreads(); //1
  if (threadIdx.x < n) y[threadIdx.x] = s[threadIdx.x];
}]] },
  { "a loop of different length", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  for (int i = 0; i < @{(int)threadIdx.x / 32 + 1|2}; i++) {
    y[threadIdx.x] += i;
    __syncthreads(); //1
  }
}]] },
  { "different barriers", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  if (@{threadIdx.x < 32|blockIdx.x == 0}) {
    y[threadIdx.x] = 1;
    __syncthreads(); //1
    y[threadIdx.x] += 1;
  } else {
    y[threadIdx.x] = 2;
    __syncthreads(); //2
    y[threadIdx.x] += 3;
  }
}]] },
  { "a break before the barrier", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  for (int i = 0; i < 4; i++) {
    if (@{y[threadIdx.x] + threadIdx.x == 3|y[0] > 9}) break;
    __syncthreads(); //1
  }
}]] },
  { "a voting barrier in a branch", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  int any = 0;
  if (@{threadIdx.x > 3|y[0] == 0}) any = __syncthreads_or(y[threadIdx.x]); //1
  y[threadIdx.x] = any;
}]], repaired = false },
  { "a cuda::barrier for too many", kind = "barrier_divergence", run = { 1, 32, { "int:32" } }, text = [[
#include <cuda/barrier>
__global__ void k(int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, @{33|32});
  __syncthreads();
  b.arrive_and_wait(); //1
  y[threadIdx.x] = 1;
}]], lines = false },
  { "a named barrier for too many", kind = "barrier_divergence", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  asm volatile("bar.sync 1, @{96|64};"); //1
  y[threadIdx.x] = 1;
}]], lines = false },
  { "grid.sync() by part of the grid", kind = "barrier_divergence", text = [[
#include <cooperative_groups.h>
__global__ void k(int *y) {
  @{if (blockIdx.x < 2)|} cooperative_groups::this_grid().sync(); //1
  y[blockIdx.x] = 1;
}]], lines = false, call = function(mw, m) m.k:cooperative(4, 1)(mw.zeros(4, "int")) end },
  { "the full mask in half a warp", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(@{0xffffffff|0xffff}, (int)threadIdx.x, 3); //1
}]] },
  { "the full mask, and lanes that wait elsewhere", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(@{0xffffffff|0xffff}, (int)threadIdx.x, 3); //1
  __syncthreads();
  y[threadIdx.x] += 1;
}]] },
  { "a mask without the caller", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  y[threadIdx.x] = __ballot_sync(@{0xfffffffe|0xffffffff}, threadIdx.x & 1); //1
}]] },
  { "a shuffle from an absent lane", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  if (threadIdx.x < 8) y[threadIdx.x] = __shfl_sync(0xff, (int)threadIdx.x, @{9|7}); //1
}]] },
  { "a reduction over half a warp", kind = "warp_mask", run = { 1, 16, { "int:16" } }, text = [[
__global__ void k(int *y) {
  int v = y[threadIdx.x];
  for (int d = @{16|8}; d > 0; d /= 2) v += __shfl_down_sync(0xffff, v, d@{|, 16}); //1
  y[threadIdx.x] = v;
}]] },
  { "different masks", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  unsigned mask = threadIdx.x < 16 ? @{0xffffffff|0xffff} : 0xffff0000;
  y[threadIdx.x] = __any_sync(mask, threadIdx.x == 3); //1
}]] },
  { "early returns and the full mask", kind = "warp_mask", run = { 1, 32, { "int:32", 20 } }, text = [[
__global__ void k(int *y, int n) {
  unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < n);
  if (threadIdx.x >= n) return;
  y[threadIdx.x] = __reduce_add_sync(@{0xffffffff|mask}, 1); //1
}]] },
  { "__syncwarp in a branch", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  if (threadIdx.x & 1) {
    y[threadIdx.x] = 1;
    __syncwarp(@{|0xaaaaaaaa}); //1
  }
}]] },
  { "a loop that lanes leave", kind = "warp_mask", run = { 1, 32, { "int:32" } }, text = [[
__global__ void k(int *y) {
  for (int i = 0; i < @{(int)threadIdx.x|32}; i++)
    y[threadIdx.x] += __shfl_sync(0xffffffff, i, i); //1
}]], lines = false },
}
