-- Clamped indices under conditions that leave out clamped lanes: random kernels have the same results as thread by
-- thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel with conditions on its clamped indices", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.guarded_clamps", 9, 16)
  end)
end)
