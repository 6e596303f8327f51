-- Threads that load and store elements of regions of their own: random kernels have the same results as thread by
-- thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose threads load and store regions of their own", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    -- in 56 a tile of rows was loaded before a store of the same iteration
    fuzz.check(require "support.mechanisms.memory.own_memory", 51, 57)
  end)
end)
