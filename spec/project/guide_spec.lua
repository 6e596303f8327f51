-- The programs that the CUDA programming guides teach with, written for moonwarp: host code in Lua, kernels in CUDA C.
-- Their numbers are checked against plain Lua.

local mw = require "moonwarp"
local tiers = require "support.tiers"
local random = require "support.random" "guide_spec"

local function random_list(n, least, most)
  local list = {}
  for i = 1, n do list[i] = random(least, most) end
  return list
end

local function check_equal(wanted, got, what)
  assert.equal(#wanted, #got, what)
  for i = 1, #wanted do
    if wanted[i] ~= got[i] then
      error(("%s: element %d is %s, not %s"):format(what, i, tostring(got[i]), tostring(wanted[i])), 2)
    end
  end
end

local text = [==[
// ---- vector addition

__global__ void add_vectors(const float *a, const float *b, float *c) {
  int i = threadIdx.x;
  c[i] = a[i] + b[i];
}

__global__ void add_many(const float *a, const float *b, float *c, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void add_matrices(const float *a, const float *b, float *c, int n) {
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < n && column < n) c[row * n + column] = a[row * n + column] + b[row * n + column];
}

// ---- matrix multiplication

struct Matrix {
  int width, height, stride; // stride: elements from one row to the next
  float *elements;
};

__device__ float GetElement(const Matrix m, int row, int column) { return m.elements[row * m.stride + column]; }
__device__ void SetElement(Matrix m, int row, int column, float value) { m.elements[row * m.stride + column] = value; }

#define TILE 16

// The tile of TILE x TILE elements in that row and column of tiles: a matrix in the same memory.
__device__ Matrix GetSubMatrix(Matrix m, int row, int column) {
  Matrix sub;
  sub.width = sub.height = TILE;
  sub.stride = m.stride;
  sub.elements = m.elements + m.stride * TILE * row + TILE * column;
  return sub;
}

// A thread for each element of c, reading its row of a and its column of b.
__global__ void multiply_naive(Matrix a, Matrix b, Matrix c) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= c.height || column >= c.width) return;
  float sum = 0;
  for (int k = 0; k < a.width; k++) sum += GetElement(a, row, k) * GetElement(b, k, column);
  SetElement(c, row, column, sum);
}

// A block for each tile of c: it goes along a's tiles and down b's, a pair of tiles at a time in shared memory.
__global__ void multiply_tiled(Matrix a, Matrix b, Matrix c) {
  Matrix mine = GetSubMatrix(c, blockIdx.y, blockIdx.x);
  int row = threadIdx.y, column = threadIdx.x;
  float sum = 0;
  for (int t = 0; t < a.width / TILE; t++) {
    Matrix from_a = GetSubMatrix(a, blockIdx.y, t), from_b = GetSubMatrix(b, t, blockIdx.x);
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    left[row][column] = GetElement(from_a, row, column);
    right[row][column] = GetElement(from_b, row, column);
    __syncthreads(); // both tiles are there
    for (int k = 0; k < TILE; k++) sum += left[row][k] * right[k][column];
    __syncthreads(); // and no longer needed
  }
  SetElement(mine, row, column, sum);
}

// ---- one piece of shared memory, sized at launch, for three arrays

__global__ void carve(short *shorts, float *floats, int *ints) {
  extern __shared__ char memory[];
  short *array0 = (short *)memory;
  float *array1 = (float *)&array0[128];
  int *array2 = (int *)&array1[64];
  for (int i = threadIdx.x; i < 128; i += blockDim.x) array0[i] = (short)(i * i);
  for (int i = threadIdx.x; i < 64; i += blockDim.x) array1[i] = i * 0.25f;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) array2[i] = -1000000 * i;
  __syncthreads();
  // Read what other threads wrote.
  for (int i = threadIdx.x; i < 128; i += blockDim.x) shorts[i] = array0[127 - i];
  for (int i = threadIdx.x; i < 64; i += blockDim.x) floats[i] = array1[63 - i];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) ints[i] = array2[255 - i];
}

// ---- symbols

