-- Held-out kernels, for which nothing was tuned, compared with C with OpenMP, PoCL and Intel's OpenCL runtime:
--   luajit bench/held.lua [--rounds=N] [--peers=c,pocl,intel] [groups or names]
-- Each solution runs in a process of its own, alternately; the best of the rounds' medians counts, and a digest of the
-- result must agree. A group is a folder of bench/held. Ratios above 1 mean that moonwarp is faster.

package.path = "./?.lua;" .. package.path
local peers = require "bench.peers"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local rounds, which, chosen = 3, { "c", "pocl", "intel" }, {}
for _, word in ipairs(arg) do
  local count, list = word:match "^%-%-rounds=(%d+)$", word:match "^%-%-peers=(.*)$"
  if count then
    rounds = tonumber(count)
  elseif list then
    which = {}
    for peer in list:gmatch "%w+" do which[#which + 1] = peer end
  else
    chosen[#chosen + 1] = word
  end
end

-- The names of all held-out problems, or of those that were asked for.
local function names()
  local groups = problems.groups()
  if #chosen == 0 then
    for group in pairs(groups) do chosen[#chosen + 1] = group end
    table.sort(chosen)
  end
  local list = {}
  for _, word in ipairs(chosen) do
    for _, name in ipairs(groups[word] or { word }) do list[#list + 1] = name end
  end
  return list
end

local environment = { moonwarp = "MOONWARP_BACKGROUND=off ", c = "OMP_WAIT_POLICY=passive ", pocl = "", intel = "" }

local function solve(peer, name)
  local setting = environment[peer]
  if peer == "intel" then
    local command = peers.command "intel"
    if not command then return nil, "not installed" end
    setting = command:match "^(LD_LIBRARY_PATH=.- OCL_ICD_FILENAMES=%S+)" .. " "
  end
  local output = peers.capture(("%s%s bench/held/solve.lua %s %s 2>&1 || true"):format(setting, peers.interpreter, peer,
    name))
  local time, sum, scale = output:match "(%S+) (%S+) (%S+)\n$"
  if not tonumber(time) or not tonumber(scale) then return nil, output:gsub("%s+", " "):sub(1, 300) end
  return { time = tonumber(time), sum = tonumber(sum), scale = tonumber(scale) }
end

local report = sheet.new("kernel", "moonwarp ms", "C ms", "ratio", "PoCL ms", "ratio", "Intel ms", "ratio")
local order = { "c", "pocl", "intel" }
local means, reasons = {}, {}
for _, peer in ipairs(order) do means[peer] = { logs = 0, count = 0, least = math.huge } end

local function row(name)
  local best = {}
  for _ = 1, rounds do
    for _, peer in ipairs { "moonwarp", (table.unpack or unpack)(which) } do
      local solved, why = solve(peer, name)
      if not solved then
        reasons[#reasons + 1] = ("%s, %s: %s"):format(name, peer, why)
        if peer == "moonwarp" then return end
      elseif not best[peer] or solved.time < best[peer].time then
        best[peer] = solved
      end
    end
  end
  local own, cells = best.moonwarp, {}
  for _, peer in ipairs(order) do
    local other, mean = best[peer], means[peer]
    if not other then
      cells[#cells + 1], cells[#cells + 2] = "-", "-"
    elseif math.abs(other.sum - own.sum) > 1e-4 * own.scale then
      cells[#cells + 1], cells[#cells + 2] = ("%.3f"):format(other.time), "DIFFERS"
    else
      local ratio = other.time / own.time
      mean.logs, mean.count, mean.least = mean.logs + math.log(ratio), mean.count + 1, math.min(mean.least, ratio)
      cells[#cells + 1], cells[#cells + 2] = ("%.3f"):format(other.time), ("%.2f"):format(ratio)
    end
  end
  report:add(name, ("%.3f"):format(own.time), (table.unpack or unpack)(cells))
end

for _, name in ipairs(names()) do row(name) end
report:print()
for _, peer in ipairs(order) do
  local mean = means[peer]
  if mean.count > 0 then
    print(("%-6s geometric mean %.2f over %d, least %.2f"):format(peer, math.exp(mean.logs / mean.count), mean.count,
      mean.least))
  end
end
local seen = {}
for _, reason in ipairs(reasons) do
  if not seen[reason] then print(reason) end
  seen[reason] = true
end
