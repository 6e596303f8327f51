-- Loops with only 8- or 16-bit numbers have as many lanes as a register holds of them, in code for one block size.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "narrow_types_spec"

-- The length of the common prefix of the text at i and a word: at(i, k) for every position.
local text = [[
extern "C" __global__ void agree(int n, const T *text, int length, const T *word, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n - length) return;
  int same = 0;
  while (same < length && text[i + same] == word[same]) same++;
  out[i] = same;
}
extern "C" __global__ void last(int n, const T *text, T wanted, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int found = -1;
  if (i < n / 2)
    for (int k = 0; k < 9; k++)
      if (text[i + k] == wanted && k != i % 5) found = k;
  out[i] = found;
}
]]

local function agree(list, word, i)
  local same = 0
  while same < #word and list[i + same + 1] == word[same + 1] do same = same + 1 end
  return same
end

local function last(list, wanted, i, n)
  local found = -1
  if i < n // 2 then
    for k = 0, 8 do
      if list[i + k + 1] == wanted and k ~= i % 5 then found = k end
    end
  end
  return found
end

describe("loops over narrow numbers", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  for dtype, c in pairs { uchar = "unsigned char", short = "short" } do
    it("of " .. dtype, function()
      local m = mw.compile((text:gsub("%f[%w]T%f[%W]", c)))
      local n, list, word = 1000, {}, {}
      for i = 1, n + 16 do list[i] = random(1, 3) end
      for i = 1, 6 do word[i] = list[i + 100] end
      local array = mw.array(list, dtype)
      for _, block in ipairs { 256, 128, 96 } do
        local threads = mw.cdiv(n, block) * block
        local out, wanted = mw.full(threads, -5, "int"), {}
        m.agree(mw.cdiv(n, block), block)(n, array, #word, mw.array(word, dtype), out)
        for i = 0, threads - 1 do wanted[i + 1] = i <= n - #word and agree(list, word, i) or -5 end
        assert.same(wanted, out:totable())
        m.last(mw.cdiv(n, block), block)(n, array, 2, out)
        for i = 0, threads - 1 do wanted[i + 1] = last(list, 2, i, n) end
        assert.same(wanted, out:totable())
      end
    end)
  end

  local function lanes(type, processor, block)
    local output = mwcc.run((text:gsub("%f[%w]T%f[%W]", type)),
      ("--mcpu=%s --report --launch=agree:%sx1x1"):format(processor, block))
    return tonumber(output:match "gangs of %d+ x (%d+) lanes")
  end

  it("have as many lanes as a register holds of them", function()
    assert.equal(64, lanes("unsigned char", "x86-64-v4", 256))
    assert.equal(32, lanes("short", "x86-64-v4", 256))
    assert.equal(32, lanes("unsigned char", "x86-64-v3", 256))
    assert.equal(16, lanes("int", "x86-64-v4", 256))
    assert.equal(16, lanes("unsigned char", "x86-64-v4", 96)) -- the row's length is not a multiple
  end)
end)
