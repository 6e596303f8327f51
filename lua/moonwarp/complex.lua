-- Complex numbers, which elements of complex64 and complex128 are in Lua. A number is a table {re, im} with the
-- metatable raw.complex, which the binding sets on numbers that it reads; the metatable is filled here.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local meta = raw.complex
local places = { re = 1, im = 2 }
local complex = {}

local M = {}

local function new(re, im) return setmetatable({ re, im }, meta) end

---A complex number: z.re, z.im, z:abs(), z:angle(), z:conj(), + - * / ^ with others and with numbers, and ==.
---@param re number
---@param im? number 0 by default
---@return moonwarp.complex
function M.complex(re, im) return new(re, im or 0) end

local function is_complex(value) return type(value) == "table" and getmetatable(value) == meta end

-- The real and imaginary parts of two operands; nothing if one of them is an array, or an expression of arrays.
local function parts(sign, a, b)
  for _, operand in ipairs { a, b } do
    if not is_complex(operand) and type(operand) ~= "number" then
      if raw.type(operand) == "array" or type(operand) == "table" and rawget(operand, "dtype") then return nil end
      errors.usage("complex numbers: '%s' wants numbers and arrays, got %s", sign, raw.describe(operand))
    end
  end
  local x, y = is_complex(a), is_complex(b)
  return x and a[1] or a, x and a[2] or 0, y and b[1] or b, y and b[2] or 0
end

-- a / b, scaled by the divisor's larger part (Smith).
local function divide(a, b, c, d)
  if c == 0 and d == 0 then return new(a / math.abs(c), b / math.abs(c)) end
  if math.abs(c) >= math.abs(d) then
    local ratio = d / c
    local scale = c + d * ratio
    return new((a + b * ratio) / scale, (b - a * ratio) / scale)
  end
  local ratio = c / d
  local scale = c * ratio + d
  return new((a * ratio + b) / scale, (b * ratio - a) / scale)
end

local function size(a, b)
  a, b = math.abs(a), math.abs(b)
  if a < b then a, b = b, a end
  if a == 0 or a == math.huge then return a end
  return a * math.sqrt(1 + (b / a) * (b / a))
end

local atan2 = math.atan2 or math.atan -- luacheck: ignore 143

-- Small whole powers by products, which is exact for whole numbers; others by logarithms.
local function power(a, b, c, d)
  if c == 0 and d == 0 then return new(1, 0) end
  if a == 0 and b == 0 then return c > 0 and new(0, 0) or new(0 / 0, 0 / 0) end
  if d == 0 and c % 1 == 0 and math.abs(c) < 100 then
    local re, im, n = 1, 0, math.abs(c)
    while n > 0 do
      if n % 2 == 1 then re, im = re * a - im * b, re * b + im * a end
      a, b, n = a * a - b * b, 2 * a * b, math.floor(n / 2)
    end
    return c < 0 and divide(1, 0, re, im) or new(re, im)
  end
  local log, angle = math.log(size(a, b)), atan2(b, a)
  local length, turn = math.exp(c * log - d * angle), d * log + c * angle
  return new(length * math.cos(turn), length * math.sin(turn))
end

local binary = {
  __add = { "+", function(a, b, c, d) return new(a + c, b + d) end },
  __sub = { "-", function(a, b, c, d) return new(a - c, b - d) end },
  __mul = { "*", function(a, b, c, d) return new(a * c - b * d, a * d + b * c) end },
  __div = { "/", divide },
  __pow = { "^", power },
}
for event, of in pairs(binary) do
  local sign, compute = of[1], of[2]
  meta[event] = function(a, b)
    local re, im, other_re, other_im = parts(sign, a, b)
    if re == nil then
      raw.part "array.operators"
      return raw.operators[event](a, b)
    end
    return compute(re, im, other_re, other_im)
  end
end

function meta.__unm(z) return new(-z[1], -z[2]) end
function meta.__eq(a, b) return rawequal(a[1], b[1]) and rawequal(a[2], b[2]) or a[1] == b[1] and a[2] == b[2] end
function meta.__tostring(z) return ("%.14g%+.14gi"):format(z[1], z[2]) end

---The absolute value: the distance from 0.
---@return number
function complex:abs() return size(self[1], self[2]) end

---The angle from the positive real axis, in radians from -pi to pi.
---@return number
function complex:angle() return atan2(self[2], self[1]) end

---The complex conjugate.
---@return moonwarp.complex
function complex:conj() return new(self[1], -self[2]) end

function meta.__index(z, key)
  local place = places[key]
  if place then return rawget(z, place) end
  return complex[key]
end

function meta.__newindex(z, key, value) rawset(z, places[key] or key, value) end

return M
