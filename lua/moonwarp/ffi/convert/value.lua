-- Lua values as CUDA C values and back. The table in src/lua/convert/value.c says what each
-- type takes and gives. Here a 64-bit integer beyond 2^53 is int64_t or uint64_t, and an address is a void *.
--
-- Bytes are passed as uint8_t pointers. Packing returns true, or nil and a sentence that says what is wrong.

local bit = require "bit"
local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local lazy_loading = require "moonwarp.ffi.lazy_loading"

local M = {}

local BFLOAT = C.MW_TYPE_BFLOAT
local BOOL, INT, UINT, FLOAT = C.MW_TYPE_BOOL, C.MW_TYPE_INT, C.MW_TYPE_UINT, C.MW_TYPE_FLOAT
local POINTER, STRUCT, VECTOR, ARRAY = C.MW_TYPE_POINTER, C.MW_TYPE_STRUCT, C.MW_TYPE_VECTOR, C.MW_TYPE_ARRAY
M.BOOL, M.INT, M.UINT, M.FLOAT = BOOL, INT, UINT, FLOAT
M.POINTER, M.STRUCT, M.VECTOR, M.ARRAY = POINTER, STRUCT, VECTOR, ARRAY

local int64, uint64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"
local EXACT = 2 ^ 53 -- up to here every whole number is a double

---A type's kind as a number; comparing the enumeration itself would make a cdata each time.
---@param of ffi.cdata*
---@return integer
function M.kind(of) return tonumber(of.kind) end

-- ---- names of places ----

---Where a value goes, for messages: "parameter 2 'view'" -> ".rows" -> "[3]".
---@param parent? table
---@param name_or_index string|integer
---@return table
function M.place(parent, name_or_index) return { parent = parent, what = name_or_index } end

local function place_text(place)
  if not place.parent then return place.what end
  local before = place_text(place.parent)
  if type(place.what) == "number" then return ("%s[%d]"):format(before, place.what) end
  return before .. "." .. place.what
end
M.place_text = place_text

---nil and the sentence of the core's last failure.
function M.refused() return nil, ffi.string(C.mw_error_last().message) end

---Refuse a value as one that the type does not take: nil, and why.
function M.refuse(value, of, place)
  C.mw_value_refuse(of, errors.describe(value), place_text(place))
  return M.refused()
end

-- ---- numbers ----

-- The pointer types that integers are stored through, by kind and size.
local integers = {
  [INT] = { [1] = "int8_t *", [2] = "int16_t *", [4] = "int32_t *", [8] = "int64_t *" },
  [UINT] = { [1] = "uint8_t *", [2] = "uint16_t *", [4] = "uint32_t *", [8] = "uint64_t *" },
}
for _, by_size in pairs(integers) do
  for size, name in pairs(by_size) do by_size[size] = ffi.typeof(name) end
end
local float_pointer, double_pointer = ffi.typeof "float *", ffi.typeof "double *"
local word_pointer = ffi.typeof "uint32_t *"
local NAN = 0 / 0

---The words of floats or doubles in memory, for M.float and M.double.
---@param numbers ffi.cdata*
---@return ffi.cdata*
function M.words(numbers) return ffi.cast(word_pointer, numbers) end

---A float in memory as a number. LuaJIT takes the bits of what it loads as they are, and those of a NaN other than its
---own stand for nil or for objects, so the bits are tested as an integer first.
---@param words ffi.cdata* uint32_t *
---@param floats ffi.cdata* the same memory
---@param i integer from 0
---@return number
function M.float(words, floats, i)
  if bit.band(words[i], 0x7fffffff) > 0x7f800000 then return NAN end
  return floats[i]
end

---The same of a double.
---@param words ffi.cdata* uint32_t *
---@param doubles ffi.cdata*
---@param i integer
---@return number
function M.double(words, doubles, i)
  local high = bit.band(words[2 * i + 1], 0x7fffffff)
  if high > 0x7ff00000 or high == 0x7ff00000 and words[2 * i] ~= 0 then return NAN end
  return doubles[i]
end

---Whether a value is one of LuaJIT's 64-bit integers.
---@param value any
---@return boolean
function M.is_int64(value)
  return type(value) == "cdata" and (ffi.istype(int64, value) or ffi.istype(uint64, value))
end
local is_int64 = M.is_int64

---A number that is whole and exact, or a 64-bit integer as the number it is; nil for anything else.
---@param value any
---@return number?
function M.whole(value)
  if type(value) == "number" then
    if value >= -EXACT and value <= EXACT and value % 1 == 0 then return value end
    return nil
  end
  if is_int64(value) then return M.whole(tonumber(value)) end
  return nil
end

---The whole number that a value is, which is not negative, or a usage error in which `what` names it.
---@param value any
---@param what string
---@return number
function M.check_size(value, what)
  local size = M.whole(value)
  if not size or size < 0 then errors.refuse("size", what, value) end
  return size
end

-- The range of an integer type of less than 8 bytes.
local function range(kind, size)
  if kind == INT then return -2 ^ (8 * size - 1), 2 ^ (8 * size - 1) - 1 end
  return 0, 2 ^ (8 * size) - 1
end

local function pack_int64(value, kind, size, out)
  if size < 8 then
    local low, high = range(kind, size)
    if ffi.istype(uint64, value) then
      if value > uint64(high) then return false end
    elseif value < int64(low) or value > int64(high) then
      return false
    end
  elseif kind == INT and ffi.istype(uint64, value) and value > 0x7fffffffffffffffULL then
    return false
  end
  ffi.cast(integers[kind][size], out)[0] = value
  return true
