-- Names: kernels and variables of registered modules, and devices by number.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

-- Modules whose kernels and variables are found by name, the newest first, like those linked into a CUDA program.
local modules = {}

function M.register(module)
  if raw.type(module) ~= "module" then fail("cudaErrorInvalidValue", "rt.register wants a module") end
  table.insert(modules, 1, module)
  return module
end

-- The registered modules, those of the device in use first.
local function find(method, name)
  for _, module in ipairs(modules) do
    local ok, found = pcall(module[method], module, name)
    if ok then return found, module end
  end
end

---A variable: the object of m:symbol, or its name in a registered module. Returns the registered name second.
function M.symbol(value)
  if raw.type(value) == "symbol" then return value end
  local found, module
  if type(value) == "string" then found, module = find("symbol", value) end
  if not found then
    fail("cudaErrorInvalidSymbol", "there is no variable '%s': give m:symbol(name), or register the module",
      tostring(value))
  end
  return found, module
end

---A kernel: the object, or its name in a registered module.
function M.kernel(value)
  if raw.type(value) == "kernel" then return value end
  local found = type(value) == "string" and find("kernel", value)
  if not found then
    fail("cudaErrorInvalidDeviceFunction", "there is no kernel '%s': give m.name, or register the module",
      tostring(value))
  end
  return found
end

-- "cpu:1" of "cpu:1@1.1": a device opened with a compute capability has the number of the device without one.
local function plain(name) return name and (name:gsub("@.*", "")) end

---The number of a device by its name, from 0; nil if there is none.
function M.ordinal(name)
  for i, known in ipairs(raw.device_list()) do
    if known == plain(name) then return i - 1 end
  end
end

---The name of a device by its number: for the one in use, the name with which it was opened; otherwise the listed name.
---@param ordinal integer
---@return string
function M.device(ordinal)
  local name = type(ordinal) == "number" and raw.device_list()[ordinal + 1]
  if not name then fail("cudaErrorInvalidDevice", "there is no device %s", tostring(ordinal)) end
  local used = raw.device().name
  return plain(used) == name and used or name
end

return M
