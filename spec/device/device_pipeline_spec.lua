-- cuda::pipeline and memcpy_async, on every tier.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "device_pipeline_spec"

local source = [==[
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void pipe(const int *in, int *out, int steps) {
  constexpr int stages = 2;
  extern __shared__ int buffer[];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto pipeline = cuda::make_pipeline(block, &state);
  int n = block.size(), sum = 0;
  for (int compute = 0, fetch = 0; compute < steps; compute++) {
    for (; fetch < steps && fetch < compute + stages; fetch++) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, buffer + fetch % stages * n, in + fetch * n, sizeof(int) * n, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += buffer[compute % stages * n + n - 1 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}
__global__ void pipe2(const int *in, int *out, int steps) {
  constexpr int stages = 2;
  __shared__ int buffer[stages][64];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
  auto role = threadIdx.x < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto pipeline = cuda::make_pipeline(block, &state, role);
  int sum = 0;
  for (int s = 0; s < steps; s++) {
    if (role == cuda::pipeline_role::producer) {
      pipeline.producer_acquire();
      cuda::memcpy_async(&buffer[s % stages][threadIdx.x], in + s * 64 + threadIdx.x, sizeof(int), pipeline);
      pipeline.producer_commit();
    } else {
      pipeline.consumer_wait();
      sum += buffer[s % stages][(threadIdx.x * 7) % 64];
      pipeline.consumer_release();
    }
  }
  if (threadIdx.x >= 64) out[threadIdx.x - 64] = sum;
}
__global__ void own(const int *in, int *out, int n) {
  __shared__ int v[128];
  auto pipe = cuda::make_pipeline();
  pipe.producer_acquire();
  cuda::memcpy_async(v + threadIdx.x, in + threadIdx.x, cuda::aligned_size_t<4>(4), pipe);
  pipe.producer_commit();
  cuda::pipeline_consumer_wait_prior<0>(pipe);
  __syncthreads();
  out[threadIdx.x] = v[blockDim.x - 1 - threadIdx.x];
}
__global__ void aligned(const int *in, int *out) {
  __shared__ int v[2][128];
  auto block = cg::this_thread_block();
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto pipeline = cuda::make_pipeline(block, &state);
  if (threadIdx.x == 0) init(&bar, block.size());
  block.sync();
  pipeline.producer_acquire();
  cuda::memcpy_async(block, v[0], in, cuda::aligned_size_t<4>(sizeof(int) * blockDim.x), pipeline);
  pipeline.producer_commit();
  cuda::aligned_size_t<16> bytes(sizeof(int) * blockDim.x);
  cuda::memcpy_async(block, (void *)v[1], (const void *)(in + blockDim.x), bytes, bar);
  pipeline.consumer_wait();
  bar.arrive_and_wait();
  out[threadIdx.x] = v[0][threadIdx.x ^ 1] - v[1][threadIdx.x ^ 2];
  pipeline.consumer_release();
}
__global__ void primitives(const int *in, int *out) {
  __shared__ int4 v[64];
  __pipeline_memcpy_async(&v[threadIdx.x], in + 4 * threadIdx.x, 16, threadIdx.x % 2 ? 4 : 0);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  int4 x = v[blockDim.x - 1 - threadIdx.x];
  out[threadIdx.x] = x.x + x.w;
}
]==]

local tiers = { { name = "as the compiler picks" }, { name = "thread by thread", options = { "--width=1" } } }

for _, tier in ipairs(tiers) do
  describe(tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }
    local values = {}
    for i = 1, 1000 do values[i] = random(0, 1000) end
    local numbers = mw.array(values, "int")

    describe("a cuda::pipeline", function()
      it("that a block shares has every stage filled before it is read", function()
        local out = mw.zeros(50, "int")
        m.pipe(1, 50, 400)(numbers, out, 20)
        for t = 0, 49 do
          local sum = 0
          for step = 0, 19 do sum = sum + values[step * 50 + 49 - t + 1] end
          assert.equal(sum, out[t + 1])
        end
      end)

      it("may have threads that fill and others that read", function()
        local out = mw.zeros(96, "int")
        m.pipe2(1, 160)(numbers, out, 15)
        for t = 64, 159 do
          local sum = 0
          for step = 0, 14 do sum = sum + values[step * 64 + t * 7 % 64 + 1] end
          assert.equal(sum, out[t - 64 + 1])
        end
      end)

      it("copies pieces of a size whose alignment is known, as a barrier does", function()
        local out = mw.zeros(128, "int")
        m.aligned(1, 128)(numbers, out)
        for t = 0, 127 do assert.equal(values[(t ~ 1) + 1] - values[128 + (t ~ 2) + 1], out[t + 1]) end
      end)

      it("may be a thread's own, or C's primitives", function()
        local out = mw.zeros(128, "int")
        m.own(1, 128)(numbers, out, 1)
        for t = 0, 127 do assert.equal(values[128 - t], out[t + 1]) end
        m.primitives(1, 64)(numbers, out)
        for t = 0, 63 do
          local i = 63 - t
          assert.equal(values[4 * i + 1] + (i % 2 == 1 and 0 or values[4 * i + 4]), out[t + 1])
        end
      end)
    end)
  end)
end

describe("the tier of a kernel with a pipeline", function()
  it("is lanes if all threads wait together", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    local m = mw.compile(source)
    for _, name in ipairs { "pipe", "own", "primitives" } do assert.equal("simd", m[name].tier, m[name].tier_reason) end
    assert.equal("fiber", m.pipe2.tier)
    assert.matches("others of their block; it is not vectorised: .*barrier", m.pipe2.tier_reason)
  end)
end)
