-- Tensor maps: the bytes of a CUtensorMap.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local device = require "moonwarp.ffi.device"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local arrays = require "moonwarp.ffi.array.array"

local COUNT = ffi.sizeof "mw_tensor_layout" / 8

-- tensor_map(array or address, layout) -> 128 bytes. layout: the numbers of mw_tensor_layout, in its order.
local function tensor_map(array, layout)
  local by_address = type(array) == "number"
  if not by_address then arrays.check(array, "a tensor map") end
  local made, map = ffi.new "mw_tensor_layout", ffi.new "unsigned char[128]"
  local numbers = ffi.cast("int64_t *", made)
  for i = 1, COUNT do
    local number = value.whole(layout[i])
    if not number then errors.refuse("tensor_map", layout[i]) end
    numbers[i - 1] = number
  end
  local where = by_address and device.current() or array._device
  local address = by_address and array or
    C.mw_buffer_address(C.mw_array_buffer(array._handle)) + C.mw_array_offset(array._handle)
  errors.must(C.mw_tensor_map_encode(where._handle, address, made, map))
  return ffi.string(map, 128)
end

return { raw = { tensor_map = tensor_map } }
