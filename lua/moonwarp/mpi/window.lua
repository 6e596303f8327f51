-- Windows: arrays of each rank that the other ranks read and write, without a call of the rank that has them.
--
-- Accesses happen in epochs: between fences of all ranks, while a rank is locked, or between start and complete, to
-- ranks that post. They are done when the epoch ends or is flushed; until then their arrays must not be written (or, of
-- a get, read). Elements count from 1, in the row order of the target's array.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"
local operands = require "moonwarp.mpi.operands"
local operators = require "moonwarp.mpi.operators"
local waiting = require "moonwarp.mpi.waiting"
local mw = require "moonwarp"

local usage = errors.usage

local mpi_communicator = communicators.methods

---@class moonwarp.mpi_window a window; made by comm:window
---@field array moonwarp.array this rank's
---@field comm moonwarp.mpi_communicator
local mpi_window = {}
local metatable = { __index = mpi_window, __name = "moonwarp.mpi_window" }

function metatable.__tostring(window)
  return ("window of %s on %s"):format(operands.array_text(window.array), tostring(window.comm))
end

-- mw_mpi_access_kind, mw_mpi_epoch
local PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP, COMPARE_AND_SWAP = 0, 1, 2, 3, 4, 5
local FENCE, LAST_FENCE, LOCK_SHARED, LOCK_EXCLUSIVE, UNLOCK, LOCK_ALL = 0, 1, 2, 3, 4, 5
local UNLOCK_ALL, FLUSH, START, COMPLETE, POST, TEST = 6, 7, 8, 9, 10, 11

---Make a window of an array of each rank, on all of them; the lengths may differ. The array is kept until
---window:free(), even if it is freed before.
---@param array moonwarp.array contiguous, in memory that MPI reads
---@return moonwarp.mpi_window
function mpi_communicator:window(array)
  operands.check_array(array, "comm:window")
  if not array.is_contiguous then
    usage "comm:window: this is a strided view, which is not one piece of memory; write comm:window(a:contiguous())"
  end
  communicators.agree(self, "window of " .. tostring(array.dtype), true)
  return setmetatable({ array = array, comm = self, handle = raw.mpi_window_new(self.handle, array), late = {} },
    metatable)
end

---Free the window, on all ranks. What was begun is done then.
function mpi_window:free()
  if not self.handle then return end
  communicators.agree(self.comm, "free of a window", true)
  raw.mpi_window_free(self.handle)
  self.handle = nil
end

local function open_handle(window)
  return window.handle or usage "this window was freed"
end

-- ---- accesses ----

local function check_target(window, rank, first, where)
  communicators.check_rank(window.comm, rank, where)
  first = first or 1
  if type(first) ~= "number" or first % 1 ~= 0 or first < 1 then
    usage("%s: the first element is %s; elements count from 1", where, raw.describe(first))
  end
  return first - 1
end

-- An array as MPI takes it; a number is an array of one element.
local function given(window, a, where)
  if type(a) == "number" then return mw.array({ a }, window.array.dtype) end
  return operands.packed(operands.check_array(a, where))
end

-- MPI's number of an operator.
local function number_of(operation, where)
  if operation == "replace" then return 10 end
  if operation == "no_op" then return 11 end
  local operator = operators.find(operation, where)
  if operator.number and not operator.mean then return operator.number end
  return usage("%s: the operation is one of sum, product, max, min, all, any, xor, band, bor, bxor, replace, no_op; "
    .. "got %q", where, operation)
end

