-- Image files: PGM, PPM and PNG, read into and written from arrays of uchar.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

---Read a picture as an array of uchar with the shape {height, width} (grey) or {height, width, 3 or 4}; with a dtype,
---as an array of that dtype with the shape {height, width}, as textures need it. Floats are between 0 and 1.
---@param path string .pgm, .ppm or .png
---@param dtype? "uchar"|"uchar4"|"float"|"float4"
---@return moonwarp.array
function M.read_image(path, dtype)
  local pixels = raw.image_read(path)
  return dtype and raw.image_texels(pixels, dtype) or pixels
end

---As mw.read_image, but returns nil and the error if the file cannot be read.
M.try_read_image = errors.try(M.read_image)

---Write a picture, in the format that the file name's ending says. Pixels are uchar of shape {height, width[, 1, 3 or
---4]}, or uchar3 or uchar4 of shape {height, width}.
---@param path string .pgm (grey), .ppm (colour) or .png
---@param array moonwarp.array
M.write_image = raw.image_write

local try_write = errors.try(function(path, array)
  raw.image_write(path, array)
  return true
end)

---As mw.write_image, but returns true, or nil and the error if the file cannot be written.
M.try_write_image = try_write

return M
