-- Textures and surfaces under CUDA's names. A reference is a table with CUDA's fields for a module's variable; texture
-- and surface objects are moonwarp's.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local names = require "moonwarp.runtime.names"
local channels = require "moonwarp.runtime.texel_types"
local cuda_array = require "moonwarp.runtime.cuda_array"
local mipmaps = require "moonwarp.runtime.mipmap"

local fail, api, takes, address = result.fail, result.api, result.takes, pointer.address
local M = {}

-- ---- memory and sampling ----

---The sampling options of a texture from the fields of textureReference and cudaTextureDesc. CUDA's numbers are
---moonwarp's (mw_address_mode, mw_filter_mode). Address modes and colour components count from 0 as in C, or from 1.
function M.description(fields)
  local modes, border = fields.addressMode or {}, fields.borderColor or {}
  local first = border[0] and 0 or 1
  return {
    address = {
      modes[0] or modes[1] or 1, modes[0] and modes[1] or modes[2] or 1, modes[0] and modes[2] or modes[3] or 1,
    },
    filter = fields.filterMode or 0, read = fields.readMode == 1 and 2 or fields.readMode == 0 and 1 or 0,
    normalized = fields.normalized == true or fields.normalized == 1, srgb = fields.sRGB == true or fields.sRGB == 1,
    seamless = fields.seamlessCubemap == true or fields.seamlessCubemap == 1,
    border = { border[first] or 0, border[first + 1] or 0, border[first + 2] or 0, border[first + 3] or 0 },
    mip_filter = fields.mipmapFilterMode or 0, lod_bias = fields.mipmapLevelBias or 0,
    lod_min = fields.minMipmapLevelClamp or 0, lod_max = fields.maxMipmapLevelClamp or 1000,
    max_anisotropy = fields.maxAnisotropy or 0,
  }
end

local function elements(p, dtype, count)
  if raw.type(p) == "array" then return raw.array_view(p, 0, dtype, { count }) end
  return raw.memory_array(address(p), dtype, { count })
end

---Device memory as texture memory: `bytes` bytes of consecutive texels.
function M.linear(p, dtype, bytes)
  if type(bytes) ~= "number" or bytes < 0 then
    fail("cudaErrorInvalidValue", "the size of a texture's memory is a number of bytes, got %s", tostring(bytes))
  end
  return { memory = elements(p, dtype, math.floor(bytes / raw.dtype_size(dtype))) }
end

---The same in two dimensions: rows of `width` texels, `pitch` bytes apart.
function M.pitched(p, dtype, width, height, pitch)
  local size = raw.dtype_size(dtype)
  if not (tonumber(width) and tonumber(height) and width >= 1 and height >= 1) then
    fail("cudaErrorInvalidValue", "a texture of %s x %s texels", tostring(width), tostring(height))
  end
  if not tonumber(pitch) or pitch < width * size or pitch % size ~= 0 then
    fail("cudaErrorInvalidPitchValue", "rows of %d texels of %d bytes cannot be %s bytes apart", width, size,
      tostring(pitch))
  end
  return {
    memory = elements(p, dtype, (height - 1) * pitch / size + width), width = width, height = height, pitch = pitch,
  }
end

---A texture over the result of M.linear or M.pitched, or over { memory = a CUDA array }. Linear memory is read by
---element, and CUDA ignores the filter and address modes for it.
function M.new(source, description)
  if raw.type(source.memory) == "array" and not source.width then
    description.filter, description.normalized, description.address = 0, false, { 1, 1, 1 }
  end
  return raw.texture_new(source.memory, description, source.width, source.height, source.pitch)
end

-- ---- references ----

-- The kind of a reference variable, "texture" or "surface"; nil for other variables.
local function kind_of(symbol)
  local declared = tostring(symbol.type)
  return declared:match("texture") or declared:match("surface")
end
M.kind_of = kind_of

-- The tables that cudaGetTextureReference returned, by module and name, and by the symbol's object.
local known = setmetatable({}, { __mode = "k" })

