-- A scan: each element becomes the sum of all up to it. Blocks scan their parts in shared memory, the totals of the
-- blocks are scanned in the same way, and a second kernel adds them to the following parts.

local mw = require "moonwarp"

local m = mw.compile [==[
#define N 256
__global__ void scan(int n, const int *in, int *out, int *totals) {
  __shared__ int row[2][N];                           // read one, write the other
  int t = threadIdx.x, i = blockIdx.x * N + t, now = 0;
  row[0][t] = i < n ? in[i] : 0;
  for (int step = 1; step < N; step *= 2) {
    __syncthreads();
    row[1 - now][t] = row[now][t] + (t >= step ? row[now][t - step] : 0);
    now = 1 - now;
  }
  if (i < n) out[i] = row[now][t];
  if (t == N - 1) totals[blockIdx.x] = row[now][t];
}
__global__ void add(int n, int *out, const int *totals) {
  int i = blockIdx.x * N + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += totals[blockIdx.x - 1];
}
]==]

local n = 10000
local blocks = mw.cdiv(n, 256)
local ones, sums = mw.ones(n, "int"), mw.zeros(n, "int")
local totals, nothing = mw.zeros(blocks, "int"), mw.zeros(1, "int")
m.scan(blocks, 256)(n, ones, sums, totals)
m.scan(1, 256)(blocks, totals, totals, nothing)
m.add(blocks, 256)(n, sums, totals)

print(sums[1], sums[256], sums[257], sums[n])         --> 1 256 257 10000
