-- Loads from places that lanes choose between (src/mwcc/divergence/access_pattern.h): random kernels have
-- the same results as thread by thread, not optimised. Lua 5.4 only: this tests the compiler. CPU device only: about
-- its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose lanes choose between places", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.memory.selected_places", 1, 12)
  end)
end)
