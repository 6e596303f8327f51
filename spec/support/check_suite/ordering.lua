-- Races on global memory: atomics, fences, scopes, grids, streams and copies.

return {
  { "threadfence reduction sample, missing volatile is fine",
    kind = "race", run = { 4, 64, {"float:256","float:4","float:1"} }, text = [==[
__device__ unsigned int count = 0;
__global__ void k(const float *x, float *part, float *y) {
  __shared__ float s[64]; __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) {
    part[blockIdx.x] = s[0]; //1
    @{|__threadfence();}
    unsigned ticket = atomicInc(&count, gridDim.x);
    last = (ticket == gridDim.x - 1);
  }
  __syncthreads();
  if (last) {
    float sum = 0;
    for (int i = t; i < gridDim.x; i += 64) sum += part[i]; //2
    s[t] = sum;
    __syncthreads();
    for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
    if (t == 0) { *y = s[0]; count = 0; }
  }
}]==] },
  { "last block: all threads write, one fences",
    kind = "race", run = { 4, 64, {"float:256","float:256","int:1"} }, text = [==[
__global__ void k(const float *x, float *part, int *done) {
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t]; //1
  @{|__threadfence();}
  __syncthreads();
  if (t == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) for (int i = t; i < 256; i += 64) part[i] = part[255 - i] * 0 + 1;
}]==], clean = [==[
__global__ void k(const float *x, float *part, int *done) {
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t]; //1
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { float s = 0; for (int i = t; i < 256; i += 64) s += part[i]; if (t == 0) part[0] = s; }
}]==], lines = false, bug = [==[
__global__ void k(const float *x, float *part, int *done) {
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t]; //1
  __syncthreads();
  if (t == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
  __syncthreads();
  if (last) { float s = 0; for (int i = t; i < 256; i += 64) s += part[i]; //2
     if (s < 0) part[t] = s; }
}]==] },
  { "syncthreads then thread 0 fences (cumulativity) is clean",
    has_bug = false, kind = "race", run = { 4, 64, {"float:256","float:256","int:1","float:64"} }, text = [==[
__global__ void k(const float *x, float *part, int *done, float *y) {
  __shared__ bool last;
  int t = threadIdx.x;
  part[blockIdx.x * 64 + t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  if (t == 0) { __threadfence(); last = atomicAdd(done, 1) == gridDim.x - 1; __threadfence(); }
  __syncthreads();
  if (last) { float s = 0; for (int i = t; i < 256; i += 64) s += part[i]; y[t] = s; }
}]==] },
  { "atomic read by plain", kind = "race", run = { 4, 64, {"int:1","int:256"} }, text = [==[
__global__ void k(int *n, int *y) {
  atomicAdd(n, 1); //1
  y[blockIdx.x * 64 + threadIdx.x] = @{*n|atomicAdd(n, 0)}; //2
}]==] },
  { "block-scope atomics across blocks", kind = "race", run = { 4, 64, {"int:1"} }, text = [==[
__global__ void k(int *n) { @{atomicAdd_block|atomicAdd}(n, 1); } //1 //2
]==] },
  { "block-scope atomics per block", kind = "race", run = { 4, 64, {"int:4"} }, text = [==[
__global__ void k(int *n) { atomicAdd_block(n + @{0|blockIdx.x}, 1); } //1 //2
]==] },
  { "cuda::atomic_ref block scope", kind = "race", run = { 4, 64, {"int:1"} }, text = [==[
#include <cuda/atomic>
__global__ void k(int *n) { cuda::atomic_ref<int, cuda::thread_scope_@{block|device}> r(*n);
  r.fetch_add(1, cuda::memory_order_relaxed); } //1 //2
]==] },
  { "cuda::atomic relaxed flag", kind = "race", run = { 2, 1, {"int:1","int:1","int:1"} }, text = [==[
#include <cuda/atomic>
__global__ void k(int *data, int *flag, int *y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) { *data = 42; f.store(1, cuda::memory_order_@{relaxed|release}); } //1
  else { while (f.load(cuda::memory_order_@{relaxed|acquire}) == 0) {} *y = *data; } //2
}]==] },
  { "acquire missing on the reader", kind = "race", run = { 2, 1, {"int:1","int:1","int:1"} }, text = [==[
#include <cuda/atomic>
__global__ void k(int *data, int *flag, int *y) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 0) { *data = 42; f.store(1, cuda::memory_order_release); } //1
  else { while (f.load(cuda::memory_order_@{relaxed|acquire}) == 0) {} *y = *data; } //2
}]==] },
  { "reader's missing fence after volatile spin", kind = "race", run = { 2, 1, {"int:1","int:1","int:1"} }, text = [==[
__global__ void k(int *data, volatile int *flag, int *y) {
  if (blockIdx.x == 0) { *data = 42; __threadfence(); *flag = 1; } //1
  else { while (*flag == 0) {} @{|__threadfence();} *y = *data; } //2
}]==], has_bug = false },
  { "writer without fence, volatile flag", kind = "race", run = { 2, 1, {"int:1","int:1","int:1"} }, text = [==[
__global__ void k(int *data, volatile int *flag, int *y) {
  if (blockIdx.x == 0) { *data = 42; @{|__threadfence();} *flag = 1; } //1
  else { while (*flag == 0) {} __threadfence(); *y = *data; } //2
}]==] },
  { "spin lock released by plain store", kind = "race", run = { 4, 1, {"int:1","int:1"} }, text = [==[
__global__ void k(int *lock, int *sum) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  *sum += 1;
  __threadfence();
  @{*lock = 0|atomicExch(lock, 0)};
}]==], lines = false },
  { "lock in block-scoped fence", kind = "race", run = { 4, 1, {"int:1","int:1"} }, text = [==[
__global__ void k(int *lock, int *sum) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *sum += 1;
  @{__threadfence_block|__threadfence}();
  atomicExch(lock, 0);
}]==] },
  { "two locks for one datum", kind = "race", run = { 4, 1, {"int:4","int:1"} }, text = [==[
__global__ void k(int *lock, int *sum) {
  int *l = lock + @{blockIdx.x % 2|0};
  while (atomicCAS(l, 0, 1) != 0) {}
  *sum += 1;
  __threadfence();
  atomicExch(l, 0);
}]==], lines = false },
  { "grid sync missing", kind = "race", text = [==[
#include <cooperative_groups.h>
__global__ void k(int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i; //1
  @{__syncthreads()|cooperative_groups::this_grid().sync()};
  y[i] = x[n - 1 - i]; //2
}]==], call = function(mw, m) m.k:cooperative(4, 32)(mw.zeros(128, "int"), mw.zeros(128, "int")) end },
  { "grid sync loop, one short", kind = "race", text = [==[
#include <cooperative_groups.h>
__global__ void k(float *x, float *y) {
  auto g = cooperative_groups::this_grid();
  int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int s = 0; s < 3; s++) {
    y[i] = x[(i + 1) % n];
    g.sync();
    x[i] = y[(i + 1) % n];
    @{|g.sync();}
  }
}]==], call = function(mw, m) m.k:cooperative(4, 32)(mw.zeros(128), mw.zeros(128)) end },
  { "histogram with atomics but plain init", kind = "race", run = { 4, 64, {"int:256","int:8"} }, text = [==[
__global__ void k(const int *x, int *h) {
  @{if (threadIdx.x < 8) h[threadIdx.x] = 0; __syncthreads();|} //1
  atomicAdd(&h[x[blockIdx.x * 64 + threadIdx.x] & 7], 1); //2
}]==] },
  { "stencil writes halo of next block", kind = "race", run = { 4, 32, {"float:130","float:130"} }, text = [==[
__global__ void k(const float *x, float *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  y[i + 1] = x[i]; //1
  @{if (threadIdx.x == 0) y[i] = 0;|if (i == 0) y[0] = 0;} //2
}]==] },
  { "grid-stride with wrong stride", kind = "race", run = { 4, 32, {"float:512"} }, text = [==[
__global__ void k(float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < 512;
    i += @{blockDim.x|blockDim.x * gridDim.x}) y[i] += 1; //1 //2
}]==] },
  { "2D index with wrong pitch", kind = "race", run = { {2, 2}, {8, 8}, {"float:256"} }, text = [==[
__global__ void k(float *y) {
  int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  y[j * @{8|16} + i] = i; //1 //2
}]==] },
  { "in place transpose", kind = "race", run = { {2, 2}, {8, 8}, {"float:256","float:256"} }, text = [==[
__global__ void k(float *x, float *y) {
  int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  @{x|y}[i * 16 + j] = x[j * 16 + i]; //1 //2
}]==] },
  { "in place reverse, threads of both halves", kind = "race", run = { 2, 32, {"float:64"} }, text = [==[
__global__ void k(float *x) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (i < @{64|32}) { float t = x[i]; x[i] = x[63 - i]; x[63 - i] = t; }
}]==], lines = false },
  { "gather/scatter with duplicate indices", kind = "race", text = [==[
__global__ void k(const int *to, float *y) { y[to[threadIdx.x]] = threadIdx.x; } //1 //2
]==], call = function(mw, m, bug) local a = {} for i = 1, 32 do a[i] = bug and (i * i) % 32 or 32 - i end
    m.k(1, 32)(mw.array(a, "int"), mw.zeros(32)) end },
  { "BFS frontier, visited flag plain", kind = "race", run = { 2, 32, {"int:64","int:8"} }, text = [==[
__global__ void k(const int *edge, int *seen) {
  int v = (edge[blockIdx.x * 32 + threadIdx.x] + threadIdx.x) & 7;
  @{if (!seen[v]) seen[v] = 1|atomicCAS(&seen[v], 0, 1)};
}]==], lines = false },
  { "double-checked atomicCAS with plain first read", kind = "race", run = { 2, 32, {"int:8"} }, text = [==[
__global__ void k(int *seen) {
  int v = threadIdx.x & 7;
  @{if (seen[v] == 0)|} atomicCAS(&seen[v], 0, 1);
}]==], lines = false },
  { "bytes written by neighbours in global", kind = "race", run = { 2, 32, {"char:64"} }, text = [==[
__global__ void k(char *y) { int i = blockIdx.x * 32 + threadIdx.x; y[i] = 1; @{*(short *)(y + (i & ~1)) = 2;|} }
]==], lines = false },
  { "static __device__ scratch", kind = "race", run = { 4, 32, {"float:128"} }, text = [==[
__device__ float scratch[@{32|128}];
__global__ void k(float *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float *mine = scratch + @{threadIdx.x|i};
  *mine = i; //1 //2
  y[i] = *mine;
}]==], lines = false },
  { "atomicAdd float and read in same kernel after threadfence",
    kind = "race", run = { 4, 32, {"float:1","float:4"} }, text = [==[
__global__ void k(float *sum, float *y) {
  atomicAdd(sum, 1.0f); //1
  __threadfence();
  if (threadIdx.x == 0) y[blockIdx.x] = @{*sum|atomicAdd(sum, 0.0f)}; //2
}]==] },
  { "decoupled look-back with flags", kind = "race", run = { 4, 32, {"int:128","int:4","int:4"} }, text = [==[
__global__ void k(int *x, volatile int *flag, int *prefix) {
  __shared__ int before;
  int v = x[blockIdx.x * 32 + threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  if (threadIdx.x == 0) {
    int p = 0;
    if (blockIdx.x > 0) { while (flag[blockIdx.x - 1] == 0) {} __threadfence(); p = prefix[blockIdx.x - 1]; } //2
    before = p;
    prefix[blockIdx.x] = p + v; //1
    @{|__threadfence();}
    flag[blockIdx.x] = 1;
  }
  __syncthreads();
  x[blockIdx.x * 32 + threadIdx.x] = before;
}]==] },
  { "copy while a kernel writes, other stream", kind = "race", text = [==[
__global__ void k(int *x) { x[threadIdx.x] = 1; } //1
]==], lines = false, call = function(mw, m, bug)
    local x, y = mw.zeros(32, "int"), mw.zeros(32, "int")
    local s, t = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    mw.synchronize()
    mw.with(s, function() m.k(1, 32)(x) end)
    if not bug then s:synchronize() end
    mw.with(t, function() y:copy_from(x) end)
  end },
  { "fill while a kernel writes, other stream", kind = "race", text = [==[
__global__ void k(int *x) { x[threadIdx.x] = 1; } //1
]==], lines = false, call = function(mw, m, bug)
    local x, s, t = mw.zeros(32, "int"), mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    mw.synchronize()
    mw.with(s, function() m.k(1, 32)(x) end)
    if not bug then s:synchronize() end
    mw.with(t, function() x:fill(3) end)
  end },
  { "event recorded too early", kind = "race", text = [==[
__global__ void put(int *x) { x[threadIdx.x] = 1; } //1
__global__ void get(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; } //2
]==], call = function(mw, m, bug)
    local x, y = mw.zeros(32, "int"), mw.zeros(32, "int")
    local s, t = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    mw.synchronize()
    local done
    if bug then done = s:record() end
    mw.with(s, function() m.put(1, 32)(x) end)
    if not bug then done = s:record() end
    t:wait(done)
    mw.with(t, function() m.get(1, 32)(x, y) end)
  end },
  { "device array of pointers, two entries alias", kind = "race", run = { 2, 32, {"float:64"} }, text = [==[
struct rows { float *r[2]; };
__global__ void k(float *x) {
  rows a; a.r[0] = x; a.r[1] = x + @{16|32};
  a.r[blockIdx.x][threadIdx.x] = blockIdx.x; //1 //2
}]==] },
  { "const restrict reader beside writer", kind = "race", run = { 2, 32, {"float:65"} }, text = [==[
__global__ void k(float *x) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float v = __ldg(x + i + @{1|0}); //1
  x[i] = v + 1; //2
}]==] },
  { "syncwarp orders global memory in warp", kind = "race", run = { 1, 32, {"int:32","int:32"} }, text = [==[
__global__ void k(int *x, int *y) {
  x[threadIdx.x] = threadIdx.x; //1
  @{|__syncwarp();}
  y[threadIdx.x] = x[31 - threadIdx.x]; //2
}]==] },
  { "system-scope atomics ok", has_bug = false, kind = "race", run = { 2, 32, {"int:1"} }, text = [==[
__global__ void k(int *x) { atomicAdd_system(x, 1); atomicMax(x, 3); atomicCAS(x, 3, 4); atomicExch(x, 2); }
]==] },
  { "64-bit atomics and 32-bit halves", kind = "race", run = { 2, 32, {"int:2"} }, text = [==[
__global__ void k(int *x) { atomicAdd((unsigned long long *)x, 1ull); @{x[1] = 1;|} }
]==], lines = false },
  { "different size atomics are fine?", has_bug = false, kind = "race", run = { 2, 32, {"int:2"} }, text = [==[
__global__ void k(int *x) { atomicAdd(x, 1); atomicAdd(x + 1, 2); }
]==] },
}
