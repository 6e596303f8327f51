-- a:show() and a:plot(): arrays as pictures in the terminal, or as files. With show one dimension is a sparkline, two
-- are a heat map, and pixels (uchar with 3 or 4 channels) are the picture that they are; with plot they are charts with
-- axes.

local arguments = require "moonwarp.check.arguments"
local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local axes = require "moonwarp.show.axes"
local braille = require "moonwarp.show.braille"
local chart = require "moonwarp.show.chart"
local colours = require "moonwarp.show.colours"
local series = require "moonwarp.show.series"
local terminal = require "moonwarp.show.terminal"

local M = {}

-- Sizes in characters.
local function size_of(options, name, default)
  local size = options[name]
  if size == nil then return default end
  if size < 1 or size > 10000 then
    errors.usage("a picture's %s is from 1 to 10000 characters, got %s", name, tostring(size))
  end
  return size
end

-- Columns for the picture, of which `margin` are taken; one at least.
local function columns_of(options, margin)
  return math.max(1, size_of(options, "width", math.min(terminal.width(), 160) - 1) - margin)
end

-- Vectors' names end in how many components they have.
local function is_scalar(dtype) return dtype == "bfloat16" or not dtype:find "%d$" end

local number_of = series.number

-- ---- one dimension ----

local function range(low, high)
  local least, most = math.huge, -math.huge
  for i = 1, #low do
    if low[i] == low[i] then least, most = math.min(least, low[i]), math.max(most, high[i]) end
  end
  return least, most
end

local BARS = { "\226\150\129", "\226\150\130", "\226\150\131", "\226\150\132", "\226\150\133", "\226\150\134",
  "\226\150\135", "\226\150\136" }

local function sparkline(array, columns)
  local low, high = series.stretches(array, columns)
  local least, most = range(low, high)
  local bars = {}
  for c = 1, #low do
    local share = most > least and ((low[c] + high[c]) / 2 - least) / (most - least) or 0
    bars[c] = share == share and BARS[math.min(8, math.floor(share * 8) + 1)] or " "
  end
  return ("%s  %g to %g\n"):format(table.concat(bars), least, most)
end

-- ---- two dimensions ----

-- Rows as tables, read when they are first asked for.
local function rows_of(array)
  return setmetatable({}, { __index = function(rows, y)
    rows[y] = array[y + 1]:totable()
    return rows[y]
  end })
end

local function heat_map(array)
  local shape, rows = array.shape, rows_of(array)
  local least, most = number_of(array:min()), number_of(array:max())
  local span = most > least and most - least or 1
  local picture = { width = shape[2], height = shape[1] }
  function picture.at(x, y) return colours.of((number_of(rows[y][x + 1]) - least) / span) end
  return picture, ("%g to %g"):format(least, most)
end

local function grey_or_colour(array, channels)
  local shape, rows = array.shape, rows_of(array)
  local picture = { width = shape[2], height = shape[1] }
  function picture.at(x, y)
    local pixel = rows[y][x + 1]
    if channels == 1 then return pixel, pixel, pixel end
    return pixel[1], pixel[2], pixel[3]
  end
  return picture
end

local function picture_of(array)
  local shape, dtype = array.shape, tostring(array.dtype)
  if #shape == 3 and dtype == "uchar" and (shape[3] == 3 or shape[3] == 4) then return grey_or_colour(array, 3) end
  if #shape == 2 and (dtype == "uchar3" or dtype == "uchar4") then return grey_or_colour(array, 3) end
  if #shape == 2 and dtype == "uchar" then return grey_or_colour(array, 1) end
  if #shape == 2 and is_scalar(dtype) then return heat_map(array) end
  return nil
end

-- ---- both ----

local function check(array, what)
  if array.count == 0 then errors.usage("%s: this array is empty", what) end
  if type(array.dtype) ~= "string" then errors.usage("%s: an array of structs has no picture", what) end
end

local WIDTH, HEIGHT = 640, 400 -- a file's pixels

local function save(drawn, options, path)
  local width, height = size_of(options, "width", WIDTH), size_of(options, "height", HEIGHT)
  local kind = path:match "%.(%a+)$"
  if kind ~= "svg" and kind ~= "png" then errors.usage("plot: file ends in .svg or .png, got %s", path) end
  if width < 160 or height < 120 then errors.usage("plot: a file has 160 by 120 pixels or more") end
  local canvas = require(kind == "svg" and "moonwarp.show.svg" or "moonwarp.show.raster").new(width, height)
  chart.draw(canvas, drawn, options, width, height)
  local done, why = canvas.save(path)
  if not done then errors.usage("plot: %s cannot be written: %s", path, tostring(why)) end
