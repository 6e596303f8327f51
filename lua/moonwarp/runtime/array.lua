-- CUDA arrays, textures and surfaces under CUDA's names. Arrays are moonwarp's CUDA arrays; texture references are
-- tables with CUDA's fields over a module's variable; texture and surface objects are moonwarp's.

local raw = require "moonwarp.binding"
local memory = require "moonwarp.texture_memory"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local names = require "moonwarp.runtime.names"

local fail, api, address = result.fail, result.api, pointer.address
local M = {}

-- ---- channel descriptors ----

local formats = {
  ["8 0"] = "char", ["8 1"] = "uchar", ["16 0"] = "short", ["16 1"] = "ushort", ["32 0"] = "int", ["32 1"] = "uint",
  ["16 2"] = "half", ["32 2"] = "float",
}
local numbers = {}
for key, name in pairs(formats) do numbers[name] = key end

-- The dtype of a channel descriptor's texels: one, two or four channels alike.
local function dtype_of(desc)
  local scalar = type(desc) == "table" and formats[("%s %s"):format(tostring(desc.x), tostring(desc.f))]
  local count = 1
  if scalar and desc.y ~= 0 then count = desc.z ~= 0 and 4 or 2 end
  local alike = scalar and (desc.y == 0 or desc.y == desc.x) and (desc.z == 0 or desc.z == desc.x) and
    desc.z == desc.w
  if not alike then
    fail("cudaErrorInvalidChannelDescriptor", "a channel descriptor has one, two or four channels of 8, 16 or 32 bits")
  end
  return count == 1 and scalar or scalar .. count
end

local function desc_of(dtype)
  local scalar, count = tostring(dtype):match("^(%a+)(%d*)$")
  local bits, format = (numbers[scalar] or fail("cudaErrorInvalidChannelDescriptor", "%s is no channel's type",
    tostring(dtype))):match("(%d+) (%d)")
  bits, count = tonumber(bits), tonumber(count) or 1
  return {
    x = bits, y = count > 1 and bits or 0, z = count > 2 and bits or 0, w = count > 2 and bits or 0,
    f = tonumber(format),
  }
end

-- ---- arrays ----

local function check_array(value)
  if raw.type(value) ~= "cuda_array" or value.freed then
    fail("cudaErrorInvalidValue", "this is no CUDA array, or one that was freed")
  end
  return value
end

-- Width in bytes, rows, slices; the texel's size.
local function extent_of(array)
  local dtype, _, width, height, slices = array:describe()
  local size = raw.dtype_size(dtype)
  return width * size, height, slices, size, dtype
end

local function texels(bytes, size, what)
  if bytes % size ~= 0 then
    fail("cudaErrorInvalidValue", "%s of %d bytes is no whole number of texels of %d", what, bytes, size)
  end
  return bytes / size
end

-- A box of the array, and `box`, an array of {depth, height, width} of its texels, copied either way.
local function exchange(array, x, y, z, box, width, height, depth, to_array)
  if to_array then
    raw.box_copy(array, x, y, z, 0, box, 0, 0, 0, 0, width, height, depth)
  else
    raw.box_copy(box, 0, 0, 0, 0, array, x, y, z, 0, width, height, depth)
  end
end

-- Memory by address as rows of `width` bytes, and the array's box at (x, y, z) in bytes, rows and slices.
local function copy_box(array, x, y, z, at, pitch, rows, width, height, depth, to_array)
  local across, down, slices, size, dtype = extent_of(check_array(array))
  if x + width > across or y + height > down or z + depth > slices or x < 0 or y < 0 or z < 0 then
    fail("cudaErrorInvalidValue", "%d bytes, %d rows, %d slices from (%d, %d, %d) on leave an array of %d, %d, %d",
      width, height, depth, x, y, z, across, down, slices)
  end
  local from, columns = texels(x, size, "an offset"), texels(width, size, "a width")
  if width == 0 or height == 0 or depth == 0 then return end
  local box = raw.array_new(dtype, { depth, height, columns })
  if to_array then
    raw.memory_copy(nil, box.address, at, 4, width, height, depth, width, height, pitch, rows)
    exchange(array, from, y, z, box, columns, height, depth, true)
  else
    exchange(array, from, y, z, box, columns, height, depth, false)
    raw.memory_copy(nil, at, box.address, 4, width, height, depth, pitch, rows, width, height)
  end
  box:free()
end

-- `count` bytes one behind the other, beginning at byte x of row y of the array: the rest of that row, whole rows, a
-- rest.
local function copy_linear(array, x, y, at, count, to_array)
  local across, down = extent_of(check_array(array))
  if x + count > across and y + math.ceil((x + count) / across) > down then
    fail("cudaErrorInvalidValue", "%d bytes from (%d, %d) on leave an array of %d rows of %d bytes", count, x, y, down,
      across)
  end
  local function part(from, row, bytes, rows)
    copy_box(array, from, row, 0, at, bytes, rows, bytes, rows, 1, to_array)
    at = at + bytes * rows
    count = count - bytes * rows
  end
  if x > 0 then
    part(x, y, math.min(count, across - x), 1)
    y = y + 1
  end
  local whole = math.floor(count / across)
  if whole > 0 then part(0, y, across, whole) end
  if count > 0 then part(0, y + whole, count, 1) end
