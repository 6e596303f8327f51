-- Atomic functions on global and shared memory: results, old values, wrap-around, scopes, and what is built from them.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local random = require "support.random" "device_atomics_spec"

local function list(n, make)
  local t = {}
  for i = 1, n do t[i] = make(i) end
  return t
end

local function u32(x) return x & 0xffffffff end
local function s32(x)
  x = u32(x)
  return x >= 1 << 31 and x - (1 << 32) or x
end

-- The operations on integers: what they do to `old`, in 64 bits; CUDA's types that have them.
local operations = {
  Add = { types = "int uint ulonglong", function(old, value) return old + value end },
  Sub = { types = "int uint", function(old, value) return old - value end },
  Exch = { types = "int uint ulonglong", function(_, value) return value end },
  Min = { types = "int uint longlong ulonglong", math.min },
  Max = { types = "int uint longlong ulonglong", math.max },
  And = { types = "int uint ulonglong", function(old, value) return old & value end },
  Or = { types = "int uint ulonglong", function(old, value) return old | value end },
  Xor = { types = "int uint ulonglong", function(old, value) return old ~ value end },
  Inc = { types = "uint", function(old, limit) return old >= limit and 0 or old + 1 end },
  Dec = { types = "uint", function(old, limit) return (old == 0 or old > limit) and limit or old - 1 end },
}
local c_name = { int = "int", uint = "unsigned int", longlong = "long long", ulonglong = "unsigned long long" }
-- 64-bit tests stay below 2^62, where signed and unsigned are one to Lua
local wrap = { int = s32, uint = u32, longlong = function(x) return x end, ulonglong = function(x) return x end }

local function each_operation(visit)
  for name, operation in pairs(operations) do
    for dtype in operation.types:gmatch "%S+" do visit(name, dtype, operation[1], wrap[dtype]) end
  end
end

local function draw(dtype)
  if dtype == "int" then return s32(random(0, 0xffffffff)) end
  if dtype == "uint" then return random(0, 0xffffffff) end
  if dtype == "longlong" then return random(-(1 << 61), 1 << 61) end
  return random(0, 1 << 61)
end

