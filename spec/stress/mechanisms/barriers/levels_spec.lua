-- Blocks as one gang: random kernels that work by levels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel that works by levels of threads", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.barriers.levels", 1, 4)
  end)
end)
