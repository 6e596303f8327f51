-- Direct3D under the driver's names: refused, with the reason.

local interop = require "moonwarp.runtime.interop"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local M = {}

local functions = {
  "cuD3D9Begin", "cuD3D9End", "cuD3D9GetDevice", "cuD3D9RegisterVertexBuffer", "cuD3D9MapVertexBuffer",
  "cuD3D9UnmapVertexBuffer", "cuD3D9UnregisterVertexBuffer",
}

---@param cu table
function M.install(cu)
  interop.refuse(cu, functions, contexts.plain, result.fail, "CUDA_ERROR_NOT_SUPPORTED")
end

return M
