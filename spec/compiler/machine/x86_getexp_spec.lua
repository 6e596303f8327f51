-- Logarithms take numbers apart by AVX-512's instructions for that, and by their bits elsewhere: the same numbers
-- everywhere.
-- Lua 5.4 only: the compiler alone is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "x86_getexp_spec"
local targets = require "support.targets"
local count = mwcc.count

local names = { logf = "float", log2f = "float", log10f = "float", __logf = "float", log = "double", log2 = "double",
  log10 = "double" }

local function kernel(name)
  return ([[
    extern "C" __global__ void k_NAME(int n, const TYPE *in, TYPE *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = NAME(in[i]);
    }]]):gsub("NAME", name):gsub("TYPE", names[name])
end

local function code(text, name, options)
  return mwcc.run(text, ("--emit=asm --launch=k_%s:64x1x1 %s"):format(name, options))
end

-- What the headers do, and what becomes of y then: as they have it, and so that what x was taken apart into is used for
-- other numbers than those above 0.
local infinity, zero = "y = x < 1 / 0.0f ? y : x;", "y = x == 0 ? -1 / 0.0f : y;"
local negative = "y = x < 0 ? nanf(\"\") : y;"
local limits = infinity .. zero .. negative
local wrong = { "", zero .. negative, infinity .. negative, infinity .. zero, limits .. "y = i & 1 ? y : k;",
  limits .. "y = i & 1 ? y : f;", limits .. "y += bits & 0xffffff;",
  infinity .. "z = y;" .. zero .. negative .. "y += z;" }

local function own_kernel(ends)
  return ([[
    extern "C" __global__ void k_own(int n, const float *in, float *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) {
        #pragma clang fp contract(off)
        float x = in[i], z;
        bool tiny = x < 0x1p-126f;
        int bits = __float_as_int(tiny ? x * 0x1p+23f : x) - 0x3f2aaaab;
        float k = (float)(bits >> 23) - (tiny ? 23.0f : 0.0f);
        float f = __int_as_float((bits & 0x7fffff) + 0x3f2aaaab) - 1.0f;
        float y = k * 0.5f + f;
        %s
        out[i] = y;
      }
    }]]):format(ends)
end

-- The ends of all ranges, and numbers beside those where the exponent changes; then any.
local function numbers(type)
  local float = type == "float"
  local denormal, most = -1074, 0x1.fffffffffffffp1023
  if float then denormal, most = -149, 0x1.fffffep127 end
  local list = { 0.0, -0.0, 1 / 0, -1 / 0, 0 / 0, -1.0, -2.0 ^ denormal, 1.0, most, -most }
  local step = float and 0x1p-23 or 0x1p-52
  for e = denormal, float and 127 or 1023, 7 do
    for _, at in ipairs { 1, 4 / 3, 2 } do
      for n = -2, 2 do list[#list + 1] = (at + n * step) * 2.0 ^ (e // 2) * 2.0 ^ (e - e // 2) end
    end
  end
  while #list % 64 ~= 0 or #list < 4096 do
    local bits = string.pack("I4I4", random(0, 0xffffffff), random(0, 0xffffffff))
    local x = float and string.unpack("f", bits) or string.unpack("d", bits)
    if x == x then list[#list + 1] = x end -- a NaN's bits are lost on the way through Lua
  end
  return list
end

local function results(text, name, type, list, options)
  local m, out = mw.compile { source = text, options = options }, mw.zeros(#list, type)
  m["k_" .. name](#list / 64, 64)(#list, mw.array(list, type), out)
  return out:bytes()
end

local function check_same_bits(text, name, type)
  local list = numbers(type)
  local one = results(text, name, type, list, { "--width=1", "-O0" })
  local others = { {}, { "--width=1" }, { "--width=32" }, { "--width=16x4" }, { "--width=4" } }
  for _, target in ipairs(targets) do others[#others + 1] = target.options end
  for _, options in ipairs(others) do
    assert.is_true(one == results(text, name, type, list, options), name .. " " .. table.concat(options, " "))
  end
end

describe("a logarithm", function()
  it("compares nothing with AVX-512", function()
    for name, type in pairs(names) do
      local packed = type == "float" and "ps" or "pd"
      for _, width in ipairs(name == "logf" and { "", "--width=32", "--width=4" } or { "" }) do
        local output = code(kernel(name), name, "--mcpu=x86-64-v4 " .. width)
        for _, instruction in ipairs { "vgetexp", "vgetmant", "vfixupimm" } do
          assert.is_true(count(output, instruction .. packed) > 0, name .. " " .. output)
        end
        assert.equal(0, count(output, "vcmp%a*" .. packed), name .. " " .. output)
      end
    end
  end)

  it("is arithmetic elsewhere", function()
    assert.equal(0, count(code(kernel("logf"), "logf", "--mcpu=x86-64-v3"), "vgetexp"))
  end)

  it("has the same bits on lanes, one by one, and on every processor", function()
    for name, type in pairs(names) do check_same_bits(kernel(name), name, type) end
  end)

  it("is taken apart by them where LLVM knows that nothing is below 0, and has put other arithmetic between", function()
    local text = [[
      extern "C" __global__ void k_radius(int n, const float *in, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = sqrtf(-2 * logf((__float_as_uint(in[i]) >> 8) * 0x1p-24f));
      }]]
    assert.is_true(count(code(text, "radius", "--mcpu=x86-64-v4"), "vgetexpps") > 0)
    check_same_bits(text, "radius", "float")
  end)

  it("takes nothing apart by them that is used for numbers that are not above 0 and finite", function()
    assert.is_true(count(code(own_kernel(limits), "own", "--mcpu=x86-64-v4"), "vgetexpps") > 0)
    for _, ends in ipairs(wrong) do
      assert.equal(0, count(code(own_kernel(ends), "own", "--mcpu=x86-64-v4"), "vgetexpps"), ends)
      check_same_bits(own_kernel(ends), "own", "float")
    end
  end)
end)
