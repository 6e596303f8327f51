-- Array objects: making, viewing and freeing them, their elements, and what is done to all of them at once.
--
-- Indices are Lua's, from 1. Reading one past the end gives nil, which is how ipairs finds it; any other index outside
-- is a mistake and raises. Of an array with several dimensions a[i] is row i, a view.
--
-- Reading and writing an element is written for the compiler: a loop over a[i] becomes machine code with a call of
-- mw_array_read in it (spec/lua/jit_spec.lua).

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local shapes = require "moonwarp.ffi.convert.shape"
local device = require "moonwarp.ffi.device"
local collect = require "moonwarp.ffi.garbage_collection"
local lazy_loading = require "moonwarp.ffi.lazy_loading"

local M = {}

-- Types that are parsed once: parsing one takes longer than a call of the library.
local handle_cell, step_list, byte_list = ffi.typeof "mw_array *[1]", ffi.typeof "int64_t[8]", ffi.typeof "uint8_t[?]"

local DEVICE_MEMORY = C.MW_MEMORY_DEVICE
M.MAX_RANK, M.check_shape = shapes.MAX_RANK, shapes.check

-- ---- scalars that need no look at their type ----

-- How elements are stored: by 0 (whatever else: see the type) or the number of a scalar here.
local scalars = {
  { kind = value.FLOAT, name = "float" }, { kind = value.FLOAT, name = "double" },
  { kind = value.INT, name = "int8_t" }, { kind = value.UINT, name = "uint8_t" },
  { kind = value.INT, name = "int16_t" }, { kind = value.UINT, name = "uint16_t" },
  { kind = value.INT, name = "int32_t" }, { kind = value.UINT, name = "uint32_t" },
  { kind = value.INT, name = "int64_t" }, { kind = value.UINT, name = "uint64_t" },
}
local FLOAT, DOUBLE, INT64 = 1, 2, 9

local cells, low, high = {}, {}, {} -- room for one element; the range of numbers that can be stored as they are
local words = {} -- the cells of floats and doubles by their bits
M.block_types = {} -- code -> the ctype of an array of such elements
local codes = {} -- 16 * a type's kind + its size -> code
for code, scalar in ipairs(scalars) do
  cells[code] = ffi.new(scalar.name .. "[1]")
  words[code] = value.words(cells[code])
  M.block_types[code] = ffi.typeof(scalar.name .. "[?]")
  local bits = 8 * ffi.sizeof(scalar.name)
  codes[16 * scalar.kind + bits / 8] = code
  low[code] = scalar.kind == value.INT and -2 ^ math.min(bits - 1, 53) or 0
  high[code] = 2 ^ math.min(scalar.kind == value.INT and bits - 1 or bits, 53) - 1
end

---The number of a scalar type, or 0.
---@param of ffi.cdata* a mw_type
---@return integer
function M.code_of(of)
  local size = tonumber(of.size)
  return size <= 8 and codes[16 * value.kind(of) + size] or 0
end

---Whether a number can be stored as a scalar of that code, as it is.
---@param code integer
---@param number number
---@return boolean
function M.fits(code, number)
  if code == DOUBLE then return true end
  if code == FLOAT then
    local cell = cells[FLOAT]
    cell[0] = number
    local stored = cell[0]
    return stored ~= math.huge and stored ~= -math.huge or stored == number
  end
  return number >= low[code] and number <= high[code] and number % 1 == 0
end
local fits = M.fits

---The scalar of that code at place i of `numbers`, whose words are `words`.
---@param code integer
---@return number|ffi.cdata*
function M.element(code, words, numbers, i) -- luacheck: ignore 431
  if code == FLOAT then return value.float(words, numbers, i) end
  if code == DOUBLE then return value.double(words, numbers, i) end
  if code >= INT64 then return value.narrow(numbers[i]) end
  return numbers[i]
end

-- ---- life ----

