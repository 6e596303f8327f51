-- CUresult: the driver's codes by name, and the mapping of failures to the codes that functions of moonwarp.driver
-- return first.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local runtime = require "moonwarp.runtime.result"

local M = {}

-- The codes of cuda.h, as in src/host/include/cuda_results.h. Reading them out of the library would take a function of
-- the core and one of each binding, which is more code than the table; spec/driver_api/host_constants_spec.lua compares
-- the two. A code without a text here has the text of the runtime's code of the same number.
local list = {
  { "CUDA_SUCCESS", 0 }, { "CUDA_ERROR_INVALID_VALUE", 1 }, { "CUDA_ERROR_OUT_OF_MEMORY", 2 },
  { "CUDA_ERROR_NOT_INITIALIZED", 3 }, { "CUDA_ERROR_DEINITIALIZED", 4, "driver shutting down" },
  { "CUDA_ERROR_PROFILER_DISABLED", 5, "profiler disabled while using external profiling tool" },
  { "CUDA_ERROR_NO_DEVICE", 100 }, { "CUDA_ERROR_INVALID_DEVICE", 101 }, { "CUDA_ERROR_INVALID_IMAGE", 200 },
  { "CUDA_ERROR_INVALID_CONTEXT", 201 },
  { "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", 202, "context already current" },
  { "CUDA_ERROR_MAP_FAILED", 205, "mapping of buffer object failed" },
  { "CUDA_ERROR_UNMAP_FAILED", 206, "unmapping of buffer object failed" },
  { "CUDA_ERROR_ARRAY_IS_MAPPED", 207, "array is mapped" },
  { "CUDA_ERROR_ALREADY_MAPPED", 208, "resource already mapped" },
  { "CUDA_ERROR_NO_BINARY_FOR_GPU", 209 },
  { "CUDA_ERROR_ALREADY_ACQUIRED", 210, "resource already acquired" },
  { "CUDA_ERROR_NOT_MAPPED", 211, "resource not mapped" },
  { "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", 212, "resource not mapped as array" },
  { "CUDA_ERROR_NOT_MAPPED_AS_POINTER", 213, "resource not mapped as pointer" },
  { "CUDA_ERROR_ECC_UNCORRECTABLE", 214, "uncorrectable ECC error encountered" },
  { "CUDA_ERROR_UNSUPPORTED_LIMIT", 215 },
  { "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", 216, "exclusive-thread device already in use by a different thread" },
  { "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", 217 }, { "CUDA_ERROR_INVALID_PTX", 218, "a PTX JIT compilation failed" },
  { "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", 219, "invalid OpenGL or DirectX context" },
  { "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", 221 },
  { "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 222, "the provided PTX was compiled with an unsupported toolchain." },
  { "CUDA_ERROR_JIT_COMPILATION_DISABLED", 223, "PTX JIT compilation was disabled" },
  { "CUDA_ERROR_INVALID_SOURCE", 300 }, { "CUDA_ERROR_FILE_NOT_FOUND", 301 },
  { "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", 302, "shared object symbol not found" },
  { "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", 303, "shared object initialization failed" },
  { "CUDA_ERROR_OPERATING_SYSTEM", 304 }, { "CUDA_ERROR_INVALID_HANDLE", 400 },
  { "CUDA_ERROR_ILLEGAL_STATE", 401, "the operation cannot be performed in the present state" },
  { "CUDA_ERROR_NOT_FOUND", 500 }, { "CUDA_ERROR_NOT_READY", 600 }, { "CUDA_ERROR_ILLEGAL_ADDRESS", 700 },
  { "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", 701 }, { "CUDA_ERROR_LAUNCH_TIMEOUT", 702 },
  { "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", 703, "launch uses incompatible texturing mode" },
  { "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", 704 }, { "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", 705 },
  { "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", 708, "cannot set while device is active in this process" },
  { "CUDA_ERROR_CONTEXT_IS_DESTROYED", 709, "context is destroyed" }, { "CUDA_ERROR_ASSERT", 710 },
  { "CUDA_ERROR_TOO_MANY_PEERS", 711, "peer mapping resources exhausted" },
  { "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", 712 }, { "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", 713 },
  { "CUDA_ERROR_HARDWARE_STACK_ERROR", 714 }, { "CUDA_ERROR_ILLEGAL_INSTRUCTION", 715 },
  { "CUDA_ERROR_MISALIGNED_ADDRESS", 716 },
  { "CUDA_ERROR_INVALID_ADDRESS_SPACE", 717, "operation not supported on global/shared address space" },
  { "CUDA_ERROR_INVALID_PC", 718 }, { "CUDA_ERROR_LAUNCH_FAILED", 719 },
  { "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", 720 },
  { "CUDA_ERROR_NOT_PERMITTED", 800, "operation not permitted" }, { "CUDA_ERROR_NOT_SUPPORTED", 801 },
  { "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", 900 }, { "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", 901 },
  { "CUDA_ERROR_STREAM_CAPTURE_MERGE", 902 }, { "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", 903 },
  { "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", 904 }, { "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", 905 },
  { "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", 906 }, { "CUDA_ERROR_CAPTURED_EVENT", 907 },
  { "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", 908 },
  { "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", 910 }, { "CUDA_ERROR_INVALID_CLUSTER_SIZE", 912 },
  { "CUDA_ERROR_UNKNOWN", 999 },
}

-- Codes that the runtime distinguishes and the driver does not.
local wider = {
  cudaErrorInvalidSymbol = "CUDA_ERROR_NOT_FOUND", cudaErrorInvalidDeviceFunction = "CUDA_ERROR_INVALID_HANDLE",
}

local by_name, names, texts = {}, {}, {}
for _, entry in ipairs(list) do
  local name, code, text = entry[1], entry[2], entry[3]
  by_name[name], names[code] = code, name
  texts[code] = text or select(2, raw.result(code))
end

---Raise the failure that makes a function return the code called `name`.
---@param name string "CUDA_ERROR_INVALID_VALUE"
---@param message string
function M.fail(name, message, ...)
  raw.raise { kind = "usage", code = name, message = message:format(...) }
end

-- The CUresult of an error object: the driver's own, or the runtime's of that number.
local function code_of(err)
  local code = by_name[err.code] or by_name[wider[err.code]]
  if code then return code end
  code = runtime.codes[err.code]
  return code and (names[code] and code or by_name.CUDA_ERROR_INVALID_VALUE)
end

local story

local function finish(ok, ...)
  if ok then return 0, ... end
  local err = ...
  local code = errors.is(err) and code_of(err)
  if not code then error(err, 0) end -- the script's own error
  story = err
  return code
end

---A function that returns a CUresult and then what f returns.
---@param f function raises where it fails
---@return function
function M.api(f)
  return function(...) return finish(pcall(f, ...)) end
end

---@param cu table
function M.install(cu)
  for name, code in pairs(by_name) do cu[name] = code end
  -- Two names of CUDA 1.1.
  cu.CUDA_ERROR_INVALID_DEVICE_IMAGE, cu.CUDA_ERROR_FILE_OPEN_FAILED = 200, 301

  function cu.cuGetErrorName(code)
    if not names[code] then return by_name.CUDA_ERROR_INVALID_VALUE end
    return 0, names[code]
  end

  function cu.cuGetErrorString(code)
    if not names[code] then return by_name.CUDA_ERROR_INVALID_VALUE end
    return 0, texts[code]
  end

  ---moonwarp's own: the error object of the last code that was not CUDA_SUCCESS, or nil.
  function cu.story() return story end
end

return M
