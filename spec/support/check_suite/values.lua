-- Uninitialised values of shared, local and global memory, bit by bit.

return {
  { "shared accumulators never zeroed", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[32];
  @{|s[threadIdx.x] = 0;}
  s[threadIdx.x] += y[threadIdx.x]; //1
  y[threadIdx.x] = s[threadIdx.x];
}]==] },
  { "uninit shared copied straight to the output", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[32];
  @{if (threadIdx.x < 31)|} s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x]; //1
}]==] },
  { "local scalar uninit", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  float sum@{| = 0};
  for (int i = 0; i < 4; i++) sum += y[i]; //1
  y[threadIdx.x + 4] = sum;
}]==] },
  { "local scalar set in one branch", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  float v;
  if (threadIdx.x @{< 16|< 64}) v = y[threadIdx.x];
  y[threadIdx.x] = v * 2; //1
}]==] },
  { "local scalar in a switch", kind = "uninitialised", run = { 1, 32, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  int v;
  switch (threadIdx.x & 3) { case 0: v = 1; break; case 1: v = 2; break; case 2: v = 3; break; @{|default: v = 4;} }
  y[threadIdx.x] = v + 1; //1
}]==] },
  { "local branch on uninit", kind = "uninitialised", run = { 1, 32, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  bool found@{| = false};
  for (int i = 0; i < 4; i++) if (y[i] == (int)threadIdx.x) found = true;
  if (found) y[threadIdx.x + 4] = 7; //1
}]==] },
  { "local array partially init", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  float a[8];
  for (int i = 0; i < @{7|8}; i++) a[i] = y[i];
  float s = 0;
  for (int i = 0; i < 8; i++) s += a[i]; //1
  y[threadIdx.x + 8] = s;
}]==] },
  { "local array dynamic index", kind = "uninitialised", run = { 1, 32, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  int a[8];
  for (int i = 0; i < @{7|8}; i++) a[i] = y[i];
  y[threadIdx.x + 8] = 1 + a[threadIdx.x & 7]; //1
}]==] },
  { "local struct partially init", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
struct P { float x, y, z; };
__device__ float dot(P p) { return p.x * p.x + p.y * p.y + p.z * p.z; } //1
__global__ void k(float *y) {
  P p; p.x = 1; p.y = 2; @{|p.z = 3;}
  y[threadIdx.x] = dot(p);
}]==] },
  { "struct padding copied", has_bug = false, kind = "uninitialised",
    call = function(mw, m) m.k(1, 32)(mw.zeros(8, m:dtype "P")) end, text = [==[
struct P { char c; float f; short s; };
__global__ void k(P *y) {
  __shared__ P s[8];
  P p; p.c = 1; p.f = 2; p.s = 3;
  if (threadIdx.x < 8) s[threadIdx.x] = p;
  __syncthreads();
  if (threadIdx.x < 8) y[threadIdx.x] = s[7 - threadIdx.x];
}]==] },
  { "struct with padding memcpy and field use",
    has_bug = false, kind = "uninitialised", text = [==[
struct P { char c; double f; };
__global__ void k(double *y) {
  __shared__ P s[8];
  P p; p.c = 1; p.f = 2;
  memcpy(&s[threadIdx.x], &p, sizeof p);
  __syncthreads();
  P q; memcpy(&q, &s[7 - threadIdx.x], sizeof q);
  y[threadIdx.x] = q.f + q.c;
}]==], run = { 1, 8, {"double:8"} } },
  { "partially initialised struct in shared, used member",
    kind = "uninitialised", run = { 1, 8, {"float:8"} }, text = [==[
struct P { float a, b; };
__global__ void k(float *y) {
  __shared__ P s[8];
  s[threadIdx.x].a = 1; @{|s[threadIdx.x].b = 2;}
  __syncthreads();
  P p = s[7 - threadIdx.x];
  y[threadIdx.x] = p.a + p.b; //1
}]==], lines = false },
  { "partially initialised struct copied, only the set member used",
    has_bug = false, kind = "uninitialised", run = { 1, 8, {"float:8"} }, text = [==[
struct P { float a, b; };
__global__ void k(float *y) {
  __shared__ P s[8];
  s[threadIdx.x].a = 1;
  __syncthreads();
  P p = s[7 - threadIdx.x];
  y[threadIdx.x] = p.a;
}]==] },
  { "float4 with w never set, w unused",
    has_bug = false, kind = "uninitialised", run = { 1, 8, {"float:8"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float4 s[8];
  s[threadIdx.x].x = 1; s[threadIdx.x].y = 2; s[threadIdx.x].z = 3;
  __syncthreads();
  float4 p = s[7 - threadIdx.x];
  y[threadIdx.x] = p.x + p.y + p.z;
}]==] },
  { "float4 with w never set, w used", kind = "uninitialised", run = { 1, 8, {"float:8"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float4 s[8];
  s[threadIdx.x].x = 1; s[threadIdx.x].y = 2; s[threadIdx.x].z = 3; @{|s[threadIdx.x].w = 4;}
  __syncthreads();
  float4 p = s[7 - threadIdx.x];
  y[threadIdx.x] = p.x + p.y + p.z + p.w; //1
}]==], lines = false },
  { "bit-field partially init", kind = "uninitialised", run = { 1, 8, {"int:8"} }, text = [==[
struct B { unsigned a : 8; unsigned b : 8; unsigned c : 16; };
__global__ void k(int *y) {
  __shared__ B s[8];
  s[threadIdx.x].a = 1; @{|s[threadIdx.x].b = 2;}
  __syncthreads();
  y[threadIdx.x] = s[7 - threadIdx.x].a + s[7 - threadIdx.x].b; //1
}]==], lines=false },
  { "bit-field set and read is fine", has_bug = false, kind = "uninitialised", run = { 1, 8, {"int:8"} }, text = [==[
struct B { unsigned a : 4; unsigned b : 12; unsigned c : 16; };
__global__ void k(int *y) {
  __shared__ B s[8];
  s[threadIdx.x].a = 1; s[threadIdx.x].b = 3;
  __syncthreads();
  y[threadIdx.x] = s[7 - threadIdx.x].a + s[7 - threadIdx.x].b;
}]==] },
  { "global mw.empty read", kind = "uninitialised", run = { 1, 32, {"empty float:32","float:32"} }, text = [==[
__global__ void k(float *x, float *y) {
  @{|x[threadIdx.x] = 1;}
  y[threadIdx.x] = x[threadIdx.x] * 2; //1
}]==] },
  { "global mw.empty copied", kind = "uninitialised", run = { 1, 32, {"empty float:32","float:32"} }, text = [==[
__global__ void k(float *x, float *y) {
  @{if (threadIdx.x)|} x[threadIdx.x] = 1;
  y[threadIdx.x] = x[threadIdx.x]; //1
}]==] },
  { "global accumulate into mw.empty",
    kind = "uninitialised", run = { 1, 32, {"empty float:32","float:32"} }, text = [==[
__global__ void k(float *x, float *y) { x[threadIdx.x] @{+=|=} y[threadIdx.x]; } //1
]==] },
  { "atomicAdd into mw.empty", kind = "uninitialised", run = { 1, 32, {"empty int:1","int:32"} }, text = [==[
__global__ void k(int *x, int *y) { @{|if (threadIdx.x == 0) *x = 0;
  __syncthreads();} atomicAdd(x, y[threadIdx.x]); } //1
]==] },
  { "histogram of mw.empty across launches", kind = "uninitialised", text = [==[
__global__ void clear(int *h) { h[threadIdx.x] = 0; }
__global__ void k(int *h, const int *x) { atomicAdd(&h[x[threadIdx.x] & 7], 1); } //1
]==], call = function(mw, m, bug) local h = mw.empty(8, "int") if not bug then m.clear(1, 8)(h) end
    m.k(1, 32)(h, mw.zeros(32, "int")) end },
  { "filled mw.empty by copy", kind = "uninitialised", text = [==[
__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; } //1
]==], call = function(mw, m, bug) local x, z = mw.empty(32), mw.zeros(32) if not bug then x:copy_from(z) end
    m.k(1, 32)(x, mw.zeros(32)) end },
  { "filled mw.empty by fill / host write", kind = "uninitialised", text = [==[
__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; } //1
]==], call = function(mw, m, bug) local x = mw.empty(32) if not bug then x:fill(3) else x[1] = 1 end
    m.k(1, 32)(x, mw.zeros(32)) end },
  { "half of mw.empty written by an earlier kernel", kind = "uninitialised", text = [==[
__global__ void put(float *x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }
__global__ void k(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x] + 1; } //1
]==], call = function(mw, m, bug) local x = mw.empty(32) m.put(1, 32)(x, bug and 31 or 32)
    m.k(1, 32)(x, mw.zeros(32)) end },
  { "device malloc uninit", kind = "uninitialised", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(16);
  @{|p[0] = 1; p[1] = 2;}
  y[threadIdx.x] = p[0] + p[1]; //1
  free(p);
}]==] },
  { "device new int[] vs new int[]()", kind = "uninitialised", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = new int[4]@{|()};
  p[0] = 5;
  y[threadIdx.x] = p[3] + 1; //1
  delete[] p;
}]==] },
  { "index uninit shared", kind = "uninitialised", run = { 1, 32, {"int:2048"} }, text = [==[
__global__ void k(int *y) {
  __shared__ unsigned char at[32];
  @{if (threadIdx.x != 5)|} at[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[(at[threadIdx.x ^ 1] & 63) * 32 + threadIdx.x] = 1; //1
}]==] },
  { "reduction of a partial block", kind = "uninitialised", run = { 1, 64, {"float:50","float:1", 50} }, text = [==[
__global__ void k(const float *x, float *y, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = x[t]; @{|else s[t] = 0;}
  __syncthreads();
  for (int d = 32; d; d /= 2) { if (t < d) s[t] += s[t + d]; __syncthreads(); } //1
  if (t == 0) *y = s[0];
}]==] },
  { "shared read in select/min", kind = "uninitialised", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int s[64];
  if (threadIdx.x @{< 63|< 64}) s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = min(s[63 - threadIdx.x], 5); //1
}]==] },
  { "the sums of warps that the block does not have", kind = "uninitialised", run = { 1, 96, {"float:1"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float part[32];
  float v = threadIdx.x;
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = @{part[threadIdx.x]|threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0}; //1
    for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
    if (threadIdx.x == 0) y[0] = v;
  }
}]==] },
  { "shuffle of uninit", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[32];
  if (threadIdx.x < @{16|32}) s[threadIdx.x] = 1;
  __syncwarp();
  float v = s[threadIdx.x]; //1
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  y[threadIdx.x] = v;
}]==], lines = false },
  { "speculative load whose value is dropped",
    has_bug = false, kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[33];
  s[threadIdx.x] = 1;
  __syncthreads();
  float v = s[threadIdx.x + 1];
  y[threadIdx.x] = threadIdx.x < 31 ? v : 0;
}]==] },
  { "xor with itself / mask of uninit bits",
    has_bug = false, kind = "uninitialised", run = { 1, 32, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ unsigned s[32];
  ((unsigned char *)s)[4 * threadIdx.x] = 7;
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x] & 0xff;
}]==] },
  { "constant zero device variables are init",
    has_bug = false, kind = "uninitialised", run = { 1, 32, {"int:64"} }, text = [==[
__device__ int a[32]; __constant__ int b[4];
__global__ void k(int *y) { y[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x & 3]; }
]==] },
  { "double buffer first iteration uninit", kind = "uninitialised", run = { 1, 32, {"float:128"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[2][32];
  @{|s[1][threadIdx.x] = 0;}
  for (int i = 0; i < 4; i++) {
    s[i & 1][threadIdx.x] = y[i * 32 + threadIdx.x] + s[(i + 1) & 1][threadIdx.x]; //1
  }
  y[threadIdx.x] = s[1][threadIdx.x];
}]==] },
  { "out parameter never written", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__device__ __noinline__ void get(const float *x, int i, float *out) { if (i @{> 3|>= 0}) *out = x[i]; }
__global__ void k(float *y) {
  float v;
  get(y, threadIdx.x, &v);
  y[threadIdx.x] = v * 2; //1
}]==] },
  { "local array passed to function", kind = "uninitialised", run = { 1, 32, {"float:64"} }, text = [==[
__device__ __noinline__ float total(const float *a, int n) { float s = 0; for (int i = 0; i < n;
  i++) s += a[i]; return s; } //1
__global__ void k(float *y) {
  float a[4];
  a[0] = a[1] = a[2] = y[threadIdx.x]; @{|a[3] = 0;}
  y[threadIdx.x] = total(a, 4);
}]==] },
  { "register array heap insertion",
    has_bug = false, kind = "uninitialised", run = { 1, 32, {"float:128"} }, text = [==[
__global__ void k(float *y) {
  float best[4]; int n = 0;
  for (int i = 0; i < 4; i++) {
    float v = y[i * 32 + threadIdx.x]; int j = n++;
    while (j > 0 && best[j - 1] < v) { best[j] = best[j - 1]; j--; }
    best[j] = v;
  }
  for (int i = 0; i < 4; i++) y[i * 32 + threadIdx.x] = best[i];
}]==] },
}
