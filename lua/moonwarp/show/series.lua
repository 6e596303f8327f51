-- The data of a chart, from arrays and options: points of lines and scatter plots, bars of histograms, cells of heat
-- maps, reduced on the device to Lua tables of a size that a picture can show.

local errors = require "moonwarp.diagnostics.error"
local raw = require "moonwarp.binding"

local usage = errors.usage
local M = {}

local MOST = 2048 -- the most points of a line; longer lines are drawn as the extremes of this many intervals
local CLOUD = 20000 -- points of a scatter plot: more are thinned out evenly
local CELLS = 160 -- of a heat map along each axis: more are thinned out evenly

-- A mask's elements are drawn as 0 and 1.
function M.number(element)
  if type(element) == "boolean" then return element and 1 or 0 end
  return tonumber(element)
end

---The least and greatest element in each of at most `count` intervals of an array: two lists.
---@param array moonwarp.array
---@param count integer
---@return number[] low
---@return number[] high
function M.stretches(array, count)
  local low, high, n = {}, {}, #array
  count = math.min(count, n)
  for c = 1, count do
    local part = array:sub(math.floor((c - 1) * n / count) + 1, math.floor(c * n / count))
    low[c], high[c] = M.number(part:min()), M.number(part:max())
  end
  return low, high
end

local function numbers(array, step)
  local list, values = {}, array:totable()
  for i = 1, #values, step or 1 do list[#list + 1] = M.number(values[i]) end
  return list
end

-- ---- lines and clouds ----

local function line(y, x)
  if x and #x ~= #y then usage("plot: x has %d elements, and y %d", #x, #y) end
  if #y <= MOST or x then
    local places = x and numbers(x) or {}
    if not x then for i = 1, #y do places[i] = i end end
    return { x = places, y = numbers(y) }
  end
  local low, high = M.stretches(y, MOST / 2)
  local series = { x = {}, y = {} }
  for c = 1, #low do
    local first = (c - 1) * #y / #low + 1
    for i, value in ipairs { low[c], high[c] } do
      series.x[#series.x + 1], series.y[#series.y + 1] = first + (i - 1) * #y / #low / 2, value
    end
  end
  return series
end

local function rows_of(array, what)
  if array.rank == 1 then return { array } end
  if array.rank ~= 2 then usage("plot: %s wants one dimension or two, got %d", what, array.rank) end
  local list = {}
  for r = 1, array.shape[1] do list[r] = array[r] end
  return list
end

-- Append the further arrays among the options as lines over `x`, and label all.
local function add_lines(list, options, x)
  for _, more in ipairs(options) do
    if raw.type(more) ~= "array" then usage("plot: further lines are arrays, got %s", raw.describe(more)) end
    for _, y in ipairs(rows_of(more, "a line")) do list[#list + 1] = line(y, x) end
  end
  for k, series in ipairs(list) do series.label = options.labels and options.labels[k] end
  return list
end

local function lines(array, options)
  local list = {}
  for r, y in ipairs(rows_of(array, "a line")) do list[r] = line(y, options.x) end
  return add_lines(list, options, options.x)
end

local function cloud(array, options)
  local x, y = options.x, array
  if not x then
    if array.rank ~= 2 or array.shape[2] ~= 2 then
      usage('plot: kind = "scatter" wants an array of {n, 2}, x and y, or y with the option x')
    end
    x, y = array[{ {}, 1 }], array[{ {}, 2 }]
  end
  if #x ~= #y then usage("plot: x has %d elements, and y %d", #x, #y) end
  local step = math.ceil(#y / CLOUD)
  local points = { x = numbers(x, step), y = numbers(y, step), points = true }
  return add_lines({ points }, options, x)
end

-- ---- histograms ----

local function bars(array, options)
  local counts, edges = array:reshape(-1):histogram { bins = options.bins or 20 }
  return { counts = numbers(counts), edges = numbers(edges) }
end

-- ---- heat maps ----

local function cells(array)
  if array.rank ~= 2 then usage("plot: a heat map wants two dimensions, got %d", array.rank) end
  local shape, rows = array.shape, {}
  local height, width = math.min(shape[1], CELLS), math.min(shape[2], CELLS)
  for r = 1, height do
    local values, row = array[math.floor((r - 0.5) * shape[1] / height) + 1]:totable(), {}
    for c = 1, width do row[c] = M.number(values[math.floor((c - 0.5) * shape[2] / width) + 1]) end
    rows[r] = row
  end
  return { rows = rows, height = shape[1], width = shape[2], low = M.number(array:min()), high = M.number(array:max()) }
end

-- ---- all ----

local function range(list, of)
  local low, high = math.huge, -math.huge
  for _, series in ipairs(list) do
    for _, value in ipairs(series[of]) do
      if value == value and math.abs(value) < math.huge then low, high = math.min(low, value), math.max(high, value) end
    end
  end
  return low, high
end

-- Logarithmic axes leave out values that are not above 0.
local function positive(list, of)
  local low = math.huge
  for _, series in ipairs(list) do
    for _, value in ipairs(series[of]) do if value > 0 then low = math.min(low, value) end end
  end
  if low == math.huge then usage("plot: a logarithmic axis wants numbers above 0, and %s has none", of) end
  return low
end

---The data of a chart of an array.
---@param array moonwarp.array
---@param options table of a:plot
---@return { kind: string, x: number[], y: number[], lines?: table, bars?: table, cells?: table } x and y: their ranges
function M.of(array, options)
  local kind = options.kind or (array.rank == 2 and "heat" or "line")
  local log = options.log or ""
  local chart = { kind = kind, xlog = log:find "x" ~= nil, ylog = log:find "y" ~= nil }
  if log:find "[^xy]" then usage('plot: log is "x", "y" or "xy", got "%s"', log) end
  if kind == "line" or kind == "scatter" then
    chart.lines = kind == "line" and lines(array, options) or cloud(array, options)
    chart.x, chart.y = { range(chart.lines, "x") }, { range(chart.lines, "y") }
    if chart.xlog then chart.x[1] = positive(chart.lines, "x") end
    if chart.ylog then chart.y[1] = positive(chart.lines, "y") end
  elseif kind == "hist" then
    chart.bars = bars(array, options)
    if chart.xlog then usage('plot: a histogram\'s log is "y"') end
    local most = math.max((table.unpack or unpack)(chart.bars.counts)) -- luacheck: ignore 143
    chart.x = { chart.bars.edges[1], chart.bars.edges[#chart.bars.edges] }
    chart.y = { chart.ylog and 0.5 or 0, math.max(most, 1) }
  elseif kind == "heat" then
    chart.cells = cells(array)
    if log ~= "" then usage "plot: a heat map has no logarithmic axes" end
    chart.x, chart.y = { 0.5, chart.cells.width + 0.5 }, { 0.5, chart.cells.height + 0.5 }
  else
    usage('plot: kind is "line", "scatter", "hist" or "heat", got "%s"', tostring(kind))
  end
  return chart
end

return M