__constant__ float constant_data[256];
__device__ float device_value;
__device__ float *device_pointer;

__global__ void use_symbols(float *out, int n) {
  int i = threadIdx.x;
  if (i < n) {
    out[i] = constant_data[i] * device_value;
    device_pointer[i] += out[i];
  }
  __syncthreads();
  if (i == 0) device_value += 1;
}

// ---- a sum in one launch: the last block to finish adds up what the blocks found

__device__ unsigned int finished = 0;
__shared__ bool is_last;

__device__ float sum_of_part(const float *a, int n) {
  __shared__ float cell[256];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
  cell[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) cell[threadIdx.x] += cell[threadIdx.x + half];
  }
  return cell[0];
}

__device__ float sum_of_parts(volatile float *parts) {
  __shared__ float cell[256];
  float sum = 0;
  for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += parts[i];
  cell[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) cell[threadIdx.x] += cell[threadIdx.x + half];
  }
  return cell[0];
}

__global__ void sum(const float *a, int n, volatile float *result) {
  float part = sum_of_part(a, n);
  if (threadIdx.x == 0) {
    result[blockIdx.x] = part;
    __threadfence(); // the part is seen before the count
    unsigned int before = atomicInc(&finished, gridDim.x);
    is_last = before == gridDim.x - 1;
  }
  __syncthreads();
  if (is_last) {
    float total = sum_of_parts(result);
    if (threadIdx.x == 0) {
      result[0] = total;
      finished = 0;
    }
  }
}

// ---- histograms

__global__ void histogram(const unsigned char *data, int n, unsigned int *bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x;
  for (; i < n; i += step) atomicAdd(&bins[data[i]], 1);
}

__global__ void histogram_shared(const unsigned char *data, int n, unsigned int *bins) {
  __shared__ unsigned int mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x, step = blockDim.x * gridDim.x;
  for (; i < n; i += step) atomicAdd(&mine[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}
]==]

local function product(a, b, height, depth, width)
  local c = {}
  for row = 0, height - 1 do
    for column = 0, width - 1 do
      local total = 0
      for k = 0, depth - 1 do total = total + a[row * depth + k + 1] * b[k * width + column + 1] end
      c[row * width + column + 1] = total
    end
  end
  return c
end

