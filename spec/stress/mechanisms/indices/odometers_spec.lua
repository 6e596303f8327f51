-- Rows of divided indices that end in gangs and go on in the next block: random kernels have the same results as thread
-- by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel that takes the number of a thread apart into digits", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.indices.odometers", 1, 12)
  end)
end)
