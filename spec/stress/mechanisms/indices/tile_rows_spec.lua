-- Clamped neighbours in two-dimensional tiles (src/mwcc/widen/memory/tested_access.c): random kernels have the same
-- results as thread by thread, not optimised.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler.

local fuzz = require "support.mechanisms.fuzz"

describe("a random stencil in a tile", function()
  it("has the same results, bit for bit, in all ways to compile it", function()
    fuzz.check(require "support.mechanisms.indices.tile_rows", 1, 12)
  end)
end)
