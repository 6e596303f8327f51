-- Tables of curandCreatePoissonDistribution, and numbers of curand_discrete from them, compared with an H100's.
-- Lua 5.4 only: this tests device headers.

local mw = require "moonwarp"
local curand = require "moonwarp.curand"
local rt = require "moonwarp.runtime"

local source = [[
#include <curand_kernel.h>
__global__ void fields(curandDiscreteDistribution_t of, unsigned *numbers, double *normal) {
  numbers[0] = of->method;
  numbers[1] = of->M2->shift;
  numbers[2] = of->M2->length;
  normal[0] = of->mean;
  normal[1] = of->stddev;
}
__global__ void columns(curandDiscreteDistribution_t of, unsigned *K, double *V) {
  for (unsigned i = 0; i < of->M2->length; i++) K[i] = of->M2->histogram->K[i], V[i] = of->M2->histogram->V[i];
}
template <class S> __global__ void draw(curandDiscreteDistribution_t of, unsigned *out) {
  S s;
  curand_init(1234ull, 5ull, 2ull, &s);
  for (int i = 0; i < 64; i++) out[i] = curand_discrete(&s, of);
  out[64] = curand(&s);
}
__global__ void draw4(curandDiscreteDistribution_t of, uint4 *out, unsigned *after) {
  curandStatePhilox4_32_10_t s;
  curand_init(1234ull, 5ull, 2ull, &s);
  for (int i = 0; i < 16; i++) out[i] = curand_discrete4(&s, of);
  *after = curand(&s);
}
]]

local function distribution(lambda)
  local status, of = curand.curandCreatePoissonDistribution(lambda)
  assert.equal(0, status)
  return of
end

-- FNV's hash of 32-bit words.
local function hash(words)
  local h = 0xcbf29ce484222325
  for byte in words:gmatch "." do h = (h ~ byte:byte()) * 1099511628211 end
  return ("%016x"):format(h)
end

describe("tables of Poisson's distribution", function()
  local m = mw.compile(source)
  local tables, draws, bounds = {}, {}, nil
  for line in io.lines "spec/data/random/poisson_tables.txt" do
    local name, what, rest = line:match "^(%w+) (%S+) (.*)"
    if name == "table" then tables[tonumber(what)] = rest end
    if name == "V" then bounds = rest end
    if what and what:find "^discrete" then draws[#draws + 1] = { name, what, rest } end
  end

  it("are cuRAND's", function()
    local count = 0
    for lambda, expected in pairs(tables) do
      local of = distribution(lambda)
      local numbers, normal = mw.zeros(3, "uint"), mw.zeros(2, "double")
      assert.equal(0, rt.cudaLaunchKernel(m.fields, 1, 1, { of, numbers, normal }))
      local shift, length = numbers[2], numbers[3]
      local K, V = mw.zeros(length, "uint"), mw.zeros(length, "double")
      assert.equal(0, rt.cudaLaunchKernel(m.columns, 1, 1, { of, K, V }))
      assert.equal(expected, ("%d %d %s"):format(shift, length, hash(K:bytes())), lambda)
      assert.same({ lambda, math.sqrt(lambda) }, normal:totable())
      if lambda == 0.5 then
        local i = 0
        for bits in bounds:gmatch "%x+" do
          i = i + 1
          assert(math.abs(string.unpack("<d", string.pack("<I8", tonumber(bits, 16))) - V[i]) < 1e-15, i)
        end
        assert.equal(length, i)
      end
      curand.curandDestroyDistribution(of)
      count = count + 1
    end
    assert(count > 50)
  end)

  it("are of means below 2000; larger ones are normal distributions", function()
    for lambda, method in pairs { [1999.9] = 5, [2000] = 7, [4e5] = 7 } do
      local of = distribution(lambda)
      local numbers, normal = mw.zeros(3, "uint"), mw.zeros(2, "double")
      assert.equal(0, rt.cudaLaunchKernel(m.fields, 1, 1, { of, numbers, normal }))
      assert.equal(method, numbers[1])
      assert.same({ lambda, math.sqrt(lambda) }, normal:totable())
      curand.curandDestroyDistribution(of)
    end
  end)

  it("give kernels an H100's numbers", function()
    local states = { xorwow = "curandStateXORWOW_t", mrg32k3a = "curandStateMRG32k3a_t",
      philox = "curandStatePhilox4_32_10_t" }
    for _, row in ipairs(draws) do
      local kind, what, rest = row[1], row[2], row[3]
      local lambda, values = rest:match "^(%S+) (.*)"
      local of, out = distribution(tonumber(lambda)), mw.zeros(65, "uint")
      if what == "discrete4" then
        local numbers = mw.zeros(64, "uint")
        local after = mw.zeros(1, "uint")
        assert.equal(0, rt.cudaLaunchKernel(m.draw4, 1, 1, { of, numbers:as "uint4", after }))
        out:sub(1, 64):copy_from(numbers)
        out[65] = after[1]
      else
        assert.equal(0, rt.cudaLaunchKernel(m[("draw<%s>"):format(states[kind])], 1, 1, { of, out }))
      end
      local list = out:totable()
      for i, x in ipairs(list) do list[i] = ("%x"):format(x) end
      assert.equal(values, table.concat(list, " "), kind .. " " .. what .. " " .. lambda)
      curand.curandDestroyDistribution(of)
    end
    assert(#draws >= 12)
  end)
end)
