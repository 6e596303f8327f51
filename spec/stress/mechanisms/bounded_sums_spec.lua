-- Unsigned indices that contain the counters of loops, and may wrap: random kernels have the same results as thread by
-- thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel with unsigned sums of loops' counters", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.bounded_sums", 1, 8)
  end)
end)
