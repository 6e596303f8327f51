-- C's scalar types and their arithmetic: the type of an operation's result, and Lua text that computes it.
--
-- Numbers of every integer type are Lua integers: within the type's range, unsigned 64-bit ones as the bits. Floating
-- types are Lua floats that the type can hold. `types.run` holds the functions that the texts call. Those that take an
-- id as their last argument set flag[id] where C's own operation is not reliable for the operands: signed overflow,
-- or a product that contraction would round differently. They return the result of wrapping, or of separately rounded
-- arithmetic.

local types = {}

local function integer(name, c, bits, signed, rank, pack)
  types[name] = { name = name, c = c, bits = bits, signed = signed, rank = rank, pack = pack, integer = true }
end
local function floating(name, bits, rank, pack)
  types[name] = { name = name, c = name, bits = bits, signed = true, rank = rank, pack = pack }
end

-- The names are those of moonwarp's dtypes.
integer("char", "signed char", 8, true, 1, "<i1")
integer("uchar", "unsigned char", 8, false, 1, "<I1")
integer("short", "short", 16, true, 2, "<i2")
integer("ushort", "unsigned short", 16, false, 2, "<I2")
integer("int", "int", 32, true, 3, "<i4")
integer("uint", "unsigned", 32, false, 3, "<I4")
integer("longlong", "long long", 64, true, 4, "<i8")
integer("ulonglong", "unsigned long long", 64, false, 4, "<i8")
floating("float", 32, 5, "<f")
floating("double", 64, 6, "<d")

local int, uint = types.int, types.uint

-- The integer promotions, and the usual arithmetic conversions.
function types.promoted(t) return t.integer and t.rank < int.rank and int or t end
function types.common(a, b)
  a, b = types.promoted(a), types.promoted(b)
  if a.rank ~= b.rank then return a.rank > b.rank and a or b end
  return a.signed and b or a
end
function types.unsigned(t) return t.bits == 64 and types.ulonglong or uint end

-- ---- functions of the texts

local run = {}
types.run = run

local flag = {}
run.flag = flag
local pack, unpack, ult = string.pack, string.unpack, math.ult

local function to_float(x) return (unpack("<f", pack("<f", x))) end
run.to_float = to_float

function run.to_char(x) return ((x & 0xff) ~ 0x80) - 0x80 end
function run.to_uchar(x) return x & 0xff end
function run.to_short(x) return ((x & 0xffff) ~ 0x8000) - 0x8000 end
function run.to_ushort(x) return x & 0xffff end
local function to_int(x) return ((x & 0xffffffff) ~ 0x80000000) - 0x80000000 end
run.to_int = to_int
local function to_uint(x) return x & 0xffffffff end
run.to_uint = to_uint

-- signed 32 bits: exact in Lua's integers, then cut
local function cut(r, id)
  local n = ((r & 0xffffffff) ~ 0x80000000) - 0x80000000
  if n ~= r then flag[id] = true end
  return n
end
function run.int_add(a, b, id) return cut(a + b, id) end
function run.int_sub(a, b, id) return cut(a - b, id) end
function run.int_mul(a, b, id) return cut(a * b, id) end
function run.int_neg(a, id) return cut(-a, id) end
function run.uint_add(a, b) return (a + b) & 0xffffffff end
function run.uint_sub(a, b) return (a - b) & 0xffffffff end
function run.uint_mul(a, b) return (a * b) & 0xffffffff end
function run.uint_neg(a) return -a & 0xffffffff end

function run.longlong_add(a, b, id)
  local r = a + b
  if (a ~ r) & (b ~ r) < 0 then flag[id] = true end
  return r
end
function run.longlong_sub(a, b, id)
  local r = a - b
  if (a ~ b) & (a ~ r) < 0 then flag[id] = true end
  return r
end
function run.longlong_mul(a, b, id)
  local small = 1 << 31
  if a <= -small or a >= small or b <= -small or b >= small then flag[id] = true end
  return a * b
end
function run.longlong_neg(a, id)
  if a == math.mininteger then flag[id] = true end
  return -a
end
function run.ulonglong_add(a, b) return a + b end
function run.ulonglong_sub(a, b) return a - b end
function run.ulonglong_mul(a, b) return a * b end
function run.ulonglong_neg(a) return -a end

-- Division as the device does it: by 0 it gives all ones, in 64 bits 32 of them for a dividend without an upper half.
local function quotient(a, b)
  local q = a // b
  if q < 0 and q * b ~= a then q = q + 1 end
  return q
