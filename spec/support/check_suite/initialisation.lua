-- Uses of uninitialised values, and copies of them, which are not uses.

return {
  { "a tile that is half filled", kind = "uninitialised", run = { 1, 64, { "float:64" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[64];
  @{if (threadIdx.x < 32)|} s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = 2 * s[63 - threadIdx.x]; //1
}]==] },
  { "a counter that nobody cleared", kind = "uninitialised", run = { 1, 64, { "int:64" } }, text = [==[
__global__ void k(int *y) {
  __shared__ int count;
  @{|if (threadIdx.x == 0) count = 0;}
  __syncthreads();
  atomicAdd(&count, 1); //1
  __syncthreads();
  y[threadIdx.x] = count;
}]==] },
  { "the halo of a tile", kind = "uninitialised", run = { 1, 32, { "float:32" } }, text = [==[
__global__ void k(float *y) {
  __shared__ float s[34];
  s[threadIdx.x + 1] = y[threadIdx.x];
  @{|if (threadIdx.x == 0) s[0] = s[33] = 0;}
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x] + s[threadIdx.x + 2]; //1
}]==] },
  { "an index from dynamic memory", kind = "uninitialised", run = { 1, 32, { "int:32" }, 256 }, text = [==[
__global__ void k(int *y) {
  extern __shared__ int room[];
  room[threadIdx.x] = 1;
  @{|room[threadIdx.x + 32] = 2;}
  __syncthreads();
  if (room[63 - threadIdx.x] > 0) y[threadIdx.x] = 1; //1
}]==] },
  { "a block of malloc", kind = "uninitialised", run = { 1, 1, { "int:1" } }, text = [==[
__global__ void k(int *y) {
  int *p = (int *)malloc(64);
  p[y[0] + @{1|0}] = 5;
  y[0] = 3 * p[y[0]]; //1
  free(p);
}]==] },
  { "a condition on one byte", kind = "uninitialised", run = { 1, 32, { "int:32" } }, text = [==[
__global__ void k(int *y) {
  __shared__ bool seen[32];
  if (threadIdx.x @{> 0|>= 0}) seen[threadIdx.x] = false;
  __syncthreads();
  if (!seen[31 - threadIdx.x]) y[threadIdx.x] = 1; //1
}]==] },
}
