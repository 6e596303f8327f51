-- Programs such as cuRAND's documentation has, written with CUDA's and cuRAND's functions by name: their kernels are
-- CUDA C as it stands there, and their results are known within an error.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local curand = require "moonwarp.curand"

local function ok(code, ...)
  assert.equal(0, code)
  return ...
end

-- `count` elements of device memory as a table.
local function fetch(p, count, dtype)
  local bytes = count * rt.sizeof(dtype)
  local h = rt.malloc(bytes, dtype)
  ok(rt.cudaMemcpy(h, p, bytes, rt.cudaMemcpyDeviceToHost))
  local list = h:totable(count)
  rt.free(h)
  return list
end

local function sum(list)
  local total = 0
  for _, x in ipairs(list) do total = total + x end
  return total
end

describe("a program of cuRAND's functions", function()
  it("generates uniform numbers on the device and copies them to the host", function()
    local n = 100
    local p = ok(rt.cudaMalloc(n * rt.sizeof "float"))
    local gen = ok(curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_DEFAULT))
    ok(curand.curandSetPseudoRandomGeneratorSeed(gen, 1234))
    ok(curand.curandGenerateUniform(gen, p, n))
    assert.same(mw.random(1234, "xorwow"):uniform(n):totable(), fetch(p, n, "float"))
    ok(curand.curandDestroyGenerator(gen))
    ok(rt.cudaFree(p))
  end)

  -- States of 64 × 64 threads are kept in memory from one launch to the next.
  for _, state in ipairs { "curandStateXORWOW_t", "curandStatePhilox4_32_10_t", "curandStateMRG32k3a_t" } do
    it("counts numbers of states in memory: " .. state, function()
      local m = rt.register(mw.compile(([[
#include <curand_kernel.h>

__global__ void setup_kernel(STATE *state) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curand_init(1234, id, 0, &state[id]);
}
__global__ void generate_kernel(STATE *state, int n, unsigned int *odd, unsigned int *upper, unsigned int *near) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int odds = 0, uppers = 0, nears = 0;
  STATE localState = state[id];
  for (int i = 0; i < n; i++) {
    odds += curand(&localState) & 1;
    uppers += curand_uniform(&localState) > .5f;
    float2 x = curand_normal2(&localState);
    nears += (x.x > -1.f && x.x < 1.f) + (x.y > -1.f && x.y < 1.f);
  }
  state[id] = localState;
  odd[id] += odds;
  upper[id] += uppers;
  near[id] += nears;
}
]]):gsub("STATE", state)))
      local threads, rounds = 64 * 64, 100
      local states = ok(rt.cudaMalloc(threads * 64))
      local counts = ok(rt.cudaMalloc(3 * threads * 4)):cast "uint"
      ok(rt.cudaMemset(counts, 0, 3 * threads * 4))
      ok(rt.cudaLaunchKernel(m.setup_kernel, 64, 64, { states }))
      for _ = 1, 2 do
        ok(rt.cudaLaunchKernel(m.generate_kernel, 64, 64,
          { states, rounds, counts, counts + threads, counts + 2 * threads }))
      end
      local total = threads * rounds * 2
      for i, share in ipairs { 0.5, 0.5, 0.682689492137 } do
        local of = i == 3 and 2 * total or total
        local got = sum(fetch(counts + (i - 1) * threads, threads, "uint")) / of
        assert(math.abs(got - share) < 5 * math.sqrt(share * (1 - share) / of), ("count %d: %g"):format(i, got))
      end
      ok(rt.cudaFree(states))
      ok(rt.cudaFree(counts))
    end)
  end

  it("finds the volume of a ball with scrambled Sobol sequences", function()
    local m = rt.register(mw.compile [[
#include <curand_kernel.h>

/* Threads of a row share a point: x, y and z are sequences of a dimension each. */
__global__ void setup_kernel(unsigned long long (*vectors)[64], unsigned long long *constants, int threads,
                             curandStateScrambledSobol64 *state) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  for (int k = 0; k < 3; k++)
    curand_init(vectors[k], constants[k], 1ull + id * 256, &state[3 * id + k]);
}
__global__ void generate_kernel(curandStateScrambledSobol64 *state, int n, unsigned int *inside) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  unsigned int count = 0;
  for (int i = 0; i < n; i++) {
    double x = curand_uniform_double(&state[3 * id]), y = curand_uniform_double(&state[3 * id + 1]);
    double z = curand_uniform_double(&state[3 * id + 2]);
    count += x * x + y * y + z * z < 1.0;
  }
  inside[id] = count;
}
]])
    local threads, n = 256, 256
    local vectors = ok(curand.curandGetDirectionVectors64(curand.CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6))
    local constants = ok(curand.curandGetScrambleConstants64())
    local on_device, begins = ok(rt.cudaMalloc(3 * 512)), ok(rt.cudaMalloc(3 * 8))
    local states, inside = ok(rt.cudaMalloc(3 * threads * 536)), ok(rt.cudaMalloc(threads * 4))
    ok(rt.cudaMemcpy(on_device, vectors, 3 * 512, rt.cudaMemcpyHostToDevice))
    ok(rt.cudaMemcpy(begins, constants, 3 * 8, rt.cudaMemcpyHostToDevice))
    ok(rt.cudaLaunchKernel(m.setup_kernel, 4, 64, { on_device, begins, threads, states }))
    ok(rt.cudaLaunchKernel(m.generate_kernel, 4, 64, { states, n, inside }))
    local volume = 8 * sum(fetch(inside, threads, "uint")) / (threads * n)
    assert(math.abs(volume - 4 / 3 * math.pi) < 0.01, volume) -- of independent points it would be 5 times that
    for _, p in ipairs { on_device, begins, states, inside } do ok(rt.cudaFree(p)) end
  end)

  it("draws customers by Poisson's distribution in kernels", function()
    local m = rt.register(mw.compile [[
#include <curand_kernel.h>

__global__ void setup_kernel(curandState *states) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curand_init(1234, id, 0, &states[id]);
}
__global__ void update_queue(curandState *states, curandDiscreteDistribution_t arrivals, int hours, int *queue) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curandState localState = states[id];
  for (int hour = 0; hour < hours; hour++) queue[id] += (int)curand_discrete(&localState, arrivals);
  states[id] = localState;
}
]])
    local threads, hours, mean = 4096, 24, 12.5
    local arrivals = ok(curand.curandCreatePoissonDistribution(mean))
    local states, queue = ok(rt.cudaMalloc(threads * 64)), ok(rt.cudaMalloc(threads * 4))
    ok(rt.cudaMemset(queue, 0, threads * 4))
    ok(rt.cudaLaunchKernel(m.setup_kernel, 64, 64, { states }))
    ok(rt.cudaLaunchKernel(m.update_queue, 64, 64, { states, arrivals, hours, queue }))
    local average = sum(fetch(queue, threads, "int")) / threads
    assert(math.abs(average - hours * mean) < 5 * math.sqrt(hours * mean / threads), average)
    ok(curand.curandDestroyDistribution(arrivals))
    for _, p in ipairs { states, queue } do ok(rt.cudaFree(p)) end
  end)
end)
