-- Arrays as DLPack's tensors, which scripts see as pointers.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

-- array_to_dlpack(array, versioned) -> the tensor's address, as void *; the receiver calls its deleter
local function array_to_dlpack(of, versioned)
  local out = ffi.new "void *[1]"
  array.check(of, "dlpack")
  device.settle(of._device)
  errors.must(C.mw_array_to_dlpack(of._handle, versioned and 1 or 0, out))
  return out[0]
end

-- array_from_dlpack(pointer, versioned) -> an array on the device in use with the tensor's elements; the tensor is
-- deleted
local function array_from_dlpack(pointer, versioned)
  local kind = type(pointer)
  if kind ~= "userdata" and kind ~= "cdata" then
    errors.refuse("tensor", pointer)
  end
  local where, out = device.current(), ffi.new "mw_array *[1]"
  local made = array.push(where)
  device.settle(where)
  errors.must(C.mw_array_from_dlpack(where._handle, ffi.cast("void *", pointer), versioned and 1 or 0, out))
  return array.adopt(made, out[0], nil, tonumber(C.mw_array_bytes(out[0])))
end

return { raw = { array_to_dlpack = array_to_dlpack, array_from_dlpack = array_from_dlpack } }
