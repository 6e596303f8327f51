-- Quotients by products of lengths (src/mwcc/prepare/nested_division.c): random kernels have the same results as
-- thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel that takes indices apart", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.indices.nested_divisions", 1, 16)
  end)
end)
