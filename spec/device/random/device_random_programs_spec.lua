-- Whole CUDA C programs that draw random numbers in kernels, unchanged: their results on the CPU device are within a
-- known error, and they compile for GPUs.
-- Lua 5.4 only: this tests the compiler and device headers.

local mw = require "moonwarp"
local suite = require "support.suite"
local mwcc = require "support.mwcc"

local programs = {}

-- pi: the share of points of the unit square within the circle.
programs.pi = [[
#include <curand_kernel.h>

__global__ void setup(unsigned long long seed, curandState *states) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, id, 0, &states[id]);
}

__global__ void count(curandState *states, int rounds, unsigned int *inside) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandState local = states[id];
  unsigned int hits = 0;
  for (int i = 0; i < rounds; i++) {
    float x = curand_uniform(&local), y = curand_uniform(&local);
    hits += x * x + y * y <= 1.0f;
  }
  states[id] = local;
  inside[id] += hits;
}
]]

-- A European call: the mean of discounted payoffs of final prices.
programs.european = [[
#include <curand_kernel.h>

__global__ void price(unsigned long long seed, int paths, float spot, float strike, float rate, float volatility,
                      float years, double *sums) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, id, 0, &state);
  float drift = (rate - 0.5f * volatility * volatility) * years, spread = volatility * sqrtf(years);
  double sum = 0;
  for (int i = 0; i < paths / 4; i++) {
    float4 z = curand_normal4(&state);
    float first = fmaxf(spot * expf(drift + spread * z.x) - strike, 0.0f);
    float second = fmaxf(spot * expf(drift + spread * z.y) - strike, 0.0f);
    float third = fmaxf(spot * expf(drift + spread * z.z) - strike, 0.0f);
    float fourth = fmaxf(spot * expf(drift + spread * z.w) - strike, 0.0f);
    sum += (first + second) + (third + fourth);
  }
  sums[id] = sum * exp(-rate * years);
}
]]

-- An Asian call on the geometric mean of the prices at each step, whose value is known in closed form.
programs.asian = [[
#include <curand_kernel.h>

template <typename Generator>
__global__ void price(unsigned long long seed, int paths, int steps, float spot, float strike, float rate,
                      float volatility, float years, double *sums) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  Generator generator;
  curand_init(seed, id, 0, &generator);
  float dt = years / steps, drift = (rate - 0.5f * volatility * volatility) * dt, spread = volatility * sqrtf(dt);
  double sum = 0;
  for (int path = 0; path < paths; path++) {
    float logarithm = 0, total = 0;
    for (int i = 0; i < steps; i++) {
      logarithm += drift + spread * curand_normal(&generator);
      total += logarithm;
    }
    sum += fmaxf(spot * expf(total / steps) - strike, 0.0f);
  }
  sums[id] = sum * exp(-rate * years);
}
]]

-- A queue by the hour: arrivals are Poisson's, at rates by the hour, four hours per draw.
programs.arrivals = [[
#include <curand.h>
#include <curand_kernel.h>
#include <curand_poisson.h>

__global__ void arrivals(unsigned long long seed, int days, const double *rates, unsigned int *counts) {
  int id = threadIdx.x;
  curandStatePhilox4_32_10_t state;
  curand_init(seed, id, 0, &state);
  for (int day = 0; day < days; day++) {
    uint4 n = curand_poisson4(&state, rates[id]);
    counts[id] += n.x + n.y + n.z + n.w;
  }
}
]]

-- The volume of a ball in five dimensions by Sobol's points: one part of the sequence per thread.
programs.ball = [[
#include <curand_kernel.h>

__global__ void ball(curandDirectionVectors32_t *vectors, int points, unsigned int *inside) {
  int id = blockIdx.x * blockDim.x + threadIdx.x;
  curandStateSobol32_t dimensions[3];
  for (int d = 0; d < 3; d++) curand_init(vectors[d], id * points, &dimensions[d]);
  unsigned int hits = 0;
  for (int i = 0; i < points; i++) {
    float square = 0;
    for (int d = 0; d < 3; d++) {
      float x = curand_uniform(&dimensions[d]);
      square += x * x;
    }
    hits += square <= 1.0f;
  }
  inside[id] = hits;
}
]]

local function normal_share(x) -- by its integral
  local sum, n = 0, 20000
  for i = 0, n - 1 do
    local t = -8 + (x + 8) * (i + 0.5) / n
    sum = sum + math.exp(-t * t / 2)
  end
  return sum * (x + 8) / n / math.sqrt(2 * math.pi)
end

local function call(spot, strike, rate, volatility, years, growth)
  local spread = volatility * math.sqrt(years)
  local d = (math.log(spot / strike) + (growth + volatility ^ 2 / 2) * years) / spread
  return math.exp((growth - rate) * years) * spot * normal_share(d) -
    math.exp(-rate * years) * strike * normal_share(d - spread)
end

