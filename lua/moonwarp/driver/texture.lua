-- cuTexRef…, cuTexObject…, cuSurf…: a texture reference is a table that records its settings; those of a module's
-- reference take effect at the next launch of one of the module's functions. Texture objects are moonwarp's.

local raw = require "moonwarp.binding"
local pointer = require "moonwarp.runtime.pointer"
local channels = require "moonwarp.runtime.texel_types"
local cuda_array = require "moonwarp.runtime.cuda_array"
local mipmaps = require "moonwarp.runtime.mipmap"
local textures = require "moonwarp.runtime.texture"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"
local modules = require "moonwarp.driver.module"

local fail, call, address = result.fail, contexts.call, pointer.address
local M = {}

local READ_AS_INTEGER, NORMALIZED_COORDINATES, SRGB, EXACT_TRILINEAR, SEAMLESS = 1, 2, 16, 32, 64

local function flag(flags, bit) return flags % (2 * bit) >= bit end

-- ---- references ----

local Reference = {}
Reference.__index = Reference

function Reference:__tostring()
  if self.destroyed then return "texture reference (destroyed)" end
  return self.symbol and ("%s reference %s"):format(self.kind, self.symbol.name) or "texture reference"
end

local function new(symbol, kind)
  local reference = setmetatable({
    symbol = symbol, kind = kind, modes = { [0] = 1, 1, 1 }, filter = 0, flags = 0, border = { 0, 0, 0, 0 },
    anisotropy = 0, mip_filter = 0, bias = 0, least = 0, most = 1000, dirty = false,
  }, Reference)
  if symbol and kind == "texture" then
    local ok, format, count = pcall(channels.format, channels.declared(symbol))
    if ok then reference.format, reference.channels = format, count end
  end
  reference.format, reference.channels = reference.format or 0x01, reference.channels or 1
  return reference
end
modules.new_reference = new

local function check(value, kind)
  if getmetatable(value) ~= Reference or value.destroyed or value.kind ~= kind then
    fail("CUDA_ERROR_INVALID_VALUE", "this is not a %s reference, or it was destroyed", kind)
  end
  return value
end

local function reads_normalized(reference)
  return tostring(reference.symbol.type):find("cudaReadModeNormalizedFloat", 1, true) ~= nil
end

-- The texture that a reference's settings describe.
local function texture_of(reference)
  local dtype = channels.dtype_of_format(reference.format, reference.channels)
  if flag(reference.flags, READ_AS_INTEGER) and reads_normalized(reference) then
    fail("CUDA_ERROR_INVALID_VALUE", "%s is declared with cudaReadModeNormalizedFloat, but its flags say "
      .. "CU_TRSF_READ_AS_INTEGER", reference.symbol.name)
  end
  local description = textures.description {
    addressMode = reference.modes, filterMode = reference.filter,
    normalized = flag(reference.flags, NORMALIZED_COORDINATES), sRGB = flag(reference.flags, SRGB),
    borderColor = reference.border, maxAnisotropy = reference.anisotropy, mipmapFilterMode = reference.mip_filter,
    mipmapLevelBias = reference.bias, minMipmapLevelClamp = reference.least, maxMipmapLevelClamp = reference.most,
  }
  local from = reference.source
  if from.array then
    local have = cuda_array.describe(from.array)
    if have ~= dtype then
      fail("CUDA_ERROR_INVALID_VALUE", "%s is set to read %s, but the array's texels are %s",
        reference.symbol.name, dtype, have)
    end
    return textures.new({ memory = from.array }, description)
  end
  local source = from.pitch and textures.pitched(from.at, dtype, from.width, from.height, from.pitch) or
    textures.linear(from.at, dtype, from.bytes)
  return textures.new(source, description)
end

local function bind(reference)
  if not reference.dirty then return end
  local object
  if reference.source then
    object = reference.kind == "surface" and raw.surface_new(cuda_array.check(reference.source.array), 0)
      or texture_of(reference)
  end
  reference.symbol:set(object)
  reference.dirty = false
end

---Apply the settings that were made of a module's references since its last launch.
function M.bind_all(module)
  for _, reference in ipairs(modules.references_of(module)) do bind(reference) end
end

---cuParamSetTexRef: the reference must belong to the function's module.
function M.attach(reference, module)
  check(reference, "texture")
  for _, known in ipairs(modules.references_of(module)) do
    if known == reference then
      bind(reference)
      return
    end
  end
  fail("CUDA_ERROR_INVALID_VALUE", "the reference must come from cuModuleGetTexRef with the function's module")
