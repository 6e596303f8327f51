-- Whole arrays to and from Lua: nested tables, byte strings, other arrays. Elements pass through a block, so that the
-- core is called once a block and not once a number.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local BLOCK = 16384 -- bytes

-- A block of an array's elements: `cells` typed where the elements are scalars (code > 0), `bytes` the same memory.
local function new_block(of)
  local size, code = tonumber(of._type.size), of._code
  local capacity = math.max(1, math.floor(BLOCK / size))
  local cells = code > 0 and array.block_types[code](capacity) or ffi.new("uint8_t[?]", capacity * size)
  return {
    array = of, code = code, size = size, capacity = capacity, cells = cells, bytes = value.bytes(cells),
    words = value.words(cells), -- the same as 32-bit integers
    first = 0, -- the array's element that stands first in the block
    count = 0, -- elements in the block
    used = 0, -- read so far
    at = {}, -- indices of the row in work, for messages
  }
end

-- ---- tables to arrays ----

local function flush(block)
  if block.count == 0 then return end
  errors.must(C.mw_array_write(block.array._handle, block.first, block.count, block.cells))
  block.first = block.first + block.count
  block.count = 0
end

-- "element [2][5]"
local function name_element(block, depth)
  if depth == 0 then return "the table" end
  return "element [" .. table.concat(block.at, "][", 1, depth) .. "]"
end

local no_keeper = {}

local function put(block, element)
  local at = block.count
  if block.code > 0 and type(element) == "number" and array.fits(block.code, element) then
    block.cells[at] = element
  else
    local place = value.place(nil, name_element(block, block.array._rank))
    local ok, why = value.pack(element, block.array._type, block.bytes + at * block.size, place, no_keeper)
    if not ok then errors.misuse(why) end
  end
  block.count = at + 1
  if block.count == block.capacity then flush(block) end
end

local function write_table(block, list, depth)
  local rank, length = block.array._rank, tonumber(block.array._shape[depth])
  if type(list) ~= "table" or #list ~= length then
    errors.refuse("table", name_element(block, depth), length, list)
  end
  for i = 1, length do
    block.at[depth + 1] = i
    if depth == rank - 1 then
      put(block, rawget(list, i))
    else
      write_table(block, rawget(list, i), depth + 1)
    end
  end
end

local function assign_table(target, list)
  local block = new_block(target)
  write_table(block, list, 0)
  flush(block)
end

local function refuse_source(target, source)
  errors.refuse("source", source, tonumber(C.mw_array_bytes(target._handle)),
    tonumber(C.mw_array_count(target._handle)), dtype.name(target._type))
end

-- Write a nested table, an array of equal count and type, or a string of bytes over a whole array.
function array.assign(target, source)
  local handle = target._handle
  if type(source) == "table" or type(source) == "string" then device.drain(target._device) end
  if type(source) == "table" and C.mw_array_is_contiguous(handle) == 0 then
    local packed = array.packed(target) -- written as a whole, then copied to where it belongs
    assign_table(packed, source)
    errors.must(C.mw_array_copy(handle, packed._handle))
  elseif type(source) == "table" then
    assign_table(target, source)
  elseif type(source) == "string" then
    if #source ~= tonumber(C.mw_array_bytes(handle)) then refuse_source(target, source) end
    errors.must(C.mw_array_write(handle, 0, C.mw_array_count(handle), source))
  elseif class.is(source, "array") then
    errors.must(C.mw_array_copy(handle, array.check(source, "the source")._handle))
  else
    refuse_source(target, source)
  end
end