describe("a program with random numbers in kernels", function()
  it("counts points for pi, and continues from its states", function()
    local m = mw.compile(programs.pi)
    local threads, rounds = 4096, 250
    local states = mw.zeros(threads, m:dtype "curandStateXORWOW")
    local inside = mw.zeros(threads, "unsigned int")
    m.setup(32, 128)(1234, states)
    for _ = 1, 4 do m.count(32, 128)(states, rounds, inside) end
    assert.equal(suite.simd, m.count.tier)
    -- the standard deviation is 0.0008
    assert.is_true(math.abs(4 * inside:sum() / (threads * rounds * 4) - math.pi) < 0.004)
  end)

  it("prices a European call", function()
    local m = mw.compile(programs.european)
    local threads, paths = 2048, 400
    local sums = mw.zeros(threads, "double")
    m.price(16, 128)(42, paths, 100, 105, 0.05, 0.2, 1, sums)
    assert.equal(suite.simd, m.price.tier)
    -- the standard deviation of a payoff is about 13
    assert.is_true(math.abs(sums:sum() / (threads * paths) - call(100, 105, 0.05, 0.2, 1, 0.05)) < 5 * 13 / 905)
  end)

  it("prices an Asian call with two generators", function()
    local m = mw.compile(programs.asian)
    local threads, paths, steps = 2048, 50, 12
    local volatility, rate = 0.3, 0.04
    -- of the geometric mean of n prices
    local effective = volatility * math.sqrt((steps + 1) * (2 * steps + 1) / (6 * steps ^ 2))
    local growth = (rate - volatility ^ 2 / 2) * (steps + 1) / (2 * steps) + effective ^ 2 / 2
    local value = call(100, 100, rate, effective, 1, growth)
    for _, state in ipairs { "curandStateXORWOW_t", "curandStateMRG32k3a_t" } do
      local sums = mw.zeros(threads, "double")
      local kernel = m[("price<%s>"):format(state)]
      kernel(16, 128)(7, paths, steps, 100, 100, rate, volatility, 1, sums)
      assert.equal(suite.simd, kernel.tier)
      assert.is_true(math.abs(sums:sum() / (threads * paths) - value) < 5 * 11 / 320, state)
    end
  end)

  it("counts arrivals by the hour", function()
    local m = mw.compile(programs.arrivals)
    local rates, days = { 0.5, 3, 20, 90, 5000 }, 2000
    local counts = mw.zeros(#rates, "unsigned int")
    m.arrivals(1, #rates)(5, days, mw.array(rates, "double"), counts)
    for i, rate in ipairs(rates) do
      local total = rate * days * 4
      assert.is_true(math.abs(counts[i] - total) < 5 * math.sqrt(total), ("%g: %d"):format(rate, counts[i]))
    end
  end)

  it("measures a ball by Sobol's points", function()
    local m = mw.compile(programs.ball)
    -- the first three dimensions: degrees 0, 1 and 2 with 1; 1; 1, 3 (Joe and Kuo)
    local vectors = {}
    for i = 1, 32 do vectors[i] = 1 << (32 - i) end
    local second, third = { 1 }, { 1, 3 }
    for i = 2, 32 do second[i] = 2 * second[i - 1] ~ second[i - 1] end
    for i = 3, 32 do third[i] = 2 * third[i - 1] ~ 4 * third[i - 2] ~ third[i - 2] end
    for i = 1, 32 do
      vectors[32 + i] = second[i] << (32 - i) & 0xffffffff
      vectors[64 + i] = third[i] << (32 - i) & 0xffffffff
    end
    local threads, points = 256, 256
    local inside = mw.zeros(threads, "unsigned int")
    m.ball(2, 128)(mw.array(vectors, "unsigned int"), points, inside)
    assert.is_true(math.abs(inside:sum() / (threads * points) - math.pi / 6) < 2e-4) -- random points: 2e-3
  end)

  for name, source in pairs(programs) do
    it("compiles for a GPU: " .. name, function()
      local text, status = mwcc.try(source, "--target=nvptx --arch=sm_90")
      assert.equal(0, status, text)
    end)
  end

  -- A module of each family's, as mw.random and curand.h's functions compile them.
  for header, macros in pairs {
    ["streams/columns"] = "MW_COLUMNS_FILL(philox, normal_double)", ["streams/mtgp32"] = "MW_MTGP_FILL(uniform)",
    ["streams/mt19937"] = "MW_MT_BEGIN", ["streams/sobol"] = "MW_SOBOL_FILL(ull, poisson)",
    ["streams/direction_vectors"] = "MW_MAKE_VECTORS(make32, unsigned)",
    ["distributions/discrete_table"] = "MW_DISCRETE_TABLE",
  } do
    it("draws streams on GPUs as well: " .. header, function()
      local source = ("#include <moonwarp/random/%s.h>\n%s\n"):format(header, macros)
      local text, status = mwcc.try(source, "--target=nvptx --arch=sm_90")
      assert.equal(0, status, text)
    end)
  end
end)
