-- Numeric dtypes and their promotion, by NumPy 2's rules. A Lua number is weak: it takes the array's dtype, and only a
-- number with a fraction turns integers into floating point.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- kind: "bool", "uint", "int", "float", "complex"; bits; C: the type in CUDA C; compute: the type in which arithmetic
-- is done, for integers the unsigned one, since it wraps; part: the dtype of a complex number's parts.
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
  complex64 = { kind = "complex", bits = 64, C = "float2", compute = "moonwarp::complex<float>", part = "float" },
  complex128 = { kind = "complex", bits = 128, C = "double2", compute = "moonwarp::complex<double>", part = "double" },
}
for name, type in pairs(types) do type.name = name end

---The facts about a numeric dtype, including complex ones; an error for any other dtype.
---@param dtype any
---@param what string the function's name, for the message
---@return table
function M.number(dtype, what)
  local type = types[dtype]
  if type then return type end
  local _, _, name = raw.dtype_size(dtype)
  if types[name] then return types[name] end
  return errors.usage("%s works on numbers, not on elements of %s; write a kernel or mw.map for those", what,
    name or tostring(dtype))
end

---The same for functions of real numbers: an error also for complex dtypes.
---@param dtype any
---@param what string
---@return table
function M.of(dtype, what)
  local of = M.number(dtype, what)
  if of.kind ~= "complex" then return of end
  return errors.usage("%s works on real numbers, not on %s: give it a:real(), a:imag(), a:abs() or a:angle()", what,
    of.name)
end

---Whether a dtype is a real numeric one.
---@param dtype any
---@return boolean
function M.is_numeric(dtype) return types[dtype] ~= nil and types[dtype].kind ~= "complex" end

---Whether a dtype is a numeric one, real or complex.
---@param dtype any
---@return boolean
function M.is_number(dtype) return types[dtype] ~= nil end

---The dtype of an array where it is complex, with its parts' in `part`; nil for all others.
---@param dtype any
---@return table?
function M.complex(dtype)
  local of = types[dtype]
  return of and of.kind == "complex" and of or nil
end

local ranks = { bool = 1, uint = 2, int = 3, float = 4, complex = 5 }

---Whether numbers of a dtype may be written as another implicitly: to the same kind or a more general one.
---@param from table
---@param to table
---@return boolean
function M.may_become(from, to) return ranks[from.kind] <= ranks[to.kind] end

---A CUDA C expression of one dtype as one of another.
---@param text string
---@param from table
---@param to table
---@return string
function M.converted(text, from, to)
  if from == to then return text end
  if to.kind == "bool" then return ("%s != (%s)0"):format(text, from.compute) end
  if to.kind == "complex" then return ("(%s)(%s)%s"):format(to.C, to.compute, text) end
  return ("(%s)%s"):format(to.C, text)
end

local ints = { [8] = "char", [16] = "short", [32] = "int", [64] = "longlong" }
local uints = { [8] = "uchar", [16] = "ushort", [32] = "uint", [64] = "ulonglong" }

-- The floating type that holds an integer type's values and has at least as many bits.
local function float_of_integer(bits) return bits <= 8 and "half" or bits <= 16 and "float" or "double" end

local function wider_float(a, b)
  if a == b then return a end
  if types[a].bits == 16 and types[b].bits == 16 then return "float" end -- half and bfloat16
  return types[a].bits >= types[b].bits and a or b
end

---The complex dtype that holds a dtype's values.
---@param dtype string
---@return string
function M.complex_of(dtype)
  local of = types[dtype]
  if of.kind == "complex" then return dtype end
  return (of.kind == "float" and of.bits < 64) and "complex64" or "complex128"
end

---The common dtype of two dtypes.
---@param a string
---@param b string
---@return string
function M.promote(a, b)
  if a == b then return a end
  local x, y = types[a], types[b]
  if x.kind == "bool" then return b end
  if y.kind == "bool" then return a end
  if x.kind == "complex" then return M.complex_of(M.promote(x.part, y.part or b)) end
  if y.kind == "complex" then return M.promote(b, a) end
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

---Whether a value is a complex number.
---@param value any
---@return boolean
function M.is_complex(value) return type(value) == "table" and getmetatable(value) == raw.complex end

---The common dtype of an array's dtype and a Lua number.
---@param dtype string
---@param number number|boolean|moonwarp.complex
---@return string
function M.promote_number(dtype, number)
  if type(number) == "boolean" then return dtype end
  if M.is_complex(number) then return M.complex_of(dtype) end
  local of = types[dtype]
  if of.kind == "float" or of.kind == "complex" then return dtype end
  if tonumber(number) % 1 ~= 0 then return "double" end
  return of.kind == "bool" and "longlong" or dtype
end

---Whether a value is an array, or a table with a dtype that stands for an array.
---@param value any
---@return boolean
function M.is_array(value)
  return raw.type(value) == "array" or type(value) == "table" and rawget(value, "dtype") ~= nil
end

---The common dtype of arrays and numbers.
---@param name string the function's name, for messages
---@param arguments any[]
---@param count integer
---@return string
function M.together(name, arguments, count)
  local dtype
  for i = 1, count do
    if M.is_array(arguments[i]) then
      local mine = M.number(arguments[i].dtype, name).name
      dtype = dtype and M.promote(dtype, mine) or mine
    end
  end
  if not dtype then
    errors.usage("%s wants an array, got %s", name, raw.describe(arguments[1]))
  end
  for i = 1, count do
    local given = arguments[i]
    if not M.is_array(given) then
      local is_number = M.is_complex(given) or type(given) == "number" or type(given) == "boolean"
        or type(given) ~= "string" and tonumber(given)
      if not is_number then
        errors.usage("%s wants arrays and numbers, got %s%s", name, raw.describe(given),
          type(given) == "table" and "; mw.array(…) makes an array of it, and mw.complex(re, im) a number" or "")
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

---The signed or unsigned integer type with a number of bits.
---@param bits integer
---@param unsigned? boolean
---@return string
function M.integer(bits, unsigned) return (unsigned and uints or ints)[bits] end

return M