end

---The text that a:show() prints.
---@param array moonwarp.array
---@param options? { width?: integer, graphics?: "kitty"|"sixel"|"blocks"|"text" }
---@return string
function M.picture(array, options)
  options = options or {}
  check(array, "show")
  if array.rank == 1 and is_scalar(array.dtype) then return sparkline(array, columns_of(options, 24)) end
  if options.file then
    if array.rank ~= 2 or not is_scalar(array.dtype) then
      errors.usage("show: file is for heat maps; mw.write_image writes pixels")
    end
    save(series.of(array, { kind = "heat" }), options, options.file)
    return ""
  end
  local picture, legend = picture_of(array)
  if not picture then
    errors.usage("%s of %d dimensions is not a picture: give one dimension, two, or {height, width, 3 or 4} of uchar",
      array.dtype, array.rank)
  end
  local columns = columns_of(options, 0)
  if not options.width then -- a prompt, and what the picture is of, below it
    local _, rows = terminal.width()
    columns = terminal.columns(picture, columns, rows and math.max(4, rows - 3))
  end
  return terminal.picture(picture, columns, options.graphics) .. (legend and legend .. "\n" or "")
end

-- ---- charts ----

-- The map's rows and columns are numbered; below it is a line of colours with the values that they stand for.
local function heat_chart(array, options)
  local picture = heat_map(array)
  local columns = columns_of(options, 12)
  local map = terminal.picture(picture, columns, options.graphics)
  local shape, out = array.shape, {}
  if options.title then out[1] = (" "):rep(12) .. options.title .. "\n" end
  local graphics = options.graphics or terminal.graphics()
  if graphics == "kitty" or graphics == "sixel" then -- pixels: no labels beside them
    out[#out + 1] = map
  else
    local lines = {}
    for line in map:gmatch "[^\n]+" do lines[#lines + 1] = line end
    local y, labels = axes.new(0.5, shape[1] + 0.5, { ticks = math.max(2, math.floor(#lines / 3)) }), {}
    for _, tick in ipairs(y.ticks) do
      labels[math.min(#lines, math.floor(y.place(tick.value) * #lines) + 1)] = tick.label
    end
    for l, line in ipairs(lines) do out[#out + 1] = ("%10s \226\148\130%s\n"):format(labels[l] or "", line) end
    out[#out + 1] = (" "):rep(12) .. ("1 to %d\n"):format(shape[2])
  end
  local low, high = number_of(array:min()), number_of(array:max())
  local bar = { width = 24, height = 1, at = function(x) return colours.of((x + 0.5) / 24) end }
  local strip = terminal.picture(bar, 24, (graphics == "text" or graphics == "blocks") and graphics or "text")
  out[#out + 1] = (" "):rep(12) .. ("%g "):format(low) .. strip:match "[^\n]*" .. (" %g\n"):format(high)
  return table.concat(out)
end

local names = { "kind", "x", "labels", "title", "xlabel", "ylabel", "log", "bins", "file", "width", "height",
  "graphics" }

-- A list of further arrays, with options by name.
local function check_options(options)
  for key in pairs(options) do
    local known = type(key) == "number"
    for _, name in ipairs(names) do known = known or key == name end
    if not known then arguments.no_option("a:plot", key, names) end
  end
  if options.x ~= nil and raw.type(options.x) ~= "array" then
    errors.usage("plot: x is an array, got %s", raw.describe(options.x))
  end
end

---The text that a:plot() prints; "" if it wrote the chart to a file.
---@param array moonwarp.array
---@param options? table see a:plot
---@return string
function M.graph(array, options)
  options = options or {}
  check(array, "plot")
  check_options(options)
  if not is_scalar(array.dtype) then errors.usage("plot: wants numbers, not %s; see a:show()", array.dtype) end
  local drawn = series.of(array, options)
  if options.file then
    save(drawn, options, options.file)
    return ""
  end
  if drawn.cells then return heat_chart(array, options) end
  local graphics = options.graphics or terminal.graphics()
  return braille.text(drawn, options, columns_of(options, 13), size_of(options, "height", 12), graphics ~= "text")
end

return M
