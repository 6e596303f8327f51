-- CUDA's functions for sharing with other interfaces and processes: they refuse, with the reason.

local result = require "moonwarp.runtime.result"

local M = {
  direct3d = "there is no Direct3D on this system",
  ipc = "memory and events belong to one process here",
  external = "memory and semaphores of other interfaces cannot be imported here",
}

local direct3d = {
  "cudaD3D9Begin", "cudaD3D9End", "cudaD3D9SetDirect3DDevice", "cudaD3D9GetDirect3DDevice", "cudaD3D9GetDevice",
  "cudaD3D9RegisterResource", "cudaD3D9RegisterVertexBuffer", "cudaD3D9UnregisterResource",
  "cudaD3D9UnregisterVertexBuffer", "cudaD3D9MapResources", "cudaD3D9MapVertexBuffer", "cudaD3D9UnmapResources",
  "cudaD3D9UnmapVertexBuffer", "cudaD3D9ResourceGetMappedPointer", "cudaD3D9ResourceGetMappedPitch",
  "cudaD3D9ResourceGetMappedSize", "cudaD3D9ResourceGetSurfaceDimensions", "cudaD3D9ResourceSetMapFlags",
  "cudaD3D9GetDevices", "cudaGraphicsD3D9RegisterResource", "cudaD3D10GetDevice", "cudaD3D10GetDevices",
  "cudaGraphicsD3D10RegisterResource", "cudaD3D11GetDevice", "cudaD3D11GetDevices",
  "cudaGraphicsD3D11RegisterResource",
}

local ipc = {
  "cudaIpcGetMemHandle", "cudaIpcOpenMemHandle", "cudaIpcCloseMemHandle", "cudaIpcGetEventHandle",
  "cudaIpcOpenEventHandle",
}

local external = {
  "cudaImportExternalMemory", "cudaExternalMemoryGetMappedBuffer", "cudaExternalMemoryGetMappedMipmappedArray",
  "cudaDestroyExternalMemory", "cudaImportExternalSemaphore", "cudaSignalExternalSemaphoresAsync",
  "cudaWaitExternalSemaphoresAsync", "cudaDestroyExternalSemaphore", "cudaDeviceGetNvSciSyncAttributes",
}

---Define functions that refuse.
---@param api table gets them
---@param names string[]
---@param coded function makes a function that returns codes of one that raises
---@param fail function raises: the code's name, a format and what goes into it
---@param code string "cudaErrorNotSupported"
---@param why string the reason
function M.refuse(api, names, coded, fail, code, why)
  for _, name in ipairs(names) do
    api[name] = coded(function(...) fail(code, "%s: %s", name, why, ...) end)
  end
end

---@param rt table
function M.install(rt)
  M.refuse(rt, direct3d, result.api, result.fail, "cudaErrorNotSupported", M.direct3d)
  M.refuse(rt, ipc, result.api, result.fail, "cudaErrorNotSupported", M.ipc)
  M.refuse(rt, external, result.api, result.fail, "cudaErrorNotSupported", M.external)
end

return M
