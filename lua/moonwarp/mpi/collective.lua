-- Collective operations: methods of communicators that all ranks call. They are compared before they run (M.agree), so
-- that different calls are an error on every rank.
--
-- An array's part of each rank is a row of an array of shape {size, …}; row r + 1 is rank r's. The forms that end in v
-- are of parts with different first axes, one after the other along it.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"
local operators = require "moonwarp.mpi.operators"
local value = require "moonwarp.mpi.value"
local mw = require "moonwarp"

local mpi_communicator = communicators.methods
local agree, check_rank = communicators.agree, communicators.check_rank
local usage = errors.usage

-- mw_mpi_kind
local BROADCAST, REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, ALLGATHER, GATHER, SCATTER, ALLTOALL =
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9

local function is_array(what) return raw.type(what) == "array" end
local function shape_text(shape) return "{" .. table.concat(shape, ", ") .. "}" end
local function array_text(a) return ("%s %s"):format(tostring(a.dtype), shape_text(a.shape)) end

local function check_array(a, where)
  if not is_array(a) then usage("%s wants an array, got %s", where, raw.describe(a)) end
  return a
end

local function packed(a) return a.is_contiguous and a or a:copy() end

-- The array that the result is written into (options.out, or a new one), and what to call with it at the end.
local function output(options, shape, dtype, where)
  local out = options and options.out
  if not out then return mw.empty(shape, dtype), function(made) return made end end
  check_array(out, where .. ": out")
  if shape_text(out.shape) ~= shape_text(shape) or out.dtype ~= dtype then
    usage("%s: out is %s, and the result is %s %s", where, array_text(out), tostring(dtype), shape_text(shape))
  end
  if out.is_contiguous then return out, function(made) return made end end
  return out:copy(), function(made)
    out:assign(made)
    return out
  end
end

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
    collect(self, BROADCAST, { into = size, root = root })
    local all = self.rank == root and mw.from_bytes(bytes, "uchar") or mw.empty(size[1], "uchar")
    collect(self, BROADCAST, { into = all, root = root })
    if self.rank == root then return what end
    return value.read(all:bytes())
  end
  agree(self, ("broadcast of %s from rank %d"):format(array_text(what), root))
  local row = what.is_contiguous and what or what:copy()
  collect(self, BROADCAST, { into = row, root = root })
  if row ~= what and self.rank ~= root then what:assign(row) end
  return what
end

-- ---- reductions ----

-- A number is an array of one double on the way.
local function given(a, where)
  if type(a) == "number" then return mw.array({ a }, "double"), true end
  return packed(check_array(a, where)), false
end

local function finished(operator, comm, out, is_number)
  if operator.mean then out:assign(out / comm.size) end
  return is_number and out[1] or out
end

local function reduction(comm, name, kind, a, operation, root, options)
  local where = "comm:" .. name
  local operator = operators.find(operation, where)
  local from, is_number = given(a, where)
  agree(comm, ("%s of %s by %s%s"):format(name, array_text(from), operator.name,
    root and " to rank " .. root or ""))
  local has_result = root == nil or root == comm.rank
  local out, close
  if has_result then out, close = output(options, from.shape, from.dtype, where) end
  if kind == EXSCAN and comm.rank == 0 then out:fill(0) end
  if operators.is_native(operator, from) then
    collect(comm, kind, { from = from, into = out, operator = operator.number, root = root })
    if kind == EXSCAN and comm.rank == 0 then out:fill(0) end
  elseif kind == REDUCE or kind == ALLREDUCE then
    operators.reduce(inner(comm), operator, from, out, root)
  else
    operators.scan(inner(comm), operator, from, out, kind == EXSCAN)
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
  return reduction(self, "allreduce", ALLREDUCE, a, operation, nil, options)
end

---The same for one rank, the root.
---@param a moonwarp.array|number
---@param operation? string
---@param root? integer 0 by default
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number|nil at other ranks than the root: nil
function mpi_communicator:reduce(a, operation, root, options)
  root = check_rank(self, root or 0, "comm:reduce", "the root")
  return reduction(self, "reduce", REDUCE, a, operation, root, options)
end

---The reduction over this rank and all before it.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number
function mpi_communicator:scan(a, operation, options)
  return reduction(self, "scan", SCAN, a, operation, nil, options)
end

---The reduction over the ranks before this one; on rank 0: zeros.
---@param a moonwarp.array|number
---@param operation? string
---@param options? { out?: moonwarp.array }
---@return moonwarp.array|number
function mpi_communicator:exscan(a, operation, options)
  return reduction(self, "exscan", EXSCAN, a, operation, nil, options)
end

-- ---- rows ----

-- The shape of one row, {1} of an array of one axis.
local function row_shape(comm, a, where)
  if a.shape[1] ~= comm.size then
    usage("%s: the first axis is the rank, so it has %d rows; this array is %s", where, comm.size, array_text(a))
  end
  local shape = {}
  for i = 2, a.rank do shape[i - 1] = a.shape[i] end
  if #shape == 0 then shape[1] = 1 end
  return shape
end

