-- Flags as conditions (src/mwcc/prepare/boolean_phis.c): random kernels have the same results as thread by
-- thread, not optimised. Lua 5.4 only: this tests the compiler. CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel with flags", function()
  it("has the same results in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.barriers.flags", 1, 12)
  end)
end)
