-- Numbers of C's types in specs: bits of floats and doubles, neighbours, distances, comparison.

local numbers = {}

-- t[i] = make(i) for i = 1 … n
function numbers.list(n, make)
  local t = {}
  for i = 1, n do t[i] = make(i) end
  return t
end

function numbers.to_float(x) return (string.unpack("<f", string.pack("<f", x))) end
function numbers.float_bits(x) return (string.unpack("<I4", string.pack("<f", x))) end
function numbers.bits_float(x) return (string.unpack("<f", string.pack("<I4", x & 0xffffffff))) end
function numbers.double_bits(x) return (string.unpack("<i8", string.pack("<d", x))) end
function numbers.bits_double(x) return (string.unpack("<d", string.pack("<i8", x))) end

-- The low `width` bits of x as a signed number.
function numbers.signed(x, width)
  x = x & (1 << width) - 1
  return x >= 1 << (width - 1) and x - (1 << width) or x
end
function numbers.u32(x) return x & 0xffffffff end
function numbers.s32(x) return numbers.signed(x, 32) end

function numbers.sign(x) return x > 0 and 1 or x < 0 and -1 or 0 end

-- The next smaller and the next greater number of the format.
local function neighbours(x, to_bits, from_bits)
  if x == 0 then return -from_bits(1), from_bits(1) end
  local bits = to_bits(math.abs(x))
  local less, more = from_bits(bits - 1), from_bits(bits + 1)
  if x < 0 then return -more, -less end
  return less, more
end
function numbers.float_neighbours(x) return neighbours(x, numbers.float_bits, numbers.bits_float) end
function numbers.double_neighbours(x) return neighbours(x, numbers.double_bits, numbers.bits_double) end

-- The distance of neighbouring numbers of a format near `x`.
local function ulp(x, digits, least)
  if x == 0 then return 2.0 ^ least end
  local exponent = math.floor(math.log(math.abs(x), 2))
  if 2.0 ^ exponent > math.abs(x) then exponent = exponent - 1 end
  return 2.0 ^ math.max(exponent + 1 - digits, least)
end
function numbers.ulp_float(x) return ulp(x, 24, -149) end
function numbers.ulp_double(x) return ulp(x, 53, -1074) end

function numbers.check_near(expected, got, bound, unit, what)
  local off = math.abs(got - expected) / unit(expected)
  if off > bound or off ~= off then
    error(("%s is %.17g, want %.17g within %g ulp; off by %.3g"):format(what, got, expected, bound, off), 2)
  end
end

-- Equal, where NaN equals NaN and zeros have the same sign.
function numbers.check_same(expected, got, what)
  local same = expected ~= expected and got ~= got or expected == got and (expected ~= 0 or 1 / expected == 1 / got)
  if not same then error(("%s is %s, want %s"):format(what, got, expected), 2) end
end

-- The results of the four rounding modes, from the nearest number and the sign of exact - nearest.
function numbers.directed(nearest, error_sign, around)
  local less, more = around(nearest)
  local down, up = nearest, nearest
  if error_sign > 0 then up = more elseif error_sign < 0 then down = less end
  local zero = nearest
  if nearest > 0 then zero = down elseif nearest < 0 then zero = up end
  return { rn = nearest, rz = zero, ru = up, rd = down }
end

return numbers