describe("an atomic function", function()
  -- In global memory with each scope, then in shared memory.
  local source = {}
  each_operation(function(name, dtype)
    source[#source + 1] = ([[
__global__ void NAME_DTYPE(TYPE *cell, const TYPE *value, TYPE *old) {
  __shared__ TYPE own[64];
  int i = threadIdx.x;
  own[i] = cell[192 + i];
  __syncthreads();
  old[i] = atomicNAME(&cell[i], value[i]);
  old[64 + i] = atomicNAME_block(&cell[64 + i], value[i]);
  old[128 + i] = atomicNAME_system(&cell[128 + i], value[i]);
  old[192 + i] = atomicNAME(&own[i], value[i]);
  __syncthreads();
  cell[192 + i] = own[i];
}]]):gsub("NAME", name):gsub("DTYPE", dtype):gsub("TYPE", c_name[dtype])
  end)
  local m = mw.compile(table.concat(source, "\n"))

  it("stores the result and returns the old value, in every type, scope and memory", function()
    each_operation(function(name, dtype, lua, wrapped)
      local cells = list(256, function() return draw(dtype) end)
      local values = list(64, function(i) return i <= 8 and cells[i] or draw(dtype) end)
      if name == "Inc" or name == "Dec" then
        for i = 1, 256 do
          if i % 64 < 32 then cells[i], values[(i - 1) % 64 + 1] = random(0, 4), random(0, 3) end
        end
      end
      local expected = list(256, function(i) return wrapped(lua(cells[i], values[(i - 1) % 64 + 1])) end)
      local cell, old = mw.array(cells, dtype), mw.zeros(256, dtype)
      m[name .. "_" .. dtype](1, 64)(cell, mw.array(values, dtype), old)
      assert.same(cells, old:totable(), name .. " " .. dtype)
      assert.same(expected, cell:totable(), name .. " " .. dtype)
    end)
  end)

  it("adds and exchanges floating-point numbers", function()
    local k = mw.compile [[
__global__ void k(float *f, double *d, const float *x, float *old, double *old_d) {
  int i = threadIdx.x;
  old[3 * i] = atomicAdd(&f[2 * i], x[i]);
  old[3 * i + 1] = atomicAdd_block(&f[2 * i], x[i]);
  old[3 * i + 2] = atomicExch(&f[2 * i + 1], x[i]);
  old_d[2 * i] = atomicAdd(&d[i], (double)x[i]);
  old_d[2 * i + 1] = atomicAdd_system(&d[i], 1.0);
}]]
    local xs = list(32, function() return random(-1000, 1000) / 8 end)
    local f, d = mw.ones(64), mw.full(32, 0.5, "double")
    local old, old_d = mw.zeros(96), mw.zeros(64, "double")
    k.k(1, 32)(f, d, mw.array(xs), old, old_d)
    for i, x in ipairs(xs) do
      assert.same({ 1 + 2 * x, x }, { f[2 * i - 1], f[2 * i] })
      assert.same({ 1, 1 + x, 1 }, { old[3 * i - 2], old[3 * i - 1], old[3 * i] })
      assert.same({ 1.5 + x, 0.5, 0.5 + x }, { d[i], old_d[2 * i - 1], old_d[2 * i] })
    end
  end)

  it("compares and swaps in every type, by the bits", function()
    local k = mw.compile [[
template <typename T> __device__ void both(T *cell, int *out) {
  cell[0] = 5;
  out[0] = atomicCAS(cell, (T)5, (T)7) == 5; out[1] = cell[0] == 7;
  out[2] = atomicCAS(cell, (T)5, (T)9) == 7; out[3] = cell[0] == 7;
  out[4] = atomicCAS_block(cell, (T)7, (T)8) == 7; out[5] = atomicCAS_system(cell, (T)8, (T)9) == 8;
}
__global__ void k(int *out) {
  __shared__ unsigned short a[2];
  __shared__ int b; __shared__ unsigned c; __shared__ unsigned long long d;
  a[1] = 0xabcd;
  both(&a[0], out); both(&b, out + 6); both(&c, out + 12); both(&d, out + 18);
  out[24] = a[1] == 0xabcd;
  __shared__ float zero; // a GPU has no atomic functions of a thread's own memory
  zero = -0.0f;
  out[25] = atomicCAS((int *)&zero, 0, 1) == (int)0x80000000;
}]]
    local out = mw.zeros(26, "int")
    k.k(1, 1)(out)
    for i, value in ipairs(out:totable()) do assert.equal(1, value, "check " .. i) end
  end)

  it("takes pointers of any memory, and to members", function()
    local k = mw.compile [[
struct Counter { float pad; unsigned hits; unsigned long long sum; };
__device__ Counter total;
__device__ int list[8];
__device__ void hit(Counter *c, int i) { atomicAdd(&c->hits, 1u); atomicAdd(&c->sum, (unsigned long long)i); }
__global__ void k(void *memory) {
  Counter *given = (Counter *)memory;
  __shared__ Counter own;
  if (threadIdx.x == 0) own.hits = 0, own.sum = 0;
  __syncthreads();
  hit(&own, threadIdx.x); hit(given, threadIdx.x); hit(&total, threadIdx.x);
  atomicMax(&list[threadIdx.x % 8], (int)threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) { hit(given, own.hits); hit(given, (int)own.sum); }
}]]
    local given = mw.zeros(6, "uint")
    k.k(1, 100)(given)
    assert.same({ 0, 102, 4950 + 100 + 4950, 0 }, { given[1], given[2], given[3], given[4] })
    assert.same({ 96, 97, 98, 99, 92, 93, 94, 95 }, k.list)
  end)
end)