local function stacked(size, shape)
  local result = { size }
  for _, n in ipairs(shape) do result[#result + 1] = n end
  return result
end

-- Rows of the first axis: how many elements one has, and the shape of `rows` of them.
local function row_count(a) return a.shape[1] == 0 and 0 or a.count / a.shape[1] end

local function with_rows(a, rows)
  local shape = { rows }
  for i = 2, a.rank do shape[i] = a.shape[i] end
  return shape
end

local function row_elements(a)
  local count = 1
  for i = 2, a.rank do count = count * a.shape[i] end
  return count
end

local function repeated(count, n)
  local list = {}
  for i = 1, n do list[i] = count end
  return list
end

local function sum(list)
  local total = 0
  for _, n in ipairs(list) do total = total + n end
  return total
end

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
    collect(self, REDUCE_SCATTER, { from = from, into = out, operator = operator.number, row = row_count(from),
      send_rows = repeated(1, self.size) })
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
  collect(comm, ALLGATHER, { from = mw.array({ #bytes }, "double"), into = sizes })
  local rows, has_result = sizes:totable(), root == nil or root == comm.rank
  local all = has_result and mw.empty(sum(rows), "uchar") or nil
  collect(comm, root and GATHER or ALLGATHER, { from = mw.from_bytes(bytes, "uchar"), into = all, root = root,
    receive_rows = has_result and rows or nil })
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
  if self.rank == root then out, close = output(options, stacked(self.size, what.shape), what.dtype, "comm:gather") end
  collect(self, GATHER, { from = packed(what), into = out, root = root, row = what.count,
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
  local out, close = output(options, stacked(self.size, what.shape), what.dtype, "comm:allgather")
  collect(self, ALLGATHER, { from = packed(what), into = out })
  return close(out)
end

-- The first axis of all ranks' arrays, whose other axes are the same.
local function all_rows(comm, name, a, extra)
  local others = {}
  for i = 2, a.rank do others[i - 1] = a.shape[i] end
  agree(comm, ("%s of %s {n%s}%s"):format(name, tostring(a.dtype),
    #others > 0 and ", " .. table.concat(others, ", ") or "", extra or ""))
  local sizes = mw.empty(comm.size, "double")
  collect(comm, ALLGATHER, { from = mw.array({ a.shape[1] }, "double"), into = sizes })
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
  local out = self.rank == root and mw.empty(with_rows(a, sum(rows)), a.dtype) or nil
  collect(self, GATHER, { from = packed(a), into = out, root = root, row = row_elements(a),
    receive_rows = out and rows })
  if out then return out, rows end
end

---The same on all ranks.
---@param a moonwarp.array
---@return moonwarp.array joined
---@return integer[] rows of each rank
function mpi_communicator:allgatherv(a)
  local rows = all_rows(self, "allgatherv", check_array(a, "comm:allgatherv"))
  local out = mw.empty(with_rows(a, sum(rows)), a.dtype)
  collect(self, ALLGATHER, { from = packed(a), into = out, row = row_elements(a), receive_rows = rows })
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
  collect(self, SCATTER, { from = from, into = out, root = root, row = out.count,
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
    check_array(a, "comm:scatterv")
    if type(counts) ~= "table" or #counts ~= self.size or sum(counts) ~= a.shape[1] then
      usage("comm:scatterv: the counts of %d ranks have to sum up to the %d rows of %s", self.size, a.shape[1],
        array_text(a))
    end
    facts = { a.dtype, with_rows(a, 0), counts }
  end
  facts = self:broadcast(facts, root)
  local shape = facts[2]
  shape[1] = facts[3][self.rank + 1]
  local out = mw.empty(shape, facts[1])
  collect(self, SCATTER, { from = is_root and packed(a) or nil, into = out, root = root, row = row_elements(out),
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
  collect(self, ALLTOALL, { from = packed(a), into = out })
  return close(out)
end

---Send counts[r + 1] rows along the first axis to rank r, one rank's after the other's.
---@param a moonwarp.array
---@param counts integer[]
---@return moonwarp.array joined what the ranks sent, in their order
---@return integer[] rows of each rank
function mpi_communicator:alltoallv(a, counts)
  check_array(a, "comm:alltoallv")
  if type(counts) ~= "table" or #counts ~= self.size or sum(counts) ~= a.shape[1] then
    usage("comm:alltoallv: the counts of %d ranks have to sum up to the %d rows of %s", self.size, a.shape[1],
      array_text(a))
  end
  local others = {}
  for i = 2, a.rank do others[i - 1] = a.shape[i] end
  agree(self, ("alltoallv of %s {n%s}"):format(tostring(a.dtype),
    #others > 0 and ", " .. table.concat(others, ", ") or ""))
  local received = mw.empty(self.size, "double")
  collect(self, ALLTOALL, { from = mw.array(counts, "double"), into = received })
  local rows = received:totable()
  local out = mw.empty(with_rows(a, sum(rows)), a.dtype)
  collect(self, ALLTOALL, { from = packed(a), into = out, row = row_elements(a), send_rows = counts,
    receive_rows = rows })
  return out, rows
end

return mpi_communicator
