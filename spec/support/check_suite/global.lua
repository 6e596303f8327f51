-- Races on global memory: between threads, blocks and launches.

return {
  { "all blocks write one element", kind = "race", run = { 4, 1, { "int:4" } }, text = [[
__global__ void k(int *y) { y[@{0|blockIdx.x}] = blockIdx.x; } //1 //2
]] },
  { "blocks write equal values", kind = "race", run = { 4, 1, { "int:4" } }, text = [[
__global__ void k(int *y) { y[@{0|blockIdx.x}] = 1; } //1 //2
]] },
  { "a histogram without atomics", kind = "race", run = { 4, 32, { "int:8" } }, text = [[
__global__ void k(int *y) { int i = threadIdx.x % 8; @{y[i]++|atomicAdd(y + i, 1)}; } //1 //2
]] },
  { "a stencil in place", kind = "race", run = { 2, 32, { "float:66", "float:66" } }, text = [[
__global__ void k(float *x, float *y) {
  int i = blockIdx.x * 32 + threadIdx.x + 1;
  @{x|y}[i] = x[i - 1] + x[i + 1]; //1 //2
}]] },
  { "a grid barrier by hope", kind = "race", run = { 2, 32, { "float:64", "float:64" } }, text = [[
__global__ void k(float *x, float *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  x[i] = i; //1
  __syncthreads();
  y[i] = x[@{63 - i|blockIdx.x * 32 + 31 - threadIdx.x}]; //2
}]] },
  { "overlapping ranges of blocks", kind = "race", run = { 2, 32, { "int:64" } }, text = [[
__global__ void k(int *y) { y[blockIdx.x * @{31|32} + threadIdx.x] = blockIdx.x; } //1 //2
]] },
  { "the last block without a fence", kind = "race", run = { 4, 32, { "float:4", "int:1" } }, text = [[
__global__ void k(float *part, int *done) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = blockIdx.x; //1
    @{|__threadfence();}
    last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (int i = 0; i < gridDim.x; i++) sum += part[i]; //2
    part[0] = sum;
  }
}]] },
  { "a fence for the block only", kind = "race", run = { 4, 1, { "float:4", "int:1" } }, text = [[
__global__ void k(float *part, int *done) {
  part[blockIdx.x] = blockIdx.x; //1
  @{__threadfence_block|__threadfence}();
  if (atomicAdd(done, 1) == 3) part[3] = part[0] + part[1] + part[2]; //2
}]], lines = false },
  { "a flag that is a plain variable", kind = "race", run = { 2, 1, { "int:1", "int:1" } }, text = [[
__global__ void k(int *data, int *flag) {
  if (blockIdx.x == 0) {
    *data = 42; //1
    @{|__threadfence();}
    @{*flag = 1|atomicExch(flag, 1)};
  } else if (@{*flag|atomicAdd(flag, 0)}) {
    *data += 1; //2
  }
}]], lines = false },
  { "a lock that is released without a fence", kind = "race", run = { 4, 1, { "int:1", "int:1" } }, text = [[
__global__ void k(int *lock, int *sum) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *sum += 1; //1 //2
  @{|__threadfence();}
  atomicExch(lock, 0);
}]] },
  { "an atomic and a plain write", kind = "race", run = { 2, 32, { "int:1" } }, text = [[
__global__ void k(int *y) {
  atomicAdd(y, 1); //1
  @{if (blockIdx.x == 0 && threadIdx.x == 0) *y = 0;|} //2
}]], lines = false },
  { "a __device__ counter", kind = "race", run = { 4, 1, { "int:4" } }, text = [[
__device__ int ticket;
__global__ void k(int *y) { y[blockIdx.x] = @{ticket++|atomicAdd(&ticket, 1)}; } //1 //2
]] },
  { "threads of one block, through global memory", kind = "race", run = { 1, 64, { "int:64", "int:64" } }, text = [[
__global__ void k(int *x, int *y) {
  x[threadIdx.x] = threadIdx.x; //1
  @{|__syncthreads();}
  y[threadIdx.x] = x[63 - threadIdx.x]; //2
}]] },
  { "a matrix product's missing column", kind = "race", run = { 1, { 8, 8 }, { "float:64" } }, text = [[
__global__ void k(float *y) {
  int row = threadIdx.y, column = @{0|threadIdx.x};
  y[row * 8 + column] = row; //1 //2
}]] },
  { "compaction without atomics", kind = "race", run = { 2, 32, { "int:64", "int:1" } }, text = [[
__global__ void k(int *out, int *count) {
  int at = @{(*count)++|atomicAdd(count, 1)}; //1 //2
  if (at < 64) out[at] = threadIdx.x;
}]], lines = false },
  { "bytes of one word are apart", kind = "race", run = { 1, 64, { "char:64" } }, text = [[
__global__ void k(char *y) { y[threadIdx.x @{/ 2|}] = 1; } //1 //2
]] },
  { "two launches in two streams", kind = "race", text = [[
__global__ void put(int *x) { x[threadIdx.x] = 1; } //1 //2
]], call = function(mw, m, bug)
    local x, s, t = mw.zeros(32, "int"), mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    mw.synchronize()
    mw.with(s, function() m.put(1, 32)(x) end)
    if not bug then s:synchronize() end
    mw.with(t, function() m.put(1, 32)(x) end)
  end },
  { "a reader in another stream", kind = "race", text = [[
__global__ void put(int *x) { x[threadIdx.x] = 1; } //1
__global__ void get(const int *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; } //2
]], call = function(mw, m, bug)
    local x, y = mw.zeros(32, "int"), mw.zeros(32, "int")
    local s, t = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    mw.synchronize()
    mw.with(s, function() m.put(1, 32)(x) end)
    local done = s:record()
    if not bug then t:wait(done) end
    mw.with(t, function() m.get(1, 32)(x, y) end)
  end },
  { "the default stream and one that does not block", kind = "race", text = [[
__global__ void put(int *x) { x[threadIdx.x] = 1; } //1 //2
]], call = function(mw, m, bug)
    local x, s = mw.zeros(32, "int"), mw.stream { nonblocking = bug }
    mw.synchronize()
    mw.with(s, function() m.put(1, 32)(x) end)
    m.put(1, 32)(x)
  end },
}
