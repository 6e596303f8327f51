-- Images in files: arrays of uchar, {height, width} or {height, width, channels}.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"
local collect = require "moonwarp.ffi.garbage_collection"

local function image_read(path)
  local sizes, pixels = ffi.new "int[3]", ffi.new "unsigned char *[1]"
  local where = device.current()
  local code = collect.retry(where, function() return C.mw_image_read(path, sizes, sizes + 1, sizes + 2, pixels) end)
  if code == C.MW_INVALID_VALUE then errors.raise "io" end -- the file is at fault, not who asked for it
  errors.must(code)
  local kept = ffi.gc(pixels[0], C.mw_image_release)
  local shape, channels = ffi.new("size_t[3]", sizes[1], sizes[0], sizes[2]), sizes[2]
  local made = array.new(where, C.mw_dtype "uchar", nil, channels == 1 and 2 or 3, shape)
  errors.must(C.mw_array_write(made._handle, 0, C.mw_array_count(made._handle), kept))
  return made
end

-- How many channels an array has as a picture, or a usage error.
local function check_channels(picture, what)
  local channels = ffi.new "int[1]"
  errors.must(C.mw_array_channels(array.check(picture, what)._handle, what, channels))
  return channels[0]
end

local function image_write(path, picture)
  local channels = check_channels(picture, "mw.write_image")
  local pixels = ffi.new("uint8_t[?]", C.mw_array_bytes(picture._handle))
  device.settle(picture._device)
  errors.must(C.mw_array_read(picture._handle, 0, C.mw_array_count(picture._handle), pixels))
  errors.must(C.mw_image_write(path, tonumber(picture._shape[1]), tonumber(picture._shape[0]), channels, pixels))
end

-- image_texels(array of pixels, dtype) -> array {height, width} of texels
local function image_texels(picture, of)
  local channels, texel = check_channels(picture, "a picture"), dtype.check(of)
  local height, width = tonumber(picture._shape[0]), tonumber(picture._shape[1])
  local pixels = ffi.new("uint8_t[?]", C.mw_array_bytes(picture._handle))
  local texels = ffi.new("uint8_t[?]", height * width * tonumber(texel.size))
  device.settle(picture._device)
  errors.must(C.mw_array_read(picture._handle, 0, C.mw_array_count(picture._handle), pixels))
  errors.must(C.mw_image_texels(width, height, channels, pixels, texel, texels))
  local result = array.new(picture._device, texel, nil, 2, picture._shape)
  errors.must(C.mw_array_write(result._handle, 0, C.mw_array_count(result._handle), texels))
  return result
end

return { raw = { image_read = image_read, image_write = image_write, image_texels = image_texels } }
