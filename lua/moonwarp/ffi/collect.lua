-- Lets Lua's collector take account of device memory; src/lua/collect.c explains why and how.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local device = require "moonwarp.ffi.device"

local M = {
  live = 0, -- bytes of device memory that this state's arrays hold
  freed = 0, -- bytes that scripts freed and have not allocated again
}

local BASE = 32 * 1024 * 1024
local PART = 128 -- of a GPU's memory
local CYCLE = 3 -- steps worth about three times the Lua heap make a collection

local owed = 0 -- KiB of collector work that allocations have requested but not received

---Before allocating `bytes` of device memory: let the collector do its share of work. May run finalizers.
---@param bytes number
function M.step(bytes)
  local replaced = math.min(bytes, M.freed)
  M.freed = M.freed - replaced
  local span = math.max(M.live, BASE, device.most_memory / PART)
  owed = owed + math.min((bytes - replaced) / span, 1) * CYCLE * collectgarbage("count")
  -- Below a few KiB a step costs more than it does. A collector that the script stopped stays stopped.
  if owed < 16 then return end
  local step = math.min(owed, 1e9)
  owed = 0
  if collectgarbage("isrunning") then collectgarbage("step", step) end
end

---After an allocation failed: free what can be freed. True if it is worth trying again; `round` counts from 0.
---@param where ffi.cdata* a device
---@param round integer
---@return boolean
function M.all(where, round)
  local failure = C.mw_error_last()
  -- The compiler's memory is another process's: collecting gives it none.
  if round > 1 or (failure ~= nil and ffi.string(failure.kind) == "compile") then return false end
  -- First what Lua no longer reaches; then also what only work in flight still holds.
  if round == 1 then device.settle(where) end
  collectgarbage()
  collectgarbage() -- objects that the first one's finalizers let go of
  return true
end

---Call `try` (a function that returns a result code) until it does not fail for want of memory that collecting gives.
---@param where ffi.cdata* a device
---@param try function
---@return integer code
function M.retry(where, try)
  local code, round = try(), 0
  while code == 2 and M.all(where, round) do -- MW_MEMORY_ALLOCATION
    code, round = try(), round + 1
  end
  return code
end

return M
