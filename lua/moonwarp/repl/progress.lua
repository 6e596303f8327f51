-- Progress of long work at the prompt: a line on the terminal that is replaced as the work goes on, and erased before
-- results are shown. Library code tells what it does by raw.progress(what, done, total), if that is there.

local raw = require "moonwarp.binding"

local M = {}

local PATIENCE, PAUSE = 1, 0.1 -- seconds of work before the first line, and between two

---Listen to the work of an input.
---@param write? fun(text: string) to the terminal; stderr by default
---@param clock? fun(): number seconds
---@return function finish erases the line
function M.begin(write, clock)
  write = write or function(text)
    io.stderr:write(text)
    io.stderr:flush()
  end
  clock = clock or raw.time
  local due, shown = clock() + PATIENCE, false
  -- done of total steps, which may be missing
  raw.progress = function(what, done, total)
    local now = clock()
    if now < due then return end
    due, shown = now + PAUSE, true
    local part = done and total and (": %d %%"):format(math.floor(100 * done / total)) or ""
    write("\r\27[K" .. (what .. part):sub(1, 78))
  end
  return function()
    raw.progress = nil
    if shown then write "\r\27[K" end
  end
end

return M
