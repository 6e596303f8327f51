-- MT19937's stream with a block's states shared by 16 warps, as GPUs run it, compared with one thread per state.
-- Lua 5.4 only: this tests device headers.

local mw = require "moonwarp"

describe("MT19937 by 16 warps a block", function()
  local TURN = 8192 * 624
  local COUNT = 2 * TURN + 12345
  local m, generator, begun, words
  setup(function()
    m = mw.compile { source = [[
      #include <moonwarp/random/streams/mt19937.h>
      MW_MT_FILL(bits)
      MW_MT_FILL(uniform_double)
    ]], options = { "-DMW_MT_WARPS=16" } }
    generator = mw.random(7, "mt19937")
    generator.stream:prepare()
    begun = generator.stream.states:copy()
    words = generator:bits(COUNT)
  end)

  for _, from in ipairs { 0, 3, 4, TURN - 1 } do
    it(("makes the same words from number %d on"):format(from), function()
      local out = mw.zeros(COUNT - from, "uint")
      m.bits(256, { 32, 16 })(begun:copy(), 1, 3, from, COUNT, 0, 0, out)
      assert.is_true(out:eq(words[{ { from + 1, COUNT } }]):all())
    end)
  end

  it("makes doubles, and leaves turns out", function()
    local out = mw.zeros(TURN, "double")
    m.uniform_double(256, { 32, 16 })(begun:copy(), 2, 1, 0, TURN, 0, 0, out)
    local expected = (words[{ { TURN + 1, 2 * TURN } }]:to "double" + 0.5) * 2 ^ -32
    assert.is_true(out:eq(expected):all())
  end)
end)
