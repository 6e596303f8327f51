-- Values made of others: structs and unions by field name, arrays as sequences, and pointers to arrays on the device.
--
-- Tables are read without metamethods: an argument's conversion never runs other code.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local value = require "moonwarp.ffi.convert.value"

local place_in, place_text = value.place, value.place_text

local function is_struct(of) return value.kind(of) == value.STRUCT end

-- ---- structs ----

-- Iterates over a struct's fields: index, field, name.
local function fields(of)
  local count = tonumber(of.count)
  return function(_, i)
    i = i + 1
    if i > count then return nil end
    local field = of.fields[i - 1]
    return i, field, ffi.string(field.name)
  end, nil, 0
end

-- mw.null is a cdata that equals nil, but it is given.
local function is_nil(v) return type(v) == "nil" end

local function is_given(struct, field, name)
  if name ~= "" then return not is_nil(rawget(struct, name)) end
  if not is_struct(field.type) then return false end
  for _, inner, inner_name in fields(field.type) do
    if is_given(struct, inner, inner_name) then return true end
  end
  return false
end

-- Whether another field that shares memory with this one was given: then it is a union's, and need not be.
local function is_covered(struct, of, index)
  local field = of.fields[index - 1]
  local first, past = tonumber(field.offset), tonumber(field.offset + field.type.size)
  for i, other, name in fields(of) do
    local overlap = i ~= index and tonumber(other.offset) < past and
      first < tonumber(other.offset + other.type.size)
    if overlap and is_given(struct, other, name) then return true end
  end
  return false
end

local pack_fields

local function pack_field(struct, of, out, place, keeper, field, name)
  local at = out + tonumber(field.offset)
  if name == "" then
    if is_struct(field.type) then return pack_fields(struct, field.type, at, place, keeper) end
    return true
  end
  local given = rawget(struct, name)
  if is_nil(given) then
    C.mw_value_missing(of, name, place_text(place))
    return value.refused()
  end
  return value.pack(given, field.type, at, place_in(place, name), keeper)
end

function pack_fields(struct, of, out, place, keeper)
  for i, field, name in fields(of) do
    if is_given(struct, field, name) or not is_covered(struct, of, i) then
      local ok, why = pack_field(struct, of, out, place, keeper, field, name)
      if not ok then return nil, why end
    end
  end
  return true
end

-- No fields, and more than the byte that a struct with none has: where NVRTC compiles without mwcc, not all are known.
local function hides_fields(of) return of.count == 0 and of.size > 1 end

value.packers[value.STRUCT] = function(struct, of, out, place, keeper)
  local size = tonumber(of.size)
  if type(struct) == "string" then -- its bytes, padding too
    if #struct ~= size then
      C.mw_value_refuse_length(of, 1, #struct, place_text(place))
      return value.refused()
    end
    ffi.copy(out, struct, size)
    return true
  end
  if hides_fields(of) or type(struct) ~= "table" then return value.refuse(struct, of, place) end
  for key in next, struct do
    local name = type(key) == "string" and key or nil
    if not name or C.mw_type_field(of, name) == nil then
      C.mw_value_refuse_key(of, name, place_text(place))
      return value.refused()
    end
  end
  ffi.fill(out, size)
  return pack_fields(struct, of, out, place, keeper)
end

local function push_fields(of, bytes, struct)
  for _, field, name in fields(of) do
    local at = bytes + tonumber(field.offset)
    if name ~= "" then
      struct[name] = value.push(field.type, at)
    elseif is_struct(field.type) then
      push_fields(field.type, at, struct)
    end
  end
  return struct
end

value.pushers[value.STRUCT] = function(of, bytes)
  if hides_fields(of) then return ffi.string(bytes, tonumber(of.size)) end
  return push_fields(of, bytes, {})
end

-- ---- arrays ----

local function is_char(of)
  local kind = value.kind(of)
  return tonumber(of.size) == 1 and (kind == value.INT or kind == value.UINT)
end

value.packers[value.ARRAY] = function(sequence, of, out, place, keeper)
  local count, is_string = tonumber(of.count), type(sequence) == "string" and is_char(of.element)
  if class.is(sequence, "array") and sequence._handle ~= nil then
    if C.mw_array_as_elements(sequence._handle, of, place_text(place), out) == 0 then return true end
    return value.refused()
  end
  if not is_string and type(sequence) ~= "table" then return value.refuse(sequence, of, place) end
  local length = #sequence
  if is_string and length > count or not is_string and length ~= count then
    C.mw_value_refuse_length(of, is_string and 1 or 0, length, place_text(place))
    return value.refused()
  end
  if is_string then
    ffi.fill(out, tonumber(of.size))
    ffi.copy(out, sequence, length)
    return true
  end
  local size = tonumber(of.element.size)
  for i = 1, count do
    local ok, why = value.pack(rawget(sequence, i), of.element, out + (i - 1) * size, place_in(place, i), keeper)
    if not ok then return nil, why end
  end
  return true
end

value.pushers[value.ARRAY] = function(of, bytes)
  local size, sequence = tonumber(of.element.size), {}
  for i = 1, tonumber(of.count) do sequence[i] = value.push(of.element, bytes + (i - 1) * size) end
  return sequence
end

-- ---- pointers ----

local uintptr = ffi.typeof "uintptr_t"
local address_cell = ffi.new "uint64_t[1]"

local function array_address(array, object, of, place, keeper)
  local device = keeper.device and keeper.device._handle or nil
  if C.mw_array_as_pointer(array._handle, of, device, nil, address_cell) ~= 0 then
    -- Written only after a failure: the second call fails in the same way, with the place.
    C.mw_array_as_pointer(array._handle, of, device, place_text(place), address_cell)
    return value.refused()
  end
  if keeper.launch and C.mw_launch_keep(keeper.launch, array._handle) ~= 0 then return value.refused() end
  if keeper.anchors then keeper.anchors[#keeper.anchors + 1] = object end
  return address_cell[0]
end

-- Addresses as scripts have them: what pointer fields read as (void *), and any pointer of the FFI's.
local function is_address(given)
  return type(given) == "cdata" and class.type(given) == nil and not value.is_int64(given) and
    pcall(ffi.cast, uintptr, given) and tostring(ffi.typeof(given)):find("[%*%]&]>$") ~= nil
end

value.packers[value.POINTER] = function(given, of, out, place, keeper)
  local address = 0
  local memory = class.memory(given)
  if memory and memory._handle ~= nil then
    local found, why = array_address(memory, given, of, place, keeper)
    if not found then return nil, why end
    address = found
  elseif class.is(given, "symbol") then
    address = C.mw_symbol_address(class.state(given).handle)
  elseif type(given) == "userdata" and class.type(given) == nil and tostring(given):find("^userdata: ") and
    not debug.getmetatable(given) then
    address = ffi.cast(uintptr, ffi.cast("void *", given)) -- light userdata of another library
  elseif is_address(given) then
    address = ffi.cast(uintptr, given)
  elseif not is_nil(given) then
    return value.refuse(given, of, place)
  end
  ffi.cast("uint64_t *", out)[0] = address
  return true
end

value.pushers[value.POINTER] = function(_, bytes) return ffi.cast("void **", bytes)[0] end
