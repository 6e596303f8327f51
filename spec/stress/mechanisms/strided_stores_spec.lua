-- Stores to every second element of shared memory, and of structs between whose stores others are loaded: random
-- kernels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel that stores to some elements of shared memory", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.strided_stores", 1, 8)
  end)
end)