end

local function check_kind(kind)
  if type(kind) ~= "number" or kind < 0 or kind > 4 then
    fail("cudaErrorInvalidMemcpyDirection", "%s is no cudaMemcpyKind", tostring(kind))
  end
end

-- A function, and its form with Async behind the name and a stream behind the arguments: such a copy waits.
local function both(rt, name, count, f)
  rt[name] = api(f)
  rt[name .. "Async"] = api(function(...)
    local stream = select(count + 1, ...)
    streams.stream(stream):synchronize()
    f(...)
  end)
end

local function install_arrays(rt)
  rt.cudaArrayDefault, rt.cudaArrayLayered, rt.cudaArraySurfaceLoadStore = 0, 1, 2
  rt.cudaArrayCubemap, rt.cudaArrayTextureGather = 4, 8

  rt.cudaMallocArray = api(function(desc, width, height)
    local shape = { dtype = dtype_of(desc), width = width, height = (height or 0) > 0 and height or nil }
    return memory.cuda_array(nil, shape)
  end)
  rt.cudaMalloc3DArray = api(function(desc, extent, flags)
    flags = flags or 0
    local layered, cubemap = flags % 2 >= 1, flags % 8 >= 4
    local kind = cubemap and (layered and "cubemaplayered" or "cubemap") or
      layered and (extent.height > 0 and "2dlayered" or "1dlayered") or
      extent.depth > 0 and "3d" or extent.height > 0 and "2d" or "1d"
    local spec = { dtype = dtype_of(desc), kind = kind, width = extent.width }
    if extent.height > 0 then spec.height = extent.height end
    if kind == "3d" then spec.depth = extent.depth end
    if layered then spec.layers = cubemap and extent.depth / 6 or extent.depth end
    return memory.cuda_array(nil, spec)
  end)
  rt.cudaFreeArray = api(function(array)
    if array ~= nil then check_array(array):free() end
  end)
  rt.cudaGetChannelDesc = api(function(array) return desc_of((check_array(array):describe())) end)
  rt.cudaArrayGetInfo = api(function(array)
    local dtype, kind, width, height, slices = check_array(array):describe()
    return desc_of(dtype), { width = width, height = kind == 0 and 0 or height, depth = kind < 2 and 0 or slices }, 0
  end)

  both(rt, "cudaMemcpyToArray", 6, function(array, x, y, src, count, kind)
    check_kind(kind)
    copy_linear(array, x, y, address(src), count, true)
  end)
  both(rt, "cudaMemcpyFromArray", 6, function(dst, array, x, y, count, kind)
    check_kind(kind)
    copy_linear(array, x, y, address(dst), count, false)
  end)
  both(rt, "cudaMemcpy2DToArray", 8, function(array, x, y, src, pitch, width, height, kind)
    check_kind(kind)
    if width > pitch then fail("cudaErrorInvalidPitchValue", "rows of %d bytes in a pitch of %d", width, pitch) end
    copy_box(array, x, y, 0, address(src), pitch, height, width, height, 1, true)
  end)
  both(rt, "cudaMemcpy2DFromArray", 8, function(dst, pitch, array, x, y, width, height, kind)
    check_kind(kind)
    if width > pitch then fail("cudaErrorInvalidPitchValue", "rows of %d bytes in a pitch of %d", width, pitch) end
    copy_box(array, x, y, 0, address(dst), pitch, height, width, height, 1, false)
  end)
  rt.cudaMemcpyArrayToArray = api(function(dst, dx, dy, src, sx, sy, count)
    local bytes = raw.array_new("uchar", { count })
    copy_linear(src, sx, sy, bytes.address, count, false)
    copy_linear(dst, dx, dy, bytes.address, count, true)
  end)
  rt.cudaMemcpy2DArrayToArray = api(function(dst, dx, dy, src, sx, sy, width, height)
    local bytes = raw.array_new("uchar", { width * height })
    copy_box(src, sx, sy, 0, bytes.address, width, height, width, height, 1, false)
    copy_box(dst, dx, dy, 0, bytes.address, width, height, width, height, 1, true)
  end)
end

-- ---- texture references ----

-- CUDA's numbers are moonwarp's (mw_address_mode, mw_filter_mode).
local function description(reference)
  local modes = reference.addressMode or {}
  return {
    address = {
      modes[0] or modes[1] or 1, modes[0] and modes[1] or modes[2] or 1, modes[0] and modes[2] or modes[3] or 1,
    },
    filter = reference.filterMode or 0, read = reference.readMode == 1 and 2 or reference.readMode == 0 and 1 or 0,
    normalized = reference.normalized == true or reference.normalized == 1, srgb = reference.sRGB == 1,
    seamless = false,
    border = reference.borderColor or { 0, 0, 0, 0 }, mip_filter = 0, lod_bias = 0, lod_min = 0, lod_max = 1000,
    max_anisotropy = 0,
  }
