-- Images in files: arrays of uchar, {height, width} or {height, width, channels}.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"
local collect = require "moonwarp.ffi.collect"

local function image_read(path)
  if type(path) ~= "string" then errors.usage("mw.read_image wants a path, got %s", errors.describe(path)) end
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

-- How many channels an array has as an image, or nil where it is none: {h, w} of uchar, {h, w, c} of uchar, {h, w} of
-- uchar1, uchar3 or uchar4.
local function channels_of(picture)
  local of, channels = picture._type, 1
  if value.kind(of) == value.VECTOR then
    if picture._rank ~= 2 then return nil end
    of, channels = of.element, tonumber(of.count)
  elseif picture._rank == 3 then
    channels = tonumber(picture._shape[2])
  elseif picture._rank ~= 2 then
    return nil
  end
  if value.kind(of) ~= value.UINT or of.size ~= 1 then return nil end
  return (channels == 1 or channels == 3 or channels == 4) and channels or nil
end

local function image_write(...)
  local path, picture = ...
  if type(path) ~= "string" then
    errors.usage("mw.write_image wants a path and an array, got %s", errors.describe(path))
  end
  if select("#", ...) < 2 then errors.usage("mw.write_image wants an array, got nothing") end
  array.check(picture, "mw.write_image")
  local channels = channels_of(picture)
  if not channels then
    errors.usage("mw.write_image wants uchar pixels of shape {height, width} or {height, width, 1, 3 or 4}, got an " ..
      "array of %s with %d dimension%s", dtype.name(picture._type), picture._rank, picture._rank == 1 and "" or "s")
  end
  local pixels = ffi.new("uint8_t[?]", C.mw_array_bytes(picture._handle))
  device.settle(picture._device)
  errors.must(C.mw_array_read(picture._handle, 0, C.mw_array_count(picture._handle), pixels))
  errors.must(C.mw_image_write(path, tonumber(picture._shape[1]), tonumber(picture._shape[0]), channels, pixels))
end

-- image_texels(array of pixels, dtype) -> array {height, width} of texels
local function image_texels(picture, of)
  array.check(picture, "texels of a picture")
  local texel = dtype.check(of)
  local channels = channels_of(picture)
  if not channels then errors.usage("a picture is uchar of shape {height, width} or {height, width, 3 or 4}") end
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
