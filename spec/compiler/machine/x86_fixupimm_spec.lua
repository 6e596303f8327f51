-- Logarithms of floats have their values for infinity, 0 and negative numbers by one instruction with AVX-512, and by
-- comparisons elsewhere: the same bits everywhere (spec/device/math/logarithm_bits_spec.lua compares the headers').
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local targets = require "support.targets"
local count = mwcc.count

local function kernel(body)
  return ([[
    extern "C" __global__ void k(int n, const float *in, float *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      float x = in[i], y = x * 3 + 1, z;
      %s
      out[i] = y;
    }]]):format(body)
end

local function code(text, options) return mwcc.run(text, "--emit=asm --launch=k:64x1x1 " .. options) end

local infinity, zero = "y = x < 1 / 0.0f ? y : x;", "y = x == 0 ? -1 / 0.0f : y;"
local negative = "y = x < 0 ? nanf(\"\") : y;"
local limits = infinity .. zero .. negative

-- Chains of which one link is missing or is another, and that are used between.
local others = {
  zero .. negative, infinity .. negative, infinity .. "y = x == 1 ? -1 / 0.0f : y;" .. negative,
  infinity .. "y = x == 0 ? -1 : y;" .. negative, "y = x < 1 / 0.0f ? y : 2;" .. zero .. negative,
  infinity .. "z = y;" .. zero .. negative .. "y += z;", "y = x < 100 ? y : x;" .. zero .. negative,
}
local shorter = {
  infinity .. zero, infinity .. zero .. "y = x < 0 ? 5 : y;",
  infinity .. zero .. "z = y;" .. negative .. "y += z;",
}

local function check_same_bits(text)
  local list = { 0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, 1.0, -1.0, 2.0 ^ -149, -2.0 ^ -149, 0x1.fffffep127, -0x1.fffffep127 }
  for i = #list + 1, 256 do list[i] = (i - 128) * 1.7 end
  local function solve(options)
    local m, out = mw.compile { source = text, options = options }, mw.zeros(#list)
    m.k(#list / 64, 64)(#list, mw.array(list), out)
    return out:bytes()
  end
  local one = solve { "--width=1", "-O0" }
  local all = { {}, { "--width=32" }, { "--width=16x4" }, { "--width=4" }, { "--without=fixupimm" } }
  for _, target in ipairs(targets) do all[#all + 1] = target.options end
  for _, options in ipairs(all) do assert.is_true(one == solve(options), text .. table.concat(options, " ")) end
end

describe("the limits of a logarithm", function()
  it("are one instruction with AVX-512", function()
    for _, name in ipairs { "logf", "log2f", "log10f" } do
      for _, width in ipairs { "", "--width=32", "--width=4" } do
        local text = kernel("y = " .. name .. "(x);")
        local with, without = code(text, "--mcpu=x86-64-v4 " .. width),
          code(text, "--mcpu=x86-64-v4 --without=fixupimm " .. width)
        assert.is_true(count(with, "vfixupimmps") > 0, name .. " " .. with)
        assert.is_true(count(with, "vcmp%a*ps") < count(without, "vcmp%a*ps"), name .. " " .. with)
      end
    end
  end)

  it("are comparisons elsewhere", function()
    assert.equal(0, count(code(kernel "y = logf(x);", "--mcpu=x86-64-v3"), "vfixupimm"))
  end)

  it("are found where LLVM knows that nothing is below 0", function()
    local text = kernel "y = logf((__float_as_uint(x) >> 8) * 0x1p-24f);"
    assert.is_true(count(code(text, "--mcpu=x86-64-v4"), "vfixupimmps") > 0)
    check_same_bits(text)
  end)

  it("are right in any chain of selections, and are no others", function()
    check_same_bits(kernel(limits))
    for _, body in ipairs(shorter) do
      assert.is_true(count(code(kernel(body), "--mcpu=x86-64-v4"), "vfixupimmps") > 0, body)
      check_same_bits(kernel(body))
    end
    for _, body in ipairs(others) do
      assert.equal(0, count(code(kernel(body), "--mcpu=x86-64-v4"), "vfixupimmps"), body)
      check_same_bits(kernel(body))
    end
  end)
end)
