-- Functions of mw.linalg that use its factorisations: least squares, pseudo-inverses, norms, ranks, condition numbers
-- and powers.

local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local batch = require "moonwarp.linalg.batch"
local mw = require "moonwarp"

local usage = errors.usage

local linalg = {}
local base -- the functions of linalg.lua

local epsilons = { float = 2 ^ -23, double = 2 ^ -52 }

-- The conjugated transpose of matrices.
local function adjoint(a)
  local y = a:transpose()
  local real = batch.parts(a.dtype)
  return real ~= a.dtype and y:conj() or y
end

-- The values of s, descending, at or below which they count as 0: a part of the largest one.
local function threshold(s, relative, rows, columns)
  relative = relative or math.max(rows, columns) * epsilons[s.dtype]
  local keys = {}
  for d = 1, s.rank - 1 do keys[d] = {} end
  keys[s.rank] = { 1, 1 }
  return s[keys] * relative
end

-- The factors of a pseudo-inverse: v, 1 / s (0 where s counts as 0), the transposed u, and s.
local function inverted(what, a, relative)
  local matrices = batch.matrices(what, a)
  local u, s, vt = base.svd(a)
  local limit = threshold(s, relative, matrices.rows, matrices.columns)
  local kept = s:gt(limit)
  return adjoint(vt), mw.where(kept, 1 / mw.where(kept, s, 1), 0), adjoint(u), s, kept
end

-- Options of one name, or its value.
local function option(what, options, name)
  return given.options(what, options, { name })[name]
end

---The Moore-Penrose pseudo-inverse.
---@param a moonwarp.array
---@param options? { rtol?: number } singular values up to this part of the largest one count as 0; by default the
---larger side times the type's epsilon
---@return moonwarp.array
function linalg.pinv(a, options)
  local what = "mw.linalg.pinv"
  local matrices = batch.matrices(what, a)
  local relative = option(what, options, "rtol")
  if a.count == 0 then
    local zeros = batch.new(a, batch.dtype(what, a), matrices.count, matrices.columns, matrices.rows):fill(0)
    return batch.shaped(matrices, zeros, matrices.columns, matrices.rows)
  end
  local v, inverse, ut = inverted(what, a, relative)
  return (v * inverse:expand(-2)):mm(ut)
end

---The least-squares solution: the x that minimises the sum of squares of a x - b, and of several the shortest.
---@param a moonwarp.array
---@param b moonwarp.array right sides as columns; of one dimension, a vector
---@param options? { rtol?: number } as in mw.linalg.pinv
---@return moonwarp.array x
---@return number|moonwarp.array residuals the sums of squares, one a column
---@return integer|moonwarp.array rank
---@return moonwarp.array s a's singular values
function linalg.lstsq(a, b, options)
  local what = "mw.linalg.lstsq"
  local matrices = batch.matrices(what, a)
  given.array(what, b)
  local relative, is_vector = option(what, options, "rtol"), b.rank == 1
  local columns = is_vector and b:expand(2) or b
  if columns.shape[columns.rank - 1] ~= matrices.rows then
    usage("%s: the matrix has %d rows, and the right side %s has %d", what, matrices.rows, views.shape_text(b.shape),
      columns.shape[columns.rank - 1])
  end
  if a.count == 0 then usage("%s: the matrix %s has no elements", what, views.shape_text(a.shape)) end
  local dtype = batch.dtype(what, a, columns)
  if columns.dtype ~= dtype then columns = given.new(columns, dtype, columns.shape):assign(columns) end
  if a.dtype ~= dtype then a = given.new(a, dtype, a.shape):assign(a) end
  local v, inverse, ut, s, kept = inverted(what, a, relative)
  local x = v:mm(inverse:expand(-1) * ut:mm(columns))
  local rest = (a:mm(x) - columns):abs()
  local residuals = (rest * rest):sum { axis = -2 }
  local rank = kept:sum { axis = -1, keepdims = true }:squeeze(-1)
  if #matrices.batch == 0 then rank = kept:sum() end
  if is_vector then
    local shape = x.shape
    table.remove(shape)
    x = x:reshape(shape)
    residuals = #matrices.batch == 0 and residuals[1] or residuals:squeeze(-1)
  end
  return x, residuals, rank, s
end

---The rank: the number of singular values above a tolerance.
---@param a moonwarp.array
---@param options? { tol?: number, rtol?: number } tol: the tolerance; rtol: a part of the largest value, as in
---mw.linalg.pinv
---@return integer|moonwarp.array
function linalg.matrix_rank(a, options)
  local what = "mw.linalg.matrix_rank"
  local matrices = batch.matrices(what, a)
  options = given.options(what, options, { "tol", "rtol" })
  local s = base.svdvals(a)
  if s.count == 0 then return batch.each(matrices, batch.new(a, "longlong", matrices.count):fill(0)) end
  local kept = s:gt(options.tol or threshold(s, options.rtol, matrices.rows, matrices.columns))
  if #matrices.batch == 0 then return kept:sum() end
  return kept:sum { axis = -1 }
