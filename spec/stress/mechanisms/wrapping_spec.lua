-- Numbers that wrap between threads, which are compared, clamped, divided and counted: random kernels have the same
-- results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel with numbers that wrap between threads", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.indices.wrapping", 9, 16)
    fuzz.check(require "support.mechanisms.indices.wrapping", 30, 37)
  end)
end)
