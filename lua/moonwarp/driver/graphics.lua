-- OpenGL under the driver's names: the runtime's functions with the driver's codes. Resources belong to the current
-- context.

local contexts = require "moonwarp.driver.context"
local graphics = require "moonwarp.runtime.graphics"

local call = contexts.call
local M = {}

-- An unregistered name is an invalid value; all other failures are of the mapping.
local mapping = { cudaErrorInvalidResourceHandle = "CUDA_ERROR_INVALID_VALUE", otherwise = "CUDA_ERROR_MAP_FAILED" }
local unmapping = { cudaErrorInvalidResourceHandle = "CUDA_ERROR_INVALID_VALUE", otherwise = "CUDA_ERROR_UNMAP_FAILED" }
local by_name = { cudaErrorInvalidResourceHandle = "CUDA_ERROR_INVALID_VALUE" }

local function coded(codes, f) return call(graphics.recoded(codes, f)) end

---@param cu table
function M.install(cu)
  cu.CU_GRAPHICS_REGISTER_FLAGS_NONE, cu.CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY = 0, 1
  cu.CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD, cu.CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST = 2, 4
  cu.CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER = 8
  cu.CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE, cu.CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY = 0, 1
  cu.CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2
  cu.CU_GL_MAP_RESOURCE_FLAGS_NONE, cu.CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 0, 1
  cu.CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2
  for i, face in ipairs { "POSITIVE_X", "NEGATIVE_X", "POSITIVE_Y", "NEGATIVE_Y", "POSITIVE_Z", "NEGATIVE_Z" } do
    cu["CU_CUBEMAP_FACE_" .. face] = i - 1
  end

  cu.cuGraphicsGLRegisterBuffer = call(function(...) return contexts.own(graphics.buffer(...)) end)
  cu.cuGraphicsGLRegisterImage = call(function(...) return contexts.own(graphics.image(...)) end)
  cu.cuGraphicsUnregisterResource = call(function(resource)
    graphics.unregister(resource)
    contexts.disown(resource)
  end)
  cu.cuGraphicsResourceSetMapFlags = call(graphics.set_flags)
  cu.cuGraphicsMapResources = call(graphics.map)
  cu.cuGraphicsUnmapResources = call(graphics.unmap)
  cu.cuGraphicsResourceGetMappedPointer = call(graphics.pointer)
  cu.cuGraphicsSubResourceGetMappedArray = call(graphics.array)
  cu.cuGraphicsResourceGetMappedMipmappedArray = call(graphics.mipmap)

  cu.CU_GL_DEVICE_LIST_ALL, cu.CU_GL_DEVICE_LIST_CURRENT_FRAME, cu.CU_GL_DEVICE_LIST_NEXT_FRAME = 1, 2, 3
  cu.cuGLGetDevices = call(graphics.devices)
  cu.cuGLInit = call(function() end)
  cu.cuGLCtxCreate = cu.cuCtxCreate
  cu.cuGLRegisterBufferObject = call(function(name) contexts.own(graphics.register_name(name)) end)
  cu.cuGLUnregisterBufferObject = coded(by_name, function(name) contexts.disown(graphics.unregister_name(name)) end)
  cu.cuGLSetBufferObjectMapFlags = call(graphics.set_flags_of_name)
  cu.cuGLMapBufferObject = coded(mapping, function(name) return graphics.map_name(name) end)
  cu.cuGLMapBufferObjectAsync = coded(mapping, graphics.map_name)
  cu.cuGLUnmapBufferObject = coded(unmapping, function(name) graphics.unmap_name(name) end)
  cu.cuGLUnmapBufferObjectAsync = coded(unmapping, graphics.unmap_name)
end

return M