end

local function check_reference(reference)
  if type(reference) ~= "table" or raw.type(reference.symbol) ~= "symbol" then
    fail("cudaErrorInvalidTexture", "a texture reference is what cudaGetTextureReference returns")
  end
  return reference
end

local function bind(reference, source)
  check_reference(reference)
  reference.texture = raw.texture_new(source, description(reference))
  reference.symbol:set(reference.texture)
end

-- Device memory as the texture that a descriptor says.
local function linear(p, dtype, bytes)
  local size = raw.dtype_size(dtype)
  local at = address(p)
  local count = math.floor(bytes / size)
  if raw.type(p) == "array" then return raw.array_view(p, 0, dtype, { count }) end
  return raw.memory_array(at, dtype, { count })
end

local function install_references(rt)
  rt.cudaChannelFormatKindSigned, rt.cudaChannelFormatKindUnsigned, rt.cudaChannelFormatKindFloat = 0, 1, 2
  rt.cudaAddressModeWrap, rt.cudaAddressModeClamp, rt.cudaAddressModeMirror, rt.cudaAddressModeBorder = 0, 1, 2, 3
  rt.cudaFilterModePoint, rt.cudaFilterModeLinear = 0, 1
  rt.cudaReadModeElementType, rt.cudaReadModeNormalizedFloat = 0, 1

  ---By bits and format as CUDA's function, or by a type's name as its C++ form has it: cudaCreateChannelDesc "float4".
  function rt.cudaCreateChannelDesc(x, y, z, w, f)
    if type(x) == "string" then return desc_of(x) end
    return { x = x, y = y, z = z, w = w, f = f }
  end

  ---A module's texture reference, by its name or as m:symbol(name): a table with the fields normalized, filterMode,
  ---addressMode (from 0 or from 1), which hold from the next binding on.
  rt.cudaGetTextureReference = api(function(name)
    local symbol = names.symbol(name)
    if not tostring(symbol.type):find("texture") then
      fail("cudaErrorInvalidTexture", "%s is no texture reference", symbol.name)
    end
    return { symbol = symbol, normalized = false, filterMode = 0, addressMode = { [0] = 1, 1, 1 } }
  end)
  rt.cudaBindTexture = api(function(reference, p, desc, bytes)
    check_reference(reference)
    local dtype = dtype_of(desc)
    local info = raw.memory_find(address(p))
    if not info then fail("cudaErrorInvalidValue", "a texture is bound to device memory") end
    bytes = math.min(bytes or 2 ^ 52, info.address + info.bytes - address(p))
    bind(reference, linear(p, dtype, bytes))
    return reference.texture.offset
  end)
  rt.cudaBindTextureToArray = api(function(reference, array)
    bind(reference, check_array(array))
  end)
  rt.cudaUnbindTexture = api(function(reference)
    check_reference(reference).symbol:set(nil)
    reference.texture = nil
  end)
  rt.cudaGetTextureAlignmentOffset = api(function(reference)
    if not check_reference(reference).texture then
      fail("cudaErrorInvalidTextureBinding", "the texture reference is bound to nothing")
    end
    return reference.texture.offset
  end)
end

local function install_objects(rt)
  rt.cudaResourceTypeArray, rt.cudaResourceTypeMipmappedArray = 0, 1
  rt.cudaResourceTypeLinear, rt.cudaResourceTypePitch2D = 2, 3

  local function memory_of(resource)
    if type(resource) ~= "table" then fail("cudaErrorInvalidValue", "a resource descriptor is a table") end
    local res = resource.res or resource
    if resource.resType == rt.cudaResourceTypeArray then return check_array(res.array) end
    if resource.resType == rt.cudaResourceTypeLinear then
      return linear(res.devPtr, dtype_of(res.desc), res.sizeInBytes)
    end
    fail("cudaErrorInvalidValue", "a resource of type %s: it is an array or linear memory", tostring(resource.resType))
  end

  rt.cudaCreateTextureObject = api(function(resource, texture)
    texture = texture or {}
    return raw.texture_new(memory_of(resource), description {
      addressMode = texture.addressMode, filterMode = texture.filterMode, readMode = texture.readMode or 0,
      normalized = texture.normalizedCoords, sRGB = texture.sRGB, borderColor = texture.borderColor,
    })
  end)
  rt.cudaDestroyTextureObject = api(function(texture)
    if raw.type(texture) ~= "texture" or texture.freed then
      fail("cudaErrorInvalidValue", "this is no texture object")
    end
    texture:free()
  end)
  rt.cudaCreateSurfaceObject = api(function(resource) return raw.surface_new(memory_of(resource), 0) end)
  rt.cudaDestroySurfaceObject = api(function(surface)
    if raw.type(surface) ~= "surface" or surface.freed then
      fail("cudaErrorInvalidValue", "this is no surface object")
    end
    surface:free()
  end)
end

---@param rt table
function M.install(rt)
  install_arrays(rt)
  install_references(rt)
  install_objects(rt)
end

return M
