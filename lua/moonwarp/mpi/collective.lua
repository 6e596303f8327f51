-- Collective operations: methods of communicators that all ranks call. They are compared before they run (M.agree), so
-- that different calls are an error on every rank.
--
-- An array's part of each rank is a row of an array of shape {size, …}; row r + 1 is rank r's. The forms that end in v
-- are of parts with different first axes, one after the other along it.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"
local operands = require "moonwarp.mpi.operands"
local operators = require "moonwarp.mpi.operators"
local value = require "moonwarp.mpi.value"
local mw = require "moonwarp"

local mpi_communicator = communicators.methods
local agree, check_rank = communicators.agree, communicators.check_rank
local usage = errors.usage
local is_array, array_text, check_array, packed = operands.is_array, operands.array_text, operands.check_array,
  operands.packed
local output, given, finished = operands.output, operands.given, operands.finished
local row_shape, row_elements = operands.row_shape, operands.row_elements
local repeated, sum, kinds = operands.repeated, operands.sum, operands.kinds

local function collect(comm, kind, call)
  raw.mpi_collect(comm.handle, kind, call.from, call.into, call.operator or 0, call.root or 0, call.row or 1,
    call.send_rows, call.receive_rows)
end

-- Messages of operations that are not MPI's own, apart from the script's.
local function inner(comm)
  if not comm.inner then comm.inner = communicators.new(raw.mpi_dup(comm.handle)) end
  return comm.inner
end

-- ---- broadcast ----

