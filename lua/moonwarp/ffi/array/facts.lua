-- Properties of arrays: shape, strides, dtype, address, device; several at once; and new arrays like another.

local C = require("moonwarp.ffi.library").C
local array = require "moonwarp.ffi.array.array"
local class = require "moonwarp.ffi.class"
local device = require "moonwarp.ffi.device"
local dtype = require "moonwarp.ffi.convert.dtype"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

local check = array.check

local properties = class.properties.array

function properties.shape(self)
  local sizes, rank = check(self, "shape")._shape, self._rank
  if rank == 1 then return { tonumber(sizes[0]) } end -- without a loop, which is compiled apart from its callers
  local shape = { tonumber(sizes[0]), tonumber(sizes[1]) }
  for i = 3, rank do shape[i] = tonumber(sizes[i - 1]) end
  return shape
end

function properties.strides(self)
  local strides, list = C.mw_array_strides(check(self, "strides")._handle), {}
  for i = 1, self._rank do list[i] = tonumber(strides[i - 1]) end
  return list
end

function properties.is_contiguous(self) return C.mw_array_is_contiguous(check(self, "is_contiguous")._handle) ~= 0 end
function properties.is_read_only(self) return C.mw_array_is_read_only(check(self, "is_read_only")._handle) ~= 0 end
function properties.rank(self) return check(self, "rank")._rank end
function properties.count(self) return tonumber(C.mw_array_count(check(self, "count")._handle)) end
function properties.nbytes(self) return tonumber(C.mw_array_bytes(check(self, "nbytes")._handle)) end
function properties.dtype(self) return dtype.push(check(self, "dtype")._type, self._module) end
function properties.device(self) return device.object(check(self, "device")._device) end

-- The device address of the first element, 0 once freed.
function properties.address(self)
  local address = C.mw_buffer_address(C.mw_array_buffer(check(self, "address")._handle))
  return address == 0 and 0 or value.narrow(address + C.mw_array_offset(self._handle))
end

function properties.freed(self)
  errors.check(self, "array", "freed")
  return self._handle == nil or C.mw_buffer_is_freed(C.mw_array_buffer(self._handle)) ~= 0
end

return {
  raw = {
    -- array_facts(array) -> dtype, device, whether it is contiguous, elements, dimensions, their first two sizes: what
    -- the library's functions want to know of an operand, in one call.
    array_facts = function(a)
      local handle, rank, sizes = check(a, "shape")._handle, a._rank, a._shape
      return dtype.push(a._type, a._module), device.object(a._device), C.mw_array_is_contiguous(handle) ~= 0,
        tonumber(C.mw_array_count(handle)), rank, tonumber(sizes[0]), rank > 1 and tonumber(sizes[1]) or nil
    end,
    -- array_beside(array, dtype, shape) -> a new array on that array's device, contents undefined
    array_beside = function(like, of, shape)
      local where = check(like, "a new array")._device
      local type, module = dtype.check(of, "float")
      local rank, sizes = array.check_shape(shape)
      return array.new(where, type, module, rank, sizes)
    end,
  },
}
