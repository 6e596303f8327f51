-- Joint atomics of all lanes at one address; atomics on shared memory, which become plain operations; and atomic loads
-- and stores, which are not moved.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local tiers = require "support.tiers"
local random = require "support.random" "atomics_spec"

local types = { { "int", "int" }, { "unsigned", "uint" }, { "unsigned long long", "ulonglong" } }

-- All threads add; then those that choose[i] selects; then each several times; and others subtract. The first half of
-- `old` is of global memory, the second of shared memory. NAME: of the dtype.
local drawing = [=[
__global__ void draw_NAME(const int *choose, const TYPE *value, TYPE *cell, TYPE *old, TYPE step) {
  __shared__ TYPE own[4];
  int i = threadIdx.x, n = blockDim.x;
  for (int k = i; k < 4; k += n) own[k] = cell[4 + k];
  __syncthreads();
  old[i] = atomicAdd(&cell[0], step);
  old[4 * n + i] = atomicAdd(&own[0], step);
  if (choose[i] & 1) {
    old[n + i] = atomicAdd(&cell[1], value[i]);
    old[5 * n + i] = atomicAdd(&own[1], value[i]);
  }
  for (int k = 0; k < choose[i]; k++) {
    old[2 * n + i] = atomicAdd(&cell[2], (TYPE)1);
    old[6 * n + i] = atomicAdd(&own[2], (TYPE)1);
  }
  if (choose[i] > 1) {
    old[3 * n + i] = atomicAdd(&cell[3], (TYPE)0 - value[i]);
    old[7 * n + i] = atomicAdd(&own[3], (TYPE)0 - value[i]);
  }
  __syncthreads();
  for (int k = i; k < 4; k += n) cell[4 + k] = own[k];
}
]=]

local source = {
  [=[
__global__ void reduce(const int *choose, const int *x, int *cell) {
  __shared__ int own[8];
  int i = threadIdx.x, n = blockDim.x;
  for (int k = i; k < 8; k += n) own[k] = cell[8 + k];
  __syncthreads();
  if (choose[i]) {
    int v = x[i];
    atomicAdd(&cell[0], v); atomicSub(&cell[1], v); atomicMin(&cell[2], v); atomicMax(&cell[3], v);
    atomicMin((unsigned *)&cell[4], (unsigned)v); atomicMax((unsigned *)&cell[5], (unsigned)v);
    atomicXor(&cell[6], v); atomicAnd(&cell[7], v | 1);
    atomicAdd(&own[0], v); atomicSub(&own[1], v); atomicMin(&own[2], v); atomicMax(&own[3], v);
    atomicMin((unsigned *)&own[4], (unsigned)v); atomicMax((unsigned *)&own[5], (unsigned)v);
    atomicXor(&own[6], v); atomicAnd(&own[7], v | 1);
  }
  __syncthreads();
  for (int k = i; k < 8; k += n) cell[8 + k] = own[k];
}
// A lock that each lane takes and gives back, and a maximum by compare and swap.
__global__ void swap(const int *x, int *out) {
  __shared__ int lock, most, count;
  if (threadIdx.x == 0) lock = 0, most = -1, count = 0;
  __syncthreads();
  for (bool done = false; !done;)
    if (atomicCAS(&lock, 0, 1) == 0) {
      count += x[threadIdx.x];
      atomicExch(&lock, 0);
      done = true;
    }
  int seen = most;
  while (x[threadIdx.x] > seen) {
    int before = atomicCAS(&most, seen, x[threadIdx.x]);
    if (before == seen) break;
    seen = before;
  }
  __syncthreads();
  out[0] = most;
  out[1] = count;
}
]=],
}
for _, t in ipairs(types) do
  source[#source + 1] = drawing:gsub("NAME", t[2]):gsub("TYPE", t[1])
end
source = table.concat(source, "\n")

local function list(n, make)
  local t = {}
  for i = 1, n do t[i] = make(i) end
  return t
end

local function s32(x) return (x + 0x80000000 & 0xffffffff) - 0x80000000 end

-- Whether the returned values are the partial sums of additions in some order.
local function check_chain(first, last, old, value, came, wrap)
  local by_old, count = {}, 0
  for i, v in ipairs(old) do
    if came(i) then
      assert.is_nil(by_old[v])
      by_old[v], count = i, count + 1
    end
  end
  local now = first
  for _ = 1, count do
    local i = assert(by_old[now], "nobody found " .. now)
    now = wrap(now + value(i))
  end
  assert.equal(last, now)
end

for _, tier in ipairs(tiers) do
  describe("atomics at one place, " .. tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }

    for _, t in ipairs(types) do
      local dtype = t[2]
      it("return unique " .. t[1] .. " numbers", function()
        local wrap = dtype == "int" and s32 or dtype == "uint" and function(x) return x & 0xffffffff end
          or function(x) return x end
        for _, n in ipairs { 1, 31, 64, 100, 256 } do
          local choose = list(n, function() return random(0, 4) end)
          local values = list(n, function() return random(1, 1 << 20) end)
          local cells = list(8, function() return random(0, 1 << 30) end)
          local step = random(1, 1000)
          local cell, old = mw.array(cells, dtype), mw.zeros(8 * n, dtype)
          m["draw_" .. dtype](1, n)(mw.array(choose, "int"), mw.array(values, dtype), cell, old, step)
          local function part(k)
            local all = old:totable()
            return table.move(all, k * n + 1, (k + 1) * n, 1, {})
          end
          for memory = 0, 1 do
            local function check(k, came, value)
              check_chain(cells[4 * memory + k + 1], cell[4 * memory + k + 1], part(4 * memory + k), value, came, wrap)
            end
            check(0, function() return true end, function() return step end)
            check(1, function(i) return choose[i] & 1 == 1 end, function(i) return values[i] end)
            check(3, function(i) return choose[i] > 1 end, function(i) return -values[i] end)
            local drawn, most, seen = 0, -1, {} -- the last number of each
            for i, v in ipairs(part(4 * memory + 2)) do
              drawn = drawn + choose[i]
              if choose[i] > 0 then
                assert.is_nil(seen[v])
                seen[v], most = true, math.max(most, v)
              end
            end
            local first = cells[4 * memory + 3]
            assert.equal(first + drawn, cell[4 * memory + 3])
            if drawn > 0 then assert.equal(first + drawn - 1, most) end
          end
        end
      end)
    end

    it("are reduced by every operation", function()
      for _, n in ipairs { 1, 33, 100, 256 } do
        local choose = list(n, function() return random(0, 2) end)
        local xs = list(n, function() return random(-(1 << 31), (1 << 31) - 1) end)
        local start = { 5, 7, 1 << 30, -(1 << 30), 1 << 30, 3, 0x5555, -1 }
        local want = table.move(start, 1, 8, 1, {})
        for i, x in ipairs(xs) do
          if choose[i] > 0 then
            want[1], want[2] = s32(want[1] + x), s32(want[2] - x)
            want[3], want[4] = math.min(want[3], x), math.max(want[4], x)
            want[5] = math.min(want[5], x & 0xffffffff)
            want[6] = math.max(want[6], x & 0xffffffff)
            want[7], want[8] = s32(want[7] ~ x), s32(want[8] & (x | 1))
          end
        end
        want[5], want[6] = s32(want[5]), s32(want[6])
        local cell = mw.array(table.move(start, 1, 8, 9, table.move(start, 1, 8, 1, {})), "int")
        m.reduce(1, n)(mw.array(choose, "int"), mw.array(xs, "int"), cell)
        assert.same(table.move(want, 1, 8, 9, want), cell:totable())
      end
    end)

    it("compare and swap in shared memory", function()
      for _, n in ipairs { 1, 64, 100 } do
        local xs, sum, most = list(n, function() return random(0, 1000000) end), 0, 0
        for _, x in ipairs(xs) do sum, most = sum + x, math.max(most, x) end
        local out = mw.zeros(2, "int")
        m.swap(1, n)(mw.array(xs, "int"), out)
        assert.same({ most, sum }, out:totable())
      end
    end)
  end)
