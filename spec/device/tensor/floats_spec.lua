-- Tensor cores' sums of floating-point products compared with a model in integers (docs/notes/tensor.md), with random
-- numbers: usual and whole ones, wide ranges, few bits, zeros, the ends of the types' ranges, infinities, NaN; sums
-- that cancel.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local seeded = require "support.random"
local suite = require "support.suite"
local targets = require "support.targets"
local tensor = require "support.tensor"

local SAMPLES = 16

-- Bits of the exponent and of the fraction. e4m3 has no infinity; tf32 is a float whose low bits do not count.
local formats = { f16 = { 5, 10 }, bf16 = { 8, 7 }, tf32 = { 8, 23 }, f32 = { 8, 23 }, e4m3 = { 4, 3 },
  e5m2 = { 5, 2 } }

-- A number m * 2^e with its power, the exponent that alignment looks at; or a special value.
local function decode(bits, type)
  local exponent_bits, fraction_bits = table.unpack(formats[type])
  if type == "tf32" then bits = bits & ~0x1fff end
  local fraction, exponent = bits & (1 << fraction_bits) - 1, bits >> fraction_bits & (1 << exponent_bits) - 1
  local sign, bias = bits >> (exponent_bits + fraction_bits) & 1 == 1 and -1 or 1, (1 << exponent_bits - 1) - 1
  if type == "e4m3" then
    if exponent == 15 and fraction == 7 then return { special = 0 / 0 } end
  elseif exponent == (1 << exponent_bits) - 1 then
    return { special = fraction ~= 0 and 0 / 0 or sign * math.huge }
  end
  if exponent == 0 then exponent = 1 else fraction = fraction | 1 << fraction_bits end
  local number = { m = sign * fraction, e = exponent - bias - fraction_bits, power = exponent - bias }
  -- e4m3's subnormal numbers are normal in half, in which they are multiplied.
  while type == "e4m3" and fraction ~= 0 and fraction < 8 do
    fraction, number.power = fraction << 1, number.power - 1
  end
  return number
end

local function value(number) return number.special or number.m * 2.0 ^ number.e end

local function bits_of_float(x) return x ~= x and 0x7fffffff or (string.unpack("<I4", string.pack("<f", x))) end

-- x to `fraction` bits, or multiples of 2^least: towards zero, or to the nearest.
local function rounded(x, fraction, least, nearest)
  if x == 0 or x ~= x or math.abs(x) == math.huge then return x end
  local exponent = math.floor(math.log(math.abs(x), 2))
  while 2.0 ^ exponent > math.abs(x) do exponent = exponent - 1 end
  while 2.0 ^ (exponent + 1) <= math.abs(x) do exponent = exponent + 1 end
  local unit = 2.0 ^ math.max(exponent - fraction, least)
  local scaled = math.abs(x) / unit
  local whole = math.floor(scaled)
  if nearest and (scaled - whole > 0.5 or scaled - whole == 0.5 and whole % 2 == 1) then whole = whole + 1 end
  return (x < 0 and -1 or 1) * whole * unit
end

local function to_sum(x, type)
  if type == "f16" then
    x = rounded(x, 10, -24, true)
    if math.abs(x) >= 65520 and x == x then x = x < 0 and -math.huge or math.huge end
    return x
  end
  x = rounded(x, 23, -149)
  if math.abs(x) >= 2.0 ^ 128 then x = x < 0 and -math.huge or math.huge end
  return x
end

local function bits_of_half(x)
  if x ~= x then return 0x7fff end
  local sign = (x < 0 or 1 / x < 0) and 0x8000 or 0
  x = math.abs(x)
  if x == math.huge then return sign | 0x7c00 end
  local exponent = -14
  while x >= 2.0 ^ (exponent + 1) do exponent = exponent + 1 end
  local m = math.tointeger(x * 2.0 ^ (10 - exponent))
  return sign | (m < 1024 and m or (exponent + 14) * 1024 + m)
end

