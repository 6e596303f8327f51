-- Accesses that are out of bounds or misaligned, and memory that was freed.

return {
  { "one thread too many", kind = "out_of_bounds", run = { 1, 64, { "int:60", 60 } }, text = [==[
__global__ void k(int *y, int n) { if (threadIdx.x @{<=|<} n) y[threadIdx.x] = 1; } //1
]==] },
  { "no guard", kind = "out_of_bounds", run = { 2, 64, { "int:100", 100 } }, text = [==[
__global__ void k(int *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  @{|if (i < n)} y[i] = i; //1
}]==] },
  { "before the first element", kind = "out_of_bounds", run = { 1, 32, { "float:32", "float:32" } }, text = [==[
__global__ void k(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = x[i] + @{x[i - 1]|(i > 0 ? x[i - 1] : 0)}; //1
}]==] },
  { "a read past the end", kind = "out_of_bounds", run = { 1, 32, { "float:32", "float:32" } }, text = [==[
__global__ void k(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = x[i] + x[@{i + 1|min(i + 1, 31)}]; //1
}]==] },
  { "another array", kind = "out_of_bounds", run = { 1, 1, { "int:16", "int:16" } }, text = [==[
__global__ void k(int *x, int *y) {
  x[@{y - x|15}] = 1; //1
}]==] },
  { "a shared array's neighbour", kind = "out_of_bounds", run = { 1, 32, { "int:32" } }, text = [==[
__global__ void k(int *y) {
  __shared__ int a[32], b[32];
  b[threadIdx.x] = 2;
  __syncthreads();
  a[threadIdx.x @{+ 1|}] = 1; //1
  __syncthreads();
  y[threadIdx.x] = a[31 - threadIdx.x] + b[threadIdx.x];
}]==] },
  { "past dynamic shared memory", kind = "out_of_bounds", run = { 1, 32, { "int:32" }, 128 }, text = [==[
__global__ void k(int *y) {
  extern __shared__ int room[];
  room[threadIdx.x @{* 2|}] = 1; //1
  __syncthreads();
  y[threadIdx.x] = room[31 - threadIdx.x];
}]==] },
  { "a local array", kind = "out_of_bounds", run = { 1, 32, { "int:32" } }, text = [==[
__global__ void k(int *y) {
  int few[8];
  for (int i = 0; i < 8; i++) few[i] = i * y[threadIdx.x];
  few[threadIdx.x @{% 9|% 8}] = 3; //1
  y[threadIdx.x] = few[y[threadIdx.x] & 7];
}]==] },
  { "a member array within its struct", kind = "out_of_bounds", run = { 1, 8, { "int:64" } }, text = [==[
struct cell { int few[4]; int more[4]; };
__global__ void k(int *y) {
  cell *c = (cell *)y;
  c->few[threadIdx.x @{|& 3}] = @{1|y[63]}; //1
}]==], lines = false, clean = [==[
struct cell { int few[4]; int more[4]; };
__global__ void k(int *y) {
  cell *c = (cell *)y;
  if (threadIdx.x < 4) c->few[threadIdx.x] = 1; else c->more[threadIdx.x - 4] = 1;
}]==] },
  { "a row of a matrix", kind = "out_of_bounds", run = { 1, 9, { "int:64" } }, text = [==[
__global__ void k(int *y) {
  __shared__ int m[4][8];
  if (threadIdx.x < @{9|8}) m[1][threadIdx.x] = 1; //1
  __syncthreads();
  y[threadIdx.x] = m[1][threadIdx.x & 7];
}]==] },
  { "a constant table", kind = "out_of_bounds", run = { 1, 32, { "int:32" } }, text = [==[
__constant__ int table[16];
__global__ void k(int *y) { y[threadIdx.x] = table[threadIdx.x @{|& 15}]; } //1
]==] },
  { "a __device__ array", kind = "out_of_bounds", run = { 1, 32, {} }, text = [==[
__device__ int table[16];
__global__ void k() { if (threadIdx.x < @{17|16}) table[threadIdx.x] = 1; } //1
]==] },
  { "an atomic past the end", kind = "out_of_bounds", run = { 1, 32, { "int:8" } }, text = [==[
__global__ void k(int *bins) { atomicAdd(&bins[threadIdx.x @{% 9|% 8}], 1); } //1
]==] },
  { "a vector at the last element", kind = "out_of_bounds", run = { 1, 1, { "float:8" } }, text = [==[
__global__ void k(float *x) { ((float4 *)x)[@{2|1}] = make_float4(1, 2, 3, 4); } //1
]==] },
  { "the null pointer", kind = "out_of_bounds", run = { 1, 1, { "int:1" } }, text = [==[
__global__ void k(int *x) { int *p = @{*x ? x : (int *)0|x}; *p = 1; } //1
]==] },
  { "memcpy of too much", kind = "out_of_bounds", run = { 1, 1, { "char:32", "char:24" } }, text = [==[
__global__ void k(char *x, const char *y) { memcpy(x, y, @{32|24}); } //1
]==] },
  { "malloc in a kernel, past the end", kind = "out_of_bounds", run = { 1, 1, { "int:1" } }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(40);
  if (!p) return;
  for (int i = 0; i < 10; i++) p[i] = y[0] + i;
  p[y[0] + @{10|9}] = 1; //1
  y[0] = p[y[0] + 3];
  free(p);
}]==] },
  { "a misaligned int", kind = "misaligned", run = { 1, 1, { "char:16" } }, text = [==[
__global__ void k(char *x) { *(int *)(x + @{2|4}) = 1; } //1
]==] },
  { "a misaligned float4", kind = "misaligned", run = { 1, 1, { "float:16", "float4:1" } }, text = [==[
__global__ void k(float *x, float4 *y) { y[0] = *(float4 *)(x + @{2|4}); } //1
]==] },
  { "a misaligned double in shared memory", kind = "misaligned", run = { 1, 1, { "double:1" } }, text = [==[
__global__ void k(double *y) {
  __shared__ __align__(16) char room[64];
  double *p = (double *)(room + @{y[0] + 4|y[0] + 8});
  *p = 1; //1
  y[0] = *p;
}]==], clean = [==[
__global__ void k(double *y) {
  __shared__ __align__(16) char room[64];
  double *p = (double *)(room + 8);
  *p = 1;
  y[0] = *p;
}]==], bug = [==[
__global__ void k(double *y) {
  __shared__ __align__(16) char room[64];
  double *p = (double *)(room + (int)y[0] + 4);
  *p = 1; //1
  y[0] = *p;
}]==] },
  { "an array that was freed", kind = "use_after_free", text = [==[
__device__ int *kept;
__global__ void keep(int *x) { kept = x; }
__global__ void use() { kept[1] = 2; } //1
]==], call = function(mw, m, bug)
    local x = mw.zeros(100, "int")
    m.keep(1, 1)(x)
    mw.synchronize()
    if bug then x:free() end
    m.use(1, 1)()
    mw.synchronize()
    x:free()
  end },
  { "a block of malloc that was freed", kind = "use_after_free", run = { 1, 1, { "int:1" } }, text = [==[
__device__ int *shared_block;
__global__ void k(int *y) {
  shared_block = (int *)malloc(64);
  @{free(shared_block);|}
  shared_block[1] = y[0]; //1
  @{|free(shared_block);}
}]==] },
  { "freed twice", kind = "invalid_free", run = { 1, 1, { "int:1" } }, text = [==[
__device__ int *block;
__global__ void k(int *y) {
  block = (int *)malloc(64);
  block[y[0]] = 1;
  free(block);
  @{free(block);|} //1
}]==] },
  { "free of an array", kind = "invalid_free", run = { 1, 1, { "int:4" } }, text = [==[
__global__ void k(int *y) { @{free(y);|y[0] = 1;} } //1
]==] },
  { "free of the middle of a block", kind = "invalid_free", run = { 1, 1, { "int:1" } }, text = [==[
__device__ int *block;
__global__ void k(int *y) {
  block = (int *)malloc(64);
  block[y[0]] = 1;
  @{block += 4;|}
  free(block); //1
}]==], more = true },
  { "malloc without free", kind = "leak", run = { 1, 4, { "int:4" } }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(64); //1
  p[y[threadIdx.x]] = 1;
  y[threadIdx.x] = p[y[threadIdx.x]];
  @{|free(p);}
}]==] },
}
