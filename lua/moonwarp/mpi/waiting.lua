-- Waiting for other ranks, and for how long: what is not done after a moment is waited for in slices, between which the
-- library is told the script's line. So a deadlock is an error on every rank that names where each of them waits.

local raw = require "moonwarp.binding"

local M = {
  ---Seconds after which waiting is an error, whatever the others do; math.huge: never.
  limit = math.huge,
}

local SLICE = 0.02
M.MOMENT = 0.002 -- seconds that the binding waits before it returns to Lua

local function seconds_text(seconds) return ("%g s"):format(seconds) end

---"script.lua:12: receiving from rank 3"
---@param what string
---@return string
function M.place(what)
  local source, line = raw.caller()
  if not source then return what end
  source = source:gsub("^@", ""):gsub("\n.*", "")
  if #source > 120 then source = "…" .. source:sub(-110) end
  return ("%s:%d: %s"):format(source, line, what)
end

---Call done(seconds) until it returns something else than nil or false, which is returned.
---@param done fun(seconds: number): any
---@param describe fun(): string what is waited for
---@return any
function M.wait(done, describe)
  local began, where = raw.time(), M.place(describe())
  while true do
    local result = done(SLICE)
    if result ~= nil and result ~= false then return result end
    raw.mpi_watch(where)
    if raw.time() - began > M.limit then
      raw.raise { kind = "device", code = "cudaErrorLaunchTimeout",
        message = ("waited for more than %s (mw.mpi.limit): %s"):format(seconds_text(M.limit), where) }
    end
  end
end

---Wait for a request of the binding's.
---@param request userdata
---@param describe fun(): string
function M.request(request, describe)
  M.wait(function(seconds) return raw.mpi_wait(request, seconds) end, describe)
end

return M
