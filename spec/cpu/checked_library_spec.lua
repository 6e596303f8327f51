-- Kernels of the library in checked runs: they have no findings, so that those of a script are its own.
-- CPU device only.

local mw = require "moonwarp"
local curand = require "moonwarp.curand"
mw.limit("time", 60)

describe("checked runs find nothing in", function()
  for _, kind in ipairs { "PSEUDO_PHILOX4_32_10", "QUASI_SOBOL32" } do
    it("random numbers of CURAND_RNG_" .. kind, function()
      local z = mw.zeros(2048)
      local report = mw.check(function()
        local status, generator = curand.curandCreateGenerator(curand["CURAND_RNG_" .. kind])
        assert.equal(curand.CURAND_STATUS_SUCCESS, status)
        assert.equal(curand.CURAND_STATUS_SUCCESS, curand.curandGenerateUniform(generator, z, 2048))
        curand.curandDestroyGenerator(generator)
      end)
      assert.equal("no findings", tostring(report))
      assert.is_true(z:mean() > 0.4 and z:mean() < 0.6)
    end)
  end

  local function matrix() return mw.arange(0, 600):reshape(30, 20) end
  local operations = {
    { "arithmetic with broadcasting", function() return matrix() * mw.ones(20) + mw.ones(30, 1) end },
    { "sums along axes", function() return matrix():sum { axis = 1 } + matrix():sum { axis = 2 }:sum() end },
    { "scatters", function()
      local places = (mw.arange(0, 600) % 7 + 1):to "int"
      return mw.zeros(7):scatter_add(1, places, mw.ones(600))
    end },
    { "scans", function() return matrix():cumsum { axis = 2 } end },
    { "masks", function() return mw.where(matrix():gt(5), matrix(), mw.zeros(30, 20)) end },
  }
  for _, operation in ipairs(operations) do
    it(operation[1] .. " of arrays", function()
      local report = mw.check(function()
        assert.is_truthy(operation[2]():totable())
      end)
      assert.equal("no findings", tostring(report))
    end)
  end
end)
