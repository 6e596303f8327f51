-- cuRAND's status codes and other enumerations, and the mapping of moonwarp's errors to status codes.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local runtime = require "moonwarp.runtime.result"

local M = {
  status = {
    CURAND_STATUS_SUCCESS = 0,
    CURAND_STATUS_VERSION_MISMATCH = 100,
    CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102,
    CURAND_STATUS_TYPE_ERROR = 103,
    CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
    CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    CURAND_STATUS_LAUNCH_FAILURE = 201,
    CURAND_STATUS_PREEXISTING_FAILURE = 202,
    CURAND_STATUS_INITIALIZATION_FAILED = 203,
    CURAND_STATUS_ARCH_MISMATCH = 204,
    CURAND_STATUS_INTERNAL_ERROR = 999,
  },
}

local enumerations = {
  CURAND_RNG_TEST = 0, CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161, CURAND_RNG_QUASI_DEFAULT = 200, CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202, CURAND_RNG_QUASI_SOBOL64 = 203, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204,
  CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT = 101, CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103, CURAND_ORDERING_PSEUDO_DYNAMIC = 104, CURAND_ORDERING_QUASI_DEFAULT = 201,
  CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104,
  CURAND_CHOOSE_BEST = 0, CURAND_ITR = 1, CURAND_KNUTH = 2, CURAND_HITR = 3, CURAND_M1 = 4, CURAND_M2 = 5,
  CURAND_BINARY_SEARCH = 6, CURAND_DISCRETE_GAUSS = 7, CURAND_REJECTION = 8, CURAND_DEVICE_API = 9,
  CURAND_FAST_REJECTION = 10, CURAND_3RD = 11, CURAND_DEFINITION = 12, CURAND_POISSON = 13,
  MAJOR_VERSION = 0, MINOR_VERSION = 1, PATCH_LEVEL = 2,
}

local names = {}
for name, code in pairs(M.status) do names[code] = name end

---Raise the failure that makes a function return the code CURAND_STATUS_ followed by the name.
---@param name string "TYPE_ERROR"
---@param message string
function M.fail(name, message, ...)
  raw.raise { kind = "usage", code = "CURAND_STATUS_" .. name, message = message:format(...) }
end

-- cuRAND's codes for other failures.
local wider = {
  cudaErrorMemoryAllocation = "CURAND_STATUS_ALLOCATION_FAILED",
  cudaErrorInvalidSource = "CURAND_STATUS_INITIALIZATION_FAILED",
  cudaErrorInvalidDevice = "CURAND_STATUS_INITIALIZATION_FAILED",
  cudaErrorInvalidResourceHandle = "CURAND_STATUS_PREEXISTING_FAILURE",
}

local story

local function finish(ok, ...)
  if ok then return 0, ... end
  local err = ...
  local code = errors.is(err) and
    (M.status[err.code] or M.status[wider[err.code] or runtime.codes[err.code] and "CURAND_STATUS_LAUNCH_FAILURE"])
  if not code then error(err, 0) end -- the script's own error
  story = err
  return code
end

---A function that returns a status and then what f returns.
---@param f function raises where it fails
---@return function
function M.api(f)
  f = runtime.counted(f)
  return function(...) return finish(pcall(f, ...)) end
end

---@param curand table
function M.install(curand)
  for name, value in pairs(M.status) do curand[name] = value end
  for name, value in pairs(enumerations) do curand[name] = value end

  ---moonwarp's own: the name of a status, or nil.
  function curand.name(code) return names[code] end

  ---moonwarp's own: the error object of the last status that was not CURAND_STATUS_SUCCESS, or nil.
  function curand.story() return story end
end

return M
