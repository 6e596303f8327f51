-- Clusters, whose blocks access each other's shared memory, and members that constant indices leave.

local head = [[
#include <cooperative_groups.h>
]]

local function run(grid)
  return function(mw, m) m.k(grid, 32)(mw.zeros(grid * 32, "int"), mw.zeros(grid * 32, "int")) end
end

return {
  { "a peer's shared memory, and a barrier of the block", kind = "race", call = run(2), text = head .. [[
__global__ void __cluster_dims__(2) k(int *y, int *z) {
  __shared__ int s[32];
  auto c = cooperative_groups::this_cluster();
  c.sync();
  int *peer = c.map_shared_rank(s, c.block_rank() ^ 1);
  peer[threadIdx.x] = threadIdx.x; //1
  @{__syncthreads()|c.sync()};
  y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x]; //2
  c.sync();
}]], more = true },
  { "blocks of a cluster add to one block's words", kind = "race", call = run(4), text = head .. [[
__global__ void __cluster_dims__(2) k(int *y, int *z) {
  __shared__ int s[32];
  auto c = cooperative_groups::this_cluster();
  s[threadIdx.x] = 0;
  c.sync();
  int *first = c.map_shared_rank(s, 0);
  @{first[threadIdx.x] += 1|atomicAdd(&first[threadIdx.x], 1)}; //1
  c.sync();
  if (c.block_rank() == 0) y[blockIdx.x * 32 + threadIdx.x] = s[threadIdx.x];
}]] },
  { "a peer is still read when the block writes again", kind = "race", call = run(2), text = head .. [[
__global__ void __cluster_dims__(2) k(int *y, int *z) {
  __shared__ int s[32];
  auto c = cooperative_groups::this_cluster();
  int *peer = c.map_shared_rank(s, c.block_rank() ^ 1), sum = 0;
  for (int i = 0; i < 3; i++) {
    s[threadIdx.x] = i; //1
    c.sync();
    sum += peer[31 - threadIdx.x]; //2
    @{|c.sync();}
  }
  y[blockIdx.x * 32 + threadIdx.x] = sum;
  c.sync();
}]] },
  { "global memory of a cluster's blocks, and a barrier of the block", kind = "race", call = run(4), text = head .. [[
__global__ void __cluster_dims__(2) k(int *y, int *z) {
  y[blockIdx.x * 32 + threadIdx.x] = threadIdx.x; //1
  @{__syncthreads()|cooperative_groups::this_cluster().sync()};
  z[blockIdx.x * 32 + threadIdx.x] = y[(blockIdx.x ^ 1) * 32 + threadIdx.x]; //2
}]] },
  { "another cluster's elements", kind = "race", call = run(4), text = head .. [[
__global__ void __cluster_dims__(2) k(int *y, int *z) {
  y[blockIdx.x * 32 + threadIdx.x] = threadIdx.x; //1
  cooperative_groups::this_cluster().sync();
  z[blockIdx.x * 32 + threadIdx.x] = y[(blockIdx.x ^ @{2|1}) * 32 + threadIdx.x]; //2
}]] },
  { "a member array and a loop to a constant", kind = "out_of_bounds", run = { 1, 4, { "int:64" } }, text = [[
struct P { int a[4], b, c[3]; };
__global__ void k(int *raw) {
  P *p = (P *)raw;
  for (int i = 0; i < @{5|4}; i++) p[threadIdx.x].a[i] = i; //1
}]] },
  { "a member array and a constant", kind = "out_of_bounds", run = { 1, 4, { "int:64" } }, text = [[
struct P { int a[4], b, c[3]; };
__global__ void k(int *raw) { int i = @{4|3}; ((P *)raw)[threadIdx.x].a[i] += 1; } //1
]] },
  { "a member array of structs", kind = "out_of_bounds", run = { 1, 4, { "int:64" } }, text = [[
struct V { int x, y; };
struct P { V v[3]; int n; };
__global__ void k(int *raw) {
  P *p = (P *)raw;
  for (int i = 2; i >= @{-1|0}; i--) p[1 + threadIdx.x].v[i].y = i; //1
}]] },
  { "the middle index of a shared array", kind = "out_of_bounds", run = { 1, 4, { "int:4" } }, text = [[
__global__ void k(int *y) {
  __shared__ int s[2][3][4];
  for (int j = 0; j < 3; j++) { s[0][j][threadIdx.x] = 0; s[1][j][threadIdx.x] = 1; }
  __syncthreads();
  int j = @{3|2};
  y[threadIdx.x] = s[0][j][threadIdx.x]; //1
}]] },
  { "a loop past a member, and the test that ends it", has_bug = false, kind = "out_of_bounds",
    run = { 1, 4, { "int:64" } }, text = [[
struct P { int a[4], b, c[3]; };
__global__ void k(int *raw) {
  P *p = (P *)raw;
  for (int i = 0; i < 8; i++) {
    if (i < 4) p[threadIdx.x].a[i] = i;
    else if (i > 4) p[threadIdx.x].c[i - 5] = i;
  }
}]] },
}
