-- Collective operations that do not wait: comm:iallreduce and the like return a request. All ranks begin them in the
-- same order, among the ones that wait too. They are compared and start once all ranks have begun them, so different
-- calls are an error of the request on every rank.
--
-- They are of arrays (reductions also of numbers), and every rank knows the ranks' counts beforehand. request:wait()
-- applies operators that MPI does not have to the arrays of all ranks, which are gathered.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"
local message = require "moonwarp.mpi.message"
local operands = require "moonwarp.mpi.operands"
local operators = require "moonwarp.mpi.operators"
local waiting = require "moonwarp.mpi.waiting"
local mw = require "moonwarp"

local mpi_communicator = communicators.methods
local check_rank = communicators.check_rank
local array_text, check_array = operands.array_text, operands.check_array
local packed, output = operands.packed, operands.output
local repeated, sum, kinds = operands.repeated, operands.sum, operands.kinds
local usage = errors.usage

-- complete(): what the request returns once it is done.
local function begin(comm, kind, call, what, complete, needed)
  local checks = communicators.checks or needed
  local handle = raw.mpi_begin(comm.handle, kind, call.from, call.into, call.operator or 0, call.root or 0,
    call.row or 1, call.send_rows, call.receive_rows, checks and what or nil, checks and waiting.place(what) or nil)
  return message.new_collective(handle, what, complete)
end

---Begin a barrier: the request is done when all ranks have begun it.
---@return moonwarp.mpi_request
function mpi_communicator:ibarrier()
  return begin(self, kinds.barrier, {}, "barrier", function() end, true)
end

---Begin to copy the root's array into the arrays of the other ranks.
---@param a moonwarp.array
---@param root? integer 0 by default
---@return moonwarp.mpi_request
function mpi_communicator:ibroadcast(a, root)
  root = check_rank(self, root or 0, "comm:ibroadcast", "the root")
  local row = packed(check_array(a, "comm:ibroadcast"))
  return begin(self, kinds.broadcast, { into = row, root = root },
    ("broadcast of %s from rank %d"):format(array_text(a), root), function()
      if row ~= a and self.rank ~= root then a:assign(row) end
      return a
    end)
end

-- ---- reductions ----

-- The rows from the first to the last, combined in this order.
local function combined(operator, rows, first, last)
  local total = rows[first]
  for i = first + 1, last do total = operators.combine(operator, total, rows[i]) end
  return total
end

-- By an operator that MPI does not have: the ranks that have a result gather the arrays of all.
local function gathered(comm, kind, operator, from, what, root, finish)
  local has_result = root == nil or root == comm.rank
  local rows = has_result and mw.empty(operands.stacked(comm.size, from.shape), from.dtype) or nil
  local call = { from = from, into = rows, root = root, row = from.count,
    receive_rows = root and rows and repeated(1, comm.size) or nil }
  return begin(comm, root and kinds.gather or kinds.allgather, call, what, function()
    if not has_result then return nil end
    if kind == kinds.exscan and comm.rank == 0 then return finish(mw.zeros(from.shape, from.dtype)) end
    local last = kind == kinds.scan and comm.rank + 1 or kind == kinds.exscan and comm.rank or comm.size
    local list = {}
    for i = 1, last do list[i] = rows[{ i, {} }]:reshape(from.shape) end
    return finish(combined(operator, list, 1, last))
  end)
end

local function reduction(comm, name, a, operation, root, options)
  local where, kind = "comm:i" .. name, kinds[name]
  local operator = operators.find(operation, where)
  local from, is_number = operands.given(a, where)
  local what = ("%s of %s by %s%s"):format(name, array_text(from), operator.name, root and " to rank " .. root or "")
  local out, close
  if root == nil or root == comm.rank then out, close = output(options, from.shape, from.dtype, where) end
  if not operators.is_native(operator, from) then
    return gathered(comm, kind, operator, from, what, root, function(total)
      out:assign(total)
      return operands.finished(operator, comm, close(out), is_number)
    end)
  end
  return begin(comm, kind, { from = from, into = out, operator = operator.number, root = root }, what, function()
    if not out then return nil end
    if kind == kinds.exscan and comm.rank == 0 then out:fill(0) end
    return operands.finished(operator, comm, close(out), is_number)
  end)
