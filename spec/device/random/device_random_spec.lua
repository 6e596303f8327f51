-- cuRAND's generators in kernels: their words and uniform numbers are those of NVIDIA's library, whose host generators
-- define the sequences: element n of XORWOW, MRG32k3a (legacy order) and Philox is a step of one of many subsequences.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local suite = require "support.suite"
local curand = require "support.random.curand"

local seeds = { 0, 1, 1234, 987654321, math.mininteger + 5 } -- the last is 2^63 + 5
local offsets = { 0, 1, 3, 4096, 1000007 }

-- Element `first + i` of the host's order is drawn by a thread that begins there.
local source = [[
#include <curand_kernel.h>

typedef unsigned long long ull;
__device__ void begin(ull seed, ull at, curandState *state) { curand_init(seed, at % 4096, at / 4096, state); }
__device__ void begin(ull seed, ull at, curandStateMRG32k3a *state) { curand_init(seed, at % 4096, at / 4096, state); }
__device__ void begin(ull seed, ull at, curandStatePhilox4_32_10_t *state) {
  curand_init(seed, at / 4 % 65536, at / 262144 * 4 + at % 4, state);
}
__device__ void draw(unsigned *x, curandState *state) { *x = curand(state); }
template <class State> __device__ void draw(unsigned *x, State *state) { *x = curand(state); }
template <class State> __device__ void draw(float *x, State *state) { *x = curand_uniform(state); }
template <class State> __device__ void draw(double *x, State *state) { *x = curand_uniform_double(state); }

template <class State, class T> __global__ void elements(ull seed, ull first, int count, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  State state;
  begin(seed, first + i, &state);
  draw(&out[i], &state);
}
/* A thread draws `rounds` elements of one subsequence. */
template <class State, class T> __global__ void streams(ull seed, int rounds, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  State state;
  curand_init(seed, i, 0, &state);
  for (int round = 0; round < rounds; round++) draw(&out[round * gridDim.x * blockDim.x + i], &state);
}
/* Streams of seeds that differ. */
__global__ void seeded(ull seed, int rounds, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(seed + 3133713ull * i, 0, 0, &state);
  for (int round = 0; round < rounds; round++) draw(&out[round * gridDim.x * blockDim.x + i], &state);
}
/* Philox's streams take four elements by turns. */
__device__ void draw(uint4 *x, curandStatePhilox4_32_10_t *state) { *x = curand4(state); }
__device__ void draw(float4 *x, curandStatePhilox4_32_10_t *state) { *x = curand_uniform4(state); }
__device__ void draw(double4 *x, curandStatePhilox4_32_10_t *state) { *x = curand_uniform4_double(state); }
template <class V> __global__ void turns(ull seed, int rounds, V *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, i, 0, &state);
  for (int round = 0; round < rounds; round++) draw(&out[round * gridDim.x * blockDim.x + i], &state);
}
]]

local states = { xorwow = "curandState", mrg32k3a = "curandStateMRG32k3a", philox = "curandStatePhilox4_32_10_t" }
local types = { bits = "unsigned int", uniform = "float", uniform_double = "double" }

local function oracle(request)
  if curand.missing then pending(curand.missing) end
  if request.kind == "mrg32k3a" then request.ordering = request.ordering or "legacy" end
  return curand.draw(request)
end

-- The first element that differs, as a sentence.
local function compare(expected, array, context)
  local got = array:bytes()
  if got == expected then return end
  local size = #expected // #array
  for i = 1, #array do
    local a, b = expected:sub((i - 1) * size + 1, i * size), got:sub((i - 1) * size + 1, i * size)
    if a ~= b then
      local function hex(s) return (s:reverse():gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
      error(("%s: element %d is %s, not %s"):format(context, i - 1, hex(b), hex(a)), 2)
    end
  end
end

describe("cuRAND's generator", function()
  local m
  setup(function() m = mw.compile(source) end)

  for _, kind in ipairs { "xorwow", "mrg32k3a", "philox" } do
    it(kind .. " has the host's words at every seed and offset", function()
      local count, type = 3000, "unsigned int"
      local out = mw.zeros(count, type)
      local kernel = m[("elements<%s,%s>"):format(states[kind], type)]
      assert.equal(suite.simd, kernel.tier)
      for _, seed in ipairs(seeds) do
        local all = oracle { kind = kind, seed = seed, count = offsets[#offsets] + count }
        for _, offset in ipairs(offsets) do
          kernel(mw.cdiv(count, 128), 128)(seed, offset, count, out)
          compare(all:sub(offset * 4 + 1, (offset + count) * 4), out, ("seed %d from %d"):format(seed, offset))
        end
      end
    end)
  end

  for _, kind in ipairs { "xorwow", "mrg32k3a" } do
    for what, type in pairs(types) do
      it(("%s goes on with the host's %s"):format(kind, what), function()
        local rounds = 5
        local out = mw.zeros(4096 * rounds, type)
        m[("streams<%s,%s>"):format(states[kind], type)](32, 128)(987654321, rounds, out)
        compare(oracle { kind = kind, seed = 987654321, what = what, count = #out }, out, kind)
      end)
    end
  end

  for what, type in pairs { bits = "uint4", uniform = "float4", uniform_double = "double4" } do
    it("philox continues the host's " .. what, function()
      local rounds = 2
      local out = mw.zeros(65536 * rounds * 4, types[what])
      m[("turns<%s>"):format(type)](512, 128)(1234, rounds, out:as(type))
      compare(oracle { kind = "philox", seed = 1234, what = what, count = #out }, out, "philox")
    end)
  end

  it("xorwow is the host's seeded order with a seed a subsequence", function()
    for _, seed in ipairs { 1234, math.mininteger + 5 } do
      local out = mw.zeros(4096 * 3, "unsigned int")
      m.seeded(32, 128)(seed, 3, out)
      compare(oracle { kind = "xorwow", seed = seed, ordering = "seeded", count = #out }, out, "seeded")
    end
  end)

  it("mrg32k3a is the host's default order with 81920 subsequences", function()
    local rounds = 2
    local out = mw.zeros(81920 * rounds, "unsigned int")
    m["streams<curandStateMRG32k3a,unsigned int>"](640, 128)(1234, rounds, out)
    compare(oracle { kind = "mrg32k3a", seed = 1234, ordering = "default", count = #out }, out, "mrg32k3a")
  end)
end)
