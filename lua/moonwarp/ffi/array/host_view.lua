-- Host views: an array's memory as the host sees it, element by element and without a copy, where the device's memory
-- is host memory. A view keeps the array; of an array that was freed it refuses every access.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

-- Code of a scalar (array.lua) -> the pointer through which it is read and written.
local pointers = {}
for code, name in ipairs { "float *", "double *", "int8_t *", "uint8_t *", "int16_t *", "uint16_t *", "int32_t *",
  "uint32_t *", "int64_t *", "uint64_t *" } do
  pointers[code] = ffi.typeof(name)
end

local host_meta = {}
local host_type = class.struct("host", [[struct {
  mw_array *_handle;
  mw_buffer *_buffer;
  uint8_t *_bytes;
  const uint32_t *_words; // the same
  const mw_type *_type;
  mw_module *_module;
  size_t _count;
  int _code;
}]], {
  __index = function(rest) return function(self, key) return host_meta.index(self, key, rest) end end,
  __newindex = function(self, key, element) host_meta.newindex(self, key, element) end,
  __len = function(self) return tonumber(self._count) end,
  __ipairs = function(self) return host_meta.next, self, 0 end,
  __gc = function(self)
    C.mw_array_release(self._handle)
    C.mw_module_release(self._module)
    self._handle, self._module = nil, nil
  end,
})

-- The place of a key, from 0; nil for the one after the last.
local function place_of(self, key)
  local i, count = value.whole(key), tonumber(self._count)
  if C.mw_buffer_is_freed(self._buffer) ~= 0 then errors.refuse "host_view" end
  if i and i >= 1 and i <= count then return i - 1 end
  if i == count + 1 then return nil end
  return errors.refuse("index", key, count)
end

function host_meta.index(self, key, rest)
  if type(key) == "string" then return rest(self, key) end
  local i, code = place_of(self, key), self._code
  if not i then return nil end
  if code == 0 then return value.push(self._type, self._bytes + i * tonumber(self._type.size)) end
  return array.element(code, self._words, ffi.cast(pointers[code], self._bytes), i)
end

function host_meta.next(self, i)
  i = i + 1
  if i <= tonumber(self._count) then return i, self[i] end
end

local no_keeper = {}

function host_meta.newindex(self, key, element)
  local i, code = place_of(self, key), self._code
  if not i then errors.refuse("index", key, tonumber(self._count)) end
  if code ~= 0 and type(element) == "number" and array.fits(code, element) then
    ffi.cast(pointers[code], self._bytes)[i] = element
    return
  end
  -- Through a copy, so that nothing is written of a value that is refused halfway.
  local size = tonumber(self._type.size)
  local bytes = ffi.new("uint8_t[?]", size)
  local ok, why = value.pack(element, self._type, value.bytes(bytes), value.place(nil, "this element"), no_keeper)
  if not ok then errors.misuse(why) end
  ffi.copy(self._bytes + i * size, bytes, size)
end

-- a:host() -> its elements in row order, 1 to count
function class.methods.array.host(self)
  array.check(self, "host")
  device.settle(self._device)
  local bytes = ffi.new "void *[1]"
  errors.must(C.mw_array_host(self._handle, bytes))
  local host = host_type()
  host._handle = C.mw_array_retain(self._handle)
  if self._module ~= nil then host._module = C.mw_module_retain(self._module) end
  host._buffer, host._type, host._code = C.mw_array_buffer(self._handle), self._type, self._code
  host._count = C.mw_array_count(self._handle)
  host._bytes, host._words = value.bytes(bytes[0]), value.words(bytes[0])
  return host
end

-- ---- facts ----

local kept = setmetatable({}, { __mode = "k" }) -- pointer -> the view that keeps the memory

class.properties.host.count = function(self) return tonumber(self._count) end
class.properties.host.dtype = function(self) return dtype.push(self._type, self._module) end

-- The first element's address: typed for scalars, of components for vectors; [0] is the first. Keeps the memory as long
-- as the pointer itself lives, not what is calculated from it.
class.properties.host.pointer = function(self)
  local of = self._type
  if value.kind(of) == value.VECTOR then of = of.element end
  local pointer_type = ffi.typeof "uint8_t *"
  for code, candidate in ipairs(pointers) do
    if array.code_of(of) == code then pointer_type = candidate end
  end
  local pointer = ffi.cast(pointer_type, self._bytes)
  kept[pointer] = self
  return pointer
end

return {}
