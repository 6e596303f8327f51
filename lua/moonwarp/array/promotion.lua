-- The dtypes of numbers, and which of them a result has: NumPy 2's rules. A Lua number is weak: it takes the array's
-- dtype, and only a fraction makes floating point of integers.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- kind: "bool", "uint", "int", "float"; bits; C: how CUDA C spells it; compute: the type in which arithmetic is done,
-- for integers the unsigned one, since it wraps.
local types = {
  bool = { kind = "bool", bits = 1, C = "bool", compute = "unsigned" },
  char = { kind = "int", bits = 8, C = "char", compute = "unsigned" },
  uchar = { kind = "uint", bits = 8, C = "unsigned char", compute = "unsigned" },
  short = { kind = "int", bits = 16, C = "short", compute = "unsigned" },
  ushort = { kind = "uint", bits = 16, C = "unsigned short", compute = "unsigned" },
  int = { kind = "int", bits = 32, C = "int", compute = "unsigned" },
  uint = { kind = "uint", bits = 32, C = "unsigned", compute = "unsigned" },
  long = { kind = "int", bits = 64, C = "long", compute = "unsigned long" },
  ulong = { kind = "uint", bits = 64, C = "unsigned long", compute = "unsigned long" },
  longlong = { kind = "int", bits = 64, C = "long long", compute = "unsigned long long" },
  ulonglong = { kind = "uint", bits = 64, C = "unsigned long long", compute = "unsigned long long" },
  half = { kind = "float", bits = 16, C = "__half", compute = "float" },
  bfloat16 = { kind = "float", bits = 16, C = "__nv_bfloat16", compute = "float" },
  float = { kind = "float", bits = 32, C = "float", compute = "float" },
  double = { kind = "float", bits = 64, C = "double", compute = "double" },
}
for name, type in pairs(types) do type.name = name end

---What is known of a dtype of numbers; an error where it is none.
---@param dtype any
---@param what string the function's name, for the message
---@return table
function M.of(dtype, what)
  local type = types[dtype]
  if type then return type end
  local _, _, name = raw.dtype_size(dtype)
  if types[name] then return types[name] end
  return errors.usage("%s works on numbers, not on elements of %s; write a kernel or mw.map for those", what,
    name or tostring(dtype))
end

---Whether a dtype is one of numbers.
---@param dtype any
---@return boolean
function M.is_numeric(dtype) return types[dtype] ~= nil end

local ints = { [8] = "char", [16] = "short", [32] = "int", [64] = "longlong" }
local uints = { [8] = "uchar", [16] = "ushort", [32] = "uint", [64] = "ulonglong" }

-- The floating type that holds an integer type's values, of at least the bits that it has.
local function float_of_integer(bits) return bits <= 8 and "half" or bits <= 16 and "float" or "double" end

local function wider_float(a, b)
  if a == b then return a end
  if types[a].bits == 16 and types[b].bits == 16 then return "float" end -- half and bfloat16
  return types[a].bits >= types[b].bits and a or b
end

---The dtype of two dtypes together.
---@param a string
---@param b string
---@return string
function M.promote(a, b)
  if a == b then return a end
  local x, y = types[a], types[b]
  if x.kind == "bool" then return b end
  if y.kind == "bool" then return a end
  if x.kind == "float" and y.kind == "float" then return wider_float(a, b) end
  if x.kind == "float" then
    if a == "bfloat16" and y.bits == 8 then return a end
    return wider_float(a, float_of_integer(y.bits))
  end
  if y.kind == "float" then return M.promote(b, a) end
  if x.kind == y.kind then return x.bits >= y.bits and a or b end
  local signed, unsigned = x, y
  if x.kind == "uint" then signed, unsigned = y, x end
  if signed.bits > unsigned.bits then return signed.name end
  return unsigned.bits < 64 and ints[unsigned.bits * 2] or "double"
end

---The dtype that an array's dtype and a Lua number have together.
---@param dtype string
---@param number number|boolean
---@return string
function M.promote_number(dtype, number)
  if type(number) == "boolean" then return dtype end
  local of = types[dtype]
  if of.kind == "float" then return dtype end
  if tonumber(number) % 1 ~= 0 then return "double" end
  return of.kind == "bool" and "longlong" or dtype
end

---Whether a value is an array, or a table with a dtype that stands for one.
---@param value any
---@return boolean
function M.is_array(value)
  return raw.type(value) == "array" or type(value) == "table" and rawget(value, "dtype") ~= nil
end

---The dtype that arrays and numbers have together.
---@param name string the function's name, for messages
---@param arguments any[]
---@param count integer
---@return string
function M.together(name, arguments, count)
  local dtype
  for i = 1, count do
    if M.is_array(arguments[i]) then
      local mine = M.of(arguments[i].dtype, name).name
      dtype = dtype and M.promote(dtype, mine) or mine
    end
  end
  if not dtype then
    errors.usage("%s wants an array, got %s", name, raw.describe(arguments[1]))
  end
  for i = 1, count do
    local given = arguments[i]
    if not M.is_array(given) then
      if type(given) ~= "number" and type(given) ~= "boolean" and not tonumber(given) or type(given) == "string" then
        errors.usage("%s wants arrays and numbers, got %s", name, raw.describe(given))
      end
      dtype = M.promote_number(dtype, given)
    end
  end
  return dtype
end

---The dtype in which a function of real numbers computes for elements of a dtype: integers become floating point.
---@param dtype string
---@return string
function M.real(dtype)
  local of = types[dtype]
  if of.kind == "float" then return dtype end
  return of.kind == "bool" and "half" or float_of_integer(of.bits)
end

---The signed or unsigned integer type of so many bits.
---@param bits integer
---@param unsigned? boolean
---@return string
function M.integer(bits, unsigned) return (unsigned and uints or ints)[bits] end

return M