end

-- ---- norms ----

local function is_infinite(order) return order == math.huge or order == -math.huge end

local function extreme(x, axis, largest)
  local options = { axis = axis, keepdims = true }
  return largest and x:max(options) or x:min(options)
end

-- A norm of matrices by its order; the matrices are in the last two axes.
local function matrix_norm(what, a, order)
  if order == "fro" then
    local size = a:abs()
    return (size * size):sum { axis = { -2, -1 }, keepdims = true }:sqrt()
  elseif order == "nuc" then
    return base.svdvals(a):sum { axis = -1, keepdims = true }:expand(-1)
  elseif order == 1 or order == -1 or is_infinite(order) then
    return extreme(a:abs():sum { axis = is_infinite(order) and -1 or -2, keepdims = true }, { -2, -1 }, order > 0)
  elseif order == 2 or order == -2 then
    return extreme(base.svdvals(a), -1, order > 0):expand(-1)
  end
  return usage('%s: the order of a matrix\'s norm is "fro", "nuc", 1, -1, 2, -2, math.huge or -math.huge, got %s', what,
    tostring(order))
end

---A norm: without options, of all elements as one vector; with an order or two axes, of matrices; with one axis, of
---vectors.
---@param a moonwarp.array
---@param options? { ord?: number|string, axis?: integer|integer[] } ord: of matrices "fro", "nuc", 1, -1, 2, -2,
---math.huge, -math.huge; of vectors any number
---@return number|moonwarp.array
function linalg.norm(a, options)
  local what = "mw.linalg.norm"
  given.array(what, a)
  options = given.options(what, options, { "ord", "axis" }, { "number", "string" })
  local order, axis = options.ord, options.axis
  if type(axis) == "table" and #axis == 1 then axis = axis[1] end
  if axis == nil and (order == nil or a.rank == 1) or type(axis) == "number" then
    return a:norm { ord = order, axis = axis }
  end
  axis = axis or { -2, -1 }
  if type(axis) ~= "table" or #axis ~= 2 or a.rank < 2 then
    usage("%s wants a matrix for ord = %s, or axis = {first, second}; the array is %s", what, tostring(order),
      views.shape_text(a.shape))
  end
  local first, second = views.axis(what, axis[1], a.rank), views.axis(what, axis[2], a.rank)
  if first == second then usage("%s wants two axes, not axis %d twice", what, first) end
  local permutation = {}
  for d = 1, a.rank do
    if d ~= first and d ~= second then permutation[#permutation + 1] = d end
  end
  permutation[#permutation + 1], permutation[#permutation + 2] = first, second
  local matrices = batch.matrices(what, a:permute(permutation))
  local dtype = batch.dtype(what, a)
  local x = matrices.array
  if x.dtype ~= dtype then x = given.new(x, dtype, x.shape):assign(x) end
  return batch.each(matrices, matrix_norm(what, x, order or "fro"):reshape(matrices.count))
end

---The condition number: the norm of a matrix times the norm of its inverse.
---@param a moonwarp.array
---@param options? { ord?: number|string } 2 by default: the ratio of the largest and the least singular value
---@return number|moonwarp.array infinite for a singular matrix, if ord is 2
function linalg.cond(a, options)
  local what = "mw.linalg.cond"
  local order = given.options(what, options, { "ord" }, { "number", "string" }).ord or 2
  local matrices = batch.matrices(what, a)
  if order == 2 or order == -2 then
    local s = base.svdvals(a)
    local most, least = extreme(s, -1, true), extreme(s, -1, false)
    return batch.each(matrices, (order == 2 and most / least or least / most):reshape(matrices.count))
  end
  local how = { ord = order, axis = { -2, -1 } }
  return linalg.norm(a, how) * linalg.norm(base.inv(a), how)
end

---A power of square matrices by repeated squaring.
---@param a moonwarp.array
---@param n integer 0: the identity; negative: a power of the inverse
---@return moonwarp.array
function linalg.matrix_power(a, n)
  local what = "mw.linalg.matrix_power"
  local matrices = batch.matrices(what, a, true)
  given.whole(what, n, -math.huge, "n")
  if n < 0 then return linalg.matrix_power(base.inv(a), -n) end
  if n == 0 then
    local identity = given.on_device_of(a, mw.eye, matrices.rows, matrices.rows, { dtype = a.dtype })
    return given.new(a, a.dtype, a.shape):assign(identity)
  end
  local result
  while true do
    if n % 2 == 1 then result = result and result:mm(a) or a end
    n = math.floor(n / 2)
    if n == 0 then break end
    a = a:mm(a)
  end
  return result == matrices.array and result:copy() or result
end

return function(functions)
  base = functions
  return linalg
end
