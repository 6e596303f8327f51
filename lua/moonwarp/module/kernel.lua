-- The text of kernels and launches. Launching is in the binding.

local raw = require "moonwarp.binding"

local kernel, launch, bound = raw.classes.kernel, raw.classes.launch, raw.classes.bound

function kernel:__tostring()
  local text, tier = "kernel " .. self:signature(), self.tier
  if tier == "" or tier == "simd" then return text end
  return ("%s, which runs as %s: %s"):format(text, tier, self.tier_reason)
end

---A launch as a checked run: k:checked(grid, block)(…) returns the report of mw.check.
---@param ... any the configuration, as k(grid, block) takes it
---@return fun(...: any): moonwarp.report
function kernel:checked(...)
  local configured = self(...)
  return function(...)
    local arguments, count = { ... }, select("#", ...)
    return require("moonwarp").check(function() configured((unpack or table.unpack)(arguments, 1, count)) end)
  end
end

local function sizes(v)
  if v.z ~= 1 then return ("{%d, %d, %d}"):format(v.x, v.y, v.z) end
  if v.y ~= 1 then return ("{%d, %d}"):format(v.x, v.y) end
  return ("%d"):format(v.x)
end

function launch:__tostring()
  local shared = self.shared > 0 and (", %d"):format(self.shared) or ""
  local kind = self.cooperative and "cooperative " or ""
  return ("%slaunch %s<<<%s, %s%s>>>"):format(kind, self.kernel.name, sizes(self.grid), sizes(self.block), shared)
end

function bound.__tostring() return "bound launch" end