local meta, operators = {}, {}
local array_type = class.struct("array", [[struct {
  mw_array *_handle;
  const mw_type *_type;
  const size_t *_shape;
  $ *_device;
  mw_module *_module;
  double _counted;
  int _rank, _code;
}]], {
  __index = function(rest) return function(self, key) return meta.index(self, key, rest) end end,
  __newindex = function(self, key, element) meta.newindex(self, key, element) end,
  __len = function(self) return meta.len(self) end,
  __ipairs = function(self) return meta.ipairs(self) end, -- for LuaJIT built with Lua 5.2's metamethods, as Debian's is
  __gc = function(self) meta.gc(self) end,
  -- A metatype's metatable is fixed, so operators are looked up in a table that array_metamethods fills.
  __add = function(a, b) return operators.__add(a, b) end,
  __sub = function(a, b) return operators.__sub(a, b) end,
  __mul = function(a, b) return operators.__mul(a, b) end,
  __div = function(a, b) return operators.__div(a, b) end,
  __mod = function(a, b) return operators.__mod(a, b) end,
  __pow = function(a, b) return operators.__pow(a, b) end,
  __unm = function(a) return operators.__unm(a) end,
  __lt = function(a, b) return operators.__lt(a, b) end,
  __le = function(a, b) return operators.__le(a, b) end,
}, device.ctype)

---A closed array object on a device.
---@param where ffi.cdata*
---@return moonwarp.array
function M.push(where)
  local array = array_type()
  array._device = where
  return array
end

---Fill a closed array object with a handle, which becomes its own, of a dtype and its code_of.
function M.adopt_as(array, handle, of, code, counted)
  array._handle = handle
  array._type, array._code = of, code
  array._shape = C.mw_array_shape(handle)
  array._rank = C.mw_array_rank(handle)
  array._counted = counted
  collect.live = collect.live + counted
  return array
end

---The same, of the handle's dtype. `module` is the one that the dtype belongs to.
function M.adopt(array, handle, module, counted)
  if module ~= nil then array._module = C.mw_module_retain(module) end
  local of = C.mw_array_dtype(handle)
  return M.adopt_as(array, handle, of, M.code_of(of), counted)
end

---Whether a value is an array that was not freed.
---@param object any
---@return boolean
function M.is_open(object) return ffi.istype(array_type, object) and object._handle ~= nil end

-- A function of its own, because LuaJIT does not compile what makes functions, or what may.
local function collect_and_make(code, where, kind, of, rank, shape, out)
  errors.must(collect.again(where, code, function()
    return C.mw_array_new_kind(where._handle, kind, of, rank, shape, out)
  end))
end

---A new array. If there is no memory left, garbage is collected first.
function M.new(where, of, module, rank, shape, kind)
  local bytes = shapes.bytes(tonumber(of.size), rank, shape)
  collect.step(bytes)
  local array, out = M.push(where), handle_cell()
  kind = kind or DEVICE_MEMORY
  local code = C.mw_array_new_kind(where._handle, kind, of, rank, shape, out)
  if code ~= 0 then collect_and_make(code, where, kind, of, rank, shape, out) end
  return M.adopt(array, out[0], module, bytes)
end

---A view of an array's memory.
function M.view(array, offset, of, module, rank, shape)
  local view, out = M.push(array._device), handle_cell()
  errors.must(C.mw_array_view(array._handle, offset, of, rank, shape, out))
  return M.adopt(view, out[0], module, 0)
end

local function uncount(array)
  collect.live = collect.live - array._counted
  array._counted = 0
end

function meta.gc(array)
  if array._handle == nil then return end
  uncount(array)
  C.mw_array_release(array._handle)
  C.mw_module_release(array._module)
  array._handle, array._module = nil, nil
end

---An open array, or a usage error.
---@param array any
---@param what string
---@return moonwarp.array
function M.check(array, what) return errors.check_open(array, "array", what) end
local check = M.check

-- ---- shapes and making ----

-- Row i (from 0) as a view.
local function row(array, i)
  local view, out = M.push(array._device), handle_cell()
  errors.must(C.mw_array_row(array._handle, i, out))
  return M.adopt(view, out[0], array._module, 0)
end

---The array if it is contiguous, else a contiguous copy.
---@param array moonwarp.array
---@return moonwarp.array
function M.packed(array)
  if C.mw_array_is_contiguous(array._handle) ~= 0 then return array end
  local copy = M.new(array._device, array._type, array._module, array._rank, array._shape)
  errors.must(C.mw_array_copy(copy._handle, array._handle))
  return copy
