-- A canvas (chart.lua) of pixels, saved as PNG. Its font has capitals of 3 by 5 pixels, drawn at twice the size.

local M = {}

-- Five rows of three pixels, as octal digits.
local letters = {
  ["0"] = "75557", ["1"] = "26227", ["2"] = "71747", ["3"] = "71717", ["4"] = "55711", ["5"] = "74717", ["6"] = "74757",
  ["7"] = "71122", ["8"] = "75757", ["9"] = "75717", A = "25755", B = "65656", C = "34443", D = "65556", E = "74647",
  F = "74644", G = "34553", H = "55755", I = "72227", J = "11152", K = "55655", L = "44447", M = "57755", N = "65555",
  O = "25552", P = "65644", Q = "25563", R = "65655", S = "34216", T = "72222", U = "55557", V = "55552", W = "55775",
  X = "55255", Y = "55222", Z = "71247", ["."] = "00002", [","] = "00024", ["-"] = "00700", ["+"] = "02720",
  [":"] = "02020", ["("] = "12221", [")"] = "42224", ["/"] = "11244", ["="] = "07070", ["%"] = "51245", ["_"] = "00007",
  ["^"] = "25000", ["*"] = "05250", ["'"] = "22000", ["<"] = "12421", [">"] = "42124", ["|"] = "22222", ["?"] = "71202",
}
local SCALE, ADVANCE, RISE = 2, 8, 10

---@param width integer
---@param height integer
---@return table canvas with `save(path)`
function M.new(width, height)
  local pixels = {} -- 3 bytes each, from the top
  for i = 1, width * height * 3 do pixels[i] = 255 end
  local canvas = {}

  local function set(x, y, colour)
    x, y = math.floor(x), math.floor(y)
    if x < 0 or y < 0 or x >= width or y >= height then return end
    local at = (y * width + x) * 3
    pixels[at + 1], pixels[at + 2], pixels[at + 3] = colour[1], colour[2], colour[3]
  end

  -- Adjacent rectangles must meet after rounding, so their edges are rounded, not their sizes.
  local function edge(place) return math.floor(place + 0.5 + 1e-6) end

  function canvas.rectangle(x, y, wide, high, colour)
    for v = edge(y), edge(y + high) - 1 do
      for u = edge(x), edge(x + wide) - 1 do set(u, v, colour) end
    end
  end

  local function segment(x, y, x2, y2, colour, thickness)
    local steps = math.max(1, math.ceil(math.max(math.abs(x2 - x), math.abs(y2 - y))))
    local before = math.floor(thickness / 2)
    for k = 0, steps do
      local u, v = x + (x2 - x) * k / steps, y + (y2 - y) * k / steps
      for dx = -before, thickness - 1 - before do
        for dy = -before, thickness - 1 - before do set(u + dx, v + dy, colour) end
      end
    end
  end

  function canvas.line(points, colour, thickness)
    for i = 1, #points - 3, 2 do
      segment(points[i], points[i + 1], points[i + 2], points[i + 3], colour, math.floor(thickness + 0.5))
    end
  end

  function canvas.dot(x, y, radius, colour)
    for v = -radius, radius do
      for u = -radius, radius do
        if u * u + v * v <= radius * radius then set(x + u, y + v, colour) end
      end
    end
  end

  local black = { 40, 40, 40 }
  local function letter(glyph, x, y, turned)
    for row = 0, 4 do
      local bits = tonumber(glyph:sub(row + 1, row + 1))
      for column = 0, 2 do
        if math.floor(bits / 2 ^ (2 - column)) % 2 == 1 then
          local u, v = column * SCALE, row * SCALE
          if turned then
            canvas.rectangle(x + v, y - u - SCALE, SCALE, SCALE, black)
          else
            canvas.rectangle(x + u, y + v, SCALE, SCALE, black)
          end
        end
      end
    end
  end

  function canvas.text(x, y, text, anchor, turned)
    local long = #text * ADVANCE - SCALE
    local back = anchor == "middle" and long / 2 or anchor == "end" and long or 0
    for i = 1, #text do
      local glyph = letters[text:sub(i, i):upper()]
      local along = (i - 1) * ADVANCE - back
      if glyph and turned then
        letter(glyph, x - RISE, y - along, true)
      elseif glyph then
        letter(glyph, x + along, y - RISE)
      end
    end
  end

  function canvas.save(path)
    local bytes = {}
    for y = 0, height - 1 do
      local row = {}
      for i = 1, width * 3 do row[i] = string.char(pixels[y * width * 3 + i]) end
      bytes[y + 1] = table.concat(row)
    end
    local host = require "moonwarp"
    local picture = host.from_bytes(table.concat(bytes), "uchar3"):reshape(height, width)
    return host.try_write_image(path, picture)
  end

  return canvas
end

return M
