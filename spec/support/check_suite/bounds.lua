-- Bounds, alignment, and the lifetime of memory, as programs get them wrong.

return {
  { "n+1 loop bound", kind = "out_of_bounds", run = { 1, 1, {"float:16", 16} }, text = [==[
__global__ void k(float *y, int n) { for (int i = 0; i @{<=|<} n; i++) y[i] = i; } //1
]==] },
  { "wrong dimension in 2D guard", kind = "out_of_bounds", run = { {2,2}, {8,8}, {"float:120", 10, 12} }, text = [==[
__global__ void k(float *y, int h, int w) {
  int i = blockIdx.x * 8 + threadIdx.x, j = blockIdx.y * 8 + threadIdx.y;
  if (i < w && j < @{w|h}) y[j * w + i] = 1; //1
}]==] },
  { "negative index in stencil", kind = "out_of_bounds", run = { 1, 32, {"float:32","float:32"} }, text = [==[
__global__ void k(const float *x, float *y) {
  int i = threadIdx.x;
  float l = @{x[i - 1]|i ? x[i - 1] : 0.f}; //1
  y[i] = l;
}]==] },
  { "unsigned underflow", kind = "out_of_bounds", run = { 1, 32, {"float:32"} }, text = [==[
__global__ void k(float *y) { unsigned i = threadIdx.x; y[i @{- 1|}] = 1; } //1
]==] },
  { "halo load of shared tile", kind = "out_of_bounds", run = { 1, 32, {"float:34","float:32"} }, text = [==[
__global__ void k(const float *x, float *y) {
  __shared__ float s[@{32|34}];
  s[threadIdx.x + 1] = x[threadIdx.x + 1]; //1
  if (threadIdx.x == 0) { s[0] = x[0]; s[33] = x[33]; }
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2];
}]==], lines = false },
  { "2D shared tile column overflow", kind = "out_of_bounds", run = { 1, {16, 16}, {"float:256"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float t[16][16];
  t[threadIdx.y][threadIdx.x @{+ 1|}] = y[threadIdx.y * 16 + threadIdx.x]; //1
  __syncthreads();
  y[threadIdx.y * 16 + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}]==] , more = true},
  { "flattened pointer into 2D shared is fine",
    has_bug = false, kind = "out_of_bounds", run = { 1, 256, {"float:256"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float t[16][16];
  float *f = &t[0][0];
  f[threadIdx.x] = y[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = f[255 - threadIdx.x];
}]==] },
  { "dynamic shared, two arrays", kind = "out_of_bounds", run = { 1, 64, {"float:64"}, 512 }, text = [==[
__global__ void k(float *y) {
  extern __shared__ float room[];
  float *a = room, *b = room + @{128|64};
  a[threadIdx.x] = y[threadIdx.x];
  b[threadIdx.x] = 2; //1
  __syncthreads();
  y[threadIdx.x] = a[63 - threadIdx.x] + b[threadIdx.x];
}]==] },
  { "local array stack overrun read", kind = "out_of_bounds", run = { 1, 32, {"float:32","int:32"} }, text = [==[
__global__ void k(float *y, const int *n) {
  float a[4];
  for (int i = 0; i < 4; i++) a[i] = y[threadIdx.x] + i;
  y[threadIdx.x] = a[n[threadIdx.x] + @{4|3}]; //1
}]==] },
  { "shared array constant index", kind = "out_of_bounds", run = { 1, 32, {"float:32"} }, text = [==[
__global__ void k(float *y) {
  __shared__ float a[4], b[4];
  if (threadIdx.x == 0) { b[0] = 1; a[@{4|3}] = y[threadIdx.x]; } //1
  __syncthreads();
  y[threadIdx.x] = a[3] * 0 + b[0];
}]==], clean = [==[
__global__ void k(float *y) {
  __shared__ float a[4], b[4];
  if (threadIdx.x == 0) { b[0] = 1; a[3] = y[threadIdx.x]; } //1
  __syncthreads();
  y[threadIdx.x] = a[3] * 0 + b[0];
}]==] },
  { "struct member array neighbour by constant", kind = "out_of_bounds", run = { 1, 1, {"int:16"} }, text = [==[
struct S { int a[4]; int b; };
__global__ void k(int *y) { S *s = (S *)y; s->a[y[8] + @{4|3}] = 1; } //1
]==] },
  { "struct local member array", kind = "out_of_bounds", run = { 1, 1, {"int:16"} }, text = [==[
struct S { int a[4]; int b; };
__global__ void k(int *y) {
  S s; s.b = 1;
  for (int i = 0; i < 4; i++) s.a[i] = i;
  s.a[y[8] + @{4|3}] = 7; //1
  y[0] = s.b + s.a[y[1]];
}
]==] },
  { "pitched rows", kind = "out_of_bounds", run = { 1, {8, 4}, {"float:30", 8} }, text = [==[
__global__ void k(float *y, int pitch) { if (threadIdx.x < 6) y[threadIdx.y * pitch + threadIdx.x] = 1; } //1
]==], clean = [==[
__global__ void k(float *y, int pitch) { if (threadIdx.x < 6) y[threadIdx.y * pitch + threadIdx.x] = 1; }
]==], bug = [==[
__global__ void k(float *y, int pitch) { y[threadIdx.y * pitch + threadIdx.x] = 1; } //1
]==] },
  { "int2 misaligned", kind = "misaligned", run = { 1, 1, {"int:16"} }, text = [==[
__global__ void k(int *x) { *(int2 *)(x + @{1|2}) = make_int2(1, 2); } //1
]==] },
  { "double read misaligned", kind = "misaligned", run = { 1, 1, {"char:64","double:1"} }, text = [==[
__global__ void k(const char *x, double *y) { *y = *(const double *)(x + @{4|8}); } //1
]==] },
  { "short at odd address via offset", kind = "misaligned", run = { 1, 2, {"char:64"} }, text = [==[
__global__ void k(char *x) { *(short *)(x + threadIdx.x * @{3|2}) = 1; } //1
]==] },
  { "float4 row misaligned by odd pitch", kind = "misaligned", run = { 1, 4, {"float:64", 5} }, text = [==[
__global__ void k(float *x, int pitch) { *(float4 *)(x + threadIdx.x * @{pitch|4}) = make_float4(0, 0, 0, 0); } //1
]==] },
  { "misaligned atomic", kind = "misaligned", run = { 1, 1, {"char:64"} }, text = [==[
__global__ void k(char *x) { atomicAdd((int *)(x + @{2|4}), 1); } //1
]==] },
  { "shared carve-up misaligned double", kind = "misaligned", run = { 1, 32, {"double:32"}, 1024 }, text = [==[
__global__ void k(double *y) {
  extern __shared__ char room[];
  int *n = (int *)room; double *d = (double *)(room + @{33|34} * 4);
  if (threadIdx.x < 32) n[threadIdx.x] = 1;
  d[threadIdx.x] = 1; //1
  __syncthreads();
  y[threadIdx.x] = d[31 - threadIdx.x] + n[threadIdx.x];
}]==] },
  { "cuda array passed twice with size of other",
    kind = "out_of_bounds", run = { 1, 64, {"float:64","float:32"} }, text = [==[
__global__ void k(const float *x, float *y) { if (threadIdx.x < @{64|32}) y[threadIdx.x] = x[threadIdx.x]; } //1
]==] },
  { "device malloc overrun by one", kind = "out_of_bounds", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int n = threadIdx.x + 4;
  int *p = (int *)malloc(n * sizeof(int));
  for (int i = 0; i @{<=|<} n; i++) p[i] = i; //1
  y[threadIdx.x] = p[n - 1];
  free(p);
}]==] },
  { "device new[] delete[]", kind = "out_of_bounds", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = new int[8];
  for (int i = 0; i @{<=|<} 8; i++) p[i] = i; //1
  y[threadIdx.x] = p[7];
  delete[] p;
}]==] },
  { "use after delete", kind = "use_after_free", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = new int[8];
  p[3] = y[threadIdx.x];
  @{delete[] p;|}
  y[threadIdx.x] = p[3]; //1
  @{|delete[] p;}
}]==] },
  { "double delete", kind = "invalid_free", run = { 1, 1, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = new int[8];
  p[3] = y[threadIdx.x];
  delete[] p;
  @{delete[] p;|} //1
}]==] },
  { "leak in one branch", kind = "leak", run = { 1, 4, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(16); //1
  p[0] = 1;
  y[threadIdx.x] = p[0];
  @{if (threadIdx.x & 1)|} free(p);
}]==] },
  { "malloc null unchecked, write through null + offset", kind = "out_of_bounds", run = { 1, 1, {"int:4"} }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(@{(size_t)1 << 40|64});
  p[y[0] + 2] = 1; //1
  free(p);
}]==] },
  { "shared block of malloc freed by another thread", kind = "use_after_free", run = { 1, 64, {"int:64"} }, text = [==[
__global__ void k(int *y) {
  __shared__ int *p;
  if (threadIdx.x == 0) p = (int *)malloc(64 * 4);
  __syncthreads();
  p[threadIdx.x] = threadIdx.x;
  __syncthreads();
  @{if (threadIdx.x == 0) free(p); __syncthreads();|}
  y[threadIdx.x] = p[63 - threadIdx.x]; //1
  @{|__syncthreads(); if (threadIdx.x == 0) free(p);}
}]==] },
  { "use after free across launches (device malloc)", kind = "use_after_free", text = [==[
__device__ int *p;
__global__ void make() { p = (int *)malloc(64); p[0] = 1; }
__global__ void drop() { free(p); }
__global__ void use(int *y) { *y = p[0]; } //1
]==], call = function(mw, m, bug)
  local y = mw.zeros(1, "int")
  m.make(1, 1)()
  if bug then m.drop(1, 1)() end
  m.use(1, 1)(y)
  if not bug then m.drop(1, 1)() end
end },
  { "interior view past end", kind = "out_of_bounds", text = [==[
__global__ void k(int *y) { y[threadIdx.x] = 1; } //1
]==], call = function(mw, m, bug)
  local y = mw.zeros(64, "int")
  m.k(1, bug and 65 or 64)(y)
end },
  { "constant memory negative", kind = "out_of_bounds", run = { 1, 1, {"int:4"} }, text = [==[
__constant__ int a[4] = {1, 2, 3, 4};
__global__ void k(int *y) { y[0] = a[y[1] @{- 1|}]; } //1
]==] },
  { "char buffer string", kind = "out_of_bounds", run = { 1, 1, {"char:8"} }, text = [==[
__global__ void k(char *s) { for (int i = 0; i < 8; i++) s[i] = 'a'; @{s[8]|s[7]} = 0; } //1
]==] },
  { "vector store partially out", kind = "out_of_bounds", run = { 1, 4, {"float:14"} }, text = [==[
__global__ void k(float *y) { if (threadIdx.x < @{4|3}) ((float4 *)y)[threadIdx.x] = make_float4(1, 2, 3, 4); } //1
]==] },
  { "memcpy from shared too long", kind = "out_of_bounds", run = { 1, 1, {"char:64"} }, text = [==[
__global__ void k(char *y) { __shared__ char s[32]; for (int i = 0; i < 32; i++) s[i] = i; memcpy(y, s, @{40|32}); } //1
]==] },
  { "binary search overrun", kind = "out_of_bounds", text = [==[
__global__ void k(const int *x, int n, int v, int *y) {
  int lo = 0, hi = n;
  while (lo @{<=|<} hi) { int mid = (lo + hi) / 2; if (x[mid] < v) lo = mid + 1; else hi = mid @{- 1|}; } //1
  *y = lo;
}]==], call = function(mw, m) m.k(1, 1)(mw.zeros(15, "int"), 15, 5, mw.zeros(1, "int")) end },
  { "function pointer table ok", has_bug = false, kind = "out_of_bounds", run = { 1, 32, {"int:32"} }, text = [==[
__device__ int f(int a) { return a + 1; } __device__ int g(int a) { return a * 2; }
__global__ void k(int *y) { int (*t[2])(int) = { f, g }; y[threadIdx.x] = t[threadIdx.x & 1](threadIdx.x); }
]==] },
  { "one-past pointer compare is fine", has_bug = false, kind = "out_of_bounds", run = { 1, 1, {"int:32"} }, text = [==[
__global__ void k(int *y) { int *e = y + 32; for (int *p = y; p != e; p++) *p = 1; }
]==] },
  { "flexible member trick ok", has_bug = false, kind = "out_of_bounds", run = { 1, 1, {"int:32"} }, text = [==[
struct V { int n; int d[1]; };
__global__ void k(int *y) { V *v = (V *)y; v->n = 4; for (int i = 0; i < 4; i++) v->d[i] = i; }
]==] },
  { "multi-dim global by cast pointer to array ok",
    kind = "out_of_bounds", run = { 1, {8,8}, {"float:64"} }, text = [==[
__global__ void k(float *y) { float (*m)[8] = (float (*)[8])y; m[threadIdx.y][threadIdx.x @{+ 1|}] = 1; } //1
]==], more = true },
  { "float4 array as floats is fine",
    has_bug = false, kind = "out_of_bounds", run = { 1, 32, {"float:32"} }, text = [==[
__global__ void k(float *y) { float4 v = make_float4(1, 2, 3, 4); float *f = &v.x;
  y[threadIdx.x] = f[threadIdx.x & 3]; }
]==] },
  { "matrix struct m[3][3] walked flat is fine",
    has_bug = false, kind = "out_of_bounds", run = { 1, 9, {"float:9"} }, text = [==[
struct M { float m[3][3]; };
__global__ void k(float *y) { M a; float *f = (float *)&a; for (int i = 0; i < 9; i++) f[i] = i;
  y[threadIdx.x] = a.m[threadIdx.x / 3][threadIdx.x % 3]; }
]==] },
}
