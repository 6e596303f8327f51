-- Gangs of all sizes compute the same bits, which measured gangs rely on: random kernels with gathers, divergent loops,
-- arrays of a thread, barriers and sums of products have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose best gang is hard to guess", function()
  it("has the same results, bit for bit, with all gangs", function()
    fuzz.check(require "support.mechanisms.gangs", 1, 8,
      { "own", "general", "--width=1", "--width=4", "--width=8", "--width=8x4", "--width=16" })
  end)
end)
