-- Direct3D and OpenGL under CUDA's names: refused, with the reason.

local result = require "moonwarp.runtime.result"

local M = {}

local direct3d = {
  "cudaD3D9Begin", "cudaD3D9End", "cudaD3D9SetDirect3DDevice", "cudaD3D9GetDirect3DDevice", "cudaD3D9GetDevice",
  "cudaD3D9RegisterResource", "cudaD3D9RegisterVertexBuffer", "cudaD3D9UnregisterResource",
  "cudaD3D9UnregisterVertexBuffer", "cudaD3D9MapResources", "cudaD3D9MapVertexBuffer", "cudaD3D9UnmapResources",
  "cudaD3D9UnmapVertexBuffer", "cudaD3D9ResourceGetMappedPointer", "cudaD3D9ResourceGetMappedPitch",
  "cudaD3D9ResourceGetMappedSize", "cudaD3D9ResourceGetSurfaceDimensions", "cudaD3D9ResourceSetMapFlags",
}
local opengl = {
  "cudaGLSetGLDevice", "cudaGLRegisterBufferObject", "cudaGLMapBufferObject", "cudaGLUnmapBufferObject",
  "cudaGLUnregisterBufferObject", "cudaGraphicsGLRegisterBuffer", "cudaGraphicsGLRegisterImage",
  "cudaGraphicsMapResources", "cudaGraphicsUnmapResources", "cudaGraphicsUnregisterResource",
  "cudaGraphicsResourceGetMappedPointer",
}

---@param rt table
function M.install(rt)
  local function refuse(list, why)
    for _, name in ipairs(list) do
      rt[name] = result.api(function() result.fail("cudaErrorNotSupported", "%s: %s", name, why) end)
    end
  end
  refuse(direct3d, "there is no Direct3D on this system")
  refuse(opengl, "this build of moonwarp does not share memory with OpenGL")
end

return M
