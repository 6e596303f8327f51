-- An axis of a chart: its range, and the positions and labels of its ticks.

local M = {}

-- The step of 1, 2 or 5 times a power of ten that cuts a span into at most `most` parts.
local function nice_step(span, most)
  local power = 10 ^ math.floor(math.log(span / most) / math.log(10))
  for _, factor in ipairs { 1, 2, 5, 10 } do
    if span / (factor * power) <= most * (1 + 1e-9) then return factor * power end
  end
end

local function linear_ticks(low, high, most)
  local step, ticks = nice_step(high - low, most), {}
  local decimals = math.max(0, 0 - math.floor(math.log(step) / math.log(10) + 1e-9))
  local large = math.max(math.abs(low), math.abs(high))
  local format = (large >= 1e6 or large < 1e-4) and "%.4g" or "%." .. decimals .. "f"
  for k = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) do
    local value = k * step
    ticks[#ticks + 1] = { value = value, label = (format:format(value):gsub("^%-(0%.?0*)$", "%1")) }
  end
  return ticks
end

-- Powers of ten; all of them, or each second, third, …
local function log_ticks(low, high, most)
  local first, last = math.ceil(math.log(low) / math.log(10) - 1e-9), math.floor(math.log(high) / math.log(10) + 1e-9)
  if last <= first then return linear_ticks(low, high, most) end
  local ticks, step = {}, math.ceil((last - first + 1) / most)
  for k = first, last, step do ticks[#ticks + 1] = { value = 10 ^ k, label = ("1e%d"):format(k) } end
  return ticks
end

---An axis over a range of values.
---@param low number
---@param high number
---@param options { log?: boolean, ticks?: integer } ticks: the most ticks, 6 by default
---@return { low: number, high: number, ticks: table, place: fun(value: number): number } places are 0 to 1
function M.new(low, high, options)
  if low > high then low, high = 0, 1 end -- all values were NaN
  if low == high then
    local margin = options.log and 0 or low == 0 and 1 or math.abs(low) / 2
    low, high = options.log and low / 10 or low - margin, options.log and high * 10 or high + margin
  end
  local axis = { low = low, high = high, log = options.log }
  if options.log then
    axis.ticks = log_ticks(low, high, options.ticks or 6)
    local from, span = math.log(low), math.log(high) - math.log(low)
    function axis.place(value) return value > 0 and (math.log(value) - from) / span or 0 / 0 end
  else
    axis.ticks = linear_ticks(low, high, options.ticks or 6)
    function axis.place(value) return (value - low) / (high - low) end
  end
  return axis
end

return M
