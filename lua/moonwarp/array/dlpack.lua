-- DLPack: arrays for other libraries of the process, and theirs.

local raw = require "moonwarp.binding"
local given = require "moonwarp.array.call_arguments"

local M = {}
local array = raw.classes.array

---The array as a DLPack tensor, without a copy: the address of a DLManagedTensor, or with `versioned` of a
---DLManagedTensorVersioned, for a C host or LuaJIT's FFI. Waits for the work on the array. The receiver calls the
---tensor's deleter, until when the memory stays. Read-only views are handed out in the versioned form alone.
---@param options? { versioned?: boolean }
---@return lightuserdata|ffi.cdata*
function array:dlpack(options)
  return raw.array_to_dlpack(self, given.options("a:dlpack", options, { "versioned" }, {}).versioned)
end

---An array with the elements of a DLPack tensor, which is deleted by its deleter. They are copied: from host memory to
---the device in use, from a GPU's to the same GPU. A tensor that is refused stays the caller's.
---@param tensor lightuserdata|ffi.cdata* the address of a DLManagedTensor
---@param options? { versioned?: boolean } it is a DLManagedTensorVersioned
---@return moonwarp.array
function M.from_dlpack(tensor, options)
  return raw.array_from_dlpack(tensor, given.options("mw.from_dlpack", options, { "versioned" }, {}).versioned)
end

return M