describe("threads that contend", function()
  local m = mw.compile [=[
__global__ void tickets(int *counter, int *taken) { atomicAdd(&taken[atomicAdd(counter, 1)], 1); }

__global__ void sums(int n, const int *x, int *sum, unsigned *low, int *high, unsigned *bits, float *real, double *wide,
                     unsigned long long *total) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sum, x[i]);
  atomicMin(low, (unsigned)x[i]);
  atomicMax(high, x[i]);
  atomicXor(bits, 1u << (x[i] & 31));
  atomicAdd(real, 1.0f);
  atomicAdd(wide, (double)x[i]);
  atomicAdd(total, (unsigned long long)x[i] << 20);
}

__global__ void histogram(int n, const unsigned char *x, unsigned *bins) {
  __shared__ unsigned own[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd_block(&own[x[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

__global__ void ring(unsigned *up, unsigned *down, unsigned limit) { atomicInc(up, limit); atomicDec(down, limit); }

// A maximum of floats, which CUDA has no atomic function for: from compare and swap.
__device__ float atomicMax(float *address, float value) {
  int old = __float_as_int(*address);
  while (value > __int_as_float(old)) {
    int assumed = old;
    old = atomicCAS((int *)address, assumed, __float_as_int(value));
    if (old == assumed) break;
  }
  return __int_as_float(old);
}
__global__ void greatest(int n, const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(out, x[i]);
}

// The programming guide's sum in one launch: the block that is done last adds up the partial sums.
__device__ unsigned count = 0;
__shared__ bool isLastBlockDone;
__global__ void sum(const float *array, unsigned n, volatile float *result) {
  __shared__ float part[128];
  float partial = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) partial += array[i];
  part[threadIdx.x] = partial;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (unsigned i = 0; i < blockDim.x; ++i) total += part[i];
    result[blockIdx.x] = total;
    __threadfence();
    unsigned value = atomicInc(&count, gridDim.x);
    isLastBlockDone = value == gridDim.x - 1;
  }
  __syncthreads();
  if (isLastBlockDone && threadIdx.x == 0) {
    float total = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) total += result[i];
    result[0] = total;
    count = 0;
  }
}
]=]

  it("each draw a ticket of their own", function()
    local counter, taken = mw.zeros(1, "int"), mw.zeros(20000, "int")
    m.tickets(100, 200)(counter, taken)
    assert.equal(20000, counter[1])
    for _, times in ipairs(taken:totable()) do assert.equal(1, times) end
  end)

  it("lose nothing", function()
    local n = 30000
    local xs = list(n, function() return random(0, 1000000) end)
    local sum, low, high, bits = 0, math.huge, 0, 0
    for _, x in ipairs(xs) do
      sum, low, high, bits = sum + x, math.min(low, x), math.max(high, x), bits ~ 1 << (x & 31)
    end
    local s, h, l, b = mw.zeros(1, "int"), mw.zeros(1, "int"), mw.full(1, 0xffffffff, "uint"), mw.zeros(1, "uint")
    local real, wide, total = mw.zeros(1), mw.zeros(1, "double"), mw.zeros(1, "ulonglong")
    m.sums(mw.cdiv(n, 256), 256)(n, mw.array(xs, "int"), s, l, h, b, real, wide, total)
    assert.equal(s32(sum), s[1])
    assert.equal(low, l[1])
    assert.equal(high, h[1])
    assert.equal(bits, b[1])
    assert.equal(n, real[1])
    assert.equal(sum, wide[1]) -- sums of integers are exact in any order
    assert.equal(sum << 20, total[1])
  end)

  it("count a histogram in shared memory", function()
    local n, xs, expected = 50000, {}, list(256, function() return 0 end)
    for i = 1, n do
      xs[i] = random(0, 255) & random(0, 255)
      expected[xs[i] + 1] = expected[xs[i] + 1] + 1
    end
    local bins = mw.zeros(256, "uint")
    m.histogram(24, 192)(n, mw.array(xs, "uchar"), bins)
    assert.same(expected, bins:totable())
  end)

  it("go round with atomicInc and atomicDec", function()
    local up, down = mw.zeros(1, "uint"), mw.array({ 5 }, "uint")
    m.ring(50, 100)(up, down, 6) -- 5000 steps on a ring of 7
    assert.equal(5000 % 7, up[1])
    assert.equal((5 - 5000) % 7, down[1])
  end)

  it("agree on a maximum by compare and swap", function()
    local n = 20000
    local xs = list(n, function() return random(-1000000, 1000000) / 16 end)
    local out = mw.full(1, -1e30)
    m.greatest(mw.cdiv(n, 128), 128)(n, mw.array(xs), out)
    local greatest = -math.huge
    for _, x in ipairs(xs) do greatest = math.max(greatest, x) end
    assert.equal(greatest, out[1])
  end)

  it("find the last block by a fence and a counter, launch after launch", function()
    local n, blocks = 100000, 37
    local xs, total = list(n, function() return random(0, 3) end), 0
    for _, x in ipairs(xs) do total = total + x end
    local array = mw.array(xs)
    for _ = 1, 20 do
      local result = mw.zeros(blocks)
      m.sum(blocks, 128)(array, n, result)
      assert.equal(total, result[1])
    end
    assert.equal(0, m.count)
  end)

  it("add vectors, each component by itself", function()
    local vectors = mw.compile { options = { "-arch=sm_90" }, source = [[
      __global__ void add(float2 *two, float4 *four, float2 *old) {
        float x = threadIdx.x + 256.0f * blockIdx.x;
        float2 before = atomicAdd(two, make_float2(1, x));
        if (before.x == 0) *old = before;
        atomicAdd_block(&four[1 + blockIdx.x], make_float4(1, 2, 3, x));
        atomicAdd_system(four, make_float4(x, -1, 0.5f, 0));
      }]] }
    local two, four, old = mw.zeros(1, "float2"), mw.zeros(5, "float4"), mw.full(1, { 7, 7 }, "float2")
    vectors.add(4, 256)(two, four, old)
    assert.same({ 1024, 1023 * 512 }, two[1])
    assert.same({ 1023 * 512, -1024, 512, 0 }, four[1])
    for b = 0, 3 do assert.same({ 256, 512, 768, 255 * 128 + 65536 * b }, four[2 + b]) end
    assert.equal(0, old[1][1])
  end)
end)
