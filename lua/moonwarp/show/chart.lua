-- Draws a chart onto a canvas: frame, ticks, labels and the data from series.lua. A canvas has
--   line(points, colour, width)   points: x, y, x, y, …
--   dot(x, y, radius, colour)   rectangle(x, y, width, height, colour)
--   text(x, y, text, anchor, turned)   anchor: "start", "middle" or "end"
-- in pixels from the left and the top; colours are {red, green, blue}.

local axes = require "moonwarp.show.axes"
local colours = require "moonwarp.show.colours"

local M = {}

local BLACK, GREY = { 40, 40, 40 }, { 221, 221, 221 }
local BAR = 16 -- the colour bar's width

-- The plot's rectangle within the picture.
local function frame_of(chart, options, width, height)
  local right = chart.kind == "heat" and 92 or 16
  return { left = 72, top = options.title and 40 or 16, width = width - 72 - right,
    height = height - (options.title and 40 or 16) - (options.xlabel and 56 or 36) }
end

local function draw_axes(canvas, frame, x, y, grid)
  local bottom, right = frame.top + frame.height, frame.left + frame.width
  for _, tick in ipairs(x.ticks) do
    local at = frame.left + x.place(tick.value) * frame.width
    if grid then canvas.line({ at, frame.top, at, bottom }, GREY, 1) end
    canvas.line({ at, bottom, at, bottom + 4 }, BLACK, 1)
    canvas.text(at, bottom + 18, tick.label, "middle")
  end
  for _, tick in ipairs(y.ticks) do
    local at = frame.at_y(tick.value)
    if grid then canvas.line({ frame.left, at, right, at }, GREY, 1) end
    canvas.line({ frame.left - 4, at, frame.left, at }, BLACK, 1)
    canvas.text(frame.left - 8, at + 4, tick.label, "end")
  end
end

local function draw_frame(canvas, frame)
  local right, bottom = frame.left + frame.width, frame.top + frame.height
  canvas.line({ frame.left, frame.top, right, frame.top, right, bottom, frame.left, bottom, frame.left, frame.top },
    BLACK, 1)
end

local function is_finite(x) return x == x and math.abs(x) < math.huge end

-- Lines are broken where a value is missing.
local function draw_line(canvas, frame, series, colour)
  local points = {}
  for i = 1, #series.y do
    local x, y = frame.at_x(series.x[i]), frame.at_y(series.y[i])
    if is_finite(x) and is_finite(y) then
      points[#points + 1], points[#points + 2] = x, y
    else
      if #points > 2 then canvas.line(points, colour, 1.5) end
      points = {}
    end
  end
  if #points > 2 then canvas.line(points, colour, 1.5) end
  if #points == 2 then canvas.dot(points[1], points[2], 2, colour) end
end

local function draw_cloud(canvas, frame, series, colour)
  for i = 1, #series.y do
    local x, y = frame.at_x(series.x[i]), frame.at_y(series.y[i])
    if is_finite(x) and is_finite(y) then canvas.dot(x, y, 2, colour) end
  end
end

local function draw_legend(canvas, frame, list)
  local row = 0
  for k, series in ipairs(list) do
    if series.label then
      local y = frame.top + 16 + 16 * row
      canvas.line({ frame.left + frame.width - 30, y, frame.left + frame.width - 10, y }, colours.series_of(k), 3)
      canvas.text(frame.left + frame.width - 36, y + 4, series.label, "end")
      row = row + 1
    end
  end
end

local function draw_bars(canvas, frame, bars, low)
  for k, count in ipairs(bars.counts) do
    if count > low then
      local left, right = frame.at_x(bars.edges[k]), frame.at_x(bars.edges[k + 1])
      local top = frame.at_y(count)
      canvas.rectangle(left, top, right - left, frame.top + frame.height - top, colours.series_of(1))
    end
  end
end

-- Neighbours of one colour are one rectangle.
local function draw_cells(canvas, frame, cells)
  local span = cells.high > cells.low and cells.high - cells.low or 1
  local high = frame.height / #cells.rows
  for r, row in ipairs(cells.rows) do
    local wide, from, last = frame.width / #row, 1, nil
    for c = 1, #row + 1 do
      local step = row[c] and math.floor((row[c] - cells.low) / span * 63 + 0.5)
      if step ~= step then step = "none" end
      if last ~= nil and step ~= last then
        canvas.rectangle(frame.left + (from - 1) * wide, frame.top + (r - 1) * high, (c - from) * wide, high,
          { colours.of(last == "none" and 0 / 0 or last / 63) })
        from = c
      end
      last = step
    end
  end
end

local function draw_colour_bar(canvas, frame, cells)
  local left, steps = frame.left + frame.width + 14, 32
  for k = 1, steps do
    canvas.rectangle(left, frame.top + (steps - k) * frame.height / steps, BAR, frame.height / steps,
      { colours.of((k - 0.5) / steps) })
  end
  local axis = axes.new(cells.low, cells.high, {})
  for _, tick in ipairs(axis.ticks) do
    canvas.text(left + BAR + 4, frame.top + (1 - axis.place(tick.value)) * frame.height + 4, tick.label, "start")
  end
end

---@param canvas table
---@param chart table of series.lua
---@param options { title?: string, xlabel?: string, ylabel?: string }
---@param width integer
---@param height integer
function M.draw(canvas, chart, options, width, height)
  local frame = frame_of(chart, options, width, height)
  local x = axes.new(chart.x[1], chart.x[2], { log = chart.xlog, ticks = math.max(2, math.floor(frame.width / 70)) })
  local y = axes.new(chart.y[1], chart.y[2], { log = chart.ylog, ticks = math.max(2, math.floor(frame.height / 40)) })
  function frame.at_x(value) return frame.left + x.place(value) * frame.width end
  -- The first row of a heat map is at the top, as in printed arrays.
  function frame.at_y(value)
    local place = y.place(value)
    return frame.top + (chart.cells and place or 1 - place) * frame.height
  end
  if not chart.cells then draw_axes(canvas, frame, x, y, true) end
  if chart.kind == "heat" then
    draw_cells(canvas, frame, chart.cells)
    draw_colour_bar(canvas, frame, chart.cells)
    draw_axes(canvas, frame, x, y, false)
  elseif chart.kind == "hist" then
    draw_bars(canvas, frame, chart.bars, chart.y[1])
  else
    for k, series in ipairs(chart.lines) do
      local draw = series.points and draw_cloud or draw_line
      draw(canvas, frame, series, colours.series_of(k))
    end
    draw_legend(canvas, frame, chart.lines)
  end
  draw_frame(canvas, frame)
  if options.title then canvas.text(frame.left + frame.width / 2, 24, options.title, "middle") end
  if options.xlabel then canvas.text(frame.left + frame.width / 2, height - 12, options.xlabel, "middle") end
  if options.ylabel then canvas.text(16, frame.top + frame.height / 2, options.ylabel, "middle", true) end
end

return M
