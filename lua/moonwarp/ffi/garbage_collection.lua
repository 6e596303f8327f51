-- Accounting of device memory for Lua's garbage collector, as described in src/lua/garbage_collection.c.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local device = require "moonwarp.ffi.device"

local M = {
  live = 0, -- bytes of device memory that this state's arrays hold
  freed = 0, -- bytes that scripts freed and have not allocated again
}

local BASE = 32 * 1024 * 1024
local PART = 32 -- of a GPU's memory
local CYCLE = 3 -- the work of a full collection, in Lua heaps

local ASK = 64 -- allocations until Lua's memory is looked up again, which takes longer than the rest of M.step
local LEAST = 16 -- KiB of a step, which costs more than it gains if it is smaller

-- The collector's work that allocations have requested but not received, in full collections; Lua's memory in KiB; and
-- the allocations since it was looked up.
local owed, heap, asked = 0, 0, ASK

local function collect_owed()
  heap, asked = collectgarbage("count"), 0
  if owed * heap < LEAST then return end
  local step = math.min(owed * heap, 1e9)
  owed = 0
  -- A collector that the script stopped stays stopped.
  if collectgarbage("isrunning") then collectgarbage("step", step) end
end

---Before an allocation of `bytes` of device memory: do a share of a collection. May run finalizers.
---@param bytes number
function M.step(bytes)
  local replaced = math.min(bytes, M.freed)
  M.freed = M.freed - replaced
  if bytes > replaced then
    owed = owed + math.min((bytes - replaced) / math.max(M.live, BASE, device.most_memory / PART), 1) * CYCLE
  end
  asked = asked + 1
  if owed * heap >= LEAST or asked >= ASK then collect_owed() end
end

---After an allocation failed: free what can be freed. True if it is worth trying again; `attempt` counts from 0.
---@param where ffi.cdata* a device
---@param attempt integer
---@return boolean
function M.all(where, attempt)
  local failure = C.mw_error_last()
  -- A failed compilation: the compiler is another process, which gains nothing from a collection.
  if attempt > 1 or (failure ~= nil and ffi.string(failure.kind) == "compile") then return false end
  -- First free unreachable objects; then also wait for memory that only work in flight holds.
  if attempt == 1 then device.settle(where) end
  collectgarbage()
  collectgarbage() -- objects that finalizers of the first collection released
  return true
end

---Call `try` (a function that returns a result code), whose last call returned `code`, while it fails for want of
---memory that collecting gives.
---@param where ffi.cdata* a device
---@param code integer
---@param try function
---@return integer code
function M.again(where, code, try)
  local round = 0
  while code == 2 and M.all(where, round) do -- MW_MEMORY_ALLOCATION
    code, round = try(), round + 1
  end
  return code
end

---The same from the first call on.
---@param where ffi.cdata* a device
---@param try function
---@return integer code
function M.retry(where, try) return M.again(where, try(), try) end

return M