end

-- A function that changes a reference's settings; f gets the reference and the arguments.
local function setter(f)
  return call(function(reference, ...)
    check(reference, "texture")
    local value = f(reference, ...)
    if reference.symbol then reference.dirty = true end
    return value
  end)
end

local function getter(f)
  return call(function(reference, ...) return f(check(reference, "texture"), ...) end)
end

local function number_in(value, least, most, what)
  if type(value) ~= "number" or value < least or value > most or value % 1 ~= 0 then
    fail("CUDA_ERROR_INVALID_VALUE", "%s is %d to %d, got %s", what, least, most, tostring(value))
  end
  return value
end

-- Check that `bytes` bytes of device memory follow the address.
local function check_memory(at, bytes)
  local info = raw.memory_find(at)
  if not info or info.kind == "host" or info.kind == "registered" then
    fail("CUDA_ERROR_INVALID_VALUE", "a texture reads device memory, but there is none at 0x%x", at)
  end
  if type(bytes) ~= "number" or bytes < 0 or at + bytes > info.address + info.bytes then
    fail("CUDA_ERROR_INVALID_VALUE", "%s bytes from this address on go past the end of the memory", tostring(bytes))
  end
end

local function install_setters(cu)
  cu.cuTexRefSetArray = setter(function(reference, array, flags)
    if flags ~= cu.CU_TRSA_OVERRIDE_FORMAT then
      fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuTexRefSetArray are CU_TRSA_OVERRIDE_FORMAT")
    end
    reference.format, reference.channels = channels.format((cuda_array.describe(array)))
    reference.source = { array = array }
  end)
  cu.cuTexRefSetMipmappedArray = setter(function(reference, mipmap, flags)
    if flags ~= cu.CU_TRSA_OVERRIDE_FORMAT then
      fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuTexRefSetMipmappedArray are CU_TRSA_OVERRIDE_FORMAT")
    end
    local array = mipmaps.check(mipmap).array
    reference.format, reference.channels = channels.format((cuda_array.describe(array)))
    reference.source = { array = array, mipmap = mipmap }
  end)
  cu.cuTexRefSetMipmapFilterMode = setter(function(reference, mode)
    reference.mip_filter = number_in(mode, 0, 1, "a filter mode")
  end)
  cu.cuTexRefSetMipmapLevelBias = setter(function(reference, bias)
    if type(bias) ~= "number" then fail("CUDA_ERROR_INVALID_VALUE", "a bias is a number") end
    reference.bias = bias
  end)
  cu.cuTexRefSetMipmapLevelClamp = setter(function(reference, least, most)
    if type(least) ~= "number" or type(most) ~= "number" then
      fail("CUDA_ERROR_INVALID_VALUE", "levels are clamped between two numbers")
    end
    reference.least, reference.most = least, most
  end)
  cu.cuTexRefSetAddress = setter(function(reference, p, bytes)
    local at = address(p)
    if at == 0 then
      reference.source = nil
      return 0
    end
    check_memory(at, bytes)
    reference.source = { at = at, bytes = bytes }
    return at % raw.properties_of().texture_alignment
  end)
  cu.cuTexRefSetAddress2D = setter(function(reference, desc, p, pitch)
    if type(desc) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "CUDA_ARRAY_DESCRIPTOR is a table") end
    local dtype, at = channels.dtype_of_format(desc.Format, desc.NumChannels), address(p)
    if at == 0 or at % raw.properties_of().texture_alignment ~= 0 then
      fail("CUDA_ERROR_INVALID_VALUE", "the address is a multiple of CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT")
    end
    local width, height = number_in(desc.Width, 1, 2 ^ 17, "Width"), number_in(desc.Height, 1, 65000, "Height")
    number_in(pitch, width * raw.dtype_size(dtype), 2 ^ 21, "a pitch")
    check_memory(at, (height - 1) * pitch + width * raw.dtype_size(dtype))
    reference.format, reference.channels = desc.Format, desc.NumChannels
    reference.source = { at = at, width = width, height = height, pitch = pitch }
  end)
  cu.cuTexRefSetFormat = setter(function(reference, format, count)
    channels.dtype_of_format(format, count)
    reference.format, reference.channels = format, count
  end)
  cu.cuTexRefSetAddressMode = setter(function(reference, dimension, mode)
    reference.modes[number_in(dimension, 0, 2, "a dimension")] = number_in(mode, 0, 3, "an address mode")
  end)
  cu.cuTexRefSetFilterMode = setter(function(reference, mode)
    reference.filter = number_in(mode, 0, 1, "a filter mode")
  end)
  cu.cuTexRefSetFlags = setter(function(reference, flags)
    number_in(flags, 0, 31, "the flags of a texture reference")
    if flag(flags, 4) or flag(flags, 8) then
      fail("CUDA_ERROR_INVALID_VALUE", "the flags of a texture reference are CU_TRSF_READ_AS_INTEGER, "
        .. "_NORMALIZED_COORDINATES and _SRGB")
    end
    reference.flags = flags
  end)
  cu.cuTexRefSetBorderColor = setter(function(reference, color)
    if type(color) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "a border colour is a table of four numbers") end
    reference.border = { color[1] or 0, color[2] or 0, color[3] or 0, color[4] or 0 }
  end)
  cu.cuTexRefSetMaxAnisotropy = setter(function(reference, most)
    reference.anisotropy = number_in(most, 0, 16, "the anisotropy")
  end)
