-- What the judge asks of checked and of measured runs, and nothing else does: where one of them is not available (on a
-- device without it), these functions return nil, and the judge goes by results alone.

local mw = require "moonwarp"

local M = {}

-- A function of mw that may be missing.
local function find(name)
  local ok, found = pcall(function() return mw[name] end)
  return ok and found or nil
end

---Whether runs can be checked and measured here.
---@return boolean checked
---@return boolean measured
function M.available()
  return find "check" ~= nil, find "measure" ~= nil
end

---The findings of a run: a list, empty if it is clean.
---@param f function which launches kernels
---@return table?
function M.check(f)
  if not M.available() then return nil end
  return mw.check(f)
end

---The figures of one launch, summed over it.
---@return table?
function M.measure(kernel, grid, block, shared, args, count)
  if not select(2, M.available()) then return nil end
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  return mw.measure(kernel, grid, block, shared)(unpack(args, 1, count or #args)).total
end

return M
