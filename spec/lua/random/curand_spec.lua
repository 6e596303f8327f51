-- moonwarp.curand: cuRAND's host functions by name. Codes and numbers are those of NVIDIA's library for the same calls.

local mw = require "moonwarp"
local curand = require "moonwarp.curand"
local rt = require "moonwarp.runtime"
local oracle = require "support.random.curand"
local calls = require "support.random.curand_calls"

-- The lines of a set of calls in NVIDIA's library.
local function expected(...)
  if oracle.missing then pending(oracle.missing) end
  local pipe = assert(io.popen("luajit spec/support/random/curand_oracle.lua '" .. oracle.path .. "' " ..
    table.concat({ ... }, " ")))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  assert(#lines > 0)
  return lines
end

local api = {}
function api.create(rng_type) return curand.curandCreateGeneratorHost(rng_type) end
function api.call(name, generator, ...)
  if name:find "^curandGet" then return (curand[name](...)) end
  return (curand[name](generator, ...))
end
local dtypes = { curandGenerateLongLong = "ulonglong" }
function api.draw(name, generator, count, size, ...)
  local out = mw.zeros(math.max(count, 1), dtypes[name] or size == 8 and "double" or
    name:find "Uniform" and "float" or name:find "ormal" and "float" or "uint")
  local code = curand[name](generator, out, count, ...)
  return code, out:bytes():sub(1, count * size)
end

local function same(want, got)
  for i = 1, math.max(#want, #got) do
    if want[i] ~= got[i] then
      error(("call %d: NVIDIA's library has\n%s\nand moonwarp\n%s\nafter\n%s"):format(i, tostring(want[i]),
        tostring(got[i]), table.concat(want, "\n", math.max(1, i - 8), i - 1)), 2)
    end
  end
end

local kinds = {
  "mrg32k3a", "mtgp32", "philox", "scrambled_sobol32", "scrambled_sobol64", "sobol32", "sobol64", "xorwow",
}

describe("moonwarp.curand", function()
  it("returns NVIDIA's codes where there is no generator", function()
    same(expected "general", calls.general(api))
  end)

  for _, kind in ipairs(kinds) do
    it("returns NVIDIA's codes and numbers: " .. kind, function()
      same(expected("codes", kind), calls.codes(api, kind))
    end)
  end

  for _, kind in ipairs(kinds) do
    it("continues as NVIDIA's generators do after calls of all kinds: " .. kind, function()
      for seed = 1, 3 do same(expected("mixture", kind, seed, 30), calls.mixture(api, kind, seed, 30)) end
    end)
  end

  it("has mt19937, which has no offsets and begins anew with a seed", function()
    local words = mw.random(5, "mt19937"):bits(20):bytes()
    local _, g = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_MT19937)
    local x = mw.zeros(10, "uint")
    assert.equal(0, curand.curandGenerate(g, x, 10))
    assert.equal(0, curand.curandSetPseudoRandomGeneratorSeed(g, 5))
    assert.equal(curand.CURAND_STATUS_TYPE_ERROR, curand.curandSetGeneratorOffset(g, 5))
    assert.equal(0, curand.curandGenerate(g, x, 10))
    assert.equal(words:sub(1, 40), x:bytes())
    assert.equal(0, curand.curandGenerate(g, x, 10))
    assert.equal(words:sub(41), x:bytes())
  end)

  it("writes arrays, pointers of the runtime, tables and memory of the host", function()
    local words = mw.random(0, "xorwow"):bits(8):totable()
    local _, g = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_XORWOW)
    local x = mw.zeros(8, "uint")
    assert.equal(0, curand.curandGenerate(g, x, 8))
    assert.same(words, x:totable())

    local _, p = rt.cudaMalloc(32)
    local h = rt.malloc(32, "uint")
    curand.curandSetGeneratorOffset(g, 0)
    assert.equal(0, curand.curandGenerate(g, p, 8))
    assert.equal(0, rt.cudaMemcpy(h, p, 32, rt.cudaMemcpyDeviceToHost))
    assert.same(words, h:totable(8))
    rt.cudaFree(p)

    _, g = curand.curandCreateGeneratorHost(curand.CURAND_RNG_PSEUDO_XORWOW)
    h:set { 0, 0, 0, 0, 0, 0, 0, 0 }
    assert.equal(0, curand.curandGenerate(g, h, 8))
    assert.same(words, h:totable(8))
    rt.free(h)
    local list = {}
    curand.curandSetGeneratorOffset(g, 0)
    assert.equal(0, curand.curandGenerate(g, list, 8))
    assert.same(words, list)
  end)

  it("generates in the stream that is set", function()
    local _, g = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_DEFAULT)
    local _, stream = rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)
    assert.equal(0, curand.curandSetStream(g, stream))
    local x = mw.zeros(1000)
    local seen
    stream:call(function() seen = x[1] end)
    assert.equal(0, curand.curandGenerateUniform(g, x, 1000))
    assert.equal(0, rt.cudaStreamSynchronize(stream))
    assert.equal(0, seen) -- numbers came after what the stream had before
    assert.equal(mw.random(0, "xorwow"):uniform(), x[1])
  end)

  -- Chi-squared of the frequency of each value, over values that are expected 5 times or more.
  local function fits(list, share)
    local seen, chi, bins = {}, 0, 0
    for _, x in ipairs(list) do seen[x] = (seen[x] or 0) + 1 end
    for k = 0, 400 do
      local expect = share(k) * #list
      if expect >= 5 then
        chi, bins = chi + ((seen[k] or 0) - expect) ^ 2 / expect, bins + 1
      end
    end
    assert(bins > 5)
    assert(chi < bins + 5 * math.sqrt(2 * bins), ("chi-squared %g of %d values"):format(chi, bins))
  end
  local function choose(n, k)
    local x = 1
    for i = 1, k do x = x * (n - k + i) / i end
    return x
  end

  it("makes tables of Poisson's distribution for kernels", function()
    local m = mw.compile [[
#include <curand_kernel.h>
__global__ void draw(curandDiscreteDistribution_t of, int n, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandStatePhilox4_32_10_t s;
  curand_init(1, i, 0, &s);
  if (i < n) out[i] = curand_discrete(&s, of);
}
]]
    for _, lambda in ipairs { 0.75, 20 } do
      local status, p = curand.curandCreatePoissonDistribution(lambda)
      assert.equal(0, status)
      local x = mw.zeros(20000, "uint")
      assert.equal(0, rt.cudaLaunchKernel(m.draw, mw.cdiv(20000, 128), 128, { p, 20000, x }))
      local first = math.exp(-lambda)
      fits(x:totable(), function(k)
        local share = first
        for i = 1, k do share = share * lambda / i end
        return share
      end)
      assert.equal(0, curand.curandDestroyDistribution(p))
      assert.equal(curand.CURAND_STATUS_NOT_INITIALIZED, curand.curandDestroyDistribution(p))
    end
    assert.equal(curand.CURAND_STATUS_OUT_OF_RANGE, (curand.curandCreatePoissonDistribution(0)))
  end)

  it("makes binomial numbers", function()
    for _, rng_type in ipairs { curand.CURAND_RNG_PSEUDO_MRG32K3A, curand.CURAND_RNG_QUASI_SOBOL64 } do
      local _, g = curand.curandCreateGenerator(rng_type)
      local x = mw.zeros(20000, "uint")
      assert.equal(0, curand.curandGenerateBinomial(g, x, 20000, 30, 0.3))
      fits(x:totable(), function(k) return k <= 30 and choose(30, k) * 0.3 ^ k * 0.7 ^ (30 - k) or 0 end)
      assert.equal(0, curand.curandGenerateBinomialMethod(g, x, 100, 7, 1, curand.CURAND_DEVICE_API))
      assert.equal(7, x[100])
      assert.equal(curand.CURAND_STATUS_OUT_OF_RANGE, curand.curandGenerateBinomial(g, x, 100, 7, 1.5))
    end
  end)

  it("has the direction vectors of NVIDIA's library", function()
    if oracle.missing then return pending(oracle.missing) end
    for kind, set in pairs { sobol32 = 101, scrambled_sobol32 = 102, sobol64 = 103, scrambled_sobol64 = 104 } do
      local bits = tonumber(kind:sub(-2))
      local status, p = curand["curandGetDirectionVectors" .. bits](set)
      assert.equal(0, status)
      assert.equal(oracle.draw { kind = kind, what = "vectors", count = 20000 }, p:tostring(20000 * bits * bits / 8))
      status, p = curand["curandGetScrambleConstants" .. bits]()
      assert.equal(0, status)
      assert.equal(oracle.draw { kind = kind, what = "constants", count = 20000 }, p:tostring(20000 * bits / 8))
    end
  end)

  it("says why a call failed", function()
    local _, g = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_XORWOW)
    assert.equal(curand.CURAND_STATUS_TYPE_ERROR, curand.curandGenerateLongLong(g, mw.zeros(2, "ulonglong"), 2))
    assert.equal("words of xorwow have 32 bits: call curandGenerate", curand.story().message)
    assert.equal("CURAND_STATUS_TYPE_ERROR", curand.name(103))
    assert.equal(curand.CURAND_STATUS_OUT_OF_RANGE, curand.curandGenerateUniform(g, mw.zeros(2), 3))
    assert.equal(curand.CURAND_STATUS_TYPE_ERROR, curand.curandGenerateUniform(g, mw.zeros(2, "double"), 2))
    assert.equal(curand.CURAND_STATUS_OUT_OF_RANGE, curand.curandGenerateNormal(g, mw.zeros(2), 2))
    assert.equal("a mean is a number, got nil", curand.story().message)
    assert.equal(curand.CURAND_STATUS_LAUNCH_FAILURE, curand.curandGenerateUniform(g, nil, 2))
    assert.equal(curand.CURAND_STATUS_OUT_OF_RANGE, curand.curandSetPseudoRandomGeneratorSeed(g, 0.5))
    assert.equal(curand.CURAND_STATUS_PREEXISTING_FAILURE, curand.curandSetStream(g, "no stream"))
  end)

  it("has each function on its page", function()
    local file = assert(io.open "docs/use/random.md")
    local text = file:read "*a"
    file:close()
    for name in pairs(curand) do
      if name:find "^curand%u" then assert(text:find(name, 1, true), name) end
    end
  end)
end)
