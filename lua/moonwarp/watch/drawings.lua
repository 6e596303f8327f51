-- Drawings of a measured run, as SVG: a warp's accesses, the roofline, divergence over time.

local M = {}

local SECTOR, WORD, BANKS = 32, 4, 32
local SHARED = 3
local KINDS = { [0] = "load", [1] = "store", [2] = "atomic operation", [3] = "reduction" }

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function svg(width, height, parts)
  return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" '
    .. 'font-size="11">\n%s\n</svg>'):format(width, height, width, height, table.concat(parts, "\n"))
end

local function rectangle(x, y, width, height, colour, title)
  return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>'):format(x, y, width,
    height, colour, title or "")
end

local function text(x, y, words, anchor)
  return ('<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>'):format(x, y, anchor or "start",
    (words:gsub('[&<>"]', escapes)))
end

local function line(x1, y1, x2, y2, colour)
  return ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>'):format(x1, y1, x2, y2, colour)
end

---A sentence about a site, for a caption.
---@param site table
---@return string
function M.describe(site)
  local shared = site.space == SHARED
  local each = (shared and site.wavefronts or site.sectors) / site.requests
  return ("line %d: %s of %d bytes%s, %.1f %s a request"):format(site.line, KINDS[site.kind], site.bytes,
    site.name and (shared and " in " or " through ") .. site.name or "", each, shared and "passes" or "sectors")
end

-- The numbers of sectors or banks that lanes access, in order, and the place of each in that order.
local function places_of(sample, unit, modulo)
  local seen, list = {}, {}
  for lane = 0, 31 do
    local place = sample[lane] and math.floor(sample[lane] / unit)
    if place and modulo then place = place % modulo end
    if place and not seen[place] then
      seen[place] = true
      list[#list + 1] = place
    end
  end
  table.sort(list)
  local index = {}
  for i, place in ipairs(list) do index[place] = i end
  return list, index
end

---The 32 lanes above, the sectors (or banks) that they access below, and a line from each lane to its own.
---@param site table
---@param sample table<integer, integer> addresses by lane, of those that are active
---@return string svg
function M.memory_map(site, sample)
  local shared = site.space == SHARED
  local list, index = places_of(sample, shared and WORD or SECTOR, shared and BANKS or nil)
  local width, out = 800, {}
  local lane_step, place_step = width / 32, width / math.max(#list, 1)
  for lane = 0, 31 do
    local address = sample[lane]
    out[#out + 1] = rectangle(lane * lane_step + 1, 14, lane_step - 2, 14, address and "#3070b0" or "#dddddd",
      address and ("lane %d: byte %d"):format(lane, address) or ("lane %d is not active"):format(lane))
    if address then
      local place = math.floor(address / (shared and WORD or SECTOR))
      if shared then place = place % BANKS end
      out[#out + 1] = line((lane + 0.5) * lane_step, 28, (index[place] - 0.5) * place_step, 92, "#8090a0")
    end
  end
  for i, place in ipairs(list) do
    out[#out + 1] = rectangle((i - 1) * place_step + 1, 92, place_step - 2, 14, "#c06020",
      ("%s %d"):format(shared and "bank" or "sector", place))
  end
  out[#out + 1] = text(0, 10, "lanes 0 to 31")
  out[#out + 1] = text(0, 120, shared and ("%d of 32 banks"):format(#list)
    or ("%d sectors of 32 bytes, from number %d to %d"):format(#list, list[1] or 0, list[#list] or 0))
  return svg(width, 126, out)
end

-- An H100 SXM: 3.35 TB/s, 67 TFLOP/s in single precision (NVIDIA's data sheet).
local BANDWIDTH, PEAK = 3.35e12, 67e12

---The roofline of an H100 and where the kernel stands under it.
---@param r moonwarp.measured
---@return string svg
function M.roofline(r)
  local width, height, left, bottom = 640, 260, 60, 220
  local low, high = -3, 3 -- powers of ten of operations a byte
  local function x_of(intensity)
    local power = math.log(math.max(intensity, 10 ^ low)) / math.log(10)
    return left + (math.min(power, high) - low) / (high - low) * (width - left - 20)
  end
  local function y_of(rate)
    local power = math.log(math.max(rate, 1e9)) / math.log(10)
    return bottom - (power - 9) / 5 * (bottom - 20)
  end
  local ridge, intensity = PEAK / BANDWIDTH, r.total.bytes_moved > 0 and r.total.flops / r.total.bytes_moved or 0
  local out = {
    line(left, bottom, width - 20, bottom, "#444"), line(left, 20, left, bottom, "#444"),
    line(x_of(10 ^ low), y_of(BANDWIDTH * 10 ^ low), x_of(ridge), y_of(PEAK), "#3070b0"),
    line(x_of(ridge), y_of(PEAK), width - 20, y_of(PEAK), "#3070b0"),
    text(width - 24, y_of(PEAK) - 5, "67 TFLOP/s", "end"), text(left + 4, 16, "operations a second"),
    text(width - 24, bottom + 32, "operations a byte moved", "end"),
  }
  for power = low, high do
    out[#out + 1] = line(x_of(10 ^ power), bottom, x_of(10 ^ power), bottom + 4, "#444")
    out[#out + 1] = text(x_of(10 ^ power), bottom + 16, ("%g"):format(10 ^ power), "middle")
  end
  local reach = math.min(PEAK, BANDWIDTH * intensity)
  local x, y = x_of(intensity), y_of(reach)
  out[#out + 1] = ('<circle class="kernel" cx="%.1f" cy="%.1f" r="5" fill="#c06020"/>'):format(x, y)
  out[#out + 1] = text(x + 9, y + 14, ("%s: %.3g operations a byte, %s"):format(r.kernel, intensity,
    intensity < ridge and "limited by memory" or "limited by arithmetic"))
  return svg(width, height, out)
end

---Active lanes of the first warp at each basic block that it runs.
---@param r moonwarp.measured
---@return string svg
function M.timeline(r)
  local width, high = 800, 96
  local steps, out = #r.timeline, { rectangle(0, 0, width, high, "#f4f4f4") }
  for i, step in ipairs(r.timeline) do
    local lanes, first = step.lanes, nil
    for lane = 0, 32 do -- runs of active lanes are one rectangle
      local active = lanes % 2 == 1
      lanes = math.floor(lanes / 2)
      if active then
        first = first or lane
      elseif first then
        out[#out + 1] = ('<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="#3070b0"/>'):format(
          (i - 1) * width / steps, first * 3, width / steps, (lane - first) * 3)
        first = nil
      end
    end
  end
  out[#out + 1] = text(0, high + 14, ("lane 0 above, lane 31 below; %d basic blocks%s"):format(steps,
    steps == 512 and ", the first of more" or ""))
  return svg(width, high + 20, out)
end

return M
