-- OpenGL under CUDA's names. A resource is an object of the binding; a buffer of the functions in CUDA 1.1's guide is
-- identified by its OpenGL name.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local cuda_array = require "moonwarp.runtime.cuda_array"
local mipmap = require "moonwarp.runtime.mipmap"
local names = require "moonwarp.runtime.names"

local fail, api = result.fail, result.api
local M = {}

local SURFACE, GATHER = 4, 8

-- The flags with which images were registered, which are the flags of the arrays that map their parts.
local array_flags = setmetatable({}, { __mode = "k" })

local function open(object) return (pcall(function() return object.device end)) end

---@return moonwarp.graphics
local function check(value)
  if raw.type(value) ~= "graphics" or not open(value) then
    fail("cudaErrorInvalidResourceHandle", "this is not an OpenGL resource, or it was unregistered")
  end
  return value
end

-- The `count` resources of a list; a single resource is accepted as a list of one.
local function check_list(count, list)
  if raw.type(list) == "graphics" then list = { list } end
  if type(count) ~= "number" or count < 0 or count % 1 ~= 0 or type(list) ~= "table" then
    fail("cudaErrorInvalidValue", "resources are given as a count and a table of as many")
  end
  local all = {}
  for i = 1, count do all[i] = check(list[i]) end
  return all
end

-- ---- resources; these raise the core's codes ----

function M.buffer(name, flags) return raw.graphics_buffer(name, flags) end

function M.image(name, target, flags)
  local image = raw.graphics_image(name, target, flags)
  flags = flags or 0
  array_flags[image] = (flags % (2 * SURFACE) >= SURFACE and 2 or 0) + (flags % (2 * GATHER) >= GATHER and 8 or 0)
  return image
end

function M.unregister(resource) check(resource):free() end

function M.set_flags(resource, flags) check(resource):set_flags(flags) end

function M.map(count, list, stream) raw.graphics_map(streams.stream(stream), check_list(count, list)) end

function M.unmap(count, list, stream) raw.graphics_unmap(streams.stream(stream), check_list(count, list)) end

---@return moonwarp.pointer, integer bytes
function M.pointer(resource)
  local at, bytes = check(resource):pointer()
  return pointer.new(at), bytes
end

function M.array(resource, layer, level)
  local array = check(resource):array(layer or 0, level or 0)
  return cuda_array.adopt(array, array_flags[resource] or 0)
end

-- Always the same object, until the image is unmapped.
local mipmaps = setmetatable({}, { __mode = "k" })

function M.mipmap(resource)
  local array = check(resource):whole()
  local known = mipmaps[resource]
  if not known or known.array.freed then
    known = mipmap.adopt(cuda_array.adopt(array, array_flags[resource] or 0))
    mipmaps[resource] = known
  end
  return known
end

