-- Poisson's and other discrete numbers in kernels, compared with what their descriptions make of the same draws.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local suite = require "support.suite"

local source = [[
#include <curand_kernel.h>
typedef unsigned long long ull;
/* `count` numbers of each thread's stream, and the words that the stream begins with. */
template <class S> __global__ void poisson(ull seed, double lambda, int count, unsigned *out) {
  S state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int i = 0; i < count; i++) out[threadIdx.x * count + i] = curand_poisson(&state, lambda);
}
__global__ void poisson4(ull seed, double lambda, int count, uint4 *out) {
  curandStatePhilox4_32_10_t state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int i = 0; i < count; i++) out[threadIdx.x * count + i] = curand_poisson4(&state, lambda);
}
template <class S> __global__ void uniform(ull seed, int count, float *out) {
  S state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int i = 0; i < count; i++) out[threadIdx.x * count + i] = curand_uniform(&state);
}
template <class S> __global__ void normal(ull seed, int count, double *out) {
  S state;
  curand_init(seed, threadIdx.x, 0, &state);
  for (int i = 0; i < count; i++) out[threadIdx.x * count + i] = curand_normal_double(&state);
}
/* Words of a sequence of which each is one number. */
__global__ void inverse(double lambda, int count, const unsigned *words, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  curandStateSobol32_t state = {};
  state.x = words[i];
  out[i] = curand_poisson(&state, lambda);
}
template <class S> __global__ void discrete(ull seed, int length, double *V, unsigned *K, double mean, double stddev,
                                            int count, unsigned *out, unsigned *words, double *normals) {
  curandHistogramM2_st histogram = {V, V, K, K, 0};
  curandDistributionM2Shift_st table = {&histogram, &histogram, 7, (unsigned)length, 0};
  curandDiscreteDistribution_st by_table = {0, &table, &table, stddev, mean, CURAND_M2, 0}, by_normal = by_table;
  by_normal.method = CURAND_DISCRETE_GAUSS;
  S state, other;
  curand_init(seed, threadIdx.x, 0, &state);
  other = state;
  for (int i = threadIdx.x * count; i < (threadIdx.x + 1) * count; i++) {
    out[2 * i] = curand_discrete(&state, &by_table);
    words[i] = curand(&other);
    out[2 * i + 1] = curand_discrete(&state, &by_normal);
    normals[i] = curand_normal_double(&other);
  }
}
]]

local states = { xorwow = "curandState", philox = "curandStatePhilox4_32_10_t", mrg32k3a = "curandStateMRG32k3a" }

local function float(x) return (string.unpack("f", string.pack("f", x))) end

-- Knuth's algorithm in single precision; u gives uniform numbers one after the other.
local function product_count(lambda, u)
  local product, count = float(math.exp(lambda)), -1
  repeat
    product, count = float(product * u()), count + 1
  until product <= 1
  return count
end

local logarithms = { [0] = 0 } -- of factorials
local function logarithm_of_factorial(n)
  for k = #logarithms + 1, n do logarithms[k] = logarithms[k - 1] + math.log(k) end
  return logarithms[n]
end
local function share(k, lambda) return math.exp(k * math.log(lambda) - lambda - logarithm_of_factorial(k)) end