-- The array that MPI writes for `a`, which is assigned to a view at the end of the epoch.
local function target(window, a, rank, where)
  operands.check_array(a, where)
  if a.is_contiguous then return a end
  local made = mw.empty(a.shape, a.dtype)
  window.late[#window.late + 1] = { rank = rank, into = a, made = made }
  return made
end

local function access(window, kind, operation, rank, first, origin, result, compare)
  raw.mpi_window_access(open_handle(window), kind, operation, rank, first, origin, result, compare)
end

---Write an array, or a number, into another rank's array.
---@param a moonwarp.array|number
---@param rank integer
---@param first? integer the first element there, 1 by default
function mpi_window:put(a, rank, first)
  first = check_target(self, rank, first, "win:put")
  access(self, PUT, 0, rank, first, given(self, a, "win:put"))
end

---Read elements of another rank's array into an array, whose contents are there after the epoch.
---@param into moonwarp.array
---@param rank integer
---@param first? integer 1 by default
---@return moonwarp.array into
function mpi_window:get(into, rank, first)
  first = check_target(self, rank, first, "win:get")
  access(self, GET, 0, rank, first, nil, target(self, into, rank, "win:get"))
  return into
end

---Combine an array with another rank's, element by element. Accumulations of an element do not interfere.
---@param a moonwarp.array|number
---@param rank integer
---@param operation? string "sum" by default; "product", "max", "min", "all", "any", "xor", "band", "bor", "bxor",
---"replace"
---@param first? integer 1 by default
function mpi_window:accumulate(a, rank, operation, first)
  local where = "win:accumulate"
  first = check_target(self, rank, first, where)
  access(self, ACCUMULATE, number_of(operation, where), rank, first, given(self, a, where))
end

---The same; `into` receives the elements from before. The operation "no_op" only reads.
---@param a moonwarp.array|number
---@param into moonwarp.array
---@param rank integer
---@param operation? string
---@param first? integer
---@return moonwarp.array into
function mpi_window:get_accumulate(a, into, rank, operation, first)
  local where = "win:get_accumulate"
  first = check_target(self, rank, first, where)
  access(self, GET_ACCUMULATE, number_of(operation, where), rank, first, given(self, a, where),
    target(self, into, rank, where))
  return into
end

-- What one access of one element read, which needs a lock to be waited for.
local function fetched(window, kind, operation, rank, first, value, compare)
  local dtype = window.array.dtype
  local result = mw.empty(1, dtype)
  access(window, kind, operation, rank, first, mw.array({ value }, dtype), result,
    compare and mw.array({ compare }, dtype) or nil)
  window:flush(rank)
  return result[1]
end

---Combine a number with one element of another rank's array, which is locked, and return the element from before.
---@param value number
---@param rank integer
---@param operation? string "sum" by default
---@param first? integer which element, 1 by default
---@return number
function mpi_window:fetch_and_op(value, rank, operation, first)
  first = check_target(self, rank, first, "win:fetch_and_op")
  return fetched(self, FETCH_AND_OP, number_of(operation, "win:fetch_and_op"), rank, first, value)
end

---Write an integer to one element of another rank's array, which is locked, if the element is `compare`. Returns the
---element from before.
---@param compare integer
---@param value integer
---@param rank integer
---@param first? integer which element, 1 by default
---@return integer
function mpi_window:compare_and_swap(compare, value, rank, first)
  first = check_target(self, rank, first, "win:compare_and_swap")
  return fetched(self, COMPARE_AND_SWAP, 0, rank, first, value, compare)
end

-- ---- epochs ----

local function assign_late(window, rank)
  local left = {}
  for _, one in ipairs(window.late) do
    if rank == nil or one.rank == rank then one.into:assign(one.made) else left[#left + 1] = one end
  end
  window.late = left
end

local function epoch(window, what, ranks, completed)
  raw.mpi_window_epoch(open_handle(window), what, ranks, 0)
  if completed then assign_late(window, completed ~= "all" and completed or nil) end
end

-- An epoch that waits for other ranks.
local function enter(window, what, ranks, describe)
  local handle = open_handle(window)
  if raw.mpi_window_epoch(handle, what, ranks, waiting.MOMENT) then return end
  waiting.wait(function(seconds) return raw.mpi_window_epoch(handle, what, ranks, seconds) end, describe)
end

---End the epoch that the last fence began, and begin the next one, on all ranks.
---@param is_last? boolean do not begin another one, so that ranks may be locked afterwards
function mpi_window:fence(is_last)
  open_handle(self)
  communicators.agree(self.comm, is_last and "last fence of a window" or "fence of a window")
  epoch(self, is_last and LAST_FENCE or FENCE, nil, "all")
end

---Lock another rank's array, for accesses until win:unlock(rank).
---@param rank integer
---@param kind? "exclusive"|"shared" exclusive by default: nobody else accesses it meanwhile
function mpi_window:lock(rank, kind)
  communicators.check_rank(self.comm, rank, "win:lock")
  if kind ~= nil and kind ~= "exclusive" and kind ~= "shared" then
    usage('win:lock: a lock is "exclusive" or "shared", got %s', raw.describe(kind))
  end
  enter(self, kind == "shared" and LOCK_SHARED or LOCK_EXCLUSIVE, { rank },
    function() return ("locking rank %d's array of a window"):format(rank) end)
end

---Unlock the rank's array. What was begun there is done.
---@param rank integer
function mpi_window:unlock(rank)
  communicators.check_rank(self.comm, rank, "win:unlock")
  epoch(self, UNLOCK, { rank }, rank)
end

---Lock the arrays of all ranks, shared, until win:unlock_all().
function mpi_window:lock_all()
  enter(self, LOCK_ALL, nil, function() return "locking all arrays of a window" end)
end

---Unlock the arrays of all ranks. What was begun is done.
function mpi_window:unlock_all() epoch(self, UNLOCK_ALL, nil, "all") end

---Wait for what was begun on a rank that is locked, or on all.
---@param rank? integer
function mpi_window:flush(rank)
  if rank ~= nil then communicators.check_rank(self.comm, rank, "win:flush") end
  epoch(self, FLUSH, rank and { rank } or nil, rank or "all")
end

local function check_ranks(window, ranks, where)
  if type(ranks) ~= "table" then usage("%s wants a list of ranks, got %s", where, raw.describe(ranks)) end
  for _, rank in ipairs(ranks) do communicators.check_rank(window.comm, rank, where) end
  return ranks
end

---Begin accesses to ranks that post, which ends with win:complete().
---@param ranks integer[]
function mpi_window:start(ranks)
  enter(self, START, check_ranks(self, ranks, "win:start"),
    function() return "starting accesses to ranks that have not posted" end)
end

---End the accesses since win:start. They are done.
function mpi_window:complete() epoch(self, COMPLETE, nil, "all") end

---Let ranks that start access this rank's array, until win:wait() returns.
---@param ranks integer[]
function mpi_window:post(ranks) epoch(self, POST, check_ranks(self, ranks, "win:post")) end

---Whether the ranks of win:post have completed; that ends it.
---@return boolean
function mpi_window:test() return raw.mpi_window_epoch(open_handle(self), TEST, nil, 0) end

---Wait until the ranks of win:post have completed.
function mpi_window:wait()
  enter(self, TEST, nil, function() return "waiting for accesses to a window" end)
end

return mpi_window
