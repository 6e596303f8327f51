-- Operands of collective operations: arrays as MPI takes them, results, and rows.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local mw = require "moonwarp"

local M = {}

local usage = errors.usage

function M.is_array(what) return raw.type(what) == "array" end
function M.shape_text(shape) return "{" .. table.concat(shape, ", ") .. "}" end
function M.array_text(a) return ("%s %s"):format(tostring(a.dtype), M.shape_text(a.shape)) end

function M.check_array(a, where)
  if not M.is_array(a) then usage("%s wants an array, got %s", where, raw.describe(a)) end
  return a
end

function M.packed(a) return a.is_contiguous and a or a:copy() end

-- The array that the result is written into (options.out, or a new one), and what to call with it at the end.
function M.output(options, shape, dtype, where)
  local out = options and options.out
  if not out then return mw.empty(shape, dtype), function(made) return made end end
  M.check_array(out, where .. ": out")
  if M.shape_text(out.shape) ~= M.shape_text(shape) or out.dtype ~= dtype then
    usage("%s: out is %s, and the result is %s %s", where, M.array_text(out), tostring(dtype), M.shape_text(shape))
  end
  if out.is_contiguous then return out, function(made) return made end end
  return out:copy(), function(made)
    out:assign(made)
    return out
  end
end

-- A number is an array of one double on the way.
function M.given(a, where)
  if type(a) == "number" then return mw.array({ a }, "double"), true end
  return M.packed(M.check_array(a, where)), false
end

function M.finished(operator, comm, out, is_number)
  if operator.mean then out:assign(out / comm.size) end
  return is_number and out[1] or out
end

-- ---- rows ----

-- The shape of one row, {1} of an array of one axis.
function M.row_shape(comm, a, where)
  if a.shape[1] ~= comm.size then
    usage("%s: the first axis is the rank, so it has %d rows; this array is %s", where, comm.size, M.array_text(a))
  end
  local shape = {}
  for i = 2, a.rank do shape[i - 1] = a.shape[i] end
  if #shape == 0 then shape[1] = 1 end
  return shape
end

function M.stacked(size, shape)
  local result = { size }
  for _, n in ipairs(shape) do result[#result + 1] = n end
  return result
end

-- Rows of the first axis: how many elements one has, and the shape of `rows` of them.
function M.row_count(a) return a.shape[1] == 0 and 0 or a.count / a.shape[1] end

function M.with_rows(a, rows)
  local shape = { rows }
  for i = 2, a.rank do shape[i] = a.shape[i] end
  return shape
end

function M.row_elements(a)
  local count = 1
  for i = 2, a.rank do count = count * a.shape[i] end
  return count
end

function M.repeated(count, n)
  local list = {}
  for i = 1, n do list[i] = count end
  return list
end

function M.sum(list)
  local total = 0
  for _, n in ipairs(list) do total = total + n end
  return total
end

-- ---- counts ----

---Raise unless there is a count of each rank that sum up to the rows of an array.
function M.check_counts(comm, counts, a, where)
  if type(counts) == "table" and #counts == comm.size and M.sum(counts) == a.shape[1] then return counts end
  return usage("%s: the counts of %d ranks have to sum up to the %d rows of %s", where, comm.size, a.shape[1],
    M.array_text(a))
end

---"float {n, 3}": the dtype and the axes of a row.
function M.rows_text(a)
  local others = {}
  for i = 2, a.rank do others[i - 1] = a.shape[i] end
  return ("%s {n%s}"):format(tostring(a.dtype), #others > 0 and ", " .. table.concat(others, ", ") or "")
end

---mw_mpi_kind
M.kinds = { broadcast = 0, reduce = 1, allreduce = 2, scan = 3, exscan = 4, reduce_scatter = 5, allgather = 6,
  gather = 7, scatter = 8, alltoall = 9, barrier = 10 }

return M
