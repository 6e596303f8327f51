-- Options priced by Monte Carlo: cuRAND's host functions by name draw normal numbers, from which kernels compute
-- prices.

local mw = require "moonwarp"
local curand = require "moonwarp.curand"

local m = mw.compile [==[
struct market { float spot, strike, rate, volatility, years; };

// A European call pays by the last price.
__global__ void european(market k, int paths, const float *z, float *value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  float drift = (k.rate - 0.5f * k.volatility * k.volatility) * k.years, spread = k.volatility * sqrtf(k.years);
  value[i] = expf(-k.rate * k.years) * fmaxf(k.spot * expf(drift + spread * z[i]) - k.strike, 0.0f);
}
// An Asian call pays by the geometric mean of the prices after each of `steps` steps.
__global__ void asian(market k, int paths, int steps, const float *z, float *value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= paths) return;
  float step = k.years / steps, drift = (k.rate - 0.5f * k.volatility * k.volatility) * step;
  float spread = k.volatility * sqrtf(step), log_price = logf(k.spot), sum = 0;
  for (int s = 0; s < steps; s++) {
    log_price += drift + spread * z[s * paths + i];
    sum += log_price;
  }
  value[i] = expf(-k.rate * k.years) * fmaxf(expf(sum / steps) - k.strike, 0.0f);
}
]==]

local function check(status) assert(status == curand.CURAND_STATUS_SUCCESS, curand.name(status)) end

local paths, steps = 2 ^ 18, 16
local market = { spot = 100, strike = 105, rate = 0.05, volatility = 0.2, years = 1 }
local z, value = mw.zeros(paths * steps), mw.zeros(paths)

local status, generator = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_PHILOX4_32_10)
check(status)
check(curand.curandSetPseudoRandomGeneratorSeed(generator, 1234))

-- The error function, and with it the exact values in closed form.
local function normal_share(x) -- Marsaglia's series
  local term, sum = x, x
  for i = 3, 200, 2 do
    term = term * x * x / i
    sum = sum + term
  end
  return 0.5 + sum * math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
end
local function closed(mean, variance) -- of the logarithm of the price that decides the payoff
  local deviation = math.sqrt(variance)
  local d = (mean - math.log(market.strike)) / deviation
  return math.exp(-market.rate * market.years) *
    (math.exp(mean + variance / 2) * normal_share(d + deviation) - market.strike * normal_share(d))
end
local drift = market.rate - market.volatility ^ 2 / 2

check(curand.curandGenerateNormal(generator, z, paths, 0, 1))
m.european:each(paths)(market, paths, z, value)
local exact = closed(math.log(market.spot) + drift, market.volatility ^ 2)
print(("%.2f"):format(exact), math.abs(value:mean() - exact) < 0.1) --> 8.02 true

check(curand.curandGenerateNormal(generator, z, paths * steps, 0, 1))
m.asian:each(paths)(market, paths, steps, z, value)
exact = closed(math.log(market.spot) + drift * (steps + 1) / (2 * steps),
  market.volatility ^ 2 * (steps + 1) * (2 * steps + 1) / (6 * steps * steps))
print(("%.2f"):format(exact), math.abs(value:mean() - exact) < 0.1) --> 3.60 true

check(curand.curandDestroyGenerator(generator))
