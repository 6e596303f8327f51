-- Pointers as values: an address with an element type, C's arithmetic, and, if the host can access the memory, elements
-- from 0 as in C.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

local Pointer = {}
local sizes = setmetatable({}, {
  __index = function(self, dtype)
    local size = raw.dtype_size(dtype)
    self[dtype] = size
    return size
  end,
})

-- Fields are read with rawget, because indexing with a number reads an element.
local function make(address, dtype)
  return setmetatable({ address = address, dtype = dtype, size = dtype and sizes[dtype] or 1 }, Pointer)
end

---@param address integer
---@param dtype? moonwarp.dtype absent: void, which counts in bytes
function M.new(address, dtype) return make(address, dtype) end

function M.is(value) return getmetatable(value) == Pointer end

---The address of a value: a pointer, an array, a variable of a module, a number, or nil.
function M.address(value, what)
  if value == nil or value == raw.null then return 0 end
  if type(value) == "number" then
    if value % 1 ~= 0 then fail("cudaErrorInvalidValue", "an address is a whole number, not %s", tostring(value)) end
    return value
  end
  if M.is(value) then return value.address end
  local class = raw.type(value)
  if class == "array" then
    if value.freed then fail("cudaErrorInvalidValue", "%s is an array that was freed", what or "a pointer") end
    return value.address
  end
  if class == "symbol" then return value.address end
  fail("cudaErrorInvalidValue", "%s is a pointer, an array, a variable or nil, not a %s", what or "this", type(value))
end

---Call f with the address of the memory to copy; a string's bytes have an address only during the call.
---@param value any
---@param f fun(address: integer)
function M.source(value, f)
  if type(value) ~= "string" then return f(M.address(value, "the source")) end
  local at = raw.memory_new("host", #value)
  raw.memory_set_bytes(at, value)
  local ok, err = pcall(f, at)
  raw.memory_free(at)
  if not ok then error(err, 0) end
end

local methods = {}

---The same address as a pointer to another type.
function methods:cast(dtype) return make(self.address, dtype) end

---`count` elements as a table, from 1.
function methods:totable(count) return raw.memory_get(self.address, self.dtype or "uchar", count) end

---Write a table's elements (from 1) consecutively.
function methods:set(values) raw.memory_set(self.address, self.dtype or "uchar", values, #values) end

---`bytes` bytes as a string.
function methods:tostring(bytes) return raw.memory_bytes(self.address, bytes) end

function Pointer:__index(key)
  if type(key) == "number" then
    return raw.memory_get(self.address + key * self.size, rawget(self, "dtype") or "uchar")
  end
  return methods[key]
end

function Pointer:__newindex(key, value)
  if type(key) ~= "number" then fail("cudaErrorInvalidValue", "a pointer has no field '%s'", tostring(key)) end
  raw.memory_set(self.address + key * self.size, rawget(self, "dtype") or "uchar", value)
end

function Pointer.__add(a, b)
  if not M.is(a) then a, b = b, a end
  return make(a.address + b * a.size, rawget(a, "dtype"))
end

function Pointer.__sub(a, b)
  if M.is(b) then return (a.address - b.address) / a.size end
  return make(a.address - b * a.size, rawget(a, "dtype"))
end

function Pointer.__eq(a, b) return a.address == b.address end

function Pointer.__lt(a, b) return a.address < b.address end

function Pointer.__le(a, b) return a.address <= b.address end

function Pointer:__tostring() return ("(%s *) 0x%x"):format(rawget(self, "dtype") or "void", self.address) end

return M