end

---Begin comm:allreduce. The array must not be written before the request is done.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:iallreduce(a, operation, options)
  return reduction(self, "allreduce", a, operation, nil, options)
end

---Begin comm:reduce.
---@param a moonwarp.array|number
---@param operation? string
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:ireduce(a, operation, root, options)
  root = check_rank(self, root or 0, "comm:ireduce", "the root")
  return reduction(self, "reduce", a, operation, root, options)
end

---Begin comm:scan.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:iscan(a, operation, options) return reduction(self, "scan", a, operation, nil, options) end

---Begin comm:exscan.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:iexscan(a, operation, options)
  return reduction(self, "exscan", a, operation, nil, options)
end

---Begin comm:reduce_scatter.
---@param a moonwarp.array of shape {size, …}
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:ireduce_scatter(a, operation, options)
  local where = "comm:ireduce_scatter"
  local operator = operators.find(operation, where)
  local from = packed(check_array(a, where))
  local shape = operands.row_shape(self, from, where)
  local what = ("reduce_scatter of %s by %s"):format(array_text(from), operator.name)
  local out, close = output(options, shape, from.dtype, where)
  if operators.is_native(operator, from) then
    return begin(self, kinds.reduce_scatter, { from = from, into = out, operator = operator.number,
      row = operands.row_count(from), send_rows = repeated(1, self.size) }, what, function()
      return operands.finished(operator, self, close(out))
    end)
  end
  local rows = mw.empty(from.shape, from.dtype)
  return begin(self, kinds.alltoall, { from = from, into = rows }, what, function()
    local list = {}
    for i = 1, self.size do list[i] = rows[{ i, {} }]:reshape(shape) end
    out:assign(combined(operator, list, 1, self.size))
    return operands.finished(operator, self, close(out))
  end)
end

-- ---- gathering ----

---Begin comm:gather of arrays.
---@param a moonwarp.array
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:igather(a, root, options)
  root = check_rank(self, root or 0, "comm:igather", "the root")
  local from, out, close = packed(check_array(a, "comm:igather")), nil, nil
  if self.rank == root then
    out, close = output(options, operands.stacked(self.size, a.shape), a.dtype, "comm:igather")
  end
  return begin(self, kinds.gather, { from = from, into = out, root = root, row = a.count,
    receive_rows = out and repeated(1, self.size) },
    ("gather of %s to rank %d"):format(array_text(a), root), function() return out and close(out) end)
end

---Begin comm:allgather of arrays.
---@param a moonwarp.array
---@param options? { out?: moonwarp.array }
---@return moonwarp.mpi_request
function mpi_communicator:iallgather(a, options)
  local from = packed(check_array(a, "comm:iallgather"))
  local out, close = output(options, operands.stacked(self.size, a.shape), a.dtype, "comm:iallgather")
  return begin(self, kinds.allgather, { from = from, into = out }, "allgather of " .. array_text(a), function()
    return close(out)
  end)
end

-- All ranks pass the counts; those that have a result get the joined array.
local function gather_rows(comm, name, a, counts, root)
  local where = "comm:i" .. name
  check_array(a, where)
  if type(counts) ~= "table" or #counts ~= comm.size or counts[comm.rank + 1] ~= a.shape[1] then
    usage("%s wants the rows of each of the %d ranks, and this rank's are %d", where, comm.size, a.shape[1])
  end
  local from = packed(a)
  local out = (root == nil or root == comm.rank) and mw.empty(operands.with_rows(a, sum(counts)), a.dtype) or nil
  return begin(comm, root and kinds.gather or kinds.allgather, { from = from, into = out, root = root,
    row = operands.row_elements(a), receive_rows = out and counts },
    ("%s of %s, %s%s"):format(name, operands.rows_text(a), table.concat(counts, " "),
      root and " to rank " .. root or ""), function() return out end)
