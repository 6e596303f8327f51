-- Pictures in a terminal: two pixels for each character cell, drawn as an upper half block in 24-bit colour. Without
-- colour (NO_COLOR is set, or the output goes to a file) plain characters represent brightness.

local preview = {}

-- os.execute returns true in Lua 5.4 and 0 in LuaJIT.
local function succeeds(command)
  local result = os.execute(command .. " 2>/dev/null")
  return result == true or result == 0
end

local no_color = os.getenv("NO_COLOR")
preview.colour = succeeds("test -t 1") and (no_color == nil or no_color == "") and os.getenv("TERM") ~= "dumb"

-- The terminal's width in characters, or 80 if it is unknown.
function preview.width()
  local pipe = io.popen("(stty size </dev/tty) 2>/dev/null")
  local columns = pipe and pipe:read("*a"):match("^%d+ (%d+)")
  if pipe then pipe:close() end
  return tonumber(columns) or tonumber(os.getenv("COLUMNS")) or 80
end

-- The mean colour of the part of `picture` that is in cell (x, y) of a grid of columns x rows.
local function mean(picture, columns, rows, x, y)
  local first_x, last_x = math.floor(x * picture.width / columns), math.floor((x + 1) * picture.width / columns) - 1
  local first_y, last_y = math.floor(y * picture.height / rows), math.floor((y + 1) * picture.height / rows) - 1
  local sums, count, channels = { 0, 0, 0 }, 0, picture.channels
  for py = first_y, math.max(first_y, last_y) do
    for px = first_x, math.max(first_x, last_x) do
      local at = (py * picture.width + px) * channels + 1
      for c = 1, 3 do sums[c] = sums[c] + picture.bytes:byte(at + math.min(c, channels) - 1) end
      count = count + 1
    end
  end
  return math.floor(sums[1] / count), math.floor(sums[2] / count), math.floor(sums[3] / count)
end

local RAMP = " .:-=+*#%@"

local function cell(picture, columns, rows, x, y)
  local r, g, b = mean(picture, columns, rows, x, y)
  local r2, g2, b2 = mean(picture, columns, rows, x, y + 1)
  if preview.colour then
    return ("\27[38;2;%d;%d;%dm\27[48;2;%d;%d;%dm\226\150\128"):format(r, g, b, r2, g2, b2)
  end
  local light = (0.299 * (r + r2) + 0.587 * (g + g2) + 0.114 * (b + b2)) / 2
  local step = math.min(math.floor(light / 256 * #RAMP) + 1, #RAMP)
  return RAMP:sub(step, step)
end

-- Print pictures side by side. A picture is { width, height, channels (1 or 3), bytes, title }.
function preview.show(pictures)
  local columns = math.floor((math.min(preview.width(), 160) - 1) / #pictures) - 1
  local rows = math.floor(columns * pictures[1].height / pictures[1].width / 2) * 2
  local titles = {}
  for i, picture in ipairs(pictures) do titles[i] = ("%-" .. columns .. "s"):format(picture.title:sub(1, columns)) end
  print(table.concat(titles, " "))
  for y = 0, rows - 1, 2 do
    local line = {}
    for i, picture in ipairs(pictures) do
      local cells = {}
      for x = 0, columns - 1 do cells[x + 1] = cell(picture, columns, rows, x, y) end
      line[i] = table.concat(cells) .. (preview.colour and "\27[0m" or "")
    end
    print(table.concat(line, " "))
  end
end

return preview
