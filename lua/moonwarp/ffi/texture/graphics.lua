-- OpenGL resources: registration, mapping, and access to mapped resources.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local streams = require "moonwarp.ffi.stream"
local texture_memory = require "moonwarp.ffi.texture.texture_memory"

local function number(given, what)
  if given == nil then return 0 end
  local whole = value.whole(given)
  if not whole or whole < 0 or whole >= 2 ^ 32 then
    errors.refuse("size", what, given)
  end
  return whole
end

local function free(self)
  C.mw_graphics_release(self._handle)
  self._handle = nil
end

local graphics_type = class.struct("graphics", "struct { mw_graphics *_handle; $ *_device; }", { __gc = free },
  device.ctype)

local function check(graphics, what)
  return errors.check_open(graphics, "graphics", what, "resource was unregistered")
end

local function register(f)
  local where, out = device.current(), ffi.new "mw_graphics *[1]"
  errors.must(f(where._handle, out))
  local graphics = graphics_type()
  graphics._handle, graphics._device = out[0], where
  return graphics
end

local function check_mapping(stream, list)
  local handle, handles = streams.check(stream, "mapping")._handle, ffi.new("mw_graphics *[?]", #list + 1)
  for i, graphics in ipairs(list) do handles[i - 1] = check(graphics, "mapping")._handle end
  return handle, handles, #list
end

-- ---- methods ----

local methods = class.methods.graphics

methods.free = function(self) free(errors.check(self, "graphics", "free")) end

-- g:set_flags(flags): how kernels will access it
function methods.set_flags(self, flags)
  errors.must(C.mw_graphics_set_flags(check(self, "set_flags")._handle, number(flags, "flags")))
end

-- g:pointer() -> address, bytes
function methods.pointer(self)
  local address, bytes = ffi.new "uint64_t[1]", ffi.new "size_t[1]"
  errors.must(C.mw_graphics_pointer(check(self, "pointer")._handle, address, bytes))
  return tonumber(address[0]), tonumber(bytes[0])
end

-- g:array(layer, level) -> CUDA array; both from 0
function methods.array(self, layer, level)
  local handle, out = check(self, "array")._handle, ffi.new "mw_cuda_array *[1]"
  errors.must(C.mw_graphics_array(handle, number(layer, "a layer"), number(level, "a level"), out))
  return texture_memory.adopt(self._device, out[0])
end

-- g:whole() -> CUDA array: the image's layers and levels
function methods.whole(self)
  local out = ffi.new "mw_cuda_array *[1]"
  errors.must(C.mw_graphics_mipmap(check(self, "whole")._handle, out))
  return texture_memory.adopt(self._device, out[0])
end

class.properties.graphics.mapped = function(self)
  return C.mw_graphics_is_mapped(check(self, "mapped")._handle) ~= 0
end
class.properties.graphics.device = function(self) return device.object(check(self, "device")._device) end

return {
  raw = {
    -- graphics_buffer(name, flags) -> graphics
    graphics_buffer = function(name, flags)
      name, flags = number(name, "a buffer's name"), number(flags, "flags")
      return register(function(where, out) return C.mw_graphics_buffer(where, name, flags, out) end)
    end,
    -- graphics_image(name, target, flags) -> graphics
    graphics_image = function(name, target, flags)
      name, target, flags = number(name, "an image's name"), number(target, "a target"), number(flags, "flags")
      return register(function(where, out) return C.mw_graphics_image(where, name, target, flags, out) end)
    end,
    -- graphics_devices(list) -> a sequence of names
    graphics_devices = function(list)
      local which, names, name = number(list, "a list of devices"), {}, ffi.new "char[32]"
      local code = C.mw_graphics_device(which, 0, name)
      while code == 0 do
        names[#names + 1] = ffi.string(name)
        code = C.mw_graphics_device(which, #names, name)
      end
      if code ~= C.MW_INVALID_DEVICE then errors.must(code) end
      return names
    end,
    -- graphics_map(stream, {graphics}), graphics_unmap(stream, {graphics})
    graphics_map = function(stream, list) errors.must(C.mw_graphics_map(check_mapping(stream, list))) end,
    graphics_unmap = function(stream, list)
      local handle, handles, count = check_mapping(stream, list)
      errors.must(device.wait(function() return C.mw_graphics_unmap(handle, handles, count) end))
    end,
  },
}
