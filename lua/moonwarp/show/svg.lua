-- A canvas (chart.lua) that writes an SVG file.

local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

-- At most two decimals, and a point in any locale.
local function short(number)
  return (("%.2f"):format(number):gsub(",", "."):gsub("%.?0+$", ""))
end

local function hex(colour) return ("#%02x%02x%02x"):format(colour[1], colour[2], colour[3]) end

---@param width integer
---@param height integer
---@return table canvas with `save(path)` and `source()`
function M.new(width, height)
  local out = {
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" '
      .. 'font-size="12">'):format(width, height, width, height),
    '<rect width="100%" height="100%" fill="white"/>',
  }
  local canvas = {}
  local function add(text, ...) out[#out + 1] = text:format(...) end

  function canvas.line(points, colour, thickness)
    local places = {}
    for i = 1, #points, 2 do places[#places + 1] = short(points[i]) .. "," .. short(points[i + 1]) end
    add('<polyline points="%s" fill="none" stroke="%s" stroke-width="%s"/>', table.concat(places, " "), hex(colour),
      short(thickness))
  end

  function canvas.dot(x, y, radius, colour)
    add('<circle cx="%s" cy="%s" r="%s" fill="%s"/>', short(x), short(y), short(radius), hex(colour))
  end

  function canvas.rectangle(x, y, wide, high, colour)
    add('<rect x="%s" y="%s" width="%s" height="%s" fill="%s" shape-rendering="crispEdges"/>', short(x), short(y),
      short(wide), short(high), hex(colour))
  end

  function canvas.text(x, y, text, anchor, turned)
    local turn = turned and (' transform="rotate(-90 %s %s)"'):format(short(x), short(y)) or ""
    add('<text x="%s" y="%s" text-anchor="%s"%s>%s</text>', short(x), short(y), anchor, turn,
      (text:gsub('[&<>"]', escapes)))
  end

  function canvas.source() return table.concat(out, "\n") .. "\n</svg>\n" end

  function canvas.save(path)
    local file, why = io.open(path, "w")
    if not file then return nil, why end
    file:write(canvas.source())
    return file:close()
  end

  return canvas
end

return M
