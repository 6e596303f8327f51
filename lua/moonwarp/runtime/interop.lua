-- Direct3D and OpenGL under CUDA's names: refused, with the reason.

local result = require "moonwarp.runtime.result"

local M = {}

local lists = {
  direct3d = {
    "cudaD3D9Begin", "cudaD3D9End", "cudaD3D9SetDirect3DDevice", "cudaD3D9GetDirect3DDevice", "cudaD3D9GetDevice",
    "cudaD3D9RegisterResource", "cudaD3D9RegisterVertexBuffer", "cudaD3D9UnregisterResource",
    "cudaD3D9UnregisterVertexBuffer", "cudaD3D9MapResources", "cudaD3D9MapVertexBuffer", "cudaD3D9UnmapResources",
    "cudaD3D9UnmapVertexBuffer", "cudaD3D9ResourceGetMappedPointer", "cudaD3D9ResourceGetMappedPitch",
    "cudaD3D9ResourceGetMappedSize", "cudaD3D9ResourceGetSurfaceDimensions", "cudaD3D9ResourceSetMapFlags",
  },
  opengl = {
    "cudaGLSetGLDevice", "cudaGLRegisterBufferObject", "cudaGLMapBufferObject", "cudaGLUnmapBufferObject",
    "cudaGLUnregisterBufferObject", "cudaGraphicsGLRegisterBuffer", "cudaGraphicsGLRegisterImage",
    "cudaGraphicsMapResources", "cudaGraphicsUnmapResources", "cudaGraphicsUnregisterResource",
    "cudaGraphicsResourceGetMappedPointer",
  },
}

---Functions that refuse, with one reason for each list.
---@param api table gets them
---@param names table { direct3d =, opengl = }: a sequence each
---@param coded function makes a function that returns codes of one that raises
---@param fail function raises: the code's name, a format and what goes into it
---@param code string "cudaErrorNotSupported"
function M.refuse(api, names, coded, fail, code)
  local function refuse(list, why)
    for _, name in ipairs(list) do
      api[name] = coded(function() fail(code, "%s: %s", name, why) end)
    end
  end
  refuse(names.direct3d, "there is no Direct3D on this system")
  refuse(names.opengl, "this build of moonwarp does not share memory with OpenGL")
end

---@param rt table
function M.install(rt) M.refuse(rt, lists, result.api, result.fail, "cudaErrorNotSupported") end

return M
