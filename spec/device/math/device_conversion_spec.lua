-- Conversions with a stated rounding (_rn _rz _ru _rd), against exact arithmetic in Lua.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local numbers = require "support.numbers"
local random = require "support.random" "device_conversion_spec"

local inf, nan = math.huge, 0 / 0
local list, to_float, s32, sign = numbers.list, numbers.to_float, numbers.s32, numbers.sign
local float_neighbours, double_neighbours = numbers.float_neighbours, numbers.double_neighbours
local check_same, directed = numbers.check_same, numbers.directed
local n = 1000

local modes = { "rn", "rz", "ru", "rd" }

describe("a conversion", function()
  local function conversions(from, to, T, F)
    local lines = {}
    for i, mode in ipairs(modes) do
      lines[i] = ("  out[4 * i + %d] = __%s2%s_%s(x[i]);"):format(i - 1, from, to, mode)
    end
    return ([[
__global__ void %s_%s(int n, const %s *x, %s *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
%s
}
]]):format(from, to, T, F, table.concat(lines, "\n"))
  end
  local types = {
    int = "int", uint = "unsigned int", ll = "long long", ull = "unsigned long long",
    float = "float", double = "double",
  }
  local source = conversions("double", "float", "double", "float")
  for _, to in ipairs { "int", "uint", "ll", "ull" } do
    for _, from in ipairs { "float", "double" } do
      source = source .. conversions(from, to, types[from], types[to])
      if from == "float" or to:match "ll" then source = source .. conversions(to, from, types[to], types[from]) end
    end
  end
  local m = mw.compile(source)

  local function run(name, xs, from, to)
    local out = mw.zeros(4 * #xs, to)
    m[name](mw.cdiv(#xs, 128), 128)(#xs, mw.array(xs, from), out)
    return out:totable()
  end

  local function reals(float)
    return list(n, function(i)
      local special = { 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2147483647.5, -2147483648.5, 4294967295.5, 16777217.5 }
      local x = special[i] or (random() - 0.5) * 2.0 ^ random(0, 31)
      return float and to_float(x) or x
    end)
  end
  local round = {
    rn = function(x)
      local f = math.floor(x)
      local d = x - f
      if d > 0.5 or d == 0.5 and f % 2 == 1 then f = f + 1 end
      return f
    end,
    rz = function(x) return x < 0 and math.ceil(x) or math.floor(x) end,
    ru = math.ceil,
    rd = math.floor,
  }

  it("of a real number to an integer rounds as specified and saturates", function()
    local range = {
      int = { -2147483648, 2147483647 },
      uint = { 0, 4294967295 },
      ll = { math.mininteger, math.maxinteger },
      ull = { 0, math.maxinteger },
    }
    local dtype = { int = "int", uint = "uint", ll = "longlong", ull = "ulonglong" }
    for to, limits in pairs(range) do
      for _, from in ipairs { "float", "double" } do
        local xs = reals(from == "float")
        local got = run(from .. "_" .. to, xs, from, dtype[to])
        for i, x in ipairs(xs) do
          for j, mode in ipairs(modes) do
            local expected = math.max(limits[1], math.min(limits[2], round[mode](x)))
            if got[4 * (i - 1) + j] ~= expected then
              error(("__%s2%s_%s(%.17g) is %s, want %s"):format(from, to, mode, x, got[4 * (i - 1) + j], expected))
            end
          end
        end
        local far = run(from .. "_" .. to, { 1e30, -1e30, inf, -inf }, from, dtype[to])
        local high = to == "ull" and -1 or limits[2] -- 2^64 - 1 in Lua's integers
        for j = 1, 4 do
          assert.equal(high, math.tointeger(far[j]) or far[j] >= 2.0 ^ 63 and -1)
          assert.equal(limits[1], far[4 + j])
          assert.equal(limits[1], far[12 + j])
        end
      end
    end
  end)

  -- PTX ISA, cvt: 0 from float to 32 bits, otherwise the sign bit alone.
  it("of NaN to an integer gives the hardware's result", function()
    assert.equal(0, run("float_int", { nan }, "float", "int")[1])
    assert.equal(0, run("float_uint", { nan }, "float", "uint")[1])
    assert.equal(-2147483648, run("double_int", { nan }, "double", "int")[1])
    assert.equal(2147483648, run("double_uint", { nan }, "double", "uint")[1])
    assert.equal(math.mininteger, run("float_ll", { nan }, "float", "longlong")[1])
    assert.equal(math.mininteger, run("double_ll", { nan }, "double", "longlong")[1])
  end)

  it("of an integer to a real number rounds as specified", function()
    local function compare(from, to, dtype, xs, nearest, around)
      local got = run(from .. "_" .. to, xs, dtype, to)
      for i, x in ipairs(xs) do
        local near = nearest(x)
        -- exact - nearest in integers; a nearest of 2^63 is above every x
        local whole = math.tointeger(near)
        local expected = directed(near, whole and sign(x - whole) or -1, around)
        for j, mode in ipairs(modes) do
          check_same(expected[mode], got[4 * (i - 1) + j], ("__%s2%s_%s(%d)"):format(from, to, mode, x))
        end
      end
    end
    local ints = list(n, function() return s32(random(0, 0xffffffff) >> random(0, 31)) end)
    local unsigned = list(n, function(i) return i == 1 and 0xffffffff or random(0, 0xffffffff) >> random(0, 31) end)
    local wide = list(n, function(i)
      return i == 1 and math.maxinteger or i == 2 and math.mininteger or random(0) >> random(0, 63)
    end)
    local positive = list(n, function(i) return i == 1 and math.maxinteger or random(0) >> random(1, 63) end)
    local function to_double(x) return x + 0.0 end
    -- Lua has no conversion from 64 bits to float: from the double rounded to odd, which never rounds twice
    local function from_wide(x)
      local near = x + 0.0
      local whole = math.tointeger(near)
      local side = whole and sign(x - whole) or -1
      if side ~= 0 and string.unpack("<i8", string.pack("<d", near)) % 2 == 0 then
        local less, more = double_neighbours(near)
        near = side > 0 and more or less
      end
      return to_float(near)
    end
    compare("int", "float", "int", ints, to_float, float_neighbours)
    compare("uint", "float", "uint", unsigned, to_float, float_neighbours)
    compare("ll", "double", "longlong", wide, to_double, double_neighbours)
    compare("ull", "double", "ulonglong", positive, to_double, double_neighbours)
    compare("ll", "float", "longlong", wide, from_wide, float_neighbours)
    compare("ull", "float", "ulonglong", positive, from_wide, float_neighbours)
  end)

  it("of a double to a float rounds as specified, also to denormals and beyond the range", function()
    local special = { 0.0, -0.0, inf, -inf, nan, 1e300, -1e300, 1e-300, -1e-300, 3.4028235677973366e38, 2.0 ^ -150 }
    local xs = list(n, function(i)
      return special[i] or (random() < 0.5 and -1 or 1) * (1 + random()) * 2.0 ^ random(-152, 128)
    end)
    local got = run("double_float", xs, "double", "float")
    for i, x in ipairs(xs) do
      local near = to_float(x)
      local error_sign = near == near and math.abs(x) < inf and sign(x - near) or 0
      if math.abs(near) == inf and math.abs(x) < inf then error_sign = -sign(x) end
      local expected = near ~= near and { rn = nan, rz = nan, ru = nan, rd = nan }
        or directed(near, error_sign, float_neighbours)
      if near == 0 and x < 0 then -- from below zero, toward zero ends at -0
        expected.rz, expected.ru = -0.0, -0.0
      end
      for j, mode in ipairs(modes) do
        check_same(expected[mode], got[4 * (i - 1) + j], ("__double2float_%s(%.17g)"):format(mode, x))
      end
    end
  end)
end)
