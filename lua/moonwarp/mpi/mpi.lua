-- mw.mpi: the same script in many processes, on one machine or on many. moonwarp run, or mpirun, starts them.

local raw = require "moonwarp.binding"
local communicators = require "moonwarp.mpi.communicator"
local message = require "moonwarp.mpi.message"
local waiting = require "moonwarp.mpi.waiting"
require "moonwarp.mpi.collective"
require "moonwarp.mpi.nonblocking"
require "moonwarp.mpi.window"
require "moonwarp.mpi.file"
require "moonwarp.mpi.grid"

local mpi = {}

local world

---All processes that run this script. A script that was started alone is a world of one rank. The first call
---initialises MPI; an error if there is no MPI library.
---@return moonwarp.mpi_communicator
function mpi.world()
  if not world then world = communicators.new(raw.mpi_world()) end
  return world
end

---Wait for all requests of a list.
---@param requests moonwarp.mpi_request[]
function mpi.wait(requests) message.wait_all(requests) end

---Set after how many seconds of waiting for other ranks an error is raised; deadlocks are errors at once. No limit by
---default. Returns the limit until now.
---@param seconds? number math.huge or 0: none
---@return number
function mpi.limit(seconds)
  local before = waiting.limit
  if seconds then waiting.limit = seconds > 0 and seconds or math.huge end
  return before
end

---Whether collective operations are compared before they run, so that ranks which call different ones get an error; on
---by default. It costs a small reduction for each. All ranks have to set the same.
---@param on? boolean
---@return boolean
function mpi.check(on)
  local before = communicators.checks
  if on ~= nil then communicators.checks = on end
  return before
end

---Which MPI library there is, and what it does with the memory of GPUs; or why there is none.
---@return string
function mpi.report() return (raw.mpi_report():gsub("\n$", "")) end

---Whether an MPI library is found; nil and the reason if not.
---@return boolean?
---@return string? reason
function mpi.available()
  local text = mpi.report()
  if text:find "^MPI: not found" then return nil, text:gsub("^MPI: ", "") end
  return true
end

return mpi