end

-- What array_selectors was given: reads a[key] and assigns to it, where the key is neither a number nor a name.
local read_selected, assign_selected
local function is_selector(key)
  local kind = type(key)
  -- Booleans, to refuse them.
  return kind == "table" or kind == "userdata" or kind == "boolean" or (kind == "cdata" and not value.is_int64(key))
end

-- ---- elements ----

local function read_slowly(array, i)
  local element = byte_list(array._type.size)
  errors.must(C.mw_array_read(array._handle, i, 1, element))
  return value.push(array._type, value.bytes(element))
end

local function read(array, i)
  local where = array._device
  device.settle(where)
  local code = array._code
  if code == 0 then return read_slowly(array, i) end
  local cell = cells[code]
  if C.mw_array_read(array._handle, i, 1, cell) ~= 0 then errors.raise() end
  return M.element(code, words[code], cell, 0)
end

local no_keeper = {}

-- The bytes of one element, made of a value.
local function pack_element(array, element, what)
  local bytes = byte_list(array._type.size)
  local ok, why = value.pack(element, array._type, value.bytes(bytes), value.place(nil, what), no_keeper)
  if not ok then errors.misuse(why) end
  return bytes
end

local function write(array, i, element)
  device.drain(array._device)
  local code = array._code
  local result
  if code ~= 0 and type(element) == "number" and fits(code, element) then
    local cell = cells[code]
    cell[0] = element
    result = C.mw_array_write(array._handle, i, 1, cell)
  else
    result = C.mw_array_write(array._handle, i, 1, pack_element(array, element, "this element"))
  end
  if result ~= 0 then errors.raise() end
end

function meta.index(array, key, rest)
  if type(key) ~= "number" then
    if is_selector(key) then return read_selected(array, key) end
    if not value.is_int64(key) then return rest(array, key) end
    key = tonumber(key)
  end
  if array._handle == nil then check(array, "indexing") end
  local size = tonumber(array._shape[0])
  if key >= 1 and key <= size and key % 1 == 0 then
    if array._rank == 1 then return read(array, key - 1) end
    return row(array, key - 1)
  end
  if key == size + 1 then return nil end
  return errors.refuse("index", key, size)
end

function meta.newindex(array, key, element)
  if array._handle == nil then check(array, "indexing") end
  if type(key) ~= "number" then
    if is_selector(key) then return assign_selected(array, key, element) end
    if not value.is_int64(key) then errors.refuse("key", key) end
    key = tonumber(key)
  end
  local size = tonumber(array._shape[0])
  if not (key >= 1 and key <= size and key % 1 == 0) then errors.refuse("index", key, size) end
  if array._rank == 1 then return write(array, key - 1, element) end
  local kind = type(element)
  if kind == "number" or kind == "boolean" then return row(array, key - 1):fill(element) end -- into each element
  return M.assign(row(array, key - 1), element)
end

-- Write over a whole array: bulk_conversion.lua's.
function M.assign(array, source)
  lazy_loading.part "array.bulk_conversion"
  M.assign(array, source)
end

function meta.len(array) return tonumber(check(array, "#")._shape[0]) end

local function next_element(array, i)
  i = i + 1
  local element = array[i]
  if element ~= nil then return i, element end
end

function meta.ipairs(array) return next_element, check(array, "ipairs"), 0 end

-- The place of the element at `indices`, as many as there are dimensions.
local function check_indices(array, name, given, indices)
  local rank = array._rank
  if given ~= rank then errors.refuse("indices", name, rank, given) end
  local place = 0
  for d = 1, rank do
    local i, size = value.whole(indices[d]), tonumber(array._shape[d - 1])
    if not i or i < 1 or i > size then errors.refuse("index", indices[d], size, d) end
    place = place * size + i - 1
  end
  return place
end

local methods = class.methods.array

function methods.get(self, ...)
  check(self, "get")
  return read(self, check_indices(self, "get", select("#", ...), { ... }))
end

