-- Pencils: distributed arrays of which each rank has whole lines along an axis.

local layouts = require "moonwarp.dist.layout"

local M = {}

---The array with one rank along `axis`: the grid's ranks go to an axis that has one rank, the longest there is. Blocks
---in turn become plain blocks.
---@param d moonwarp.dist_array of two axes or more
---@param axis integer
---@return moonwarp.dist_array
function M.along(d, axis)
  local grid, best = {}, nil
  for e, n in ipairs(d.layout.grid) do
    grid[e] = n
    if e ~= axis and n == 1 and (not best or d.shape[e] > d.shape[best]) then best = e end
  end
  if grid[axis] == 1 then return d end
  if best then
    grid[best], grid[axis] = grid[axis], 1
  else
    local other = axis == 1 and 2 or 1
    grid[other], grid[axis] = grid[other] * grid[axis], 1
  end
  local layout = layouts.new(d.comm, d.shape, { grid = grid })
  return d:redistribute(layout)
end

return M
