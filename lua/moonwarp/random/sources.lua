-- The generators' CUDA C, compiled when first used. Kernels of a kind share a text, and each has its own; each is a
-- module of its own, so that a script that draws uniform numbers does not wait for those of normal numbers.

local raw = require "moonwarp.binding"
local compile = require("moonwarp.module.module").compile

local M = {}
M.__index = M

---@param name string what messages call the text
---@param shared string
---@param kernels table<string, string> by their names
function M.new(name, shared, kernels)
  return setmetatable({ name = "random " .. name, shared = shared, kernels = kernels, modules = {} }, M)
end

---A kernel for the device in use.
---@param name string
---@return moonwarp.kernel
function M:kernel(name)
  local device = raw.device().name
  local modules = self.modules[device] or {}
  self.modules[device] = modules
  modules[name] = modules[name] or compile { source = self.shared .. self.kernels[name], name = self.name }
  return modules[name]:kernel(name)
end

return M
