-- Texel types: moonwarp's dtypes ("uchar4") and CUDA's descriptions, which are cudaChannelFormatDesc in the runtime API
-- and CUarray_format with a number of channels in the driver API.

local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

-- By channel: its bits, cudaChannelFormatKind and CUarray_format.
local scalars = {
  char = { 8, 0, 0x08 }, uchar = { 8, 1, 0x01 }, short = { 16, 0, 0x09 }, ushort = { 16, 1, 0x02 },
  int = { 32, 0, 0x0a }, uint = { 32, 1, 0x03 }, half = { 16, 2, 0x10 }, float = { 32, 2, 0x20 },
}
local by_desc, by_format = {}, {}
for name, facts in pairs(scalars) do
  by_desc[facts[1] .. " " .. facts[2]] = name
  by_format[facts[3]] = name
end

local function with_count(scalar, count) return count == 1 and scalar or scalar .. count end

-- The scalar and the number of channels of a dtype.
local function split(dtype)
  local scalar, count = tostring(dtype):match("^(%a+)(%d*)$")
  if not scalars[scalar] then
    fail("cudaErrorInvalidChannelDescriptor", "%s is not the type of a channel", tostring(dtype))
  end
  return scalar, tonumber(count) or 1
end

---The dtype of a channel descriptor's texels: one, two or four channels of the same type.
function M.dtype(desc)
  local scalar = type(desc) == "table" and by_desc[("%s %s"):format(tostring(desc.x), tostring(desc.f))]
  local count = 1
  if scalar and desc.y ~= 0 then count = desc.z ~= 0 and 4 or 2 end
  local alike = scalar and (desc.y == 0 or desc.y == desc.x) and (desc.z == 0 or desc.z == desc.x) and
    desc.z == desc.w
  if not alike then
    fail("cudaErrorInvalidChannelDescriptor", "a channel descriptor has one, two or four channels of 8, 16 or 32 bits")
  end
  return with_count(scalar, count)
end

---The channel descriptor of a dtype's texels.
function M.desc(dtype)
  local scalar, count = split(dtype)
  local bits, kind = scalars[scalar][1], scalars[scalar][2]
  return { x = bits, y = count > 1 and bits or 0, z = count > 2 and bits or 0, w = count > 2 and bits or 0, f = kind }
end

---The dtype of texels with `count` channels of a CUarray_format.
function M.dtype_of_format(format, count)
  local scalar = by_format[format]
  if not scalar then
    fail("cudaErrorInvalidChannelDescriptor", "%s is not a CUarray_format", tostring(format))
  end
  if count ~= 1 and count ~= 2 and count ~= 4 then
    fail("cudaErrorInvalidChannelDescriptor", "texels have 1, 2 or 4 channels, not %s", tostring(count))
  end
  return with_count(scalar, count)
end

-- Scalar types as declarations spell them.
local spelled = { ["signed char"] = "char", ["unsigned char"] = "uchar", ["unsigned short"] = "ushort",
  ["unsigned int"] = "uint", ["short int"] = "short" }

---The dtype of the texels in a reference's declaration, texture<unsigned char, 2, …>.
---@param symbol moonwarp.symbol
function M.declared(symbol)
  local element = (tostring(symbol.type):match("<%s*(.-)%s*[,>]") or ""):gsub("^struct ", "")
  return spelled[element] or element
end

---The CUarray_format and the number of channels of a dtype's texels.
function M.format(dtype)
  local scalar, count = split(dtype)
  return scalars[scalar][3], count
end

return M