end

local function install_getters(cu)
  cu.cuTexRefGetArray = getter(function(reference)
    local source = reference.source or {}
    return not source.mipmap and source.array or
      fail("CUDA_ERROR_INVALID_VALUE", "the reference is not bound to an array")
  end)
  cu.cuTexRefGetMipmappedArray = getter(function(reference)
    return reference.source and reference.source.mipmap or
      fail("CUDA_ERROR_INVALID_VALUE", "the reference is not bound to a mipmapped array")
  end)
  cu.cuTexRefGetMipmapFilterMode = getter(function(reference) return reference.mip_filter end)
  cu.cuTexRefGetMipmapLevelBias = getter(function(reference) return reference.bias end)
  cu.cuTexRefGetMipmapLevelClamp = getter(function(reference) return reference.least, reference.most end)
  cu.cuTexRefGetAddress = getter(function(reference)
    if not (reference.source and reference.source.at) then
      fail("CUDA_ERROR_INVALID_VALUE", "the reference is not bound to device memory")
    end
    return pointer.new(reference.source.at)
  end)
  cu.cuTexRefGetAddressMode = getter(function(reference, dimension)
    return reference.modes[number_in(dimension, 0, 2, "a dimension")]
  end)
  cu.cuTexRefGetFilterMode = getter(function(reference) return reference.filter end)
  cu.cuTexRefGetFormat = getter(function(reference) return reference.format, reference.channels end)
  cu.cuTexRefGetFlags = getter(function(reference) return reference.flags end)
  cu.cuTexRefGetBorderColor = getter(function(reference)
    return { reference.border[1], reference.border[2], reference.border[3], reference.border[4] }
  end)
  cu.cuTexRefGetMaxAnisotropy = getter(function(reference) return reference.anisotropy end)
end

local function install_references(cu)
  cu.CU_TRSA_OVERRIDE_FORMAT, cu.CU_PARAM_TR_DEFAULT = 1, -1
  cu.CU_TRSF_READ_AS_INTEGER, cu.CU_TRSF_NORMALIZED_COORDINATES, cu.CU_TRSF_SRGB = READ_AS_INTEGER,
    NORMALIZED_COORDINATES, SRGB
  cu.CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, cu.CU_TRSF_SEAMLESS_CUBEMAP = EXACT_TRILINEAR, SEAMLESS
  cu.CU_TR_ADDRESS_MODE_WRAP, cu.CU_TR_ADDRESS_MODE_CLAMP, cu.CU_TR_ADDRESS_MODE_MIRROR = 0, 1, 2
  cu.CU_TR_ADDRESS_MODE_BORDER = 3
  cu.CU_TR_FILTER_MODE_POINT, cu.CU_TR_FILTER_MODE_LINEAR = 0, 1

  cu.cuTexRefCreate = call(function() return new(nil, "texture") end)
  cu.cuTexRefDestroy = call(function(reference)
    if check(reference, "texture").symbol then
      fail("CUDA_ERROR_INVALID_VALUE", "a module's texture reference is destroyed with its module")
    end
    reference.destroyed = true
  end)
  install_setters(cu)
  install_getters(cu)

  cu.cuSurfRefSetArray = call(function(reference, array, flags)
    check(reference, "surface")
    if (flags or 0) ~= 0 then fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuSurfRefSetArray are 0") end
    reference.source, reference.dirty = { array = cuda_array.check(array) }, true
  end)
  cu.cuSurfRefGetArray = call(function(reference)
    local source = check(reference, "surface").source
    return source and source.array or fail("CUDA_ERROR_INVALID_VALUE", "the reference is not bound to an array")
  end)
