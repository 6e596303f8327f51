-- Fourier transforms of arrays by libraries. What a library cannot do is no error: the functions return false, or nil,
-- and the reason, and the Lua layer runs kernels instead.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local kinds = { forward = C.MW_FOURIER_FORWARD, inverse = C.MW_FOURIER_INVERSE, real = C.MW_FOURIER_REAL,
  ["real inverse"] = C.MW_FOURIER_REAL_INVERSE }

local function reason()
  local message = ffi.string(C.mw_error_last().message)
  C.mw_error_clear()
  return message
end

-- fourier_library() -> the name of the current device's library; or nil, why there is none
local function fourier_library()
  local name = ffi.new "char[512]"
  local code = C.mw_fourier_library(device.current()._handle, name, 512)
  if code == C.MW_NOT_SUPPORTED then return nil, reason() end
  errors.must(code)
  return ffi.string(name)
end

-- array_fourier(x, y, kind, n, inner): as mw_array_fourier -> true; or false, why the library cannot
local function array_fourier(x, y, kind, n, inner)
  array.check(x, "a transform")
  array.check(y, "a transform")
  local code = C.mw_array_fourier(x._handle, y._handle, kinds[kind], n, inner)
  if code == C.MW_NOT_SUPPORTED then return false, reason() end
  errors.must(code)
  x._device._pending = 1
  return true
end

return { raw = { fourier_library = fourier_library, array_fourier = array_fourier } }
