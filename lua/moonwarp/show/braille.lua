-- A chart in a terminal: dots of Braille characters, two by four for each cell, with labelled axes.

local axes = require "moonwarp.show.axes"
local colours = require "moonwarp.show.colours"

local M = {}

local MARGIN = 11 -- columns for the labels of the vertical axis

local DOTS = { { 1, 8 }, { 2, 16 }, { 4, 32 }, { 64, 128 } }
local FULL = { "\226\150\129", "\226\150\130", "\226\150\131", "\226\150\132", "\226\150\133", "\226\150\134",
  "\226\150\135", "\226\150\136" } -- eighths of a cell

local function braille(bits) return string.char(0xe2, 0xa0 + math.floor(bits / 64), 0x80 + bits % 64) end

local function is_finite(x) return x == x and math.abs(x) < math.huge end

-- ---- cells ----

-- Dots of a width and height in cells; dot (0, 0) is at the left and below. `owner` is the last series that set a cell.
local function dots(columns, lines)
  local cells = { bits = {}, owner = {} }
  function cells.set(x, y, series)
    if x < 0 or y < 0 or x >= 2 * columns or y >= 4 * lines then return end
    local down = 4 * lines - 1 - y
    local at = math.floor(down / 4) * columns + math.floor(x / 2)
    local dot = DOTS[down % 4 + 1][x % 2 + 1]
    local bits = cells.bits[at] or 0
    if math.floor(bits / dot) % 2 == 0 then cells.bits[at] = bits + dot end
    cells.owner[at] = series
  end
  return cells
end

local function stroke(cells, x, y, x2, y2, series)
  local steps = math.max(1, math.abs(x2 - x), math.abs(y2 - y))
  for k = 0, steps do
    cells.set(math.floor(x + (x2 - x) * k / steps + 0.5), math.floor(y + (y2 - y) * k / steps + 0.5), series)
  end
end

local function draw_lines(chart, x, y, columns, lines)
  local cells = dots(columns, lines)
  for k, series in ipairs(chart.lines) do
    local before_x, before_y
    for i = 1, #series.y do
      local u, v = x.place(series.x[i]), y.place(series.y[i])
      if is_finite(u) and is_finite(v) then
        u, v = math.floor(u * (2 * columns - 1) + 0.5), math.floor(v * (4 * lines - 1) + 0.5)
        if before_x and not series.points then
          stroke(cells, before_x, before_y, u, v, k)
        else
          cells.set(u, v, k)
        end
        before_x, before_y = u, v
      else
        before_x = nil
      end
    end
  end
  return function(line, column, coloured)
    local at = (line - 1) * columns + column - 1
    local text, owner = braille(cells.bits[at] or 0), cells.owner[at]
    if not coloured or not owner or #chart.lines < 2 then return text end
    local c = colours.series_of(owner)
    return ("\27[38;2;%d;%d;%dm%s\27[0m"):format(c[1], c[2], c[3], text)
  end
end

local function draw_bars(chart, x, y, columns, lines)
  local counts, edges = chart.bars.counts, chart.bars.edges
  return function(line, column)
    local at, share = (column - 0.5) / columns, 0
    for k, count in ipairs(counts) do
      if at >= x.place(edges[k]) and at < x.place(edges[k + 1]) then share = count > 0 and y.place(count) or 0 end
    end
    local eighths = math.floor((share * lines - (lines - line)) * 8 + 0.5)
    return eighths <= 0 and " " or FULL[math.min(8, eighths)]
  end
end

-- ---- frame ----

-- Labels of the vertical axis, by line.
local function line_labels(axis, lines)
  local labels = {}
  for _, tick in ipairs(axis.ticks) do
    labels[lines - math.min(lines - 1, math.floor(axis.place(tick.value) * (lines - 1) + 0.5))] = tick.label
  end
  return labels
end

-- The line with the labels of the horizontal axis; those without room are left out.
local function column_labels(axis, columns)
  local text = ""
  for _, tick in ipairs(axis.ticks) do
    local middle = math.floor(axis.place(tick.value) * (columns - 1) + 0.5)
    local at = math.max(0, math.min(middle - math.floor(#tick.label / 2), columns - #tick.label))
    if text == "" or at > #text then text = text .. (" "):rep(at - #text) .. tick.label end
  end
  return text
end

local function centred(text, columns)
  return (" "):rep(MARGIN + 1 + math.max(0, math.floor((columns - #text) / 2))) .. text
end

---@param chart table of series.lua: lines, clouds or a histogram
---@param options table of a:plot
---@param columns integer characters for the plot itself
---@param lines integer
---@param coloured boolean
---@return string
function M.text(chart, options, columns, lines, coloured)
  local x = axes.new(chart.x[1], chart.x[2], { log = chart.xlog, ticks = math.max(2, math.floor(columns / 9)) })
  local y = axes.new(chart.y[1], chart.y[2], { log = chart.ylog, ticks = math.max(2, math.floor(lines / 3)) })
  local draw = chart.bars and draw_bars or draw_lines
  local cell, labels, out = draw(chart, x, y, columns, lines), line_labels(y, lines), {}
  if options.title then out[#out + 1] = centred(options.title, columns) end
  if options.ylabel then out[#out + 1] = (" "):rep(MARGIN) .. options.ylabel end
  for line = 1, lines do
    local row = {}
    for column = 1, columns do row[column] = cell(line, column, coloured) end
    local mark = labels[line] and "\226\148\164" or "\226\148\130"
    out[#out + 1] = ("%" .. MARGIN - 1 .. "s %s%s"):format(labels[line] or "", mark, table.concat(row))
  end
  out[#out + 1] = (" "):rep(MARGIN) .. "\226\148\148" .. ("\226\148\128"):rep(columns)
  out[#out + 1] = (" "):rep(MARGIN + 1) .. column_labels(x, columns)
  if options.xlabel then out[#out + 1] = centred(options.xlabel, columns) end
  for k, series in ipairs(chart.lines or {}) do
    if series.label then
      local c = colours.series_of(k)
      local sign = coloured and ("\27[38;2;%d;%d;%dm\226\148\128\226\148\128\27[0m"):format(c[1], c[2], c[3])
        or "\226\148\128\226\148\128"
      out[#out + 1] = (" "):rep(MARGIN + 1) .. sign .. " " .. series.label
    end
  end
  return table.concat(out, "\n") .. "\n"
end

return M
