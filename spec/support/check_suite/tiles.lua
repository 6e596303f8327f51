-- Races on tiles in shared memory: reductions, scans, double buffers, warps.

return {
  { "tiled matmul, missing second barrier",
    kind = "race", run = { {2,2}, {8,8}, {"float:256","float:256","float:256"} }, text = [==[
__global__ void k(const float *a, const float *b, float *c) {
  __shared__ float s[8][8], t[8][8];
  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 8 + y, j = blockIdx.x * 8 + x;
  float sum = 0;
  for (int q = 0; q < 2; q++) {
    s[y][x] = a[i * 16 + q * 8 + x]; //1
    t[y][x] = b[(q * 8 + y) * 16 + j];
    __syncthreads();
    for (int p = 0; p < 8; p++) sum += s[y][p] * t[p][x]; //2
    @{|__syncthreads();}
  }
  c[i * 16 + j] = sum;
}]==] },
  { "tiled matmul, missing first barrier",
    kind = "race", run = { {2,2}, {8,8}, {"float:256","float:256","float:256"} }, text = [==[
__global__ void k(const float *a, const float *b, float *c) {
  __shared__ float s[8][8], t[8][8];
  int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * 8 + y, j = blockIdx.x * 8 + x;
  float sum = 0;
  for (int q = 0; q < 2; q++) {
    s[y][x] = a[i * 16 + q * 8 + x];
    t[y][x] = b[(q * 8 + y) * 16 + j]; //1
    @{|__syncthreads();}
    #pragma unroll
    for (int p = 0; p < 8; p++) sum += s[y][p] * t[p][x]; //2
    __syncthreads();
  }
  c[i * 16 + j] = sum;
}]==] },
  { "block reduction with warp tail, no syncwarp", kind = "race", run = { 2, 128, {"float:256","float:2"} }, text = [==[
__global__ void k(const float *x, float *y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (int d = 64; d > 32; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t < 32) {
    @{|float v = s[t] + s[t + 32]; for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
      if (t == 0) s[0] = v;}
    @{for (int d = 32; d; d >>= 1) s[t] += s[t + d];|} //1
  }
  __syncthreads();
  if (t == 0) y[blockIdx.x] = s[0];
}]==], lines = false },
  { "volatile warp reduction", kind = "race", run = { 2, 128, {"float:256","float:2"} }, text = [==[
__device__ void tail(volatile float *s, int t) {
  @{|float v = s[t] + s[t + 32]; __syncwarp(); s[t] = v; __syncwarp(); v += s[t + 16]; __syncwarp(); s[t] = v;
    __syncwarp(); v += s[t + 8]; __syncwarp(); s[t] = v; __syncwarp();}
  @{s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2];
    s[t] += s[t + 1];|} //1 //2
}
__global__ void k(const float *x, float *y) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) tail(s, t);
  __syncthreads();
  if (t == 0) y[blockIdx.x] = s[0];
}]==] },
  { "double buffer, one barrier, right and wrong", kind = "race", run = { 1, 64, {"float:256","float:64"} }, text = [==[
__global__ void k(const float *x, float *y) {
  __shared__ float s[2][64];
  int t = threadIdx.x; float sum = 0;
  for (int i = 0; i < 4; i++) {
    s[@{0|i & 1}][t] = x[i * 64 + t]; //1
    __syncthreads();
    sum += s[@{0|i & 1}][63 - t]; //2
  }
  y[t] = sum;
}]==] },
  { "double buffer Hillis-Steele", kind = "race", run = { 1, 64, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[2 * 64];
  int t = threadIdx.x, in = 0, out = 1;
  s[t] = y[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    if (t >= d) s[out * 64 + t] = s[in * 64 + t] + s[in * 64 + t - d]; //2
    else s[out * 64 + t] = s[in * 64 + t];
    in = out; out = 1 - out;
    @{|__syncthreads();}
  }
  y[t] = s[in * 64 + t];
}]==], lines = false },
  { "Blelloch scan missing barrier in downsweep", kind = "race", run = { 1, 32, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, off = 1;
  s[2 * t] = y[2 * t]; s[2 * t + 1] = y[2 * t + 1];
  for (int d = 32; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) { int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1; s[b] += s[a]; }
    off *= 2;
  }
  if (t == 0) s[63] = 0;
  for (int d = 1; d < 64; d *= 2) {
    off >>= 1;
    @{|__syncthreads();}
    if (t < d) { int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1; int u = s[a]; s[a] = s[b]; s[b] += u; }
  }
  __syncthreads();
  y[2 * t] = s[2 * t]; y[2 * t + 1] = s[2 * t + 1];
}]==], lines = false },
  { "bitonic sort, barrier moved out", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = y[t];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2) {
    for (int d = size / 2; d; d /= 2) {
      int o = t ^ d;
      if (o > t) { int a = s[t], b = s[o]; if ((a > b) == ((t & size) == 0)) { s[t] = b; s[o] = a; } }
      @{|__syncthreads();}
    }
    @{__syncthreads();|}
  }
  y[t] = s[t];
}]==], lines = false, call = function(mw, m)
    local a = {}
    for i = 1, 64 do a[i] = (i * 37) % 64 end
    m.k(1, 64)(mw.array(a, "int"))
  end },
  { "block-wide flag OR, equal values", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int any;
  if (threadIdx.x == 0) any = 0;
  __syncthreads();
  @{if (y[threadIdx.x] == 0) any = 1;|if (y[threadIdx.x] == 0) atomicExch(&any, 1);} //1 //2
  __syncthreads();
  y[threadIdx.x] = any;
}]==] },
  { "reset of a shared counter for next iteration", kind = "race", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    atomicAdd(&n, 1);
    __syncthreads();
    y[threadIdx.x] += n; //2
    @{|__syncthreads();}
    if (threadIdx.x == 0) n = 0; //1
    __syncthreads();
  }
}]==] },
  { "histogram in shared, flush without barrier", kind = "race", run = { 2, 64, {"int:128","int:16"} }, text = [==[
__global__ void k(const int *x, int *y) {
  __shared__ int h[16];
  if (threadIdx.x < 16) h[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&h[(x[blockIdx.x * 64 + threadIdx.x] + threadIdx.x) & 15], 1); //1
  @{|__syncthreads();}
  if (threadIdx.x < 16) atomicAdd(&y[threadIdx.x], h[threadIdx.x]); //2
}]==] },
  { "union of two phases in one buffer", kind = "race", text = [==[
__global__ void k(float *y) {
  extern __shared__ char room[];
  float *f = (float *)room; int *n = (int *)room;
  f[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  float v = f[63 - threadIdx.x]; //2
  @{|__syncthreads();}
  n[threadIdx.x] = threadIdx.x; //1
  __syncthreads();
  y[threadIdx.x] = v + n[63 - threadIdx.x];
}]==], run = { 1, 64, {"float:64"}, 256 } },
  { "stencil with halo, iterated in place", kind = "race", run = { 1, 64, {"float:66"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[66];
  int t = threadIdx.x + 1;
  s[t] = y[t]; if (t == 1) { s[0] = 0; s[65] = 0; }
  __syncthreads();
  for (int i = 0; i < 3; i++) {
    float v = s[t - 1] + s[t + 1]; //2
    @{|__syncthreads();}
    s[t] = v; //1
    __syncthreads();
  }
  y[t] = s[t];
}]==] },
  { "block reduce called twice without barrier", kind = "race", run = { 1, 128, {"float:128"} }, text = [==[
__device__ float reduce(float v) {
  __shared__ float w[4];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v; //1
  __syncthreads();
  v = 0;
  for (int i = 0; i < 4; i++) v += w[i]; //2
  return v;
}
__global__ void k(float *y) {
  float a = reduce(y[threadIdx.x]);
  @{|__syncthreads();}
  float b = reduce(y[threadIdx.x] - a);
  y[threadIdx.x] = b;
}]==] },
  { "shuffles do not order shared memory", kind = "race", run = { 1, 32, {"float:32"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[32];
  s[threadIdx.x] = y[threadIdx.x]; //1
  float v = __shfl_sync(0xffffffff, y[threadIdx.x], 0);
  @{|__syncwarp();}
  y[threadIdx.x] = v + s[31 - threadIdx.x]; //2
}]==] },
  { "ballot does not order shared memory", kind = "race", run = { 1, 32, {"int:32"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[32];
  s[threadIdx.x] = y[threadIdx.x]; //1
  unsigned b = __ballot_sync(0xffffffff, threadIdx.x & 1);
  @{|__syncwarp();}
  y[threadIdx.x] = b + s[31 - threadIdx.x]; //2
}]==] },
}
