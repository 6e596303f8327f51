-- Numbers of curand_poisson and curand_poisson4 for means from 64 to 4000, compared with an H100's.
-- Lua 5.4 only: this tests device headers.

local mw = require "moonwarp"

local source = [[
#include <curand_kernel.h>
template <class S> __global__ void poisson(double lambda, unsigned *out) {
  S s;
  curand_init(1234ull, 5ull, 2ull, &s);
  for (int i = 0; i < 64; i++) out[i] = curand_poisson(&s, lambda);
  out[64] = curand(&s);
}
__global__ void poisson4(double lambda, unsigned *out) {
  curandStatePhilox4_32_10_t s;
  curand_init(1234ull, 5ull, 2ull, &s);
  for (int i = 0; i < 64; i += 4) {
    uint4 x = curand_poisson4(&s, lambda);
    out[i] = x.x, out[i + 1] = x.y, out[i + 2] = x.z, out[i + 3] = x.w;
  }
  out[64] = curand(&s);
}
]]
local kernels = {
  ["xorwow poisson"] = "poisson<curandStateXORWOW_t>", ["mrg32k3a poisson"] = "poisson<curandStateMRG32k3a_t>",
  ["philox poisson"] = "poisson<curandStatePhilox4_32_10_t>", ["philox poisson4"] = "poisson4",
}

describe("Poisson numbers of means from 64 to 4000", function()
  local m
  setup(function() m = mw.compile(source) end)

  local of_kind = {}
  for line in io.lines "spec/data/random/poisson_h100.txt" do
    local kind, lambda, values = line:match "^(%w+ poisson4?) (%S+) (.*)"
    if kind then
      of_kind[kind] = of_kind[kind] or {}
      of_kind[kind][tonumber(lambda)] = values
    end
  end

  for kind, kernel in pairs(kernels) do
    it("are an H100's: " .. kind, function()
      local count = 0
      for lambda, expected in pairs(of_kind[kind]) do
        local out, words = mw.zeros(65, "unsigned int"), {}
        m[kernel](1, 1)(lambda, out)
        for i, x in ipairs(out:totable()) do words[i] = ("%x"):format(x) end
        assert.equal(expected, table.concat(words, " "), "mean " .. lambda)
        count = count + 1
      end
      assert.equal(10, count)
    end)
  end
end)