end

-- ---- objects ----

local made_of = setmetatable({}, { __mode = "k" })

-- The memory of a CUDA_RESOURCE_DESC, and the dtype of its texels.
local function source_of(resource, arrays_only)
  local res = type(resource) == "table" and resource.res
  if type(res) ~= "table" then
    fail("CUDA_ERROR_INVALID_VALUE", "CUDA_RESOURCE_DESC is a table with the fields resType and res")
  end
  local kind = resource.resType
  if kind == 0 and type(res.array) == "table" then
    return { memory = cuda_array.check(res.array.hArray) }, (cuda_array.describe(res.array.hArray))
  end
  if not arrays_only and kind == 1 and type(res.mipmap) == "table" then
    local array = mipmaps.check(res.mipmap.hMipmappedArray).array
    return { memory = array }, (cuda_array.describe(array))
  end
  if not arrays_only and kind == 2 and type(res.linear) == "table" then
    local dtype = channels.dtype_of_format(res.linear.format, res.linear.numChannels)
    return textures.linear(res.linear.devPtr, dtype, res.linear.sizeInBytes), dtype
  end
  if not arrays_only and kind == 3 and type(res.pitch2D) == "table" then
    local p = res.pitch2D
    local dtype = channels.dtype_of_format(p.format, p.numChannels)
    return textures.pitched(p.devPtr, dtype, p.width, p.height, p.pitchInBytes), dtype
  end
  fail("CUDA_ERROR_INVALID_VALUE", "a resource of type %s with what it needs in res%s", tostring(kind),
    arrays_only and ": a surface is over an array" or "")
end

local function create_texture(resource, desc, view)
  if view ~= nil then
    fail("CUDA_ERROR_NOT_SUPPORTED", "texels are read with the array's own type: resource views are not supported")
  end
  if type(desc) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "CUDA_TEXTURE_DESC is a table") end
  local source, dtype = source_of(resource)
  local flags = desc.flags or 0
  local as_float = not flag(flags, READ_AS_INTEGER) and (dtype:find("char") or dtype:find("short"))
  local object = textures.new(source, textures.description {
    addressMode = desc.addressMode, filterMode = desc.filterMode, readMode = as_float and 1 or 0,
    normalized = flag(flags, NORMALIZED_COORDINATES), sRGB = flag(flags, SRGB), borderColor = desc.borderColor,
    seamlessCubemap = flag(flags, SEAMLESS),
    maxAnisotropy = desc.maxAnisotropy, mipmapFilterMode = desc.mipmapFilterMode,
    mipmapLevelBias = desc.mipmapLevelBias, minMipmapLevelClamp = desc.minMipmapLevelClamp,
    maxMipmapLevelClamp = desc.maxMipmapLevelClamp,
  })
  made_of[object] = { resource = resource, desc = desc }
  return contexts.own(object)
end

local function install_objects(cu)
  cu.CU_RESOURCE_TYPE_ARRAY, cu.CU_RESOURCE_TYPE_MIPMAPPED_ARRAY = 0, 1
  cu.CU_RESOURCE_TYPE_LINEAR, cu.CU_RESOURCE_TYPE_PITCH2D = 2, 3

  local function destroying(class)
    return call(function(object)
      textures.check_object(object, class):free()
      contexts.disown(object)
    end)
  end

  cu.cuTexObjectCreate = call(create_texture)
  cu.cuTexObjectDestroy = destroying "texture"
  cu.cuTexObjectGetResourceDesc = call(function(object)
    return (made_of[textures.check_object(object, "texture")] or {}).resource
  end)
  cu.cuTexObjectGetTextureDesc = call(function(object)
    return (made_of[textures.check_object(object, "texture")] or {}).desc
  end)
  cu.cuSurfObjectCreate = call(function(resource)
    local source = source_of(resource, true)
    local object = raw.surface_new(source.memory, 0)
    made_of[object] = { resource = resource }
    return contexts.own(object)
  end)
  cu.cuSurfObjectDestroy = destroying "surface"
  cu.cuSurfObjectGetResourceDesc = call(function(object)
    return (made_of[textures.check_object(object, "surface")] or {}).resource
  end)
end

---@param cu table
function M.install(cu)
  install_references(cu)
  install_objects(cu)
end

return M
