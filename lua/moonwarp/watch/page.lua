-- A measured run as one self-contained HTML page: the source as a heat map, the memory map of a warp's accesses, a
-- roofline, and the divergence of the first warp over time. It has neither scripts nor links.

local drawings = require "moonwarp.watch.drawings"
local advice = require "moonwarp.watch.advice"
local margin = require "moonwarp.watch.source_margin"

local M = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escape(text) return (tostring(text):gsub('[&<>"]', escapes)) end

local STYLE = [[
body { font: 14px/1.45 sans-serif; margin: 2em auto; max-width: 72em; color: #222; background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin: 1.6em 0 .4em }
table { border-collapse: collapse; width: 100% } th { text-align: right; font-weight: 600; color: #555 }
td { text-align: right; padding: 0 .6em; white-space: nowrap } th { padding: 0 .6em }
td.code, th.code { text-align: left; font-family: monospace; white-space: pre; width: 100% }
tr.advice td { text-align: left; white-space: normal; color: #a02010; padding-bottom: .4em }
figure { margin: 0 0 1.2em } figcaption { color: #555 } svg { max-width: 100%; height: auto }
]]

-- From white at the ideal to red at eight times it and beyond.
local function heat(ratio)
  local level = math.min(1, math.max(0, math.log(ratio) / math.log(8)))
  return ("#ff%02x%02x"):format(math.floor(255 - 90 * level), math.floor(255 - 110 * level))
end

local function cell(number) return ("<td>%s</td>"):format(number ~= 0 and ("%d"):format(number) or "") end

local function pair(number, least)
  return ("<td>%s</td>"):format(number ~= 0 and ("%d / %d"):format(number, least) or "")
end

local function source_table(r)
  local out = { "<table class=\"source\"><tr><th>instructions</th><th>lanes</th><th>sectors / least</th>",
    "<th>passes / least</th><th>divergent</th><th>line</th><th class=\"code\">source</th></tr>" }
  for _, line in ipairs(margin.lines(r)) do
    local f, ratio, sentence = line.figures, 1, nil
    if f then ratio, sentence = advice.judge(f) end
    out[#out + 1] = ('<tr style="background:%s">'):format(heat(ratio))
    if f then
      out[#out + 1] = cell(f.instructions) .. ("<td>%.1f</td>"):format(f.active_lanes)
        .. pair(f.global_load_sectors + f.global_store_sectors,
          f.global_load_ideal_sectors + f.global_store_ideal_sectors)
        .. pair(f.shared_load_wavefronts + f.shared_store_wavefronts,
          f.shared_load_ideal_wavefronts + f.shared_store_ideal_wavefronts)
        .. pair(f.divergent_branches, f.branches)
    else
      out[#out + 1] = ("<td></td>"):rep(5)
    end
    out[#out + 1] = ('<td>%d</td><td class="code">%s</td></tr>'):format(line.number, escape(line.text))
    if sentence then
      out[#out + 1] = ('<tr class="advice"><td colspan="6"></td><td>%s</td></tr>'):format(escape(sentence))
    end
  end
  out[#out + 1] = "</table>"
  return table.concat(out, "\n")
end

local function figure(svg, caption)
  return ("<figure>%s<figcaption>%s</figcaption></figure>"):format(svg, escape(caption))
end

local function memory_maps(r)
  local out = {}
  for _, site in ipairs(r.sites) do
    local sample = r.samples[site.number]
    if sample and site.kind <= 3 and site.requests > 0 then
      out[#out + 1] = figure(drawings.memory_map(site, sample), drawings.describe(site))
    end
  end
  return table.concat(out, "\n")
end

---The page's text.
---@param r moonwarp.measured
---@return string
function M.text(r)
  local title = ("%s, grid %d × %d × %d, block %d × %d × %d"):format(r.kernel, r.grid.x, r.grid.y, r.grid.z, r.block.x,
    r.block.y, r.block.z)
  return table.concat({
    "<!DOCTYPE html>", '<html lang="en"><head><meta charset="utf-8">',
    ("<title>%s</title><style>\n%s</style></head><body>"):format(escape(title), STYLE),
    ("<h1>%s</h1>"):format(escape(title)),
    ("<p>%s.</p>"):format(escape(tostring(r))),
    ("<p>A multiprocessor holds %d blocks at once, %.0f %% of its warps; the limit is %s.</p>"):format(
      r.occupancy.blocks, 100 * r.occupancy.occupancy, escape(r.occupancy.limited_by)),
    "<h2>Source</h2>", source_table(r),
    "<h2>Memory, as the first warp to come there accesses it</h2>", memory_maps(r),
    "<h2>Roofline</h2>",
    figure(drawings.roofline(r), "operations a byte moved, and the share of an H100's peak that they allow at most"),
    "<h2>Divergence</h2>",
    figure(drawings.timeline(r), "active lanes of the first warp, basic block after basic block"),
    "</body></html>", "",
  }, "\n")
end

---Write the page.
---@param r moonwarp.measured
---@param path string
function M.write(r, path)
  local file, why = io.open(path, "wb")
  if not file then
    require("moonwarp.diagnostics.error").usage("r:html: %s", why)
    return
  end
  file:write(M.text(r))
  file:close()
end

return M
