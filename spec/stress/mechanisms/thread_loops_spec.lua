-- Inner loops that write rows of each thread: random kernels have the same results as not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose inner loops write rows", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.thread_loops", 1, 8, { "own", "general", "x86-64-v3" })
  end)
end)
