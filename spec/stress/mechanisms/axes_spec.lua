-- Lanes along threadIdx.y: random kernels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose threadIdx.x may count rows", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.axes", 13, 16) -- lanes turn in three of them
  end)
end)