---Copy the root's array into the arrays of the other ranks. Any other value: the root passes it, the others nil, and it
---is returned on all ranks.
---@param what any
---@param root? integer 0 by default
---@return any the array, or the value
function mpi_communicator:broadcast(what, root)
  root = check_rank(self, root or 0, "comm:broadcast", "the root")
  if not is_array(what) then
    agree(self, ("broadcast of a value from rank %d"):format(root))
    local bytes = self.rank == root and value.write(what) or ""
    local size = mw.array({ #bytes }, "double")
    collect(self, kinds.broadcast, { into = size, root = root })
    local all = self.rank == root and mw.from_bytes(bytes, "uchar") or mw.empty(size[1], "uchar")
    collect(self, kinds.broadcast, { into = all, root = root })
    if self.rank == root then return what end
    return value.read(all:bytes())
  end
  agree(self, ("broadcast of %s from rank %d"):format(array_text(what), root))
  local row = what.is_contiguous and what or what:copy()
  collect(self, kinds.broadcast, { into = row, root = root })
  if row ~= what and self.rank ~= root then what:assign(row) end
  return what
end

-- ---- reductions ----

local function reduction(comm, name, kind, a, operation, root, options)
  local where = "comm:" .. name
  local operator = operators.find(operation, where)
  local from, is_number = given(a, where)
  agree(comm, ("%s of %s by %s%s"):format(name, array_text(from), operator.name,
    root and " to rank " .. root or ""))
  local has_result = root == nil or root == comm.rank
  local out, close
  if has_result then out, close = output(options, from.shape, from.dtype, where) end
  if kind == kinds.exscan and comm.rank == 0 then out:fill(0) end
  if operators.is_native(operator, from) then
    collect(comm, kind, { from = from, into = out, operator = operator.number, root = root })
    if kind == kinds.exscan and comm.rank == 0 then out:fill(0) end
  elseif kind == kinds.reduce or kind == kinds.allreduce then
    operators.reduce(inner(comm), operator, from, out, root)
  else
    operators.scan(inner(comm), operator, from, out, kind == kinds.exscan)
  end
  return has_result and finished(operator, comm, close(out), is_number) or nil
end

---Reduce the arrays of all ranks, element by element; every rank gets the result.
---@param a moonwarp.array|number a number gives a number
---@param operation? string "sum" (the default), "product", "max", "min", "mean", "all", "any", "xor", "band", "bor",
---"bxor", or an expression of a and b in CUDA C, such as "fmaxf(a, b)"
---@param options? { out?: moonwarp.array } out may be a itself
---@return moonwarp.array|number
function mpi_communicator:allreduce(a, operation, options)
  return reduction(self, "allreduce", kinds.allreduce, a, operation, nil, options)
end

---The same for one rank, the root.
---@param a moonwarp.array|number
---@param operation? string
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number|nil at other ranks than the root: nil
function mpi_communicator:reduce(a, operation, root, options)
  root = check_rank(self, root or 0, "comm:reduce", "the root")
  return reduction(self, "reduce", kinds.reduce, a, operation, root, options)
end

---The reduction over this rank and all before it.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number
function mpi_communicator:scan(a, operation, options)
  return reduction(self, "scan", kinds.scan, a, operation, nil, options)
end

---The reduction over the ranks before this one; on rank 0: zeros.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number
function mpi_communicator:exscan(a, operation, options)
  return reduction(self, "exscan", kinds.exscan, a, operation, nil, options)
end

-- ---- rows ----

---Reduce arrays of shape {size, …}, and give each rank its row of the result.
---@param a moonwarp.array
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.array
function mpi_communicator:reduce_scatter(a, operation, options)
  local where = "comm:reduce_scatter"
  local operator = operators.find(operation, where)
  local from = packed(check_array(a, where))
  local shape = row_shape(self, from, where)
  agree(self, ("reduce_scatter of %s by %s"):format(array_text(from), operator.name))
  local out, close = output(options, shape, from.dtype, where)
  if operators.is_native(operator, from) then
    collect(self, kinds.reduce_scatter, { from = from, into = out, operator = operator.number,
      row = operands.row_count(from), send_rows = repeated(1, self.size) })
  else
    local all = mw.empty(from.shape, from.dtype)
    operators.reduce(inner(self), operator, from, all)
    out:assign(all[{ self.rank + 1, {} }]:reshape(shape))
  end
  return finished(operator, self, close(out))
end

-- ---- gathering ----

-- Values of all ranks as a table, on the root or (nil) on all ranks.
local function gather_values(comm, name, what, root)
  agree(comm, ("%s of values%s"):format(name, root and " to rank " .. root or ""))
  local bytes = value.write(what)
  local sizes = mw.empty(comm.size, "double")
  collect(comm, kinds.allgather, { from = mw.array({ #bytes }, "double"), into = sizes })
  local rows, has_result = sizes:totable(), root == nil or root == comm.rank
  local all = has_result and mw.empty(sum(rows), "uchar") or nil
  collect(comm, root and kinds.gather or kinds.allgather, { from = mw.from_bytes(bytes, "uchar"), into = all,
    root = root, receive_rows = has_result and rows or nil })
  if not has_result then return nil end
  local list, at, text = {}, 0, all:bytes()
  for i = 1, comm.size do
    list[i] = value.read(text:sub(at + 1, at + rows[i]))
    at = at + rows[i]
  end
  return list
end

---Stack the arrays of all ranks to one of shape {size, …} on the root. Other values: a table, [r + 1] is rank r's.
---@param what any
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array }
---@return any at other ranks than the root: nil
function mpi_communicator:gather(what, root, options)
  root = check_rank(self, root or 0, "comm:gather", "the root")
  if not is_array(what) then return gather_values(self, "gather", what, root) end
  agree(self, ("gather of %s to rank %d"):format(array_text(what), root))
  local out, close
  if self.rank == root then
    out, close = output(options, operands.stacked(self.size, what.shape), what.dtype, "comm:gather")
  end
  collect(self, kinds.gather, { from = packed(what), into = out, root = root, row = what.count,
    receive_rows = out and repeated(1, self.size) })
  return out and close(out)
end

---The same on all ranks.
---@param what any
---@param options? { out?: moonwarp.array }
---@return any
function mpi_communicator:allgather(what, options)
  if not is_array(what) then return gather_values(self, "allgather", what) end
  agree(self, "allgather of " .. array_text(what))
  local out, close = output(options, operands.stacked(self.size, what.shape), what.dtype, "comm:allgather")
  collect(self, kinds.allgather, { from = packed(what), into = out })
  return close(out)
end

-- The first axis of all ranks' arrays, whose other axes are the same.
local function all_rows(comm, name, a, extra)
  agree(comm, ("%s of %s%s"):format(name, operands.rows_text(a), extra or ""))
  local sizes = mw.empty(comm.size, "double")
  collect(comm, kinds.allgather, { from = mw.array({ a.shape[1] }, "double"), into = sizes })
  return sizes:totable()
end

---Join arrays whose first axes may differ, along that axis, in the order of the ranks, on the root.
---@param a moonwarp.array
---@param root? integer 0 by default
---@return moonwarp.array? joined at other ranks than the root: nil
---@return integer[]? rows of each rank
function mpi_communicator:gatherv(a, root)
  root = check_rank(self, root or 0, "comm:gatherv", "the root")
  local rows = all_rows(self, "gatherv", check_array(a, "comm:gatherv"), " to rank " .. root)
  local out = self.rank == root and mw.empty(operands.with_rows(a, sum(rows)), a.dtype) or nil
  collect(self, kinds.gather, { from = packed(a), into = out, root = root, row = row_elements(a),
    receive_rows = out and rows })
  if out then return out, rows end
end

---The same on all ranks.
---@param a moonwarp.array
---@return moonwarp.array joined
---@return integer[] rows of each rank
function mpi_communicator:allgatherv(a)
  local rows = all_rows(self, "allgatherv", check_array(a, "comm:allgatherv"))
  local out = mw.empty(operands.with_rows(a, sum(rows)), a.dtype)
  collect(self, kinds.allgather, { from = packed(a), into = out, row = row_elements(a), receive_rows = rows })
  return out, rows
end

-- ---- scattering ----

---Give each rank its row of the root's array of shape {size, …}.
---@param a? moonwarp.array ignored at other ranks than the root
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array } what this rank receives
---@return moonwarp.array
function mpi_communicator:scatter(a, root, options)
  root = check_rank(self, root or 0, "comm:scatter", "the root")
  agree(self, "scatter from rank " .. root)
  local where, is_root = "comm:scatter", self.rank == root
  local from = is_root and packed(check_array(a, where)) or nil
  local facts = self:broadcast(is_root and { from.dtype, row_shape(self, from, where) } or nil, root)
  local out, close = output(options, facts[2], facts[1], where)
  collect(self, kinds.scatter, { from = from, into = out, root = root, row = out.count,
    send_rows = is_root and repeated(1, self.size) })
  return close(out)
end

---Give each rank its rows of the root's array along the first axis: counts[r + 1] of them to rank r.
---@param a? moonwarp.array ignored at other ranks than the root, as counts is
---@param counts? integer[]
---@param root? integer 0 by default
---@return moonwarp.array
function mpi_communicator:scatterv(a, counts, root)
  root = check_rank(self, root or 0, "comm:scatterv", "the root")
  agree(self, "scatterv from rank " .. root)
  local is_root, facts = self.rank == root, nil
  if is_root then
    operands.check_counts(self, counts, check_array(a, "comm:scatterv"), "comm:scatterv")
    facts = { a.dtype, operands.with_rows(a, 0), counts }
  end
  facts = self:broadcast(facts, root)
  local shape = facts[2]
  shape[1] = facts[3][self.rank + 1]
  local out = mw.empty(shape, facts[1])
  collect(self, kinds.scatter, { from = is_root and packed(a) or nil, into = out, root = root, row = row_elements(out),
    send_rows = is_root and counts or nil })
  return out
end

-- ---- all to all ----

---Send row r + 1 of an array of shape {size, …} to rank r; row r + 1 of the result is what rank r sent.
---@param a moonwarp.array
---@param options? { out?: moonwarp.array } not a itself
---@return moonwarp.array
function mpi_communicator:alltoall(a, options)
  local where = "comm:alltoall"
  row_shape(self, check_array(a, where), where)
  agree(self, "alltoall of " .. array_text(a))
  local out, close = output(options, a.shape, a.dtype, where)
  if rawequal(out, a) then usage("%s: out is the array itself; pass another one", where) end
  collect(self, kinds.alltoall, { from = packed(a), into = out })
  return close(out)
end

---Send counts[r + 1] rows along the first axis to rank r, one rank's after the other's.
---@param a moonwarp.array
---@param counts integer[]
---@return moonwarp.array joined what the ranks sent, in their order
---@return integer[] rows of each rank
function mpi_communicator:alltoallv(a, counts)
  operands.check_counts(self, counts, check_array(a, "comm:alltoallv"), "comm:alltoallv")
  agree(self, "alltoallv of " .. operands.rows_text(a))
  local received = mw.empty(self.size, "double")
  collect(self, kinds.alltoall, { from = mw.array(counts, "double"), into = received })
  local rows = received:totable()
  local out = mw.empty(operands.with_rows(a, sum(rows)), a.dtype)
  collect(self, kinds.alltoall, { from = packed(a), into = out, row = row_elements(a), send_rows = counts,
    receive_rows = rows })
  return out, rows
end

return mpi_communicator
