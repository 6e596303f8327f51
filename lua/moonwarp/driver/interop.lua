-- Direct3D and OpenGL under the driver's names: refused, with the reason.

local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local M = {}

local direct3d = {
  "cuD3D9Begin", "cuD3D9End", "cuD3D9GetDevice", "cuD3D9RegisterVertexBuffer", "cuD3D9MapVertexBuffer",
  "cuD3D9UnmapVertexBuffer", "cuD3D9UnregisterVertexBuffer",
}
local opengl = {
  "cuGLInit", "cuGLRegisterBufferObject", "cuGLMapBufferObject", "cuGLUnmapBufferObject", "cuGLUnregisterBufferObject",
}

---@param cu table
function M.install(cu)
  local function refuse(list, why)
    for _, name in ipairs(list) do
      cu[name] = contexts.plain(function() result.fail("CUDA_ERROR_NOT_SUPPORTED", "%s: %s", name, why) end)
    end
  end
  refuse(direct3d, "there is no Direct3D on this system")
  refuse(opengl, "this build of moonwarp does not share memory with OpenGL")
end

return M
