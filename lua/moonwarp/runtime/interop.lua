-- Direct3D under CUDA's names: refused, with the reason.

local result = require "moonwarp.runtime.result"

local M = {}

local functions = {
  "cudaD3D9Begin", "cudaD3D9End", "cudaD3D9SetDirect3DDevice", "cudaD3D9GetDirect3DDevice", "cudaD3D9GetDevice",
  "cudaD3D9RegisterResource", "cudaD3D9RegisterVertexBuffer", "cudaD3D9UnregisterResource",
  "cudaD3D9UnregisterVertexBuffer", "cudaD3D9MapResources", "cudaD3D9MapVertexBuffer", "cudaD3D9UnmapResources",
  "cudaD3D9UnmapVertexBuffer", "cudaD3D9ResourceGetMappedPointer", "cudaD3D9ResourceGetMappedPitch",
  "cudaD3D9ResourceGetMappedSize", "cudaD3D9ResourceGetSurfaceDimensions", "cudaD3D9ResourceSetMapFlags",
}

---Functions that refuse.
---@param api table gets them
---@param names string[]
---@param coded function makes a function that returns codes of one that raises
---@param fail function raises: the code's name, a format and what goes into it
---@param code string "cudaErrorNotSupported"
function M.refuse(api, names, coded, fail, code)
  for _, name in ipairs(names) do
    api[name] = coded(function() fail(code, "%s: there is no Direct3D on this system", name) end)
  end
end

---@param rt table
function M.install(rt) M.refuse(rt, functions, result.api, result.fail, "cudaErrorNotSupported") end

return M