end
local function unsigned_quotient(a, b)
  if b < 0 then return ult(a, b) and 0 or 1 end
  if a >= 0 then return a // b end
  local q = ((a >> 1) // b) << 1
  if not ult(a - q * b, b) then q = q + 1 end
  return q
end
local function ones(a) return ult(a, 0x100000000) and 0xffffffff or -1 end

function run.int_div(a, b) return b == 0 and -1 or to_int(quotient(a, b)) end
function run.int_rem(a, b) return b == 0 and -1 or math.fmod(a, b) end
function run.uint_div(a, b) return b == 0 and 0xffffffff or a // b end
function run.uint_rem(a, b) return b == 0 and 0xffffffff or a % b end
function run.longlong_div(a, b)
  if b == 0 then return ones(a) end
  return b == -1 and -a or quotient(a, b)
end
function run.longlong_rem(a, b)
  if b == 0 then return ones(a) end
  return b == -1 and 0 or math.fmod(a, b)
end
function run.ulonglong_div(a, b) return b == 0 and ones(a) or unsigned_quotient(a, b) end
function run.ulonglong_rem(a, b) return b == 0 and ones(a) or a - unsigned_quotient(a, b) * b end

-- Shifts by the width or more give 0, or the sign; the amount is an unsigned number.
function run.int_shl(a, n) return ult(n, 32) and to_int(a << n) or 0 end
function run.uint_shl(a, n) return ult(n, 32) and to_uint(a << n) or 0 end
function run.longlong_shl(a, n) return ult(n, 64) and a << n or 0 end
run.ulonglong_shl = run.longlong_shl
function run.int_shr(a, n) return a >> (ult(n, 32) and n or 31) | (a < 0 and ~(-1 >> (ult(n, 32) and n or 31)) or 0) end
function run.uint_shr(a, n) return ult(n, 32) and a >> n or 0 end
function run.longlong_shr(a, n)
  n = ult(n, 64) and n or 63
  return n == 0 and a or a < 0 and ~(~a >> n) or a >> n
end
function run.ulonglong_shr(a, n) return ult(n, 64) and a >> n or 0 end

function run.float_add(a, b) return to_float(a + b) end
function run.float_sub(a, b) return to_float(a - b) end
function run.float_div(a, b) return to_float(a / b) end
function run.float_mul(a, b, id)
  local exact = a * b
  local r = to_float(exact)
  if r ~= exact then flag[id] = true end
  return r
end
function run.double_add(a, b) return a + b end
function run.double_sub(a, b) return a - b end
function run.double_div(a, b) return a / b end
local function is_short(a) return a % 1 == 0 and a > -0x1p26 and a < 0x1p26 end
function run.double_mul(a, b, id)
  if not (is_short(a) and is_short(b)) then flag[id] = true end
  return a * b
end
function run.float_neg(a) return -a end
run.double_neg = run.float_neg

function run.less(a, b) return ult(a, b) end
function run.less_equal(a, b) return not ult(b, a) end

-- Integers to floating-point numbers. From 64 bits to float: cut to what a double holds, with a bit for what was lost.
local function whole_to_float(x)
  if x < 1 << 53 and x > -(1 << 53) then return to_float(x + 0.0) end
  local low = x & 0x7ff
  return to_float((x - low | (low ~= 0 and 0x400 or 0)) + 0.0)
end
run.integer_to_float = whole_to_float
function run.integer_to_double(x) return x + 0.0 end
local function unsigned_to_double(x)
  if x >= 0 then return x + 0.0 end
  return ((x >> 1 | x & 1) + 0.0) * 2
end
run.ulonglong_to_double = unsigned_to_double
function run.ulonglong_to_float(x)
  if x >= 0 then return whole_to_float(x) end
  return 2 * whole_to_float(x >> 1 | x & 1)
end

-- Floating-point numbers to integers: saturated, NaN as the device has it.
local function cut_off(x) return math.tointeger(x < 0 and math.ceil(x) or math.floor(x)) end
local function saturated(low, high)
  local first, last = low + 0.0, high + 0.0
  return function(x, of_nan)
    if x ~= x then return of_nan end
    if x <= first then return low end
    return x >= last and high or cut_off(x)
  end
end
local int_of, uint_of = saturated(-0x80000000, 0x7fffffff), saturated(0, 0xffffffff)
local whole_of = saturated(math.mininteger, math.maxinteger)
function run.float_to_int(x) return int_of(x, 0) end
function run.float_to_uint(x) return uint_of(x, 0) end
function run.double_to_int(x) return int_of(x, -0x80000000) end
function run.double_to_uint(x) return uint_of(x, 0x80000000) end
function run.floating_to_longlong(x) return whole_of(x, math.mininteger) end
function run.floating_to_ulonglong(x)
  if x ~= x then return math.mininteger end
  if x <= 0 then return 0 end
  if x >= 0x1p64 then return -1 end
  return x < 0x1p63 and cut_off(x) or cut_off(x - 0x1p63) + math.mininteger
end

-- ---- the texts

-- `text` of type `from` as a number of type `to`.
function types.convert(text, from, to)
  if from == to then return text end
  if to.integer and from.integer then
    local holds = to.bits > from.bits and (to.signed or not from.signed)
    if to.bits == 64 or holds then return text end
    return ("to_%s(%s)"):format(to.name, text)
  elseif to.integer then
    if to.bits == 64 then return ("floating_to_%s(%s)"):format(to.name, text) end
    local wide = to.signed and "int" or "uint"
    local through = ("%s_to_%s(%s)"):format(from.name, wide, text)
    return to.bits == 32 and through or ("to_%s(%s)"):format(to.name, through)
  elseif from.integer then
    return ("%s_to_%s(%s)"):format(from.name == "ulonglong" and from.name or "integer", to.name, text)
  end
  return to == types.float and ("to_float(%s)"):format(text) or text
end

local words = { ["+"] = "add", ["-"] = "sub", ["*"] = "mul", ["/"] = "div", ["%"] = "rem", ["<<"] = "shl",
  [">>"] = "shr" }
local bitwise = { ["&"] = "&", ["|"] = "|", ["^"] = "~" }

-- a op b of type t, both already of that type (a shift's amount: unsigned).
function types.binary(op, t, a, b, id)
  if bitwise[op] then return ("(%s %s %s)"):format(a, bitwise[op], b) end
  return ("%s_%s(%s, %s, %d)"):format(t.name, words[op], a, b, id)
end

local order = { ["<"] = "<", ["<="] = "<=", [">"] = ">", [">="] = ">=", ["=="] = "==", ["!="] = "~=" }

-- A Lua condition.
function types.comparison(op, t, a, b)
  if t.name ~= "ulonglong" or op == "==" or op == "!=" then return ("(%s %s %s)"):format(a, order[op], b) end
  if op == ">" or op == ">=" then a, b = b, a end
  return ("%s(%s, %s)"):format(#op == 1 and "less" or "less_equal", a, b)
end

return types
