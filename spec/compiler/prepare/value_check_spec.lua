-- Tests of uninitialised values: what the pass leaves is valid after each step.
-- Lua 5.4 only: this tests the compiler.

local mwcc = require "support.mwcc"

describe("value-check", function()
  -- The origin of 8 bytes is stored twice, as a word that is made in a branch.
  for _, type in ipairs { "float", "int", "double", "long long" } do
    it(("moves shadows and origins of %s through shuffles"):format(type), function()
      local output, status = mwcc.try(([[
        __global__ void k(%s *p, const %s *q, int n) {
          __shared__ %s tile[32];
          if (threadIdx.x < n) tile[threadIdx.x] = q[threadIdx.x];
          __syncwarp();
          %s x = tile[threadIdx.x];
          for (int d = 1; d < 32; d *= 2) {
            %s y = __shfl_up_sync(~0u, x, d);
            if (threadIdx.x >= d) x += y;
          }
          p[threadIdx.x] = x;
        }]]):gsub("%%s", type), "--verify --checks=8")
      assert.equal(0, status, output)
    end)
  end
end)
