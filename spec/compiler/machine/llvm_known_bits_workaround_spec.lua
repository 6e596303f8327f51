-- Sums of shuffled vectors before instruction selection (src/mwcc/machine/llvm_known_bits_workaround.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local files = require "support.files"
local mwcc = require "support.mwcc"
local count = mwcc.count

local class = "--mcpu=x86-64-v4 --launch=_Z5radixiPKjPj:256x1x1"

describe("prefix sums in code for one block size", function()
  local text = files.benchmark "radix"

  it("are frozen", function()
    local ir = mwcc.run(text, "--verify --emit=ir " .. class)
    local sums, moved = {}, 0
    for name in ir:gmatch "(%%[%w.]+) = freeze <16 x i32>" do sums[name] = true end
    for name, left, right in ir:gmatch "\n  (%%[%w.]+) = add <16 x i32> (%%[%w.]+), (%%[%w.]+)" do
      if sums[left] or sums[right] then
        moved = moved + 1
        assert.is_truthy(ir:find(("freeze <16 x i32> %s\n"):format(name), 1, true)
          or ir:find(("freeze <16 x i32> %s,"):format(name), 1, true), name)
      end
    end
    assert.is_true(moved > 64, moved) -- eight times those of 16 vectors that have others before them
  end)

  it("become additions only", function()
    local asm = mwcc.run(text, "--emit=asm " .. class)
    assert.is_true(count(asm, "vpaddd%s") > 64)
    assert.equal(0, count(asm, "vpaddd%s[^\n]*\n%s*vmovdqa64%s+%%zmm%d+, %%zmm%d+\n%s*vpaddd"))
  end)
end)
