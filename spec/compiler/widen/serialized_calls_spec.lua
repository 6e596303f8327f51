-- Calls in kernels that run in lanes: each thread makes its own, in order, with its own ids.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local child = require "support.child"
local mwcc = require "support.mwcc"

local source = [==[
#include <assert.h>
#include <stdio.h>

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int place() {
  return threadIdx.x + 100 * threadIdx.y + 1000 * threadIdx.z + 10000 * blockIdx.x + 100000 * blockIdx.y;
}
__device__ int twice(int x) { return 2 * x; }
__device__ int less(int x) { return x - place(); }
typedef int function(int);
__device__ function *functions[3] = {twice, less, fibonacci};

struct shape { __device__ virtual int area(int scale) const { return scale; } };
struct square : shape {
  int side;
  __device__ int area(int scale) const override { return scale * side * side; }
};
struct box { int a[5]; };
__device__ __noinline__ int sum(box b, int *rounds) {
  int s = 0;
  for (int i = 0; i < 5; i++, ++*rounds) s += b.a[i];
  return s;
}

__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int number() {
  return linear() + (blockIdx.x + gridDim.x * blockIdx.y) * blockDim.x * blockDim.y * blockDim.z;
}

__global__ void recursion(int *out) {
  int i = number();
  out[i] = i % 3 ? fibonacci(i % 12) : -1;
}

__global__ void identity(int *out) { out[number()] = place(); }

__global__ void pointers(int *out) {
  int i = number();
  out[i] = functions[i % 3](i % 20);
}

__global__ void virtuals(int *out) {
  int i = number();
  shape any;
  square one;
  one.side = i;
  const shape *s = i % 5 ? (const shape *)&one : &any;
  out[i] = s->area(3);
}

__global__ void by_value(int *out) {
  int i = number(), rounds = i;
  box b;
  for (int k = 0; k < 5; k++) b.a[k] = i * k;
  int s = 0;
  if (i & 1) s = sum(b, &rounds);
  out[i] = s * 100 + rounds;
}

__global__ void allocation(int *out) {
  int i = number(), *p = (int *)malloc((i % 7 + 1) * sizeof(int));
  for (int k = 0; k <= i % 7; k++) p[k] = i + k;
  int s = 0;
  for (int k = 0; k <= i % 7; k++) s += p[k];
  if (i % 2) free(p);
  out[i] = s;
  if (i % 2 == 0) free(p);
}

__global__ void behind_barriers(int *out) {
  __shared__ int cell[1024];
  int i = linear();
  cell[i] = fibonacci(i % 9);
  __syncthreads();
  if (i % 4 == 1) cell[i] += fibonacci(cell[i] % 6);
  __syncthreads();
  out[number()] = cell[blockDim.x * blockDim.y * blockDim.z - 1 - i];
}

__global__ void fill(unsigned char *out, int n) {
  int i = number();
  memset(out + i * 300, i + 1, i % 2 ? n : 299); // lengths that are not known, or large
}

__global__ void fails(int *out, int which) {
  int i = number();
  assert(i != which);
  out[i] = 1;
}

__device__ __noinline__ void set(int *p, int value) { *p = value; }
__global__ void faults(int *out, int which) {
  int i = number();
  set(i == which ? (int *)64 : out + i, 1);
}

__global__ void traps(int which) {
  if (number() == which) __trap();
}

__global__ void prints() {
  int i = threadIdx.x;
  for (int k = 0; k < i % 3; k++)
    if (i % 4) printf("%d.%d ", i, k);
}
]==]

local function fibonacci(n) return n < 2 and n or fibonacci(n - 1) + fibonacci(n - 2) end

-- By kernel: the result of thread i of the launch, with its ids.
local models = {
  recursion = function(i) return i % 3 ~= 0 and fibonacci(i % 12) or -1 end,
  identity = function(_, place) return place end,
  pointers = function(i, place)
    local x = i % 20
    return i % 3 == 0 and 2 * x or i % 3 == 1 and x - place or fibonacci(x)
  end,
  virtuals = function(i) return i % 5 ~= 0 and 3 * i * i or 3 end,
  by_value = function(i) return i % 2 == 1 and i * 10 * 100 + i + 5 or i end,
  allocation = function(i)
    local n = i % 7
    return (n + 1) * i + n * (n + 1) // 2
  end,
  behind_barriers = function(_, _, j)
    local value = fibonacci(j % 9)
    if j % 4 == 1 then value = value + fibonacci(value % 6) end
    return value
  end,
}

local launches = {
  { grid = { 3 }, block = { 37 } },
  { grid = { 2, 2 }, block = { 5, 3, 2 } },
  { grid = { 2 }, block = { 64 } },
  { grid = { 2 }, block = { 8, 8, 2 } },
}

