-- Threads that walk rows of their own: random kernels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local mw = require "moonwarp"
local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose threads walk rows of their own", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.rows", 25, 32) -- in 28 a store precedes a load of the same element
  end)

  -- The values that the kernels get: if they did not show the order of a sum, the comparison would not either.
  it("would differ if a sum had another order", function()
    local m = mw.compile [[
      __global__ void sums(const float *a, int n, float *y) {
        float up = 0, down = 0;
        for (int k = 0; k < n; k++) up = up + a[k], down = down + a[n - 1 - k];
        y[0] = up, y[1] = down;
      }]]
    local different = 0
    for seed = 1, 40 do
      local y = mw.zeros(2)
      m.sums(1, 1)(mw.array(fuzz.values(fuzz.draw(seed), "float", 50)), 50, y)
      if y[1] ~= y[2] then different = different + 1 end
    end
    assert.is_true(different > 10)
  end)
end)