-- A name refers to the same table as long as the same module provides it.
local function reference_of(name)
  local symbol, module = names.symbol(name)
  if kind_of(symbol) ~= "texture" then
    fail("cudaErrorInvalidTexture", "%s is not a texture reference", symbol.name)
  end
  local owner, key = module or symbol, module and name or 1
  known[owner] = known[owner] or {}
  known[owner][key] = known[owner][key] or
    { symbol = symbol, normalized = false, filterMode = 0, addressMode = { [0] = 1, 1, 1 } }
  return known[owner][key]
end

-- A reference, given as its table or its name.
local function check_reference(reference)
  if type(reference) == "string" or raw.type(reference) == "symbol" then return reference_of(reference) end
  if type(reference) ~= "table" or raw.type(reference.symbol) ~= "symbol" then
    fail("cudaErrorInvalidTexture", "a texture reference is what cudaGetTextureReference returns, or its name")
  end
  return reference
end

-- The texel type of a descriptor, or without one, as in CUDA's C++ form, that of the reference's declaration.
local function texels_of(reference, desc)
  if desc == nil then return channels.declared(reference.symbol) end
  return channels.dtype(desc)
end

local function bind(reference, source)
  reference.texture = M.new(source, M.description(reference))
  reference.symbol:set(reference.texture)
  return reference.texture.offset
end

local function check_same(array, desc)
  local dtype = cuda_array.check(array):describe()
  if desc and channels.dtype(desc) ~= dtype then
    fail("cudaErrorInvalidValue", "the array's texels are %s, but the descriptor says %s", dtype, channels.dtype(desc))
  end
end

local function install_references(rt)
  rt.cudaChannelFormatKindSigned, rt.cudaChannelFormatKindUnsigned, rt.cudaChannelFormatKindFloat = 0, 1, 2
  rt.cudaAddressModeWrap, rt.cudaAddressModeClamp, rt.cudaAddressModeMirror, rt.cudaAddressModeBorder = 0, 1, 2, 3
  rt.cudaFilterModePoint, rt.cudaFilterModeLinear = 0, 1
  rt.cudaReadModeElementType, rt.cudaReadModeNormalizedFloat = 0, 1

  ---By bits and format as in CUDA's function, or by a type's name as in its C++ form: cudaCreateChannelDesc "float4".
  function rt.cudaCreateChannelDesc(x, y, z, w, f)
    if type(x) == "string" then return channels.desc(x) end
    return { x = x, y = y, z = z, w = w, f = f }
  end

  ---A module's texture reference, by its name or as m:symbol(name): a table with the fields normalized, filterMode and
  ---addressMode (from 0 or from 1), which take effect at the next binding. It is always the same table; the functions
  ---below also take the name.
  rt.cudaGetTextureReference = api(reference_of)
  rt.cudaBindTexture = api(function(given, p, desc, bytes)
    local reference = check_reference(given)
    if type(desc) == "number" and bytes == nil then desc, bytes = nil, desc end -- C++: (offset, tex, p, bytes)
    local dtype = texels_of(reference, desc)
    local info = raw.memory_find(address(p))
    if not info then fail("cudaErrorInvalidValue", "a texture has to be bound to device memory") end
    bytes = math.min(bytes or 2 ^ 52, info.address + info.bytes - address(p))
    return bind(reference, M.linear(p, dtype, bytes))
  end)
  rt.cudaBindTexture2D = api(function(given, p, desc, width, height, pitch)
    local reference = check_reference(given)
    return bind(reference, M.pitched(p, texels_of(reference, desc), width, height, pitch))
  end)
  rt.cudaBindTextureToArray = api(function(given, array, desc)
    local reference = check_reference(given)
    check_same(array, desc)
    bind(reference, { memory = array })
  end)
  rt.cudaBindTextureToMipmappedArray = api(function(given, mipmap, desc)
    local reference = check_reference(given)
    local array = mipmaps.check(mipmap).array
    check_same(array, desc)
    bind(reference, { memory = array })
  end)
  rt.cudaUnbindTexture = api(function(given)
    local reference = check_reference(given)
    reference.symbol:set(nil)
    reference.texture = nil
  end)
  rt.cudaGetTextureAlignmentOffset = api(function(given)
    local reference = check_reference(given)
    if not reference.texture then
      fail("cudaErrorInvalidTextureBinding", "the texture reference is bound to nothing")
    end
    return reference.texture.offset
  end)

  rt.cudaGetSurfaceReference = api(function(name)
    local symbol = names.symbol(name)
    if kind_of(symbol) ~= "surface" then
      fail("cudaErrorInvalidSurface", "%s is not a surface reference", symbol.name)
    end
    return { symbol = symbol }
  end)
  rt.cudaBindSurfaceToArray = api(function(reference, array, desc)
    if type(reference) ~= "table" or raw.type(reference.symbol) ~= "symbol" then
      fail("cudaErrorInvalidSurface", "a surface reference is what cudaGetSurfaceReference returns")
    end
    check_same(array, desc)
    reference.symbol:set(raw.surface_new(array, 0))
  end)