-- The shape of a nested table: as deep as its first elements go, less the level that a vector is; structs are tables
-- without a first element.
local function infer_shape(list, of)
  local shape, rank, is_struct = ffi.new "size_t[10]", 0, value.kind(of) == value.STRUCT
  while type(list) == "table" and (rank == 0 or not is_struct or #list > 0) do
    if rank > array.MAX_RANK then errors.refuse("depth", array.MAX_RANK) end
    shape[rank] = #list
    rank = rank + 1
    list = rawget(list, 1)
  end
  if value.kind(of) == value.VECTOR and rank > 1 then rank = rank - 1 end
  if rank > array.MAX_RANK then errors.refuse("depth", array.MAX_RANK) end
  return rank, shape
end

-- ---- arrays to tables and strings ----

-- The place in the block of the next element.
local function next_place(block)
  if block.used == block.count then
    local left = tonumber(C.mw_array_count(block.array._handle)) - block.first - block.count
    block.first = block.first + block.count
    block.count = math.min(left, block.capacity)
    block.used = 0
    errors.must(C.mw_array_read(block.array._handle, block.first, block.count, block.cells))
  end
  block.used = block.used + 1
  return block.used - 1
end

local function take(block)
  local at, code = next_place(block), block.code
  if code == 0 then return value.push(block.array._type, block.bytes + at * block.size) end
  return array.element(code, block.words, block.cells, at)
end

local function read_table(block, depth)
  local list, length = {}, tonumber(block.array._shape[depth])
  if depth == block.array._rank - 1 then
    for i = 1, length do list[i] = take(block) end
  else
    for i = 1, length do list[i] = read_table(block, depth + 1) end
  end
  return list
end

local methods = class.methods.array

function methods.totable(self)
  self = array.packed(array.check(self, "totable"))
  errors.must(C.mw_array_check_rows(self._handle, "totable"))
  device.settle(self._device)
  return read_table(new_block(self), 0)
end

function methods.bytes(self)
  array.check(self, "bytes")
  local bytes = C.mw_array_bytes(self._handle)
  local copy = ffi.new("uint8_t[?]", bytes)
  device.settle(self._device)
  errors.must(C.mw_array_read(self._handle, 0, C.mw_array_count(self._handle), copy))
  return ffi.string(copy, bytes)
end

-- ---- arrays to arrays of another type ----

local function is_integer(of)
  local kind = value.kind(of)
  return kind == value.INT or kind == value.UINT or kind == value.BOOL
end

local function convert_number(from, source, to, target, what)
  if is_integer(from) and is_integer(to) then
    return C.mw_value_from_int64(to, C.mw_value_to_int64(from, source), target, what)
  end
  return C.mw_value_from_double(to, C.mw_value_to_double(from, source), target, what)
end

-- array_convert(target, source): element by element, as if read and written as numbers.
local function array_convert(target, source)
  array.check(target, "the target")
  source = array.packed(array.check(source, "the source"))
  local from, to = source._type, target._type
  local width = value.kind(from) == value.VECTOR and tonumber(from.count) or 1
  local structs = value.kind(from) == value.STRUCT or value.kind(to) == value.STRUCT
  if structs or (value.kind(to) == value.VECTOR and tonumber(to.count) or 1) ~= width then
    errors.refuse("conversion", dtype.name(from), dtype.name(to), not structs)
  end
  if value.kind(from) == value.VECTOR then from, to = from.element, to.element end
  device.settle(source._device)
  local input, output = new_block(source), new_block(target)
  local from_size, to_size = tonumber(from.size), tonumber(to.size)
  for i = 1, tonumber(C.mw_array_count(target._handle)) do
    local element = input.bytes + next_place(input) * input.size
    local place = output.bytes + output.count * output.size
    for c = 0, width - 1 do
      local a, b = element + c * from_size, place + c * to_size
      if convert_number(from, a, to, b, "an element") ~= 0 then
        convert_number(from, a, to, b, ("element [%d]"):format(i))
        errors.raise()
      end
    end
    output.count = output.count + 1
    if output.count == output.capacity then flush(output) end
  end
  flush(output)
end

return {
  raw = {
    -- array_from(table, dtype) -> array
    array_from = function(list, of)
      local type_, module = dtype.check(of, "float")
      local rank, shape = infer_shape(list, type_)
      local made = array.new(device.current(), type_, module, rank, shape)
      assign_table(made, list)
      return made
    end,
    -- array_assign(array, table | array | string)
    array_assign = function(target, source) array.assign(array.check(target, "copy_from"), source) end,
    array_convert = array_convert,
  },
}