-- One sum of c and products of left[k] and right[k], as the value before rounding.
local function sum_of(c, left, right)
  local terms, special = { c }, 0.0
  for k = 1, #left do
    local a, b = left[k], right[k]
    if a.special or b.special then special = special + value(a) * value(b)
    else terms[#terms + 1] = { m = a.m * b.m, e = a.e + b.e, power = a.power + b.power } end
  end
  if c.special then special = special + c.special end
  if special ~= 0 then return special end
  local largest
  for _, term in ipairs(terms) do
    if term.m ~= 0 and (not largest or term.power > largest) then largest = term.power end
  end
  if not largest then return 0.0 end
  local total, unit = 0, largest - 25
  for _, term in ipairs(terms) do
    local size, shift = math.abs(term.m), term.e - unit
    if size ~= 0 then
      size = shift >= 0 and size << shift or shift > -63 and size >> -shift or 0
      total = total + (term.m < 0 and -size or size)
    end
  end
  return total * 2.0 ^ unit
end

-- What a sum is as a number to add to.
local function number_of(x, type)
  return type == "f16" and decode(bits_of_half(x), "f16") or decode(bits_of_float(x), "f32")
end

local function model(kind, c, left, right)
  local x
  if kind.factor == "e4m3" or kind.factor == "e5m2" then
    x = 0.0
    for group = 0, 1 do
      local some_left, some_right = {}, {}
      for k = 0, kind.k - 1 do
        if k % 4 // 2 == group then
          some_left[#some_left + 1], some_right[#some_right + 1] = left[k + 1], right[k + 1]
        end
      end
      x = to_sum(sum_of(number_of(x, kind.sum), some_left, some_right), kind.sum)
    end
    x = x + value(c)
    if kind.sum == "f16" then x = to_sum(x, "f16") end
  else
    x = to_sum(sum_of(c, left, right), kind.sum)
  end
  return kind.sum == "f16" and bits_of_half(x) or bits_of_float(x)
end

-- Bits of a random number of a class.
local function random_bits(random, type, class)
  local exponent_bits, fraction_bits = table.unpack(formats[type])
  local bias, width = (1 << exponent_bits - 1) - 1, exponent_bits + fraction_bits
  local function near(spread, fraction)
    local exponent = math.max(0, math.min((1 << exponent_bits) - 2, bias + random(-spread, spread)))
    return random(0, 1) << width | exponent << fraction_bits | fraction
  end
  local any = random(0, (1 << fraction_bits) - 1)
  if class == "usual" then return near(4, any) end
  if class == "wide" then return near(bias < 40 and bias or 40, any) end
  if class == "few bits" then return near(3, any & 3 << math.max(fraction_bits - 2, 0)) end
  if class == "whole" then
    -- Small ones, and sums up to 2^24 and a little beyond.
    local exponent = math.min(bias + (type == "f32" and 24 or fraction_bits), (1 << exponent_bits) - 2)
    exponent = random(0, 3) == 0 and exponent or bias + random(0, 3)
    return random(0, 1) << width | exponent << fraction_bits | any >> math.max(0, fraction_bits + bias - exponent) <<
      math.max(0, fraction_bits + bias - exponent)
  end
  if class == "zeros" then return random(0, 3) == 0 and near(6, any) or random(0, 1) << width end
  if class == "largest" then return near(0, (1 << fraction_bits) - 1) & ~(1 << width) end
  if class == "ends" then return random(0, 7) == 0 and random(0, (2 << width) - 1) or near(bias + 1, any) end
  return random(0, 99) == 0 and random(0, (2 << width) - 1) or near(2, any) -- now and then anything
end
local classes = { "usual", "whole", "wide", "few bits", "zeros", "largest", "ends", "anything" }

local function array(list, type)
  local dtype = ({ f16 = "ushort", bf16 = "ushort", e4m3 = "uchar", e5m2 = "uchar" })[type] or "uint"
  return mw.array(list, dtype)
end

local function check(kind, random, options)
  local m, n, k = kind.m, kind.n, kind.k
  local A, B, C = {}, {}, {}
  local sum_type = kind.sum == "f16" and "f16" or "f32"
  for sample = 0, SAMPLES - 1 do
    local class = classes[sample % #classes + 1]
    for _ = 1, m * k do A[#A + 1] = random_bits(random, kind.factor, class) end
    for _ = 1, n * k do B[#B + 1] = random_bits(random, kind.factor, class) end
    local of_c = sample % 3 == 0 and "usual" or (sample % 3 == 1 or class == "whole") and class or "zeros"
    for _ = 1, m * n do C[#C + 1] = random_bits(random, sum_type, of_c) end
  end
  local kernel = mw.compile { source = tensor.mma(kind), options = options }.k
  local a, b = array(A, kind.factor), array(B, kind.factor)
  local D = array(C, sum_type)
  local function compare()
    local c = array(C, sum_type)
    kernel(SAMPLES, 32)(a, b, c, D)
    for sample = 0, SAMPLES - 1 do
      for i = sample % 3, m - 1, 3 do
        for j = 0, n - 1 do
          local left, right = {}, {}
          for x = 0, k - 1 do
            left[x + 1] = decode(A[sample * m * k + i * k + x + 1], kind.factor)
            right[x + 1] = decode(B[sample * k * n + x * n + j + 1], kind.factor)
          end
          local at = sample * m * n + i * n + j + 1
          local expected = model(kind, decode(C[at], sum_type), left, right)
          if expected ~= D[at] then
            error(("%s, sample %d, (%d, %d): %x instead of %x"):format(kind.name, sample, i, j, D[at], expected))
          end
        end
      end
    end
  end
  compare()
  -- Sums that cancel: the last result with the other sign, or a little beside it.
  local sign = sum_type == "f16" and 0x8000 or 0x80000000
  for i = 1, #C do C[i] = (D[i] ~ sign) + (i % 5 == 0 and 1 or 0) & 2 * sign - 1 end
  compare()
end

describe("sums of tensor cores' products", function()
  local others = suite.on_gpu and {} or targets
  for _, kind in ipairs(tensor.kinds) do
    if kind.name:find "^mma" and kind.sum ~= "s32" then
      it("have the model's bits: " .. kind.name, function()
        local random = seeded("sums of " .. kind.name)
        check(kind, random)
        if kind.k ~= 16 or kind.sum == "f16" then
          for _, target in ipairs(others) do check(kind, random, target.options) end
        end
      end)
    end
  end
end)