for _, tier in ipairs(tiers) do
  describe("the guide's program, " .. tier.name .. ",", function()
    local m = mw.compile { source = text, options = tier.options }

    it("that adds two vectors of one block", function()
      local a, b = random_list(200, -1000, 1000), random_list(200, -1000, 1000)
      local c = mw.zeros(200)
      m.add_vectors(1, 200)(mw.array(a), mw.array(b), c)
      local wanted = {}
      for i = 1, 200 do wanted[i] = a[i] + b[i] end
      check_equal(wanted, c:totable(), "sums")
    end)

    it("that adds two vectors of any length", function()
      for _, n in ipairs { 1, 255, 256, 257, 10000 } do
        local a, b, wanted = random_list(n, -1000, 1000), random_list(n, -1000, 1000), {}
        for i = 1, n do wanted[i] = a[i] + b[i] end
        local c = mw.zeros(n)
        m.add_many(mw.cdiv(n, 256), 256)(mw.array(a), mw.array(b), c, n)
        check_equal(wanted, c:totable(), n .. " sums")
      end
    end)

    it("that adds two matrices", function()
      local n = 45
      local a, b, wanted = random_list(n * n, 0, 99), random_list(n * n, 0, 99), {}
      for i = 1, n * n do wanted[i] = a[i] + b[i] end
      local c = mw.zeros(n * n)
      m.add_matrices({ mw.cdiv(n, 16), mw.cdiv(n, 16) }, { 16, 16 })(mw.array(a), mw.array(b), c, n)
      check_equal(wanted, c:totable(), "sums")
    end)

    -- Whole numbers, small enough for the sums to be exact in any order.
    local function check_product(kernel, height, depth, width)
      local a, b = random_list(height * depth, -9, 9), random_list(depth * width, -9, 9)
      local c = mw.zeros { height, width }
      local function matrix(array, rows, columns)
        return { width = columns, height = rows, stride = columns, elements = array }
      end
      kernel({ mw.cdiv(width, 16), mw.cdiv(height, 16) }, { 16, 16 })(matrix(mw.array(a), height, depth),
        matrix(mw.array(b), depth, width), matrix(c, height, width))
      check_equal(product(a, b, height, depth, width), c:reshape(height * width):totable(),
        ("%dx%d times %dx%d"):format(height, depth, depth, width))
    end

    it("that multiplies matrices of any size, structs by value", function()
      check_product(m.multiply_naive, 32, 48, 16)
      check_product(m.multiply_naive, 17, 5, 33)
      check_product(m.multiply_naive, 1, 1, 1)
    end)

    it("that multiplies matrices by tiles in shared memory", function()
      check_product(m.multiply_tiled, 16, 16, 16)
      check_product(m.multiply_tiled, 32, 48, 64)
    end)

    it("that carves short[128], float[64] and int[256] out of one piece of shared memory", function()
      for _, threads in ipairs { 1, 64, 100, 256 } do
        local shorts, floats, ints = mw.zeros(128, "short"), mw.zeros(64), mw.zeros(256, "int")
        m.carve(1, threads, 128 * 2 + 64 * 4 + 256 * 4)(shorts, floats, ints)
        for i = 0, 127 do assert.equal((127 - i) ^ 2, shorts[i + 1]) end
        for i = 0, 63 do assert.equal((63 - i) / 4, floats[i + 1]) end
        for i = 0, 255 do assert.equal(-1000000 * (255 - i), ints[i + 1]) end
      end
    end)

    it("that copies symbols in both directions", function()
      local data = random_list(256, -1000, 1000)
      m.constant_data = data
      m.device_value = 3.5
      local target, out = mw.full(256, 10), mw.zeros(200)
      m.device_pointer = target
      check_equal(data, m.constant_data, "constant_data")
      assert.equal(3.5, m.device_value)
      m.use_symbols(1, 256)(out, 200)
      local wanted, beneath = {}, {}
      for i = 1, 256 do
        if i <= 200 then wanted[i] = data[i] * 3.5 end
        beneath[i] = 10 + (wanted[i] or 0)
      end
      check_equal(wanted, out:totable(), "what the kernel read")
      check_equal(beneath, target:totable(), "what it wrote through a pointer")
      assert.equal(4.5, m.device_value)
      m:symbol "constant_data":set_bytes(string.pack("<f", 7), 4 * 100)
      assert.equal(7, m.constant_data[101])
      assert.equal(data[100], m.constant_data[100])
      assert.equal(1024, m:symbol "constant_data".size)
    end)

    it("that sums up in one launch, by its last block", function()
      for _, n in ipairs { 1, 1000, 100000 } do
        local list, total = random_list(n, -100, 100), 0
        for i = 1, n do total = total + list[i] end
        local a = mw.array(list)
        for _, grid in ipairs { 1, 2, 7, 64, 300 } do
          local result = mw.zeros(grid)
          m.sum(grid, 256)(a, n, result)
          assert.equal(total, result[1], ("%d elements in %d blocks"):format(n, grid))
          assert.equal(0, m.finished)
        end
      end
    end)

    it("that counts how often each byte occurs", function()
      local n = 20000
      local list, wanted = {}, {}
      for i = 0, 255 do wanted[i + 1] = 0 end
      for i = 1, n do
        list[i] = random(3) == 1 and 65 or random(0, 255) // (1 + i % 3)
        wanted[list[i] + 1] = wanted[list[i] + 1] + 1
      end
      local data = mw.array(list, "uchar")
      for _, name in ipairs { "histogram", "histogram_shared" } do
        for _, shape in ipairs { { 1, 33 }, { 8, 256 }, { 100, 100 } } do
          local bins = mw.zeros(256, "uint")
          m[name](shape[1], shape[2])(data, n, bins)
          check_equal(wanted, bins:totable(), ("%s, %d blocks of %d"):format(name, shape[1], shape[2]))
        end
      end
    end)
  end)
end