local gangs = { { width = "4", lanes = 4 }, { width = "16", lanes = 16 }, { width = "64", lanes = 64 },
  { width = "8x4", lanes = 32 } }

-- Calls f(number, place, linear id counted from the block's end) for each thread.
local function each_thread(launch, f)
  local gx, gy = launch.grid[1], launch.grid[2] or 1
  local bx, by, bz = launch.block[1], launch.block[2] or 1, launch.block[3] or 1
  local number = 0
  for block_y = 0, gy - 1 do
    for block_x = 0, gx - 1 do
      local linear = 0
      for z = 0, bz - 1 do
        for y = 0, by - 1 do
          for x = 0, bx - 1 do
            f(number, x + 100 * y + 1000 * z + 10000 * block_x + 100000 * block_y, bx * by * bz - 1 - linear)
            number, linear = number + 1, linear + 1
          end
        end
      end
    end
  end
  return number
end

for _, gang in ipairs(gangs) do
  local width = gang.width
  describe(("calls in %s lanes:"):format(width), function()
    local m
    setup(function() m = mw.compile { source = source, options = { "--width=" .. width } } end)

    for name, model in pairs(models) do
      it((name:gsub("_", " ")), function()
        assert.equal("simd", m[name].tier, m[name].tier_reason)
        for _, launch in ipairs(launches) do
          local wanted = {}
          local count = each_thread(launch, function(i, place, from_end) wanted[i + 1] = model(i, place, from_end) end)
          local out = mw.zeros(count, "int")
          m[name](launch.grid, launch.block)(out)
          assert.same(wanted, out:totable())
        end
      end)
    end

    it("fill memory with lengths of their own", function()
      assert.equal("simd", m.fill.tier, m.fill.tier_reason)
      local out = mw.zeros(40 * 300, "uchar")
      m.fill(2, 20)(out, 7)
      local got = out:totable()
      for i = 0, 39 do
        for k = 0, 299 do
          local wanted = k < (i % 2 == 1 and 7 or 299) and i + 1 or 0
          local byte = got[i * 300 + k + 1]
          if byte ~= wanted then error(("byte %d of thread %d is %d"):format(k, i, byte)) end
        end
      end
    end)

    for _, name in ipairs { "fails", "faults" } do
      it(("name the thread that %s"):format(name), function()
        assert.equal("simd", m[name].tier, m[name].tier_reason)
        local result = child({
          [=[
            local mw = require "moonwarp"
            local m = mw.compile { source = arg[1], options = { arg[2] } }
            local out = mw.zeros(200, "int")
            m[arg[3]]({ 2, 2 }, { 5, 5, 2 })(out, 192)
            print(pcall(mw.synchronize))
          ]=], source, "--width=" .. width, name,
        })
        assert.matches("false", result.output)
        assert.matches("block %(1,1,0%), thread %(2,3,1%)", result.output)
        if name == "fails" then assert.matches("block: %[1,1,0%], thread: %[2,3,1%]", result.output) end
      end)
    end

    it("name the thread that traps", function()
      assert.equal("simd", m.traps.tier, m.traps.tier_reason)
      local ok, why = pcall(function()
        m.traps(2, 70)(70 + 33)
        mw.synchronize()
      end)
      assert.is_false(ok)
      assert.matches("block %(1,0,0%), thread %(33,0,0%)", tostring(why))
    end)

    it("print in the order of the threads", function()
      assert.equal("simd", m.prints.tier, m.prints.tier_reason)
      local result = child({
        [[
          local mw = require "moonwarp"
          local m = mw.compile { source = arg[1], options = { arg[2] } }
          m.prints(1, 64)()
          mw.synchronize()
        ]], source, "--width=" .. width,
      })
      local wanted = {}
      for first = 0, 63, gang.lanes do
        for k = 0, 1 do
          for i = first, first + gang.lanes - 1 do
            if k < i % 3 and i % 4 ~= 0 then wanted[#wanted + 1] = ("%d.%d "):format(i, k) end
          end
        end
      end
      assert.equal(table.concat(wanted), result.output)
    end)
  end)
end

describe("a call in lanes", function()
  -- The verifier wants a location of it, and code of another file than the kernel's has none of its own.
  it("is valid where all code before it was inlined from a header", function()
    local text, status = mwcc.try([==[
# 1 "far.h" 1
__device__ __noinline__ void far(float *p) { for (int i = 0; i < 3; i++) *p += *p * i; }
__device__ inline void near(float *p, int n) { if (threadIdx.x < n) far(p + threadIdx.x); }
# 2 "near.cu" 2
__global__ void k(float *p, int n) { near(p, n); }
]==], "--verify --emit=ir")
    assert.equal(0, status, text)
    assert.matches("call void @_Z3farPf%(ptr [^\n]*!dbg", text)
  end)
end)
