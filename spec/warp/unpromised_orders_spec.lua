-- Orders that CUDA does not promise and GPUs mostly give (docs/learn/orders.md): those that hold on the CPU device,
-- and those that do not, which checked runs find.
-- Lua 5.4 only: this tests the compiler and the runtime.
-- CPU device only: about its orders

local mw = require "moonwarp"

local function results(text, grid, block, count)
  local out, flag = mw.zeros(count, "int"), mw.zeros(1024, "int")
  mw.compile(text).k(grid, block)(out, flag)
  return out:totable()
end

local function filled(count, value)
  local t = {}
  for i = 1, count do t[i] = type(value) == "function" and value(i - 1) or value end
  return t
end

local function reduction(qualifier, step)
  return ([[
    __global__ void k(int *out, int *) {
      __shared__ int s[64];
      QUALIFIER int *v = s;
      int t = threadIdx.x;
      s[t] = t;
      __syncthreads();
      if (t < 32)
        for (int d = 32; d > 0; d /= 2) {
          int x = v[t + d];
          STEP
          v[t] += x;
          STEP
        }
      if (t == 0) out[blockIdx.x] = v[0];
    }]]):gsub("QUALIFIER", qualifier):gsub("STEP", step)
end

describe("an order that holds:", function()
  it("a warp's lanes are in step through volatile shared memory, and at __syncwarp()", function()
    assert.same(filled(4, 63 * 32), results(reduction("volatile", ""), 4, 64, 4))
    assert.same(filled(4, 63 * 32), results(reduction("", "__syncwarp();"), 4, 64, 4))
  end)

  it("a warp waits in a loop for an earlier and for a later warp of its block", function()
    for _, condition in ipairs { "threadIdx.x < 32", "threadIdx.x >= 96" } do
      assert.same(filled(128, 1), results(([[
        __global__ void k(int *out, int *) {
          __shared__ volatile int flag;
          if (threadIdx.x == 0) flag = 0;
          __syncthreads();
          if (CONDITION) flag = 1;
          else while (flag == 0) {}
          out[threadIdx.x] = 1;
        }]]):gsub("CONDITION", condition), 1, 128, 128))
    end
  end)

  it("a warp polls shared memory by atomic operations until an earlier or a later warp has written it", function()
    for name, poll in pairs {
      add = "while (atomicAdd(&flag, 0) == 0) {}",
      compare = "while (atomicCAS(&flag, 0, 0) == 0) {}",
      one = "if (threadIdx.x % 32 == 0) while (atomicOr(&flag, 0) == 0) {} __syncwarp();",
      sleep = "for (unsigned ns = 8; atomicAdd(&flag, 0) == 0; ns = ns < 256 ? 2 * ns : ns) __nanosleep(ns);",
      load = "while (cuda::atomic_ref<int, cuda::thread_scope_block>(flag).load(cuda::memory_order_acquire) == 0) {}",
      wait = "cuda::atomic_ref<int, cuda::thread_scope_block>(flag).wait(0);",
      ptx = [[int now;
        do asm volatile("ld.acquire.cta.shared.b32 %0, [%1];" : "=r"(now) : "r"((int)__cvta_generic_to_shared(&flag))
                        : "memory");
        while (now == 0);]],
    } do
      for _, condition in ipairs { "threadIdx.x < 32", "threadIdx.x >= 96" } do
        local text = ([[
          #include <cuda/atomic>
          __global__ void k(int *out, int *) {
            __shared__ int flag;
            if (threadIdx.x == 0) flag = 0;
            __syncthreads();
            if (CONDITION) atomicExch(&flag, 1);
            else { POLL }
            out[threadIdx.x] = 1;
          }]]):gsub("CONDITION", condition):gsub("POLL", function() return poll end)
        assert.same(filled(128, 1), results(text, 1, 128, 128), name .. ", " .. condition)
      end
    end
  end)

  it("atomic functions of shared memory, which loop as well, stay on lanes", function()
    local m = mw.compile [[
      __global__ void k(float *out, const float *x) {
        __shared__ int most;
        if (threadIdx.x == 0) most = 0;
        __syncthreads();
        int old = most;
        while (__int_as_float(old) < x[threadIdx.x]) {
          int seen = old;
          old = atomicCAS(&most, seen, __float_as_int(x[threadIdx.x]));
          if (old == seen) break;
        }
        __syncthreads();
        out[0] = __int_as_float(most);
      }]]
    local out = mw.zeros(1)
    m.k(1, 128)(out, mw.arange(128))
    assert.equal(127, out[1])
    assert.equal("simd", m.k.tier, m.k.tier_reason)
  end)

  it("a block waits in a loop for those before it, whose writes it then sees without a fence", function()
    local got = results([[
      __global__ void k(int *out, int *flag) {
        int b = blockIdx.x;
        if (threadIdx.x == 0) {
          while (b > 0 && *(volatile int *)&flag[b - 1] == 0) {}
          out[b] = b + (b > 0 ? *(volatile int *)&out[b - 1] : 0);
          *(volatile int *)&flag[b] = 1;
        }
      }]], 500, 32, 500)
    assert.same(filled(500, function(b) return b * (b + 1) // 2 end), got)
  end)

  it("a relaxed flag is set after what was written before it", function()
    assert.same(filled(256, 5), results([[
      __global__ void k(int *out, int *flag) {
        if (blockIdx.x == 0) {
          if (threadIdx.x == 0) flag[1] = 5, atomicExch(flag, 1);
        } else {
          while (atomicAdd(flag, 0) == 0) {}
        }
        out[blockIdx.x * 32 + threadIdx.x] = blockIdx.x ? *(volatile int *)&flag[1] : 5;
      }]], 8, 32, 256))
  end)

  it("lanes of a warp take a lock one after the other, in the loop that tries it", function()
    assert.same({ 128 }, results([[
      __global__ void k(int *out, int *flag) {
        for (bool done = false; !done;)
          if (atomicCAS(flag, 0, 1) == 0) {
            out[0]++;
            __threadfence();
            atomicExch(flag, 0);
            done = true;
          }
      }]], 2, 64, 1))
  end)
end)

describe("an order that does not hold is a race in a checked run, and the synchronised form is none:", function()
  local function races(text, block)
    local m, out, flag = mw.compile(text), mw.zeros(1024, "int"), mw.zeros(1024, "int")
    local report = mw.check(function()
      m.k(1, block)(out, flag)
      mw.synchronize()
    end, { checks = { "races" } })
    local kinds = {}
    for _, found in ipairs(report) do kinds[found.kind] = true end
    return kinds.race == true
  end

  for name, text in pairs {
    ["a warp's lanes in step without volatile"] = reduction("", "SYNC_WARP"),
    ["lanes that read what others of their warp write to global memory"] = [[
      __global__ void k(int *out, int *flag) {
        flag[threadIdx.x] = 3;
        SYNC
        out[threadIdx.x] = flag[threadIdx.x ^ 17];
      }]],
    ["lanes that read before others of their warp write"] = [[
      __global__ void k(int *out, int *) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        int x = s[threadIdx.x ^ 31];
        SYNC
        s[threadIdx.x] = -1;
        out[threadIdx.x] = x;
      }]],
    ["shared memory reused by a warp that is ahead"] = [[
      __global__ void k(int *out, int *) {
        __shared__ int s[8];
        if (threadIdx.x == 0) s[0] = 5;
        __syncthreads();
        int got = s[0];
        SYNC
        if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = 32;
        __syncthreads();
        out[threadIdx.x] = got;
      }]],
    ["a loop with one barrier a step that needs two"] = [[
      __global__ void k(int *out, int *) {
        __shared__ int s[64];
        int sum = 0;
        for (int i = 0; i < 4; i++) {
          s[threadIdx.x] = i;
          __syncthreads();
          sum += s[threadIdx.x ^ 33];
          SYNC
        }
        out[threadIdx.x] = sum;
      }]],
  } do
    it(name, function()
      local synchronised = text:gsub("SYNC_WARP", "__syncwarp();"):gsub("SYNC", "__syncthreads();")
      assert.is_true(races((text:gsub("SYNC_?%u*", "")), 64))
      assert.is_false(races(synchronised, 64))
    end)
  end
end)
