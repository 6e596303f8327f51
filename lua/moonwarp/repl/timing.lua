-- time(expression) at the prompt: the duration of the first run, with compilation, and then of later runs.

local raw = require "moonwarp.binding"

local M = {}

local SPAN, MOST = 0.25, 1000 -- the most seconds and runs of the repetition

-- One run, including the work that it started.
local function run(f)
  local start = raw.time()
  f()
  raw.synchronize()
  return raw.time() - start
end

---"2.5 ms"; a number that would round to 1000 of a unit is 1 of the next
---@param seconds number
---@return string
function M.duration(seconds)
  for _, unit in ipairs { { 1, "s" }, { 1e-3, "ms" }, { 1e-6, "us" } } do
    if seconds >= 0.9995 * unit[1] then return ("%.3g %s"):format(seconds / unit[1], unit[2]) end
  end
  return ("%.3g us"):format(seconds * 1e6)
end

---A text that says how long a function takes.
---@param f function
---@return string
function M.tell(f)
  local compiled = raw.compile_seconds()
  local first = run(f)
  compiled = raw.compile_seconds() - compiled
  local words = "first run " .. M.duration(first)
  if compiled > 0 then words = words .. (" (%s of it compiling)"):format(M.duration(compiled)) end
  local times, spent = {}, 0
  while #times < MOST and (spent < SPAN or #times < 1) and first - compiled < 4 * SPAN do
    local again = raw.compile_seconds()
    local seconds = run(f)
    spent = spent + seconds
    if raw.compile_seconds() == again then times[#times + 1] = seconds end -- skip runs in which something was compiled
  end
  if #times == 0 then return words end
  table.sort(times)
  return ("%s, then %s (median of %d; the fastest %s)"):format(words, M.duration(times[math.ceil(#times / 2)]), #times,
    M.duration(times[1]))
end

return M