end

-- ---- objects ----

-- The descriptors of objects, by object.
local made_of = setmetatable({}, { __mode = "k" })

---Check that a value is a texture or surface object that was not destroyed.
function M.check_object(value, class)
  if raw.type(value) ~= class or value.freed then fail("cudaErrorInvalidValue", "this is not a %s object", class) end
  return value
end

local function install_objects(rt)
  rt.cudaResourceTypeArray, rt.cudaResourceTypeMipmappedArray = 0, 1
  rt.cudaResourceTypeLinear, rt.cudaResourceTypePitch2D = 2, 3

  local function source_of(resource)
    if type(resource) ~= "table" then fail("cudaErrorInvalidValue", "a resource descriptor is a table") end
    local res = resource.res or resource
    -- res.array.array, res.linear.devPtr, … as in C, or without the name in between
    local function of(name) return type(res[name]) == "table" and res[name] or res end
    if resource.resType == rt.cudaResourceTypeArray then return { memory = cuda_array.check(of("array").array) } end
    if resource.resType == rt.cudaResourceTypeMipmappedArray then
      local given = res.mipmap
      if type(given) == "table" and not mipmaps.is(given) then given = given.mipmap end
      return { memory = mipmaps.check(given).array, mipmap = true }
    end
    if resource.resType == rt.cudaResourceTypeLinear then
      res = of "linear"
      return M.linear(res.devPtr, channels.dtype(res.desc), res.sizeInBytes)
    end
    if resource.resType == rt.cudaResourceTypePitch2D then
      res = of "pitch2D"
      return M.pitched(res.devPtr, channels.dtype(res.desc), res.width, res.height, res.pitchInBytes)
    end
    fail("cudaErrorInvalidValue", "a resource of type %s: it is an array, a mipmapped one, linear or pitched memory",
      tostring(resource.resType))
  end

  rt.cudaCreateTextureObject = api(takes("cudaCreateTextureObject", function(resource, texture, view)
    if view ~= nil then
      fail("cudaErrorNotSupported", "texels are read with the array's own type: resource views are not supported")
    end
    local fields = {}
    for key, value in pairs(texture or {}) do fields[key] = value end
    fields.readMode, fields.normalized = fields.readMode or 0, fields.normalizedCoords
    local object = M.new(source_of(resource), M.description(fields))
    made_of[object] = { resource = resource, texture = texture or {} }
    return object
  end))
  rt.cudaDestroyTextureObject = api(function(texture) M.check_object(texture, "texture"):free() end)
  rt.cudaGetTextureObjectResourceDesc = api(function(texture)
    return (made_of[M.check_object(texture, "texture")] or {}).resource
  end)
  rt.cudaGetTextureObjectTextureDesc = api(function(texture)
    return (made_of[M.check_object(texture, "texture")] or {}).texture
  end)

  rt.cudaCreateSurfaceObject = api(function(resource)
    local source = source_of(resource)
    if raw.type(source.memory) ~= "cuda_array" or source.mipmap then
      fail("cudaErrorInvalidValue", "a surface is over a CUDA array, or over a level of a mipmapped one")
    end
    local object = raw.surface_new(source.memory, 0)
    made_of[object] = { resource = resource }
    return object
  end)
  rt.cudaDestroySurfaceObject = api(function(surface) M.check_object(surface, "surface"):free() end)
  rt.cudaGetSurfaceObjectResourceDesc = api(function(surface)
    return (made_of[M.check_object(surface, "surface")] or {}).resource
  end)
end

---@param rt table
function M.install(rt)
  install_references(rt)
  install_objects(rt)
end

return M
