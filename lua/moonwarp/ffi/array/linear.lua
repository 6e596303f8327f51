-- Products and factorisations of arrays by libraries. What a library cannot do is no error: the functions return false
-- and the reason, and the Lua layer runs kernels instead.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local MOST = 5

local function reason()
  local message = ffi.string(C.mw_error_last().message)
  C.mw_error_clear()
  return message
end

local function outcome(code, of)
  if code == C.MW_NOT_SUPPORTED then return false, reason() end
  errors.must(code)
  of._pending = 1
  return true
end

-- linear_library(factorisations) -> the name of the current device's library; or nil, why there is none
local function linear_library(factorisations)
  local name = ffi.new "char[512]"
  local code = C.mw_linear_library(device.current()._handle, factorisations and 1 or 0, name, 512)
  if code == C.MW_NOT_SUPPORTED then return nil, reason() end
  errors.must(code)
  return ffi.string(name)
end

-- array_product(a, b, c): c = a b -> true; or false, why the library cannot
local function array_product(a, b, c)
  array.check(a, "a product")
  array.check(b, "a product")
  array.check(c, "a product")
  return outcome(C.mw_array_product(a._handle, b._handle, c._handle), a._device)
end

-- array_factor(name, arrays…): as mw_array_factor -> true; or false, why the library cannot
local function array_factor(name, ...)
  local count, list = select("#", ...), { ... }
  if count < 1 or count > MOST then errors.refuse("factorisation", MOST) end
  local arrays = ffi.new("mw_array *[5]")
  for i = 1, count do arrays[i - 1] = array.check(list[i], "a factorisation")._handle end
  return outcome(C.mw_array_factor(name, arrays, count), list[1]._device)
end

return { raw = { linear_library = linear_library, array_product = array_product, array_factor = array_factor } }
