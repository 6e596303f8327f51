-- The driver's functions for sharing with other interfaces and processes: they refuse, with the reason.

local interop = require "moonwarp.runtime.interop"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local M = {}

local direct3d = {
  "cuD3D9Begin", "cuD3D9End", "cuD3D9GetDevice", "cuD3D9RegisterVertexBuffer", "cuD3D9MapVertexBuffer",
  "cuD3D9UnmapVertexBuffer", "cuD3D9UnregisterVertexBuffer", "cuD3D9CtxCreate", "cuD3D9GetDevices",
  "cuD3D9GetDirect3DDevice", "cuD3D10GetDevice", "cuD3D10GetDevices", "cuD3D11GetDevice", "cuD3D11GetDevices",
}

-- Those that need a current context before they check anything.
local resources = {
  "cuGraphicsD3D9RegisterResource", "cuGraphicsD3D10RegisterResource", "cuGraphicsD3D11RegisterResource",
}

local ipc = {
  "cuIpcGetMemHandle", "cuIpcOpenMemHandle", "cuIpcCloseMemHandle", "cuIpcGetEventHandle", "cuIpcOpenEventHandle",
}

local external = {
  "cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer", "cuExternalMemoryGetMappedMipmappedArray",
  "cuDestroyExternalMemory", "cuImportExternalSemaphore", "cuSignalExternalSemaphoresAsync",
  "cuWaitExternalSemaphoresAsync", "cuDestroyExternalSemaphore", "cuDeviceGetNvSciSyncAttributes",
}

---@param cu table
function M.install(cu)
  local code = "CUDA_ERROR_NOT_SUPPORTED"
  interop.refuse(cu, direct3d, contexts.plain, result.fail, code, interop.direct3d)
  interop.refuse(cu, resources, contexts.call, result.fail, code, interop.direct3d)
  interop.refuse(cu, ipc, contexts.call, result.fail, code, interop.ipc)
  interop.refuse(cu, external, contexts.call, result.fail, code, interop.external)
end

return M