---The number of devices that draw for the current context, and the first `size` of them.
function M.devices(size, list)
  if type(size) ~= "number" or size < 0 or size % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "the size of the list of devices is a whole number, got %s",
      tostring(size))
  end
  local all, ordinals = raw.graphics_devices(list), {}
  for i = 1, math.min(size, #all) do ordinals[i] = names.ordinal(all[i]) end
  return #all, ordinals
end

-- ---- buffers by their OpenGL names ----

local buffers = {} -- name -> resource

-- The resource of a name, unless it was destroyed with its context.
local function registered(name) return buffers[name] and open(buffers[name]) and buffers[name] end

local function named(name)
  return registered(name) or
    fail("cudaErrorInvalidResourceHandle", "buffer %s was not registered: see cudaGLRegisterBufferObject",
      tostring(name))
end

function M.register_name(name)
  if registered(name) then fail("cudaErrorAlreadyMapped", "buffer %s is registered already", tostring(name)) end
  buffers[name] = raw.graphics_buffer(name, 0)
  return buffers[name]
end

function M.unregister_name(name)
  local resource = named(name)
  buffers[name] = nil
  resource:free()
  return resource
end

function M.set_flags_of_name(name, flags) named(name):set_flags(flags) end

function M.map_name(name, stream)
  local resource = named(name)
  M.map(1, { resource }, stream)
  return M.pointer(resource)
end

function M.unmap_name(name, stream) M.unmap(1, { named(name) }, stream) end

-- ---- the runtime's codes ----

---A function whose failures have other codes. `codes.otherwise` is for failures that `codes` does not list, except
---kernels' failures.
---@param codes table<string, string>
---@param f function
---@return function
function M.recoded(codes, f)
  local function finish(ok, ...)
    if ok then return ... end
    local err = ...
    if errors.is(err) then err.code = codes[err.code] or (err.kind ~= "kernel" and codes.otherwise) or err.code end
    error(err, 0)
  end
  return function(...) return finish(pcall(f, ...)) end
end

local function coded(codes, f) return api(M.recoded(codes, f)) end

-- CUDA's runtime does not distinguish these failures.
local unknown = {
  cudaErrorAlreadyMapped = "cudaErrorUnknown", cudaErrorNotMapped = "cudaErrorUnknown",
  cudaErrorNotMappedAsArray = "cudaErrorUnknown", cudaErrorNotMappedAsPointer = "cudaErrorUnknown",
}
local mapping, unmapping =
  { otherwise = "cudaErrorMapBufferObjectFailed" }, { otherwise = "cudaErrorUnmapBufferObjectFailed" }

---@param rt table
function M.install(rt)
  rt.cudaGraphicsRegisterFlagsNone, rt.cudaGraphicsRegisterFlagsReadOnly = 0, 1
  rt.cudaGraphicsRegisterFlagsWriteDiscard, rt.cudaGraphicsRegisterFlagsSurfaceLoadStore = 2, 4
  rt.cudaGraphicsRegisterFlagsTextureGather = 8
  rt.cudaGraphicsMapFlagsNone, rt.cudaGraphicsMapFlagsReadOnly, rt.cudaGraphicsMapFlagsWriteDiscard = 0, 1, 2
  rt.cudaGLMapFlagsNone, rt.cudaGLMapFlagsReadOnly, rt.cudaGLMapFlagsWriteDiscard = 0, 1, 2
  for i, face in ipairs { "PositiveX", "NegativeX", "PositiveY", "NegativeY", "PositiveZ", "NegativeZ" } do
    rt["cudaGraphicsCubeFace" .. face] = i - 1
  end

  rt.cudaGraphicsGLRegisterBuffer = api(M.buffer)
  rt.cudaGraphicsGLRegisterImage = api(M.image)
  rt.cudaGraphicsUnregisterResource = api(M.unregister)
  rt.cudaGraphicsResourceSetMapFlags = coded(unknown, M.set_flags)
  rt.cudaGraphicsMapResources = coded(unknown, M.map)
  rt.cudaGraphicsUnmapResources = coded(unknown, M.unmap)
  rt.cudaGraphicsResourceGetMappedPointer = coded(unknown, M.pointer)
  rt.cudaGraphicsSubResourceGetMappedArray = coded(unknown, M.array)
  rt.cudaGraphicsResourceGetMappedMipmappedArray = coded(unknown, M.mipmap)

  rt.cudaGLDeviceListAll, rt.cudaGLDeviceListCurrentFrame, rt.cudaGLDeviceListNextFrame = 1, 2, 3
  rt.cudaGLGetDevices = api(M.devices)
  -- In old versions of CUDA this selected the device that shares with the thread's context; any device can share.
  rt.cudaGLSetGLDevice = api(result.body(rt.cudaSetDevice))
  rt.cudaGLRegisterBufferObject = coded(unknown, function(name) M.register_name(name) end)
  rt.cudaGLUnregisterBufferObject = api(function(name) M.unregister_name(name) end)
  rt.cudaGLSetBufferObjectMapFlags = coded(unknown, M.set_flags_of_name)
  rt.cudaGLMapBufferObject = coded(mapping, function(name) return (M.map_name(name)) end)
  rt.cudaGLMapBufferObjectAsync = coded(mapping, function(name, stream) return (M.map_name(name, stream)) end)
  rt.cudaGLUnmapBufferObject = coded(unmapping, function(name) M.unmap_name(name) end)
  rt.cudaGLUnmapBufferObjectAsync = coded(unmapping, M.unmap_name)
end

return M