end

---Begin comm:gatherv, with the rows of every rank.
---@param a moonwarp.array
---@param counts integer[] the same on all ranks
---@param root? integer 0 by default
---@return moonwarp.mpi_request
function mpi_communicator:igatherv(a, counts, root)
  return gather_rows(self, "gatherv", a, counts, check_rank(self, root or 0, "comm:igatherv", "the root"))
end

---Begin comm:allgatherv, with the rows of every rank.
---@param a moonwarp.array
---@param counts integer[] the same on all ranks
---@return moonwarp.mpi_request
function mpi_communicator:iallgatherv(a, counts) return gather_rows(self, "allgatherv", a, counts) end

-- ---- scattering ----

---Begin comm:scatter, into an array of this rank's.
---@param a? moonwarp.array of shape {size, …}; ignored at other ranks than the root
---@param out moonwarp.array
---@param root? integer 0 by default
---@return moonwarp.mpi_request
function mpi_communicator:iscatter(a, out, root)
  return self:iscatterv(a, repeated(1, self.size), out, root)
end

---Begin comm:scatterv, into an array of this rank's.
---@param a? moonwarp.array ignored at other ranks than the root, as counts is
---@param counts? integer[]
---@param out moonwarp.array
---@param root? integer 0 by default
---@return moonwarp.mpi_request
function mpi_communicator:iscatterv(a, counts, out, root)
  local where = "comm:iscatter"
  root = check_rank(self, root or 0, where, "the root")
  local is_root, row = self.rank == root, 1
  local into = packed(check_array(out, where .. ": out"))
  if is_root then
    operands.check_counts(self, counts, check_array(a, where), where)
    row = operands.row_elements(a)
    if a.dtype ~= out.dtype or row * counts[root + 1] ~= out.count then
      usage("%s: out is %s, and this rank's rows are %d of %s", where, array_text(out), counts[root + 1],
        operands.rows_text(a))
    end
  end
  return begin(self, kinds.scatter, { from = is_root and packed(a) or nil, into = into, root = root, row = row,
    send_rows = is_root and counts or nil },
    ("scatter of %s from rank %d"):format(tostring(out.dtype), root), function()
      if into ~= out then out:assign(into) end
      return out
    end)
end

-- ---- all to all ----

---Begin comm:alltoall.
---@param a moonwarp.array of shape {size, …}
---@param options? { out?: moonwarp.array } not a itself
---@return moonwarp.mpi_request
function mpi_communicator:ialltoall(a, options)
  local where = "comm:ialltoall"
  operands.row_shape(self, check_array(a, where), where)
  local out, close = output(options, a.shape, a.dtype, where)
  if rawequal(out, a) then usage("%s: out is the array itself; pass another one", where) end
  return begin(self, kinds.alltoall, { from = packed(a), into = out }, "alltoall of " .. array_text(a), function()
    return close(out)
  end)
end

---Begin comm:alltoallv, with the rows that come from every rank.
---@param a moonwarp.array
---@param counts integer[] rows for each rank
---@param received integer[] rows from each rank
---@return moonwarp.mpi_request
function mpi_communicator:ialltoallv(a, counts, received)
  local where = "comm:ialltoallv"
  operands.check_counts(self, counts, check_array(a, where), where)
  if type(received) ~= "table" or #received ~= self.size then
    usage("%s wants the rows from each of the %d ranks, got %s", where, self.size, raw.describe(received))
  end
  local out = mw.empty(operands.with_rows(a, sum(received)), a.dtype)
  return begin(self, kinds.alltoall, { from = packed(a), into = out, row = operands.row_elements(a), send_rows = counts,
    receive_rows = received }, "alltoallv of " .. operands.rows_text(a), function() return out end)
end

return mpi_communicator
