-- Forwarding of lanes through shared memory: random kernels have the same results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random kernel of small blocks that exchange values in unrolled loops", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.shared.lane_places", 1, 8)
  end)
end)

describe("a random kernel that sweeps through a tree in shared memory", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.shared.sweeps", 1, 8)
  end)
end)
