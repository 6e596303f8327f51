-- Logarithms have the same bits on lanes of any number, one by one, and on every processor.
-- Lua 5.4 only: the compiler alone is tested.

local mw = require "moonwarp"
local random = require "support.random" "logarithm_bits_spec"
local targets = require "support.targets"

local names = { logf = "float", log2f = "float", log10f = "float", __logf = "float", log = "double", log2 = "double",
  log10 = "double" }

local function kernel(name)
  return ([[
    extern "C" __global__ void k_NAME(int n, const TYPE *in, TYPE *out) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) out[i] = NAME(in[i]);
    }]]):gsub("NAME", name):gsub("TYPE", names[name])
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
  it("has the same bits on lanes, one by one, and on every processor", function()
    for name, type in pairs(names) do check_same_bits(kernel(name), name, type) end
  end)

  it("has them after a product, of a number that is known to be above 0", function()
    check_same_bits([[
      extern "C" __global__ void k_radius(int n, const float *in, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = sqrtf(-2 * logf((__float_as_uint(in[i]) >> 8) * 0x1p-24f));
      }]], "radius", "float")
  end)
end)
