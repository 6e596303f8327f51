-- Blocks that may have no work: random kernels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel that begins with a condition", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.guards", 9, 12) -- the guard is tested in three of them
  end)
end)