end

describe("the code of atomics", function()
  local text = [=[
#include <cuda/atomic>
extern "C" __global__ void ticket(int *counter, int *taken) {
  taken[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(counter, 1);
}
extern "C" __global__ void shared_ones(const int *x, int *out) {
  __shared__ int bins[64];
  bins[threadIdx.x % 64] = 0;
  __syncthreads();
  out[threadIdx.x] = atomicAdd(&bins[x[threadIdx.x] & 63], 1);
  atomicMax(&bins[0], atomicCAS(&bins[1], 0, x[threadIdx.x]));
  __syncthreads();
  out[threadIdx.x] += bins[threadIdx.x % 64];
}
extern "C" __global__ void spin(int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  while (ready.load(cuda::memory_order_acquire) == 0) {}
  out[threadIdx.x] = flag[1];
  ready.store(2, cuda::memory_order_release);
}
]=]
  local ir = mwcc.run(text, "--verify --mcpu=x86-64-v4 --width=16 --emit=ir")
  local function code(prefix, name)
    return assert(ir:match("define [^\n]*@" .. prefix .. "[^\n]*" .. name .. "%(.-\n}\n"), name)
  end

  it("has one atomic for all lanes at one address", function()
    assert.equal(1, mwcc.count(code("row", "ticket"), "atomicrmw"))
    assert.equal(0, mwcc.count(code("row", "ticket"), "cttz"))
  end)

  it("has none on shared memory, in lanes and in the loop tier", function()
    assert.not_matches("atomicrmw", code("row", "shared_ones"))
    local alone = mwcc.run(text, "--verify --width=1 --emit=ir")
    assert.not_matches("atomicrmw", assert(alone:match "define [^\n]*@run%.shared_ones%.thread%(.-\n}\n"))
    assert.not_matches("cmpxchg", alone)
  end)

  it("counts the lanes before each of eight in bytes", function()
    local ranks = mwcc.run([=[
      __global__ void ranks(const int *choose, int *cell, int *old) {
        if (choose[threadIdx.x]) old[threadIdx.x] = atomicAdd(cell, 1);
      }]=], "--mcpu=x86-64-v3 --width=8 --emit=asm")
    assert.matches("pshufb", ranks)
    assert.not_matches("psadbw", ranks)
  end)

  it("has no fence instructions for block scope", function()
    local fences = mwcc.run([=[
      __global__ void fences(int *out) {
        out[threadIdx.x] = 1;
        __threadfence_block();
        out[threadIdx.x + 64] = 2;
      }]=], "--mcpu=x86-64-v4 --width=16 --emit=ir")
    assert.matches("fence acq_rel", fences)
    assert.not_matches("fence seq_cst", fences)
  end)

  it("loads memory in each iteration of a loop that waits", function()
    local loop = code("row", "spin")
    assert.matches("load volatile i32", loop)
    assert.matches("fence acquire", loop)
    assert.matches("fence release", loop)
    local shapes = mwcc.run(text, "--dump=shapes")
    assert.matches("gang%-uniform %(atomic load%)", shapes)
  end)
end)
