-- Comparisons of vectors of half and bfloat16 are made in float (mwcc's pass half-comparisons), not lane by lane.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local targets = require "support.targets"

local function ir(type)
  return ([[
target triple = "x86_64-unknown-linux-gnu"
define <16 x i1> @f(<16 x TYPE> %x, <16 x TYPE> %y) {
  %c = fcmp olt <16 x TYPE> %x, %y
  ret <16 x i1> %c
}
define i1 @one(half %x, half %y) {
  %c = fcmp olt half %x, %y
  ret i1 %c
}]]):gsub("TYPE", type)
end

local half = [[#include <cuda_fp16.h>
__global__ void k(int n, const __half *x, const __half *y, int *o) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half a = x[i], b = y[i];
  o[i] = __hlt(a, b) | __hle(a, b) << 1 | __heq(a, b) << 2 | __hne(a, b) << 3 | __hgtu(a, b) << 4 | __hisnan(a) << 5 |
    (__hmax(a, b) == a) << 6 | (__hmin(a, b) == b) << 7;
}]]
local bfloat = half:gsub("fp16", "bf16"):gsub("__half", "__nv_bfloat16")

-- Bits of zeros, subnormal numbers, ones, largest numbers, infinities and NaN of both types, and signs.
local bits = { 0, 0x8000, 1, 0x8001, 0x3c00, 0xbc00, 0x3c01, 0x3f80, 0xbf80, 0x7bff, 0x7c00, 0xfc00, 0x7c01, 0x7e00,
  0xfe00, 0x7f7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffff, 0x0400, 0x0080 }

describe("a comparison of half's vectors", function()
  it("is one of float's", function()
    for _, type in ipairs { "half", "bfloat" } do
      local made = mwcc.only(ir(type), "half-comparisons")
      assert.equal(2, mwcc.count(made, "fpext <16 x " .. type .. "> %%%S+ to <16 x float>"))
      assert.equal(1, mwcc.count(made, "fcmp olt <16 x float>"))
      assert.equal(1, mwcc.count(made, "fcmp olt half"))
    end
  end)

  it("needs no instructions for single lanes", function()
    for _, name in ipairs { "half", "bfloat" } do
      local text = mwcc.run(name == "half" and half or bfloat, "--mcpu=x86-64-v4 --emit=asm")
      local row = text:match "\nrow16x1[^\n]*:(.-)%.cfi_endproc"
      assert.is_truthy(row, text)
      assert.equal(0, mwcc.count(row, "vucomiss"))
    end
  end)

  it("has the same results in lanes as for one thread, on every processor", function()
    local x, y = {}, {}
    for _, a in ipairs(bits) do
      for _, b in ipairs(bits) do x[#x + 1], y[#y + 1] = string.pack("<I2", a), string.pack("<I2", b) end
    end
    for type, source in pairs { half = half, bfloat16 = bfloat } do
      local function solve(options)
        local a, b = mw.from_bytes(table.concat(x), type), mw.from_bytes(table.concat(y), type)
        local out = mw.zeros(#x, "int")
        mw.compile({ source = source, options = options }).k(mw.cdiv(#x, 64), 64)(#x, a, b, out)
        return out:bytes()
      end
      local one = solve { "--width=1" }
      for _, options in ipairs { {}, { "--width=32" }, { "--width=4" } } do
        assert.is_true(one == solve(options), type .. " " .. table.concat(options))
      end
      for _, target in ipairs(targets) do assert.is_true(one == solve(target.options), type .. " " .. target.name) end
    end
  end)
end)
