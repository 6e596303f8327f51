-- Algorithms of a whole block, with __syncthreads() between their steps: sums, scans, sorting, transposing,
-- in blocks of all shapes; compared with plain Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local blocks = require "support.blocks"
local lists = require "support.models.lists"
local tiers = require "support.tiers"
local random = require "support.random" "block_algorithms_spec"

local random_list, check_equal = lists.random, lists.check_equal

local algorithms = [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }

template <typename T> __device__ void sum(const T *a, T *sums) {
  __shared__ T cell[1024];
  int i = linear(), n = threads();
  cell[i] = a[blockIdx.x * n + i];
  int wide = 1;
  while (wide < n) wide *= 2;
  for (int half = wide / 2; half > 0; half /= 2) {
    __syncthreads();
    if (i < half && i + half < n) cell[i] += cell[i + half];
  }
  if (i == 0) sums[blockIdx.x] = cell[0];
}

__global__ void sum_int(const int *a, int *sums) { sum(a, sums); }
__global__ void sum_short(const short *a, short *sums) { sum(a, sums); }
__global__ void sum_double(const double *a, double *sums) { sum(a, sums); }

// Hillis and Steele's scan: inclusive sums.
__global__ void scan(int *a) {
  __shared__ int cell[2][1024];
  int i = linear(), n = threads(), at = blockIdx.x * n + i, in = 0;
  cell[0][i] = a[at];
  for (int step = 1; step < n; step *= 2) {
    __syncthreads();
    cell[1 - in][i] = cell[in][i] + (i >= step ? cell[in][i - step] : 0);
    in = 1 - in;
  }
  a[at] = cell[in][i];
}

// Blelloch's: up and down a tree over n elements, n a power of two, two for each thread; exclusive sums.
__global__ void scan_tree(int *a, int n) {
  extern __shared__ int tree[];
  int i = threadIdx.x, offset = 1;
  a += blockIdx.x * n;
  tree[2 * i] = a[2 * i];
  tree[2 * i + 1] = a[2 * i + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (i < d) tree[offset * (2 * i + 2) - 1] += tree[offset * (2 * i + 1) - 1];
    offset *= 2;
  }
  if (i == 0) tree[n - 1] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (i < d) {
      int left = tree[offset * (2 * i + 1) - 1], right = tree[offset * (2 * i + 2) - 1];
      tree[offset * (2 * i + 1) - 1] = right;
      tree[offset * (2 * i + 2) - 1] = left + right;
    }
  }
  __syncthreads();
  a[2 * i] = tree[2 * i];
  a[2 * i + 1] = tree[2 * i + 1];
}

__global__ void bitonic_sort(float *a, int n) {
  extern __shared__ float cells[];
  a += blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) cells[i] = a[i];
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) {
      __syncthreads();
      for (int i = threadIdx.x; i < n; i += blockDim.x) {
        int other = i ^ j;
        if (other > i && (cells[i] > cells[other]) == ((i & k) == 0)) {
          float t = cells[i];
          cells[i] = cells[other];
          cells[other] = t;
        }
      }
    }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = cells[i];
}

// Tiles of TILE x TILE, moved by TILE x ROWS threads.
template <int TILE, int ROWS> __device__ void transpose(const int *in, int *out, int width, int height) {
  __shared__ int tile[TILE][TILE + 1];
  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE + threadIdx.x;
  y = blockIdx.x * TILE + threadIdx.y;
  for (int j = 0; j < TILE; j += ROWS)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}
#define TRANSPOSE(tile, rows)                                                                                          \
  __global__ void transpose_##tile##_##rows(const int *in, int *out, int width, int height) {                          \
    transpose<tile, rows>(in, out, width, height);                                                                     \
  }
TRANSPOSE(16, 16)
TRANSPOSE(32, 8)
TRANSPOSE(8, 1)
TRANSPOSE(4, 4)
]==]

for _, tier in ipairs(tiers) do
  describe("with barriers, " .. tier.name .. ",", function()
    local m = mw.compile { source = algorithms, options = tier.options }

    for _, dtype in ipairs { "int", "double", "short" } do
      it("blocks are summed up in " .. dtype, function()
        for _, block in ipairs(blocks) do
          local n = block.threads
          local list, wanted = random_list(3 * n, -10, 10), { 0, 0, 0 }
          for i, value in ipairs(list) do wanted[(i - 1) // n + 1] = wanted[(i - 1) // n + 1] + value end
          local sums = mw.zeros(3, dtype)
          m["sum_" .. dtype](3, block.size)(mw.array(list, dtype), sums)
          check_equal(wanted, sums:totable(), tostring(block))
        end
      end)
    end

    it("blocks are scanned", function()
      for _, block in ipairs(blocks) do
        local n = block.threads
        local list, wanted = random_list(3 * n, -100, 100), {}
        for i, value in ipairs(list) do wanted[i] = value + ((i - 1) % n > 0 and wanted[i - 1] or 0) end
        local a = mw.array(list, "int")
        m.scan(3, block.size)(a)
        check_equal(wanted, a:totable(), tostring(block))
      end
    end)

    it("blocks are scanned up and down a tree", function()
      for _, n in ipairs { 2, 8, 64, 256, 2048 } do
        local list, wanted = random_list(3 * n, -100, 100), {}
        for i in ipairs(list) do wanted[i] = (i - 1) % n > 0 and wanted[i - 1] + list[i - 1] or 0 end
        local a = mw.array(list, "int")
        m.scan_tree(3, n // 2, 4 * n)(a, n)
        check_equal(wanted, a:totable(), ("%d elements"):format(n))
      end
    end)

    it("blocks are sorted", function()
      for _, case in ipairs { { 2, 1 }, { 64, 32 }, { 64, 64 }, { 512, 96 }, { 1024, 1000 }, { 2048, 1024 } } do
        local n, threads = case[1], case[2]
        local list, wanted = {}, {}
        for i = 1, 2 * n do list[i] = random(0, 1 << 20) / 4 end
        for b = 0, 1 do
          local part = table.move(list, b * n + 1, b * n + n, 1, {})
          table.sort(part)
          table.move(part, 1, n, b * n + 1, wanted)
        end
        local a = mw.array(list)
        m.bitonic_sort(2, threads, 4 * n)(a, n)
        check_equal(wanted, a:totable(), ("%d elements, %d threads"):format(n, threads))
      end
    end)

    for _, case in ipairs { { 16, 16 }, { 32, 8 }, { 8, 1 }, { 4, 4 } } do
      local tile, rows = case[1], case[2]
      it(("a matrix is transposed by %dx%d threads"):format(tile, rows), function()
        for _, size in ipairs { { 64, 64 }, { 100, 37 }, { 1, 50 }, { 33, 1 } } do
          local width, height = size[1], size[2]
          local list, wanted = random_list(width * height, 0, 1 << 30), {}
          for y = 0, height - 1 do
            for x = 0, width - 1 do wanted[x * height + y + 1] = list[y * width + x + 1] end
          end
          local out = mw.zeros(width * height, "int")
          m[("transpose_%d_%d"):format(tile, rows)]({ mw.cdiv(width, tile), mw.cdiv(height, tile) }, { tile, rows })(
            mw.array(list, "int"), out, width, height)
          check_equal(wanted, out:totable(), ("%d x %d"):format(width, height))
        end
      end)
    end
  end)
end
