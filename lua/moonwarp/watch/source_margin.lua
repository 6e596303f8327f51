-- A measured run as text: the kernel's source with a margin of counts, and a sentence after each line that takes more
-- than twice the least possible.

local raw = require "moonwarp.binding"
local advice = require "moonwarp.watch.advice"

local M = {}

local ESC = "\27["

---The lines of the source that the run's figures are of: { number =, text =, figures = or nil }, from the first that
---was executed to the last.
---@param r moonwarp.measured
---@return table[]
function M.lines(r)
  local first, last = r.line, r.line
  for n in pairs(r.lines) do first, last = math.min(first, n), math.max(last, n) end
  local source, out = r.text, {}
  local n = source and source.line or 1
  for text in ((source and source.text or "") .. "\n"):gmatch "([^\n]*)\n" do
    if n >= first and n <= last then out[#out + 1] = { number = n, text = text, figures = r.lines[n] } end
    n = n + 1
  end
  return out
end

local function count(number)
  if not number or number == 0 then return "" end
  if number < 1e5 then return ("%d"):format(number) end
  if number < 1e8 then return ("%.0fk"):format(number / 1e3) end
  return ("%.0fM"):format(number / 1e6)
end

local function against(number, least)
  if number == 0 then return "" end
  return count(number) .. "/" .. count(least)
end

local function margin(f)
  if not f then return (" "):rep(56) end
  return ("%8s %5s %15s %15s %9s"):format(count(f.instructions),
    f.instructions > 0 and ("%.1f"):format(f.active_lanes) or "",
    against(f.global_load_sectors + f.global_store_sectors, f.global_load_ideal_sectors + f.global_store_ideal_sectors),
    against(f.shared_load_wavefronts + f.shared_store_wavefronts,
      f.shared_load_ideal_wavefronts + f.shared_store_ideal_wavefronts),
    against(f.divergent_branches, f.branches))
end

local function wrapped(text, width, indent)
  local lines, line = {}, ""
  for word in text:gmatch "%S+" do
    if #line + #word + 1 > width and line ~= "" then lines[#lines + 1], line = line, "" end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return indent .. table.concat(lines, "\n" .. indent)
end

---The run as text.
---@param r moonwarp.measured
---@param colour boolean
---@return string
function M.text(r, colour)
  local out = {
    ("%s, grid %d x %d x %d, block %d x %d x %d: %d blocks on a multiprocessor, %.0f %% of its warps, limited by %s")
      :format(r.kernel, r.grid.x, r.grid.y, r.grid.z, r.block.x, r.block.y, r.block.z, r.occupancy.blocks,
      100 * r.occupancy.occupancy, r.occupancy.limited_by),
    ("%8s %5s %15s %15s %9s"):format("instr.", "lanes", "sectors/least", "passes/least", "diverg."),
  }
  for _, line in ipairs(M.lines(r)) do
    local ratio, sentence = 1, nil
    if line.figures then ratio, sentence = advice.judge(line.figures) end
    local text = ("%s %4d  %s"):format(margin(line.figures), line.number, line.text)
    if colour and ratio > 2 then text = ESC .. "31m" .. text .. ESC .. "0m" end
    out[#out + 1] = text
    if sentence then out[#out + 1] = wrapped(sentence, 90, "       ^ ") end
  end
  out[#out + 1] = tostring(r)
  return table.concat(out, "\n") .. "\n"
end

---Print it; colours only on terminals, unless options.colour says.
function M.show(r, options)
  local colour = options and options.colour
  if colour == nil then colour = raw.part("show.terminal").graphics() ~= "text" end
  local text = M.text(r, colour)
  io.write(text)
  return text
end

return M