function methods.set(self, ...)
  check(self, "set")
  local given = select("#", ...)
  local place = check_indices(self, "set", given - 1, { ... })
  write(self, place, (select(given, ...)))
end

-- ---- all elements at once ----

---Release an array's memory. Shape and dtype stay readable.
---@param array moonwarp.array
function M.free(array)
  if array._handle == nil then return end
  collect.freed = collect.freed + array._counted
  uncount(array)
  errors.must(C.mw_array_free(array._handle))
end

-- Release the memory, also of every view.
function methods.free(self) M.free(errors.check(self, "array", "free")) end

function methods.fill(self, element)
  check(self, "fill")
  errors.must(C.mw_array_fill(self._handle, pack_element(self, element, "the value to fill with")))
  return self
end

function methods.copy(self)
  check(self, "copy")
  local copy = M.new(self._device, self._type, self._module, self._rank, self._shape)
  errors.must(C.mw_array_copy(copy._handle, self._handle))
  return copy
end

for name, which in pairs { sum = C.MW_SUM, min = C.MW_MIN, max = C.MW_MAX } do
  methods[name] = function(self)
    check(self, name)
    local number, integer, is_integer = ffi.new "double[1]", ffi.new "int64_t[1]", ffi.new "int[1]"
    device.settle(self._device)
    errors.must(C.mw_array_reduce(self._handle, which, number, integer, is_integer))
    if is_integer[0] ~= 0 then return value.narrow(integer[0]) end
    return number[0]
  end
end

M.raw = {
  -- array_new(dtype, shape[, "pinned" or "managed"]) -> array, contents undefined
  array_new = function(of, shape, kind)
    local type, module = dtype.check(of, "float")
    local rank, sizes = M.check_shape(shape)
    local memory = kind and (kind == "pinned" and C.MW_MEMORY_PINNED or C.MW_MEMORY_MANAGED)
    return M.new(device.current(), type, module, rank, sizes, memory)
  end,
  -- array_view(array, offset in bytes, dtype or nil, shape) -> a view of the same memory
  array_view = function(array, offset, of, shape)
    check(array, "a view")
    offset = shapes.check_size(offset)
    local type, module = array._type, array._module
    if of ~= nil then type, module = dtype.check(of) end
    local rank, sizes = M.check_shape(shape)
    return M.view(array, offset, type, module, rank, sizes)
  end,
  -- array_strided(array, offset in bytes, dtype or nil, shape, strides in bytes) -> a view of the same memory
  array_strided = function(array, offset, of, shape, strides)
    check(array, "a view")
    if not value.whole(offset) then errors.refuse "offset" end
    local type, module = array._type, array._module
    if of ~= nil then type, module = dtype.check(of) end
    local rank, sizes = M.check_shape(shape)
    local steps = step_list()
    for d = 1, rank do
      if not value.whole(strides[d]) then errors.refuse "strides" end
      steps[d - 1] = strides[d]
    end
    local view, out = M.push(array._device), handle_cell()
    errors.must(C.mw_array_view_strided(array._handle, offset, type, rank, sizes, steps, out))
    return M.adopt(view, out[0], module, 0)
  end,
  -- array_selectors(read, assign): functions of (array, key[, value]) for keys that are tables or objects
  array_selectors = function(read_by, assign_by) read_selected, assign_selected = read_by, assign_by end,
  -- array_metamethods{__add = …}: operators of arrays
  array_metamethods = function(list)
    for name, operator in pairs(list) do operators[name] = operator end
  end,
  -- array_poll(array, flag, ticket) -> the element of the array, or nil: see mw_array_poll
  array_poll = function(array, flag, ticket)
    device.own()
    local cell = byte_list(array._type.size)
    local code = C.mw_array_poll(check(array, "a result")._handle, check(flag, "a flag")._handle, ticket, cell)
    if code == C.MW_NOT_READY then return nil end
    errors.must(code)
    return value.push(array._type, value.bytes(cell))
  end,
  -- array_ramp(array, start, step)
  array_ramp = function(array, start, step)
    check(array, "a ramp")
    device.drain(array._device)
    errors.must(C.mw_array_ramp(array._handle, start, step))
  end,
}

return M