end

local function pack_integer(value, of, kind, size, out)
  if value >= -EXACT and value <= EXACT and value % 1 == 0 then
    if size < 8 then
      local low, high = range(kind, size)
      if value < low or value > high then return false end
    end
    -- A negative number becomes unsigned 64 bits through int64_t, as in C.
    ffi.cast(size == 8 and integers[INT][8] or integers[kind][size], out)[0] = value
    return true
  end
  return C.mw_value_from_double(of, value, out, "") == 0
end

---Store a number (or boolean) of a scalar type; false if it does not fit, without a message.
---@param value any
---@param of ffi.cdata* a mw_type
---@param out ffi.cdata*
---@return boolean
function M.pack_number(value, of, out)
  local kind, size = M.kind(of), tonumber(of.size)
  if kind == BOOL and type(value) == "boolean" then
    out[0] = value and 1 or 0
    return true
  end
  if is_int64(value) then
    if integers[kind] then return pack_int64(value, kind, size, out) end
    value = tonumber(value)
  end
  if type(value) ~= "number" then return false end
  if kind == FLOAT and size == 4 then
    local place = ffi.cast(float_pointer, out)
    place[0] = value
    local stored = place[0]
    return stored ~= math.huge and stored ~= -math.huge or stored == value
  elseif kind == FLOAT and size == 8 then
    ffi.cast(double_pointer, out)[0] = value
    return true
  elseif integers[kind] then
    return pack_integer(value, of, kind, size, out)
  elseif kind == BOOL or kind == FLOAT or kind == BFLOAT then
    return C.mw_value_from_double(of, value, out, "") == 0
  end
  return false
end

local sink = ffi.new "uint8_t[16]"

---Refuse a value that M.pack_number did not take: nil, and why.
function M.refuse_number(value, of, place)
  if type(value) ~= "number" and not is_int64(value) then return M.refuse(value, of, place) end
  local what = place_text(place)
  local code
  if is_int64(value) and not (ffi.istype(uint64, value) and value > 0x7fffffffffffffffULL) then
    code = C.mw_value_from_int64(of, value, sink, what)
  else
    code = C.mw_value_from_double(of, tonumber(value), sink, what)
  end
  if code ~= 0 then return M.refused() end
  return M.refuse(value, of, place)
end

---A 64-bit integer as a number if that is exact, else unchanged.
---@param value ffi.cdata*
---@return number|ffi.cdata*
function M.narrow(value)
  local number = tonumber(value)
  if number > -EXACT and number < EXACT then return number end
  return value
end

---A scalar of a scalar type.
---@param of ffi.cdata* a mw_type
---@param bytes ffi.cdata*
---@return any
function M.push_number(of, bytes)
  local kind, size = M.kind(of), tonumber(of.size)
  if kind == BOOL then return bytes[0] ~= 0 end
  if kind == BFLOAT then return C.mw_value_to_double(of, bytes) end
  if kind == FLOAT then
    if size == 4 then return M.float(M.words(bytes), ffi.cast(float_pointer, bytes), 0) end
    if size == 8 then return M.double(M.words(bytes), ffi.cast(double_pointer, bytes), 0) end
    return C.mw_value_to_double(of, bytes)
  end
  local by_size = integers[kind] and integers[kind][size]
  if not by_size then return M.narrow(C.mw_value_to_int64(of, bytes)) end
  local value = ffi.cast(by_size, bytes)[0]
  return size == 8 and M.narrow(value) or value
end

-- ---- all ----

---Store a value as `of` into `out` (of.size bytes). `keeper` is what takes the arrays whose addresses go into pointer
---fields: { device =, launch = or anchors = a table }, all optional. Tables are read without metamethods.
---@return boolean? ok
---@return string? message
function M.pack(value, of, out, place, keeper)
  local kind = M.kind(of)
  if kind == UINT and of.size == 8 and type(value) == "userdata" then
    return M.pack_texture(value, of, out, place, keeper)
  end
  local part = M.packers[kind]
  if part then return part(value, of, out, place, keeper) end
  if M.pack_number(value, of, out) then return true end
  return M.refuse_number(value, of, place)
end

-- texture.lua's, without which there are no textures.
function M.pack_texture(value, of, _, place) return M.refuse_number(value, of, place) end

---The value of type `of` at `bytes`.
---@param of ffi.cdata*
---@param bytes ffi.cdata*
---@return any
function M.push(of, bytes)
  local part = M.pushers[M.kind(of)]
  if part then return part(of, bytes) end
  return M.push_number(of, bytes)
end

M.packers, M.pushers = {}, {} -- by kind; vector.lua and compound.lua fill them
for _, kind in ipairs { POINTER, STRUCT, ARRAY } do
  for _, list in ipairs { M.packers, M.pushers } do
    list[kind] = function(...)
      lazy_loading.part "convert.compound"
      return list[kind](...)
    end
  end
end

local byte_pointer = ffi.typeof "uint8_t *"
---Any pointer as one to bytes.
function M.bytes(pointer) return ffi.cast(byte_pointer, pointer) end

package.loaded["moonwarp.ffi.convert.value"] = M -- for the parts, which need what stands above
local vector = require "moonwarp.ffi.convert.vector"

M.raw = { null = ffi.cast("void *", 0), vector = vector.meta, complex = vector.complex }

return M
