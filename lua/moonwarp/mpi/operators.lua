-- Operators of reductions: those that MPI has, by name; any other as an expression of a and b in CUDA C. What MPI does
-- not reduce (half, bfloat16, own operators) goes through messages and kernels, in the order of the ranks: an operator
-- need not be commutative, and every run has the same result.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local mw = require "moonwarp"

local M = {}

-- MPI's number (mw_mpi_operator), and the same in CUDA C.
local known = {
  sum = { 0, "a + b" }, product = { 1, "a * b" }, max = { 2, "a > b ? a : b" }, min = { 3, "a < b ? a : b" },
  all = { 4, "a && b" }, any = { 5, "a || b" }, xor = { 6, "!a != !b" },
  band = { 7, "a & b" }, bor = { 8, "a | b" }, bxor = { 9, "a ^ b" },
}
known.prod, known.mean = known.product, known.sum

local names = 'sum, product, max, min, mean, all, any, xor, band, bor, bxor, or an expression of a and b in CUDA C'

---An operator by its name or its expression.
---@param operation? string "sum" by default
---@param where string
---@return { number?: integer, expression: string, mean: boolean, name: string }
function M.find(operation, where)
  operation = operation or "sum"
  local found = type(operation) == "string" and known[operation]
  if found then
    return { number = found[1], expression = found[2], mean = operation == "mean", name = operation }
  end
  if type(operation) ~= "string" or not (operation:find "%f[%w_]a%f[^%w_]" and operation:find "%f[%w_]b%f[^%w_]") then
    errors.usage("%s: the operation is one of %s; got %s", where, names, raw.describe(operation))
  end
  return { expression = operation, name = operation }
end

---Whether MPI itself reduces the array by the operator.
function M.is_native(operator, a) return operator.number ~= nil and raw.mpi_reduces(a, operator.number) end

---a and b combined, in this order.
function M.combine(operator, a, b, out)
  return mw.map(operator.expression, { a = a, b = b }, { out = out, dtype = not out and a.dtype or nil })
end

local combine = M.combine

-- The reduction on rank 0 by a binomial tree; `own` is overwritten. On other ranks their part of it.
local function reduce_to_first(comm, operator, own)
  local distance = 1
  while distance < comm.size do
    if comm.rank % (2 * distance) ~= 0 then
      comm:send(own, comm.rank - distance)
      return
    end
    if comm.rank + distance < comm.size then
      local other = comm:recv(mw.empty(own.shape, own.dtype), comm.rank + distance)
      own:assign(combine(operator, own, other))
    end
    distance = 2 * distance
  end
end

---The reduction of contiguous `a` into `out`, on `root`, or (nil) on all ranks.
function M.reduce(comm, operator, a, out, root)
  local own = a:copy()
  reduce_to_first(comm, operator, own)
  if root == nil then
    comm:broadcast(own, 0)
    out:assign(own)
  elseif root == 0 then
    if comm.rank == 0 then out:assign(own) end
  elseif comm.rank == 0 then
    comm:send(own, root)
  elseif comm.rank == root then
    out:assign((comm:recv(own, 0)))
  end
end

---The reduction over this rank and those before it, into `out`. Exclusive: without this one; rank 0's is not written.
function M.scan(comm, operator, a, out, exclusive)
  local own, distance = a:copy(), 1
  while distance < comm.size do
    local sending = comm.rank + distance < comm.size and comm:isend(own:copy(), comm.rank + distance)
    if comm.rank >= distance then
      local before = comm:recv(mw.empty(own.shape, own.dtype), comm.rank - distance)
      own:assign(combine(operator, before, own))
    end
    if sending then sending:wait() end
    distance = 2 * distance
  end
  if not exclusive then
    out:assign(own)
    return
  end
  local sending = comm.rank + 1 < comm.size and comm:isend(own, comm.rank + 1)
  if comm.rank > 0 then out:assign((comm:recv(mw.empty(own.shape, own.dtype), comm.rank - 1))) end
  if sending then sending:wait() end
end

return M
