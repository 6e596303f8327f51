-- Members of lanes' records, loaded and stored together: random kernels have the same results as thread by thread, not
-- optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose threads have records of their own", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    -- in seed 42 members of a chunk differ in what is known of them
    fuzz.check(require "support.mechanisms.records", 39, 46)
  end)
end)
