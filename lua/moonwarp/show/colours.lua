-- Colours: a scale for fractions from 0 to 1, and a palette for a chart's series.

local M = {}

-- From dark blue over green to yellow: perceptually even steps, also without colour.
local STOPS = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 } }

---The colour of a fraction; grey for NaN.
---@param share number
---@return integer red
---@return integer green
---@return integer blue
function M.of(share)
  if share ~= share then return 128, 128, 128 end
  local at = math.max(0, math.min(1, share)) * (#STOPS - 1)
  local i = math.min(math.floor(at), #STOPS - 2)
  local a, b, t = STOPS[i + 1], STOPS[i + 2], at - i
  return math.floor(a[1] + t * (b[1] - a[1])), math.floor(a[2] + t * (b[2] - a[2])),
    math.floor(a[3] + t * (b[3] - a[3]))
end

-- For the series of a chart, in order; distinguishable also with impaired colour vision.
M.series = { { 0, 114, 178 }, { 213, 94, 0 }, { 0, 158, 115 }, { 204, 121, 167 }, { 86, 180, 233 }, { 230, 159, 0 } }

---@param k integer
---@return integer[]
function M.series_of(k) return M.series[(k - 1) % #M.series + 1] end

return M
