-- Conversions between bfloat16 and integers, against rounding in integers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local random = require "support.random" "bfloat_integer_spec"

-- |x| rounded to 8 significant bits, as the number of units and the exponent of the unit; `up`: away from zero.
local function rounded(size, nearest, up)
  local shift = 0
  while size >> shift > 255 or size >> shift < 0 do shift = shift + 1 end
  local units, rest, half = size >> shift, size & ((1 << shift) - 1), shift > 0 and 1 << (shift - 1) or 0
  if nearest then up = math.ult(half, rest) or rest == half and rest ~= 0 and units & 1 == 1 end
  return (units + (up and rest ~= 0 and 1 or 0)) * 2.0 ^ shift
end

local function model(x, direction, unsigned)
  local negative = x < 0 and not unsigned
  local up = direction == "ru" and not negative or direction == "rd" and negative
  return (negative and -1 or 1) * rounded(negative and -x or x, direction == "rn", up)
end

-- Integers near halfway between two bfloat16 numbers, where a double has lost what decides.
local list = { 0, 1, -1, 255, 257, -257, math.maxinteger, math.mininteger + 1 }
for _ = 1, 500 do
  local shift = random(0, 54)
  local near = (random(128, 255) << 1 | 1) << shift >> 1
  for d = -1, 1 do
    list[#list + 1] = near + d
    list[#list + 1] = -(near + d)
  end
end

describe("bfloat16 and integers:", function()
  for _, direction in ipairs { "rn", "rz", "ru", "rd" } do
    it("from 64 bits, " .. direction, function()
      local n = #list
      local text = [[
        #include <cuda_bf16.h>
        extern "C" __global__ void k(const long long *x, float *s, float *u, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i >= n) return;
          s[i] = (float)__ll2bfloat16_DIR(x[i]);
          u[i] = (float)__ull2bfloat16_DIR((unsigned long long)x[i]);
        }]]
      local m = mw.compile((text:gsub("DIR", direction)))
      local signed, unsigned = mw.zeros(n, "float"), mw.zeros(n, "float")
      m.k((n + 127) // 128, 128)(mw.array(list, "longlong"), signed, unsigned, n)
      for i, x in ipairs(list) do
        assert.equal(model(x, direction), signed[i], ("%d %s"):format(x, direction))
        assert.equal(model(x, direction, true), unsigned[i], ("%d as unsigned, %s"):format(x, direction))
      end
    end)
  end

  it("to 8 and 16 bits: cut to the range", function()
    local m = mw.compile [[
      #include <cuda_bf16.h>
      extern "C" __global__ void k(int *p, float x) {
        __nv_bfloat16 b(x);
        p[0] = __bfloat162short_rz(b);
        p[1] = __bfloat162ushort_rd(b);
        p[2] = __bfloat162char_rz(b);
        p[3] = __bfloat162uchar_rz(b);
        p[4] = __bfloat162short_ru(b);
      }]]
    local p = mw.zeros(5, "int")
    for x, expected in pairs {
      [2.5] = { 2, 2, 2, 2, 3 },
      [-2.5] = { -2, 0, -2, 0, -2 },
      [1e6] = { 32767, 65535, 127, 255, 32767 },
      [-1e6] = { -32768, 0, -128, 0, -32768 },
    } do
      m.k(1, 1)(p, x)
      assert.same(expected, p:totable())
    end
  end)
end)
