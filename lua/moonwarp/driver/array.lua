-- cuArray…: arrays are moonwarp's CUDA arrays; CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR are tables.

local channels = require "moonwarp.runtime.texel_types"
local cuda_array = require "moonwarp.runtime.cuda_array"
local mipmaps = require "moonwarp.runtime.mipmap"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local fail, call = result.fail, contexts.call
local M = {}

local formats = {
  UNSIGNED_INT8 = 0x01, UNSIGNED_INT16 = 0x02, UNSIGNED_INT32 = 0x03, SIGNED_INT8 = 0x08, SIGNED_INT16 = 0x09,
  SIGNED_INT32 = 0x0a, HALF = 0x10, FLOAT = 0x20,
}

local function check_descriptor(desc)
  if type(desc) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "an array's descriptor is a table") end
  local dtype = channels.dtype_of_format(desc.Format, desc.NumChannels)
  if type(desc.Width) ~= "number" or desc.Width < 1 then
    fail("CUDA_ERROR_INVALID_VALUE", "an array's Width is a number of texels above 0")
  end
  return dtype
end

local function create(desc, three)
  local dtype = check_descriptor(desc)
  local depth, flags = three and desc.Depth or 0, three and desc.Flags or 0
  return contexts.own(cuda_array.new(dtype, desc.Width, desc.Height, depth, flags))
end

local function describe(array)
  local dtype, width, height, depth, flags = cuda_array.describe(array)
  local format, count = channels.format(dtype)
  return { Width = width, Height = height, Format = format, NumChannels = count }, depth, flags
end

---Check that a value is a mipmapped array; else CUDA_ERROR_INVALID_HANDLE.
function M.check_mipmap(value)
  if not mipmaps.is(value) or value.array.freed then
    fail("CUDA_ERROR_INVALID_HANDLE", "this is not a mipmapped array, or it was destroyed")
  end
  return value
end

local function install_mipmaps(cu)
  cu.cuMipmappedArrayCreate = call(function(desc, levels)
    local dtype = check_descriptor(desc)
    return contexts.own(mipmaps.new(dtype, desc.Width, desc.Height, desc.Depth, desc.Flags, levels))
  end)
  cu.cuMipmappedArrayGetLevel = call(function(mipmap, level) return mipmaps.level(M.check_mipmap(mipmap), level) end)
  cu.cuMipmappedArrayDestroy = call(function(mipmap)
    M.check_mipmap(mipmap):free()
    contexts.disown(mipmap)
  end)
end

---@param cu table
function M.install(cu)
  install_mipmaps(cu)
  for name, number in pairs(formats) do cu["CU_AD_FORMAT_" .. name] = number end
  cu.CUDA_ARRAY3D_LAYERED, cu.CUDA_ARRAY3D_SURFACE_LDST = 1, 2
  cu.CUDA_ARRAY3D_CUBEMAP, cu.CUDA_ARRAY3D_TEXTURE_GATHER = 4, 8

  cu.cuArrayCreate = call(function(desc) return create(desc, false) end)
  cu.cuArray3DCreate = call(function(desc) return create(desc, true) end)
  cu.cuArrayGetDescriptor = call(function(array) return (describe(array)) end)
  cu.cuArray3DGetDescriptor = call(function(array)
    local desc, depth, flags = describe(array)
    desc.Depth, desc.Flags = depth, flags
    return desc
  end)
  cu.cuArrayDestroy = call(function(array)
    cuda_array.check(array):free()
    contexts.disown(array)
  end)
end

return M
