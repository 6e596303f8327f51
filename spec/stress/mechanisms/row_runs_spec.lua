-- Gangs that end where a row of divided indices ends: random kernels have the same results as thread by thread, not
-- optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose indices are divided by the lengths of rows", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.row_runs", 57, 64)
  end)
end)
