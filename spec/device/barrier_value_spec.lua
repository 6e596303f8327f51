-- Values across barriers: earlier addresses and loads, stores of other threads, and values that threads race for.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local suite = require "support.suite"
local lists = require "support.models.lists"
require "support.random" "barrier_value_spec"

local random_list, check_equal = lists.random, lists.check_equal

describe("an atomic after a barrier", function()
  -- Only the address is saved at the barrier, not the values from which it was computed.
  for _, width in ipairs { "4", "16", "4x2" } do
    it("finds its address, with " .. width .. " lanes", function()
      local m = mw.compile {
        source = [[
          __global__ void k(int *out) {
            __shared__ int count[64];
            __shared__ float other[64];
            int t = threadIdx.x;
            count[t] = 0;
            int none = __syncthreads_and(0);
            other[t] = t;
            __syncthreads();
            atomicOr(&count[threadIdx.x], 1 + none);
            __syncthreads();
            out[t] = count[t];
          }]],
        options = { "--width=" .. width },
      }
      for _, threads in ipairs { 8, 10, 64 } do
        local out = mw.zeros(threads, "int")
        m.k(1, threads)(out)
        assert.equal(threads, out:sum())
      end
    end)
  end
end)

describe("a pointer that is __restrict__", function()
  -- Only this thread may write through it by another pointer: other threads may by the same.
  it("reads what other threads wrote before a barrier, also in a sine and a cosine", function()
    if suite.on_gpu then return pending "CPU device only: NVIDIA's compiler takes restrict at its word" end
    local m = mw.compile [[__global__ void k(float *__restrict__ x, float *o) {
      int t = threadIdx.x;
      float a = sinf(x[t]);
      __syncthreads();
      x[t + 1] = a;
      __syncthreads();
      o[t] = cosf(x[t]); }]]
    local list = {}
    for i = 1, 65 do list[i] = i / 16 end
    local o = mw.zeros(64)
    m.k(1, 64)(mw.array(list), o)
    for i, got in ipairs(o:totable()) do
      assert.near(math.cos(i == 1 and list[1] or math.sin(list[i - 1])), got, 1e-6)
    end
  end)
end)

describe("values that threads race for", function()
  -- Kernels in which threads write what others read between the same barriers: which value a thread gets is open, but
  -- not what it computes from it.
  local loads = {
    ["shared memory"] = "s[0]",
    ["volatile shared memory"] = "*(volatile int *)&s[0]",
    ["global memory"] = "g[0]",
    ["volatile global memory"] = "*(volatile int *)&g[0]",
    ["global memory by __ldcg"] = "__ldcg(g)",
    ["an atomic operation"] = "atomicAdd(&s[0], 0)",
    ["cuda::atomic_ref"] = "cuda::atomic_ref<int, cuda::thread_scope_block>(s[0]).load(cuda::memory_order_relaxed)",
  }
  for name, load in pairs(loads) do
    it("stays in the local that it was loaded into, from " .. name, function()
      local m = mw.compile([[#include <cuda/atomic>
        __global__ void k(int *out, int *g) {
          __shared__ int s[8];
          if (threadIdx.x == 0) s[0] = g[0] = 5;
          __syncthreads();
          int got = ]] .. load .. [[;
          out[threadIdx.x] = got;
          if (threadIdx.x % 32 == 0) *(volatile int *)&s[threadIdx.x / 32] = *(volatile int *)&g[threadIdx.x / 32] = 32;
          __syncthreads();
          out[threadIdx.x + blockDim.x] = got;
        }]])
      for _, threads in ipairs { 64, 128, 256 } do
        local out, g = mw.zeros(2 * threads, "int"), mw.zeros(8, "int")
        m.k(1, threads)(out, g)
        local before, after = {}, {}
        for i = 1, threads do before[i], after[i] = out[i], out[threads + i] end
        for i = 1, threads do assert(before[i] == 5 or before[i] == 32, before[i]) end
        assert.equal(5, before[1])
        assert.same(before, after)
      end
    end)
  end

  it("may lead some of a block past a barrier, with all that they computed", function()
    local m = mw.compile [[__global__ void k(int *p, const int *in, int *seen, int *out) {
      int first = *p, mine = in[threadIdx.x];
      seen[threadIdx.x] = first;
      if (threadIdx.x == 0) *p = 1;
      int *place = first ? out + threadIdx.x : out + blockDim.x + threadIdx.x;
      if (first == 0) __syncthreads();
      *place = mine;
    }]]
    for _, threads in ipairs { 64, 200, 256, 1024 } do
      local list = random_list(threads, -1000, 1000)
      local p, seen, out = mw.zeros(1, "int"), mw.zeros(threads, "int"), mw.zeros(2 * threads, "int")
      m.k(1, threads)(p, mw.array(list, "int"), seen, out)
      local wanted = {}
      for i = 1, threads do
        wanted[i], wanted[threads + i] = 0, 0
        wanted[seen[i] == 0 and threads + i or i] = list[i]
      end
      check_equal(wanted, out:totable(), threads .. " threads")
    end
  end)

  it("may lead some to another barrier, in another round of a loop", function()
    local m = mw.compile [[__global__ void k(int *p, int n, int *out) {
      int digits = 0, last = 0;
      for (int i = 0; i < n; i++) {
        int first = p[i];
        if (threadIdx.x == 0) p[i] = 1;
        if (first == 0) __syncthreads();
        if (first == 1 && i % 3 == 0) { last = i; __syncthreads(); }
        digits = 10 * digits + i;
      }
      out[threadIdx.x] = digits;
      out[blockDim.x + threadIdx.x] = last;
    }]]
    for _, threads in ipairs { 64, 256 } do
      local p, out = mw.zeros(8, "int"), mw.zeros(2 * threads, "int")
      m.k(1, threads)(p, 8, out)
      for i = 1, threads do
        assert.equal(1234567, out[i])
        assert(out[threads + i] == 0 or out[threads + i] == 6, out[threads + i])
      end
    end
  end)

  it("may end a loop with barriers for some sooner than for others", function()
    local m = mw.compile [[__global__ void k(int *left, int *rounds) {
      __shared__ int turn[1024];
      int count = 0;
      while (*left > 0) {
        turn[threadIdx.x] = count;
        __syncthreads();
        count += turn[threadIdx.x] == count;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) --*left;
      }
      rounds[threadIdx.x] = count;
    }]]
    for _, threads in ipairs { 64, 256 } do
      local left, rounds = mw.array({ 5 }, "int"), mw.zeros(threads, "int")
      m.k(1, threads)(left, rounds)
      assert.equal(0, left[1])
      assert.equal(5, rounds[threads])
      for i = 1, threads do assert(rounds[i] >= 1 and rounds[i] <= 6, rounds[i]) end
    end
  end)
end)
