-- Values made of others: structs and unions by field name, arrays as sequences, and pointers to arrays on the device.
--
-- Tables are read without metamethods: an argument's conversion never runs other code.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

local refuse, place_in = value.refuse, value.place

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

-- Whether there is a field of that name, also inside anonymous members (whose fields belong to the struct around them).
local function has_field(of, wanted)
  for _, field, name in fields(of) do
    if name ~= "" and name == wanted then return true end
    if name == "" and is_struct(field.type) and has_field(field.type, wanted) then return true end
  end
  return false
end

local function list_fields(of, list)
  list = list or {}
  for _, field, name in fields(of) do
    if name ~= "" then
      list[#list + 1] = name
    elseif is_struct(field.type) then
      list_fields(field.type, list)
    end
  end
  return list
end

local function field_names(of)
  local text = table.concat(list_fields(of), ", ")
  return #text > 250 and text:sub(1, 250):gsub(", [^,]*$", "") or text
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
    return refuse(place, " lacks the field '%s' (%s)%s; %s has %s", name, ffi.string(field.type.name),
      value.kind(field.type) == value.POINTER and ", which may be mw.null" or "", ffi.string(of.name),
      field_names(of))
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
  local name, size = ffi.string(of.name), tonumber(of.size)
  if type(struct) == "string" then -- its bytes, padding too
    if #struct ~= size then
      return refuse(place, " wants %s, which has %d bytes, got a string of %d", name, size, #struct)
    end
    ffi.copy(out, struct, size)
    return true
  end
  if hides_fields(of) then
    return refuse(place, " wants %s, whose fields are not known: give its %d bytes as a string", name, size)
  end
  if type(struct) ~= "table" then
    return refuse(place, " wants %s, as a table with the field%s %s, got %s", name,
      tonumber(of.count) == 1 and "" or "s", field_names(of), errors.describe(struct))
  end
  for key in next, struct do
    if type(key) ~= "string" then
      return refuse(place, " wants the fields of %s by name: %s", name, field_names(of))
    elseif not has_field(of, key) then
      return refuse(place, " has no field '%s'; %s has %s", key, name, field_names(of))
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

local function pack_from_array(array, of, out, place)
  if C.mw_type_accepts(of.element, array._type) == 0 or C.mw_array_bytes(array._handle) ~= of.size then
    return refuse(place, " wants %s, got an array of %d %s", ffi.string(of.name),
      tonumber(C.mw_array_count(array._handle)), errors.dtype_name(array._type))
  end
  if C.mw_array_read(array._handle, 0, C.mw_array_count(array._handle), out) == 0 then return true end
  return nil, ffi.string(C.mw_error_last().message)
end

value.packers[value.ARRAY] = function(sequence, of, out, place, keeper)
  local name, count = ffi.string(of.name), tonumber(of.count)
  if type(sequence) == "string" and is_char(of.element) then
    if #sequence > count then return refuse(place, " wants %s, got a string of %d bytes", name, #sequence) end
    ffi.fill(out, tonumber(of.size))
    ffi.copy(out, sequence, #sequence)
    return true
  end
  if class.is(sequence, "array") and sequence._handle ~= nil then return pack_from_array(sequence, of, out, place) end
  if type(sequence) ~= "table" then
    return refuse(place, " wants %s, as a sequence of %d, got %s", name, count, errors.describe(sequence))
  end
  if #sequence ~= count then return refuse(place, " wants %s, got a sequence of %d", name, #sequence) end
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

-- The dtype to make an array with: "float" for const float *.
local function element_name(pointer) return (ffi.string(pointer.element.name):gsub("^const ", "")) end

local uintptr = ffi.typeof "uintptr_t"

local function pack_array_address(array, object, of, place, keeper)
  if array._handle == nil or C.mw_buffer_is_freed(C.mw_array_buffer(array._handle)) ~= 0 then
    return refuse(place, " is an array that was freed")
  end
  if C.mw_type_accepts(of.element, array._type) == 0 then
    return refuse(place, " wants %s, got an array of %s: make it with the dtype \"%s\", or see a:as(dtype)",
      ffi.string(of.name), errors.dtype_name(array._type), element_name(of))
  end
  if keeper.device and array._device ~= keeper.device then
    return refuse(place, " is an array of another device (%s)", ffi.string(C.mw_device_name(array._device._handle)))
  end
  if C.mw_array_is_contiguous(array._handle) == 0 then
    return refuse(place, " is a strided view, and a kernel walks memory in order: give it a:contiguous()")
  end
  if keeper.launch and C.mw_launch_keep(keeper.launch, array._handle) ~= 0 then
    return nil, ffi.string(C.mw_error_last().message)
  end
  if keeper.anchors then keeper.anchors[#keeper.anchors + 1] = object end
  return C.mw_buffer_address(C.mw_array_buffer(array._handle)) + C.mw_array_offset(array._handle)
end

-- Addresses as scripts have them: what pointer fields read as (void *), and any pointer of the FFI's.
local function is_address(given)
  return type(given) == "cdata" and class.type(given) == nil and not value.is_int64(given) and
    pcall(ffi.cast, uintptr, given) and tostring(ffi.typeof(given)):find("[%*%]&]>$") ~= nil
end

value.packers[value.POINTER] = function(given, of, out, place, keeper)
  local address = 0
  local memory = class.memory(given)
  if memory then
    local found, why = pack_array_address(memory, given, of, place, keeper)
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
    return refuse(place, " wants %s, got %s: give it an array of %s, or nil for the null pointer", ffi.string(of.name),
      errors.describe(given), element_name(of))
  end
  ffi.cast("uint64_t *", out)[0] = address
  return true
end

value.pushers[value.POINTER] = function(_, bytes) return ffi.cast("void **", bytes)[0] end
