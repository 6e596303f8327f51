-- Communicators of MPI: groups of processes that exchange messages. Ranks count from 0, as MPI's do: they are names of
-- processes, not indices of a sequence.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local waiting = require "moonwarp.mpi.waiting"

local M = {}

---@class moonwarp.mpi_communicator a group of processes; mw.mpi.world() has all
---@field rank integer this process's, from 0
---@field size integer the number of ranks
local mpi_communicator = {}
M.methods = mpi_communicator
local metatable = { __name = "moonwarp.mpi_communicator", __index = mpi_communicator }
M.metatable = metatable

setmetatable(mpi_communicator, { __index = function(_, name)
  if type(name) ~= "string" then return nil end
  return raw.part("diagnostics.suggest").missing("a communicator", name, mpi_communicator)
end })

function metatable.__tostring(comm) return ("rank %d of %d"):format(comm.rank, comm.size) end

---@param handle userdata of the binding's
---@return moonwarp.mpi_communicator
function M.new(handle)
  local rank, size = raw.mpi_facts(handle)
  return setmetatable({ rank = rank, size = size, handle = handle, is_freed = false, inner = false }, metatable)
end

function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

---Raise unless a value is a rank of the communicator.
function M.check_rank(comm, rank, where, noun)
  if type(rank) == "number" and rank % 1 == 0 and rank >= 0 and rank < comm.size then return rank end
  return errors.usage("%s: %s is %s, and this communicator has the ranks 0 to %d", where, noun or "the rank",
    raw.describe(rank), comm.size - 1)
end

-- ---- agreement ----

M.checks = true -- whether collective operations are compared before they run

local function tell_difference(comm, what)
  local places, list = raw.mpi_compare(comm.handle, waiting.place(what)), {}
  for rank = 0, comm.size - 1 do list[rank + 1] = ("  rank %d: %s"):format(rank, places[rank + 1]) end
  raw.raise { kind = "usage", code = "cudaErrorInvalidValue",
    message = "the ranks call different collective operations\n" .. table.concat(list, "\n") }
end

---Wait until all ranks have come to an operation; an error on all of them if theirs differ.
---@param comm moonwarp.mpi_communicator
---@param what string the same on all ranks
---@param needed? boolean also if checks are off
function M.agree(comm, what, needed)
  if not M.checks and not needed then return end
  local agrees = raw.mpi_agree(comm.handle, what, waiting.MOMENT)
  if agrees == nil then
    waiting.wait(function(seconds)
      agrees = raw.mpi_agree(comm.handle, what, seconds)
      return agrees ~= nil
    end, function() return what end)
  end
  if not agrees then tell_difference(comm, what) end
end

-- ---- communicators from communicators ----

---Wait until all ranks have called it.
function mpi_communicator:barrier() M.agree(self, "barrier", true) end

---New communicators of the ranks that give the same color, ordered by key.
---@param color integer|"host"|nil nil: this rank is in none; "host": one for each machine
---@param key? integer the rank by default
---@return moonwarp.mpi_communicator? nil if color is
function mpi_communicator:split(color, key)
  local number = color == nil and -1 or color == "host" and -2 or color
  if type(number) ~= "number" or number % 1 ~= 0 or number < 0 and type(color) == "number" then
    errors.usage("comm:split: a color is a whole number from 0, \"host\" or nil, got %s", raw.describe(color))
  end
  M.agree(self, color == "host" and "split by host" or "split")
  local handle = raw.mpi_split(self.handle, number, key or self.rank)
  return handle and M.new(handle)
end

---A communicator of the same ranks, whose messages are apart from this one's.
---@return moonwarp.mpi_communicator
function mpi_communicator:dup()
  M.agree(self, "dup")
  return M.new(raw.mpi_dup(self.handle))
end

---Free the communicator, on all of its ranks.
function mpi_communicator:free()
  if self.is_freed then return end
  M.agree(self, "free")
  raw.mpi_free(self.handle)
  self.is_freed = true
end

---End all processes of the world with an exit status.
---@param status? integer 1 by default
function mpi_communicator:abort(status) raw.mpi_abort(self.handle, status or 1) end

return M
