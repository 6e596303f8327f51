-- Races on shared memory: within a warp, between warps, and with means that do not order accesses.
-- @{bad|good} is the bug and its repair; //1 marks the line of a finding, //2 the other line.

return {
  { "neighbour without a barrier", kind = "race", run = { 1, 64, { "float:64" } }, text = [[
__global__ void k(float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x; //1
  @{|__syncthreads();}
  y[threadIdx.x] = tile[(threadIdx.x + 1) % 64]; //2
}]] },
  { "neighbour in the same warp", kind = "race", run = { 1, 32, { "float:32" } }, text = [[
__global__ void k(float *y) {
  __shared__ float tile[32];
  tile[threadIdx.x] = threadIdx.x; //1
  @{|__syncwarp();}
  y[threadIdx.x] = tile[31 - threadIdx.x]; //2
}]] },
  { "__syncwarp for other warps", kind = "race", run = { 1, 64, { "float:64" } }, text = [[
__global__ void k(float *y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = threadIdx.x; //1
  @{__syncwarp|__syncthreads}();
  y[threadIdx.x] = tile[63 - threadIdx.x]; //2
}]] },
  { "__syncwarp of half a warp", kind = "race", run = { 1, 32, { "float:32" } }, text = [[
__global__ void k(float *y) {
  __shared__ float tile[32];
  tile[threadIdx.x] = threadIdx.x; //1
  __syncwarp(@{threadIdx.x < 16 ? 0xffff : 0xffff0000|0xffffffff});
  y[threadIdx.x] = tile[(threadIdx.x + 16) % 32]; //2
}]] },
  { "missing barrier before the tile is reused", kind = "race", run = { 1, 64, { "float:64" } }, text = [[
__global__ void k(float *y) {
  __shared__ float tile[64];
  float sum = 0;
  for (int i = 0; i < 4; i++) {
    tile[threadIdx.x] = i; //1
    __syncthreads();
    sum += tile[63 - threadIdx.x]; //2
    @{|__syncthreads();}
  }
  y[threadIdx.x] = sum;
}]] },
  { "reduction with the barrier outside its loop", kind = "race", run = { 1, 64, { "float:64" } }, text = [[
__global__ void k(float *y) {
  __shared__ float s[64];
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  for (int step = 32; step > 0; step /= 2) {
    if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step]; //1 //2
    @{|__syncthreads();}
  }
  @{__syncthreads();|}
  if (threadIdx.x == 0) y[0] = s[0];
}]] },
  { "prefix sum that reads and writes in one step", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    int other = threadIdx.x >= step ? s[threadIdx.x - step] : 0; //2
    @{|__syncthreads();}
    s[threadIdx.x] += other; //1
    __syncthreads();
  }
  y[threadIdx.x] = s[threadIdx.x];
}]] },
  { "equal values are written", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int flag;
  @{|if (threadIdx.x == 0)} flag = 7; //1 //2
  __syncthreads();
  y[threadIdx.x] = flag;
}]] },
  { "two threads per element", kind = "race", more = true, run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x @{/ 2|* 1}] = threadIdx.x; //1 //2
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}]] },
  { "a counter without atomics", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  @{count += 1|atomicAdd(&count, 1)}; //1 //2
  __syncthreads();
  y[threadIdx.x] = count;
}]] },
  { "a plain read beside atomics", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, 1); //1
  @{|__syncthreads();}
  y[threadIdx.x] = count; //2
}]] },
  { "initialised by one thread, updated at once", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0; //1
  @{|__syncthreads();}
  atomicAdd(&bins[threadIdx.x % 4], 1); //2
  __syncthreads();
  y[threadIdx.x] = bins[threadIdx.x % 4];
}]] },
  { "halo by the first threads", kind = "race", run = { 1, 64, { "float:66", "float:64" } }, text = [[
__global__ void k(float *x, float *y) {
  __shared__ float t[66];
  int i = threadIdx.x;
  t[i + 1] = x[i + 1];
  @{|if (i == 0) t[0] = x[0];}
  @{|if (i == 63) t[65] = x[65];}
  @{|__syncthreads();}
  @{if (i == 0) t[0] = x[0], t[65] = x[65];|} //1
  @{__syncwarp();|}
  y[i] = t[i] + t[i + 2]; //2
}]], lines = false },
  { "neighbouring bytes share a word", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ unsigned char s[64];
  s[threadIdx.x @{& ~1|}] = threadIdx.x; //1 //2
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];
}]] },
  { "a word over others' bytes", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ __align__(16) unsigned char s[64];
  s[threadIdx.x] = threadIdx.x; //1
  @{|__syncthreads();}
  if (threadIdx.x < 16) y[threadIdx.x] = *(int *)(s + 4 * threadIdx.x); //2
}]] },
  { "vectors that overlap", kind = "race", run = { 1, 32, { "float4:32" } }, text = [[
__global__ void k(float4 *y) {
  __shared__ float s[4 * 32 + 4];
  float *mine = s + 4 * threadIdx.x;
  *(float4 *)mine = make_float4(1, 2, 3, 4); //1
  @{|__syncwarp();}
  y[threadIdx.x] = make_float4(mine[@{4|0}], 0, 0, 0); //2
}]] },
  { "two arrays in dynamic memory overlap", kind = "race", run = { 1, 64, { "float:64" }, 512 }, text = [[
__global__ void k(float *y) {
  extern __shared__ float room[];
  float *a = room, *b = room + @{32|64};
  a[threadIdx.x] = 1; //1
  b[threadIdx.x] = 2; //2
  __syncthreads();
  y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}]] },
  { "transpose through a tile", kind = "race", run = { 1, { 16, 16 }, { "float:256" } }, text = [[
__global__ void k(float *y) {
  __shared__ float t[16][17];
  t[threadIdx.y][threadIdx.x] = y[threadIdx.y * 16 + threadIdx.x]; //1
  @{|__syncthreads();}
  y[threadIdx.y * 16 + threadIdx.x] = t[threadIdx.x][threadIdx.y]; //2
}]] },
  { "one thread sums what all wrote", kind = "race", run = { 1, 128, { "float:128" } }, text = [[
__global__ void k(float *y) {
  __shared__ float s[128];
  s[threadIdx.x] = 1; //1
  @{|__syncthreads();}
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < 128; i++) sum += s[i]; //2
    y[0] = sum;
  }
}]] },
  { "broadcast of a result", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int result;
  if (threadIdx.x == 63) result = y[63]; //1
  @{__threadfence_block();|__syncthreads();}
  y[threadIdx.x] = result; //2
}]] },
  { "a flag without a fence", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__global__ void k(int *y) {
  __shared__ int data;
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = 42; //1
    @{|__threadfence_block();}
    atomicExch(&ready, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(&ready, 0) == 0) {}
    y[0] = data; //2
  }
}]] },
  { "a barrier in one branch only, of a uniform branch", kind = "race", run = { 2, 64, { "int:128" } }, text = [[
__global__ void k(int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x; //1
  if (blockIdx.x == 0 @{|\|\| true}) __syncthreads();
  y[blockIdx.x * 64 + threadIdx.x] = s[63 - threadIdx.x]; //2
}]] },
  { "shared struct members", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
struct pair { int a, b; };
__global__ void k(int *y) {
  __shared__ pair p[32];
  if (threadIdx.x < 32) p[threadIdx.x].a = 1; //1
  else p[threadIdx.x - 32].@{a|b} = 2; //2
  __syncthreads();
  y[threadIdx.x] = p[threadIdx.x % 32].a;
}]] },
  { "a function in between", kind = "race", run = { 1, 64, { "int:64" } }, text = [[
__device__ __noinline__ void put(int *s, int i) { s[i] = i; } //1
__device__ __noinline__ int take(int *s, int i) { return s[i]; } //2
__global__ void k(int *y) {
  __shared__ int s[64];
  put(s, threadIdx.x);
  @{|__syncthreads();}
  y[threadIdx.x] = take(s, 63 - threadIdx.x);
}]] },
  { "a template's tile", kind = "race", run = { 1, 64, { "double:64" } }, text = [[
template <class T, int N> __device__ T turn(T mine) {
  __shared__ T tile[N];
  tile[threadIdx.x] = mine; //1
  @{|__syncthreads();}
  return tile[N - 1 - threadIdx.x]; //2
}
__global__ void k(double *y) { y[threadIdx.x] = turn<double, 64>(y[threadIdx.x]); }]] },
}
