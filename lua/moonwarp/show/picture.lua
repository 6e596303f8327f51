-- a:show() and a:plot(): arrays as pictures in the terminal. One dimension is a sparkline, or with plot a graph; two
-- are a heat map; pixels (uchar with 3 or 4 channels) are the picture that they are.

local errors = require "moonwarp.diagnostics.error"
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

-- A mask's elements are drawn as 0 and 1.
local function number_of(element)
  if type(element) == "boolean" then return element and 1 or 0 end
  return tonumber(element)
end

-- ---- one dimension ----

-- The least and the greatest of each of `columns` stretches: two lists. The device does the counting.
local function stretches(array, columns)
  local low, high, n = {}, {}, #array
  columns = math.min(columns, n)
  for c = 1, columns do
    local part = array:sub(math.floor((c - 1) * n / columns) + 1, math.floor(c * n / columns))
    low[c], high[c] = number_of(part:min()), number_of(part:max())
  end
  return low, high
end

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
  local low, high = stretches(array, columns)
  local least, most = range(low, high)
  local bars = {}
  for c = 1, #low do
    local share = most > least and ((low[c] + high[c]) / 2 - least) / (most - least) or 0
    bars[c] = share == share and BARS[math.min(8, math.floor(share * 8) + 1)] or " "
  end
  return ("%s  %g to %g\n"):format(table.concat(bars), least, most)
end

-- Two by four dots a character.
local DOTS = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } }

local function braille(bits)
  return string.char(0xe2, 0xa0 + math.floor(bits / 64), 0x80 + bits % 64)
end

local function graph(array, columns, lines)
  local low, high = stretches(array, 2 * columns)
  local least, most = range(low, high)
  local height, span = 4 * lines, most > least and most - least or 1
  local function row_of(value) return math.floor((value - least) / span * (height - 1) + 0.5) end
  local cells = {}
  for l = 1, lines do cells[l] = {} end
  for x = 1, #low do
    local first = low[x] == low[x] and row_of(low[x]) or 0
    for y = first, low[x] == low[x] and row_of(high[x]) or -1 do
      local down = height - 1 - y
      local line, column = math.floor(down / 4) + 1, math.floor((x - 1) / 2) + 1
      cells[line][column] = (cells[line][column] or 0) + DOTS[down % 4 + 1][(x - 1) % 2 + 1]
    end
  end
  local out = {}
  for l = 1, lines do
    local label = l == 1 and ("%.4g"):format(most) or l == lines and ("%.4g"):format(least) or ""
    local letters = {}
    for c = 1, math.ceil(#low / 2) do letters[c] = braille(cells[l][c] or 0) end
    out[l] = ("%10s \226\148\130%s"):format(label, table.concat(letters))
  end
  local last = ("%d"):format(#array)
  out[#out + 1] = (" "):rep(11) .. "\226\148\148" .. ("\226\148\128"):rep(math.ceil(#low / 2))
  out[#out + 1] = (" "):rep(12) .. "1" .. (" "):rep(math.max(1, math.ceil(#low / 2) - 1 - #last)) .. last
  return table.concat(out, "\n") .. "\n"
end

-- ---- two dimensions ----

-- From dark blue over green to yellow: even steps for the eye, also without colour.
local COLOURS = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 } }

local function colour(share)
  if share ~= share then return 128, 128, 128 end
  local at = math.max(0, math.min(1, share)) * (#COLOURS - 1)
  local i = math.min(math.floor(at), #COLOURS - 2)
  local a, b, t = COLOURS[i + 1], COLOURS[i + 2], at - i
  return math.floor(a[1] + t * (b[1] - a[1])), math.floor(a[2] + t * (b[2] - a[2])),
    math.floor(a[3] + t * (b[3] - a[3]))
end

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
  function picture.at(x, y) return colour((number_of(rows[y][x + 1]) - least) / span) end
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
  if array.count == 0 then errors.usage("%s: there is nothing in this array", what) end
  if type(array.dtype) ~= "string" then errors.usage("%s: an array of structs has no picture", what) end
end

---What a:show() prints.
---@param array moonwarp.array
---@param options? { width?: integer, graphics?: "kitty"|"sixel"|"blocks"|"text" }
---@return string
function M.picture(array, options)
  options = options or {}
  check(array, "show")
  if array.rank == 1 and is_scalar(array.dtype) then return sparkline(array, columns_of(options, 24)) end
  local picture, legend = picture_of(array)
  if not picture then
    errors.usage("show: %s of %d dimensions is no picture: one dimension, two, or {height, width, 3 or 4} of uchar",
      array.dtype, array.rank)
  end
  local columns = columns_of(options, 0)
  if not options.width then -- a prompt, and what the picture is of, below it
    local _, rows = terminal.width()
    columns = terminal.columns(picture, columns, rows and math.max(4, rows - 3))
  end
  return terminal.picture(picture, columns, options.graphics) .. (legend and legend .. "\n" or "")
end

---What a:plot() prints.
---@param array moonwarp.array
---@param options? { width?: integer, height?: integer } in characters
---@return string
function M.graph(array, options)
  options = options or {}
  check(array, "plot")
  if array.rank ~= 1 or not is_scalar(array.dtype) then
    errors.usage("plot: wants numbers in one dimension; see a:show()")
  end
  return graph(array, columns_of(options, 13), size_of(options, "height", 12))
end

return M
