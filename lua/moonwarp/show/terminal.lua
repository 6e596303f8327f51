-- Pictures in a terminal, by the best method that it supports: the kitty or sixel protocol, half blocks in 24-bit
-- colour, or characters for brightness.
--
-- A picture is { width =, height =, at = function(x, y) -> r, g, b }, with coordinates from 0 and colours 0 to 255.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- ---- the terminal's capabilities ----

local function succeeds(command)
  local result = os.execute(command .. " 2>/dev/null")
  return result == true or result == 0 -- LuaJIT may return the status
end

local function given(name)
  local value = os.getenv(name)
  return value ~= nil and value ~= ""
end

---"kitty", "sixel", "blocks" or "text", from MOONWARP_GRAPHICS or else the terminal's own variables.
---@return string
function M.graphics()
  local wanted, term = os.getenv "MOONWARP_GRAPHICS", os.getenv "TERM" or "dumb"
  if wanted == "kitty" or wanted == "sixel" or wanted == "blocks" or wanted == "text" then return wanted end
  if given "NO_COLOR" or term == "dumb" or not succeeds "test -t 1" then return "text" end
  if given "KITTY_WINDOW_ID" or term:find "kitty" then return "kitty" end
  if term:find "sixel" or term:find "^mlterm" or term:find "^foot" then return "sixel" end
  return "blocks"
end

---The terminal's width and height in characters; 80 and nil if the output is not a terminal.
---@return integer columns
---@return integer? rows
function M.width()
  local pipe = io.popen "(stty size </dev/tty) 2>/dev/null"
  local rows, columns
  if pipe then rows, columns = pipe:read("*a"):match "^(%d+) (%d+)" end
  if pipe then pipe:close() end
  rows = tonumber(rows)
  return tonumber(columns) or tonumber(os.getenv "COLUMNS") or 80, rows and rows > 0 and rows or nil
end

---The number of columns for a picture of this size in pixels that is at most `rows` lines high: cells are twice as high
---as wide.
---@param picture { width: integer, height: integer }
---@param columns integer
---@param rows integer?
---@return integer
function M.columns(picture, columns, rows)
  if not rows then return columns end
  return math.max(8, math.min(columns, math.floor(2 * rows * picture.width / picture.height)))
end

-- ---- characters and half blocks: one and two pixels a cell ----

-- The columns and rows of pixels for a picture: cells are twice as high as wide.
local function fit(picture, columns)
  columns = math.min(columns, picture.width)
  return columns, math.max(2, 2 * math.floor(columns * picture.height / picture.width / 2 + 0.5))
end

local function sample(picture, columns, rows, x, y)
  return picture.at(math.floor((x + 0.5) * picture.width / columns), math.floor((y + 0.5) * picture.height / rows))
end

local RAMP = " .:-=+*#%@"

