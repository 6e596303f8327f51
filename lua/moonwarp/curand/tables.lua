-- cuRAND's tables: distributions for curand_discrete, their use for binomial numbers, direction vectors and scramble
-- constants.

local raw = require "moonwarp.binding"
local result = require "moonwarp.curand.result"
local generate = require "moonwarp.curand.generate"
local generators = require "moonwarp.curand.generator"
local pointer = require "moonwarp.runtime.pointer"
local discrete = require "moonwarp.random.discrete"

local api, fail = result.api, result.fail
local M = {}

local distributions = {}

local function install_distributions(curand)
  curand.curandCreatePoissonDistribution = api(function(lambda)
    generate.check_lambda(lambda)
    local at = discrete.poisson_table(discrete.method(lambda), lambda)
    distributions[at] = true
    return pointer.new(at)
  end)
  curand.curandDestroyDistribution = api(function(distribution)
    local at = pointer.address(distribution, "a distribution")
    if not distributions[at] then fail("NOT_INITIALIZED", "this is not a distribution, or it was destroyed") end
    distributions[at] = nil
    discrete.free(at)
  end)
end

local function binomial(generator, out, count, n, p)
  local g = generators.check(generator)
  if type(n) ~= "number" or n < 0 or n % 1 ~= 0 or n >= 2 ^ 32 then
    fail("OUT_OF_RANGE", "a number of trials is a whole number of up to 32 bits, got %s", tostring(n))
  end
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    fail("OUT_OF_RANGE", "a probability is a number from 0 to 1, got %s", tostring(p))
  end
  if count == 0 then return end
  local dtype = g.of.wide and "ulonglong" or "uint"
  local variance = n * p * (1 - p)
  local at = discrete.table_of(discrete.method(variance), true, n, p, n * p, variance, n)
  generate.make(g, out, count, "uint", function(array)
    local words = dtype == "uint" and array or raw.array_new(dtype, { count })
    generate.draw(g, "bits", words)
    discrete.look_up(words, at, n, array)
  end)
  discrete.free(at)
end

-- cuRAND does not document its methods for Poisson and binomial numbers, except the device's; only that one is here.
local function check_method(method)
  if method ~= 9 then
    fail("INTERNAL_ERROR", "the method is CURAND_DEVICE_API, not %s", tostring(method))
  end
end

local function install_methods(curand)
  curand.curandGeneratePoissonMethod = api(function(generator, out, count, lambda, method)
    check_method(method)
    if generators.check(generator).of.kind == "mt19937" then
      fail("INTERNAL_ERROR", "mt19937 has no method CURAND_DEVICE_API")
    end
    generate.poisson(generator, out, count, lambda, "poisson")
  end)
  curand.curandGenerateBinomial = api(binomial)
  curand.curandGenerateBinomialMethod = api(function(generator, out, count, n, p, method)
    check_method(method)
    binomial(generator, out, count, n, p)
  end)
end

-- Host memory with vectors and constants of a kind, made at the first call.
local kept = {}
local function vectors_of(kind)
  if not kept[kind] then
    local vectors, begins = raw.part("random.vectors").arrays(kind, 20000, { 0, 0 })
    local dtype = kind:find "64" and "ulonglong" or "uint"
    kept[kind] = {}
    for name, array in pairs { vectors = vectors, begins = begins } do
      local at = raw.memory_new("host", #array:bytes())
      raw.memory_set_bytes(at, array:bytes())
      kept[kind][name] = pointer.new(at, dtype)
    end
  end
  return kept[kind]
end

local function install_vectors(curand)
  local sets = {
    [32] = { [101] = "sobol32", [102] = "scrambled_sobol32" },
    [64] = { [103] = "sobol64", [104] = "scrambled_sobol64" },
  }
  for bits, kinds in pairs(sets) do
    curand["curandGetDirectionVectors" .. bits] = api(function(set)
      if not kinds[set] then fail("OUT_OF_RANGE", "there are no vectors %s of %d bits", tostring(set), bits) end
      return vectors_of(kinds[set]).vectors
    end)
    curand["curandGetScrambleConstants" .. bits] = api(function()
      return vectors_of("scrambled_sobol" .. bits).begins
    end)
  end
end

---@param curand table
function M.install(curand)
  install_distributions(curand)
  install_methods(curand)
  install_vectors(curand)
end

return M