describe("cuRAND's Poisson numbers", function()
  local m
  setup(function() m = mw.compile(source) end)

  for kind, state in pairs(states) do
    it(("of %s below 64 are counts of uniform numbers"):format(kind), function()
      for _, lambda in ipairs { 0.125, 1, 7.5, 63.5 } do
        local threads, count = 32, 20
        local out, uniforms = mw.zeros(threads * count, "unsigned int"), mw.zeros(threads * 2000)
        local kernel = m[("poisson<%s>"):format(state)]
        assert.equal(suite.simd, kernel.tier)
        kernel(1, threads)(1234, lambda, count, out)
        m[("uniform<%s>"):format(state)](1, threads)(1234, 2000, uniforms)
        for t = 0, threads - 1 do
          local at = t * 2000
          for i = 1, count do
            local want = product_count(lambda, function() at = at + 1 return uniforms[at] end)
            assert.equal(want, out[t * count + i])
          end
        end
      end
    end)

    it(("of %s above 4000 are rounded normal numbers"):format(kind), function()
      local threads, count, lambda = 32, 20, 123456.25
      local out, normals = mw.zeros(threads * count, "unsigned int"), mw.zeros(threads * count, "double")
      m[("poisson<%s>"):format(state)](1, threads)(1234, lambda, count, out)
      m[("normal<%s>"):format(state)](1, threads)(1234, count, normals)
      for i = 1, #out do assert.equal(math.floor(normals[i] * math.sqrt(lambda) + lambda + 0.5), out[i]) end
    end)

    -- Of 32000 numbers the square sum over 31 classes is above 90 once in ten million times.
    it(("of %s between them are distributed as they are to be"):format(kind), function()
      for _, lambda in ipairs { 64, 100.5, 1000, 4000 } do
        local threads, count = 64, 500
        local out = mw.zeros(threads * count, "unsigned int")
        m[("poisson<%s>"):format(state)](1, threads)(1234, lambda, count, out)
        local width, low = math.ceil(math.sqrt(lambda) / 5), lambda - 3 * math.sqrt(lambda)
        local function class(k) return math.max(0, math.min(30, math.floor((k - low) / width))) end
        local expected, seen = {}, {}
        for c = 0, 30 do expected[c], seen[c] = 0, 0 end
        for k = 0, math.ceil(lambda + 20 * math.sqrt(lambda)) do
          expected[class(k)] = expected[class(k)] + share(k, lambda) * #out
        end
        for i = 1, #out do seen[class(out[i])] = seen[class(out[i])] + 1 end
        local sum = 0
        for c = 0, 30 do sum = sum + (seen[c] - expected[c]) ^ 2 / math.max(expected[c], 1) end
        assert.is_true(sum < 90, ("lambda %g: %g"):format(lambda, sum))
      end
    end)
  end

  it("of Philox are drawn four at once", function()
    for _, lambda in ipairs { 5, 5000 } do
      local threads, count = 16, 5
      local size = threads * count * 4
      local alone, together = mw.zeros(size, "unsigned int"), mw.zeros(size, "unsigned int")
      m["poisson<curandStatePhilox4_32_10_t>"](1, threads)(99, lambda, count * 4, alone)
      m.poisson4(1, threads)(99, lambda, count, together:as "uint4")
      assert.equal(alone:bytes(), together:bytes())
    end
  end)

  it("of one word are the inverse of the distribution", function()
    local words = {}
    for i = 1, 200 do words[i] = i * 0x9e3779b9 & 0xffffffff end
    words[#words + 1] = 0
    words[#words + 1] = 0xffffffff
    local given, out = mw.array(words, "unsigned int"), mw.zeros(#words, "unsigned int")
    for _, lambda in ipairs { 0.01, 3, 63.9, 499.5, 501, 999.5 } do
      assert.equal(suite.simd, m.inverse.tier)
      m.inverse(mw.cdiv(#words, 64), 64)(lambda, #words, given, out)
      for i, word in ipairs(words) do
        local k, sum = 0, share(0, lambda)
        while sum <= word / 2 ^ 32 do
          k = k + 1
          sum = sum + share(k, lambda)
        end
        local last = share(k, lambda)
        local close = math.abs(sum - word / 2 ^ 32) < 1e-9 or math.abs(sum - last - word / 2 ^ 32) < 1e-9
        if not close then assert.equal(k, out[i], ("lambda %g, word %d"):format(lambda, word)) end
      end
    end
  end)
end)

describe("cuRAND's discrete numbers", function()
  local m
  setup(function() m = mw.compile(source) end)

  for kind, state in pairs(states) do
    it(("of %s follow their table, or a rounded normal distribution"):format(kind), function()
      local V, K = { 0.1, 0.2, 0.4, 0.5, 0.6, 0.7222222, 1 }, { 3, 3, 4, 1, 2, 0, 6 }
      local threads, count, mean, stddev = 32, 10, 3000.25, 20
      local out, words = mw.zeros(threads * count * 2, "unsigned int"), mw.zeros(threads * count, "unsigned int")
      local normals = mw.zeros(threads * count, "double")
      m[("discrete<%s>"):format(state)](1, threads)(1234, #V, mw.array(V, "double"), mw.array(K, "unsigned int"), mean,
        stddev, count, out, words, normals)
      for i = 1, threads * count do
        local u = words[i] / 2 ^ 32
        local column = math.floor(#V * u)
        assert.equal((u < V[column + 1] and column or K[column + 1]) + 7, out[2 * i - 1])
        assert.equal(math.floor(normals[i] * stddev + mean + 0.5), out[2 * i])
      end
    end)
  end
end)
