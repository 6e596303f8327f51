-- Numbers in the bytes of files, and errors that name the file.

local raw = require "moonwarp.binding"

local M = {}

---Raise that a file is malformed: an error of the kind "io".
---@param path string
---@param message string with the placeholders of string.format
---@param ... any
function M.fail(path, message, ...)
  raw.raise { kind = "io", code = "cudaErrorInvalidValue", message = ("'%s': "):format(path) .. message:format(...) }
end

---The unsigned little-endian number of `size` bytes at a position; exact below 2^53.
---@param bytes string
---@param at integer from 1
---@param size integer
---@return number
function M.number(bytes, at, size)
  local value = 0
  for k = at + size - 1, at, -1 do value = value * 256 + bytes:byte(k) end
  return value
end

---A number as little-endian bytes.
---@param value number
---@param size integer
---@return string
function M.text(value, size)
  local list = {}
  for k = 1, size do
    list[k] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(list)
end

return M
