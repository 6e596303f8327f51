-- Indices that are sums of 8 and 16 bits, and wrap: random kernels have the same results as thread by thread, not
-- optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose indices are sums of few bits", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.narrow_indices", 25, 32) -- 30 was wrong: such sums were assumed not to wrap
  end)
end)
