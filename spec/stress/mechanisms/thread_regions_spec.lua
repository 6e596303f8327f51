-- Kernels that run thread by thread up to each barrier: random kernels have the same results as fibers, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel whose threads own rows of shared memory", function()
  it("has the same results, bit for bit, as lanes and thread by thread", function()
    fuzz.check(require "support.mechanisms.thread_regions", 1, 16, { "own", "--width=1" })
    fuzz.check(require "support.mechanisms.thread_regions", 17, 24)
    fuzz.check(require "support.mechanisms.thread_regions", 2017, 2017, { "own" }) -- its index wraps in strides
  end)
end)
