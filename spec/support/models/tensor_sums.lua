-- The sums of floating-point products that tensor cores compute, in integers (docs/notes/tensor.md).

---Bits of the exponent and of the fraction. e4m3 has no infinity; tf32 is a float whose low bits do not count.
local formats = { f16 = { 5, 10 }, bf16 = { 8, 7 }, tf32 = { 8, 23 }, f32 = { 8, 23 }, e4m3 = { 4, 3 },
  e5m2 = { 5, 2 } }

---A number m * 2^e with its power, the exponent that alignment looks at; or a special value.
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

---The bits of c plus the products of left[k] and right[k].
---@param kind { factor: string, sum: string, k: integer } the types of A and of C; how many products
local function sum(kind, c, left, right)
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

return { formats = formats, decode = decode, sum = sum }