local function text_cell(picture, columns, rows, x, y)
  local r, g, b = sample(picture, columns, rows, x, y)
  local r2, g2, b2 = sample(picture, columns, rows, x, y + 1)
  local light = (0.299 * (r + r2) + 0.587 * (g + g2) + 0.114 * (b + b2)) / 2
  local step = math.min(math.floor(light / 256 * #RAMP) + 1, #RAMP)
  return RAMP:sub(step, step)
end

local function block_cell(picture, columns, rows, x, y)
  local r, g, b = sample(picture, columns, rows, x, y)
  local r2, g2, b2 = sample(picture, columns, rows, x, y + 1)
  return ("\27[38;2;%d;%d;%dm\27[48;2;%d;%d;%dm\226\150\128"):format(r, g, b, r2, g2, b2)
end

local function by_cells(cell, after)
  return function(picture, columns)
    local lines = {}
    local width, rows = fit(picture, columns)
    for y = 0, rows - 1, 2 do
      local cells = {}
      for x = 0, width - 1 do cells[x + 1] = cell(picture, width, rows, x, y) end
      lines[#lines + 1] = table.concat(cells) .. after
    end
    return table.concat(lines, "\n") .. "\n"
  end
end

-- ---- kitty: the pixels themselves, in base64, in chunks of at most 4096 characters ----

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

---@param bytes string
---@return string
function M.base64(bytes)
  local out = {}
  for at = 1, #bytes, 3 do
    local a, b, c = bytes:byte(at, at + 2)
    local word = a * 65536 + (b or 0) * 256 + (c or 0)
    local four = {}
    for i = 4, 1, -1 do
      local digit = word % 64 + 1
      four[i] = DIGITS:sub(digit, digit)
      word = math.floor(word / 64)
    end
    if not b then four[3] = "=" end
    if not c then four[4] = "=" end
    out[#out + 1] = table.concat(four)
  end
  return table.concat(out)
end

-- As many pixels as the picture has, up to the number that fits into the width.
local function pixel_size(picture, columns)
  local scale = math.min(1, columns * 8 / picture.width)
  return math.max(1, math.floor(picture.width * scale)), math.max(1, math.floor(picture.height * scale))
end

local function kitty(picture, columns)
  local width, height = pixel_size(picture, columns)
  local bytes = {}
  for y = 0, height - 1 do
    for x = 0, width - 1 do bytes[#bytes + 1] = string.char(sample(picture, width, height, x, y)) end
  end
  local text, out = M.base64(table.concat(bytes)), {}
  for at = 1, #text, 4096 do
    local more = at + 4096 <= #text and 1 or 0
    local head = at == 1 and ("a=T,f=24,s=%d,v=%d,m=%d"):format(width, height, more) or "m=" .. more
    out[#out + 1] = ("\27_G%s;%s\27\\"):format(head, text:sub(at, at + 4095))
  end
  return table.concat(out) .. "\n"
end

-- ---- sixel: bands of six rows, in which each of 6 x 6 x 6 colours is drawn over the others ----

local function sixel(picture, columns)
  local width, height = pixel_size(picture, columns)
  local out = { "\27Pq" }
  for c = 0, 215 do
    local r, g, b = math.floor(c / 36), math.floor(c / 6) % 6, c % 6
    out[#out + 1] = ("#%d;2;%d;%d;%d"):format(c, r * 20, g * 20, b * 20)
  end
  for top = 0, height - 1, 6 do
    local rows = {} -- colour -> column -> bits
    for y = top, math.min(top + 5, height - 1) do
      for x = 0, width - 1 do
        local r, g, b = sample(picture, width, height, x, y)
        local c = math.floor(r / 51 + 0.5) * 36 + math.floor(g / 51 + 0.5) * 6 + math.floor(b / 51 + 0.5)
        rows[c] = rows[c] or {}
        rows[c][x] = (rows[c][x] or 0) + 2 ^ (y - top)
      end
    end
    for c = 0, 215 do
      if rows[c] then
        local letters = {}
        for x = 0, width - 1 do letters[x + 1] = string.char(63 + (rows[c][x] or 0)) end
        out[#out + 1] = "#" .. c .. table.concat(letters) .. "$"
      end
    end
    out[#out + 1] = "-"
  end
  return table.concat(out) .. "\27\\\n"
end

local renderers = {
  text = by_cells(text_cell, ""), blocks = by_cells(block_cell, "\27[0m"), kitty = kitty, sixel = sixel,
}

---The characters that draw a picture in the terminal.
---@param picture { width: integer, height: integer, at: fun(x: integer, y: integer): integer, integer, integer }
---@param columns integer characters that it may take
---@param graphics? string M.graphics() by default
---@return string
function M.picture(picture, columns, graphics)
  local render = renderers[graphics or M.graphics()]
  if not render then errors.usage("graphics is kitty, sixel, blocks or text, got %s", raw.describe(graphics)) end
  return render(picture, columns)
end

return M
