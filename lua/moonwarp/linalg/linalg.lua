-- mw.linalg: linear equations, factorisations and eigenvalues of matrices, or of batches of matrices in the last two
-- axes.
--
-- LAPACK computes them on the CPU (OpenBLAS contains it), and cuSOLVER on GPUs, if they are found; otherwise moonwarp's
-- own kernels do, which are fast for small matrices (kernels.lua).

local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local batch = require "moonwarp.linalg.batch"
local mw = require "moonwarp"

local usage = errors.usage
local shape_text = views.shape_text

local linalg = {}

local SINGULAR = "is singular: pivot %d is 0; use mw.linalg.lstsq or pinv"
local DIVERGED = "has no factorisation that converges: does it hold NaN or infinity?"

-- ---- equations ----

-- The LU decomposition in column-major order, the pivots from 1, and info.
local function lu(what, matrices, dtype)
  local a = batch.by_columns(matrices, dtype)
  local pivots, info = batch.new(a, "int", matrices.count, matrices.rows), batch.new(a, "int", matrices.count)
  if a.count > 0 then batch.run(what, "lu", a, pivots, info) else info:fill(0) end
  return a, pivots, info
end

-- Matrices and right sides with the same batch.
local function together(what, a, b)
  local p, q = a.shape, b.shape
  local rank = math.max(#p, #q)
  local left, right, differs = {}, {}, false
  for d = 1, rank - 2 do
    local m, n = p[d - rank + #p] or 1, q[d - rank + #q] or 1
    if m ~= n and m ~= 1 and n ~= 1 then
      usage("%s: the batches of %s and %s do not fit together: sizes have to be equal or 1", what, shape_text(p),
        shape_text(q))
    end
    left[d] = m == 1 and n or m
    right[d] = left[d]
    differs = differs or m ~= n
  end
  if not differs and #p == #q then return a, b end
  left[rank - 1], left[rank] = p[#p - 1], p[#p]
  right[rank - 1], right[rank] = q[#q - 1], q[#q]
  return a:broadcast_to(left), b:broadcast_to(right)
end

-- The right side as matrices, and whether it is a vector.
local function right_side(what, a, b)
  given.array(what, b)
  local rows = a.shape[a.rank - 1]
  local is_vector = b.rank == 1
  if is_vector then b = b:expand(2) end
  if b.shape[b.rank - 1] ~= rows then
    usage("%s: the matrix has %d rows, and the right side %s has %d", what, rows,
      shape_text(is_vector and { b.shape[1] } or b.shape), b.shape[b.rank - 1])
  end
  return b, is_vector
end

local function drop_last(y)
  local shape = y.shape
  table.remove(shape)
  return y:reshape(shape)
end

---The solutions x of a x = b.
---@param a moonwarp.array square matrices
---@param b moonwarp.array right sides as columns; of one dimension, a vector
---@return moonwarp.array
function linalg.solve(a, b)
  local what = "mw.linalg.solve"
  batch.matrices(what, a, true)
  local columns, is_vector = right_side(what, a, b)
  local dtype = batch.dtype(what, a, b)
  a, columns = together(what, a, columns)
  local matrices, sides = batch.matrices(what, a, true), batch.matrices(what, columns)
  local x = batch.by_columns(sides, dtype)
  if x.count > 0 then
    local info = batch.new(x, "int", matrices.count)
    local pivots = batch.new(x, "int", matrices.count, matrices.rows)
    batch.run(what, "solve", batch.by_columns(matrices, dtype), x, pivots, info)
    batch.check(what, matrices, info, SINGULAR)
  end
  local y = batch.by_rows(sides, x)
  return is_vector and drop_last(y) or y
end

-- The identity for each matrix of a batch, which is the same in both orders.
local function identities(like, dtype, count, n)
  local y = batch.new(like, dtype, count, n, n)
  y:as "uchar":fill(0)
  y:diag():fill(1)
  return y
end

---The inverse of square matrices.
---@param a moonwarp.array
---@return moonwarp.array
function linalg.inv(a)
  local what = "mw.linalg.inv"
  local matrices = batch.matrices(what, a, true)
  local dtype = batch.dtype(what, a)
  if a.count == 0 then return given.new(a, dtype, a.shape) end
  local x = identities(a, dtype, matrices.count, matrices.rows)
  local info = batch.new(a, "int", matrices.count)
  local pivots = batch.new(a, "int", matrices.count, matrices.rows)
  batch.run(what, "solve", batch.by_columns(matrices, dtype), x, pivots, info)
  batch.check(what, matrices, info, SINGULAR)
  return batch.by_rows(matrices, x)
end

-- For each matrix 1 if its pivots make an even number of swaps, else -1.
local function parity(pivots, dtype)
  local n = pivots.shape[2]
  local swaps = pivots:ne(given.on_device_of(pivots, mw.arange, 1, n + 1, 1, "int")):sum { axis = 2 } % 2
  return given.new(pivots, dtype, { pivots.shape[1] }):assign(1 - 2 * swaps)
end

---The determinant.
---@param a moonwarp.array square matrices
---@return number|moonwarp.array a number for one matrix
function linalg.det(a)
  local what = "mw.linalg.det"
  local matrices, dtype = batch.matrices(what, a, true), batch.dtype(what, a)
  if a.count == 0 then return batch.each(matrices, batch.new(a, dtype, matrices.count):fill(1)) end
  local x, pivots = lu(what, matrices, dtype)
  return batch.each(matrices, x:diag():prod { axis = 2 } * parity(pivots, dtype))
end

---The sign of the determinant and the logarithm of its absolute value; neither overflows.
---@param a moonwarp.array square matrices
---@return number|moonwarp.array sign 0 for a singular matrix
---@return number|moonwarp.array logarithm
function linalg.slogdet(a)
  local what = "mw.linalg.slogdet"
  local matrices, dtype = batch.matrices(what, a, true), batch.dtype(what, a)
  local real = batch.parts(dtype)
  if a.count == 0 then
    local ones, zeros = batch.new(a, dtype, matrices.count):fill(1), batch.new(a, real, matrices.count):fill(0)
    return batch.each(matrices, ones), batch.each(matrices, zeros)
  end
  local x, pivots = lu(what, matrices, dtype)
  local d = x:diag()
  local size = d:abs()
  local sign = mw.where(size:gt(0), d / size, 0):prod { axis = 2 } * parity(pivots, dtype)
  return batch.each(matrices, sign), batch.each(matrices, size:log():sum { axis = 2 })
end

---The Cholesky decomposition of positive definite matrices: lower triangular matrices L, for which L times its
---(conjugated) transpose is the matrix. Only the lower triangle of a is read.
---@param a moonwarp.array
---@return moonwarp.array
function linalg.cholesky(a)
  local what = "mw.linalg.cholesky"
  local matrices, dtype = batch.matrices(what, a, true), batch.dtype(what, a)
  if a.count == 0 then return given.new(a, dtype, a.shape) end
  local x, info = batch.by_columns(matrices, dtype), batch.new(a, "int", matrices.count)
  batch.run(what, "cholesky", x, info)
  batch.check(what, matrices, info, "is not positive definite: its leading minor of %d rows is not positive")
  return batch.by_rows(matrices, x):tril()
end

-- ---- factorisations ----

---The QR decomposition: q, with orthonormal columns, and r, upper triangular, whose product is the matrix. Reduced: for
---m x n, q is m x k and r is k x n, where k is the smaller of m and n.
---@param a moonwarp.array
---@return moonwarp.array q
---@return moonwarp.array r
function linalg.qr(a)
  local what = "mw.linalg.qr"
  local matrices, dtype = batch.matrices(what, a), batch.dtype(what, a)
  local k = math.min(matrices.rows, matrices.columns)
  local x, r = batch.by_columns(matrices, dtype), batch.new(a, dtype, matrices.count, matrices.columns, k)
  if x.count > 0 then batch.run(what, "qr", x, r, batch.new(a, "int", matrices.count)) end
  if matrices.columns > k then x = x[{ {}, { 1, k }, {} }] end
  return batch.by_rows(matrices, x), batch.by_rows(matrices, r):triu()
end

---Singular values and vectors: the matrix is u times the diagonal matrix of s times vt; s is in descending order.
---@param a moonwarp.array
---@param options? { full?: boolean } full: u and vt are square
---@return moonwarp.array u
---@return moonwarp.array s
---@return moonwarp.array vt
function linalg.svd(a, options)
  local what = "mw.linalg.svd"
  local matrices, dtype = batch.matrices(what, a), batch.dtype(what, a)
  local k, full = math.min(matrices.rows, matrices.columns), options and options.full
  local x, s = batch.by_columns(matrices, dtype), batch.new(a, (batch.parts(dtype)), matrices.count, k)
  local u = batch.new(a, dtype, matrices.count, full and matrices.rows or k, matrices.rows)
  local vt = batch.new(a, dtype, matrices.count, matrices.columns, full and matrices.columns or k)
  if x.count > 0 then
    local info = batch.new(a, "int", matrices.count)
    batch.run(what, "svd", x, s, info, u, vt)
    batch.check(what, matrices, info, DIVERGED)
  elseif full then
    u, vt = identities(a, dtype, matrices.count, matrices.rows), identities(a, dtype, matrices.count, matrices.columns)
  end
  return batch.by_rows(matrices, u), batch.shaped(matrices, s, k), batch.by_rows(matrices, vt)
end

---Singular values alone.
---@param a moonwarp.array
---@return moonwarp.array
function linalg.svdvals(a)
  local what = "mw.linalg.svdvals"
  local matrices, dtype = batch.matrices(what, a), batch.dtype(what, a)
  local k = math.min(matrices.rows, matrices.columns)
  local x, s = batch.by_columns(matrices, dtype), batch.new(a, (batch.parts(dtype)), matrices.count, k)
  if x.count > 0 then
    local info = batch.new(a, "int", matrices.count)
    batch.run(what, "svdvals", x, s, info)
    batch.check(what, matrices, info, DIVERGED)
  end
  return batch.shaped(matrices, s, k)
end

-- ---- eigenvalues ----

local function symmetric(what, name, a)
  local matrices, dtype = batch.matrices(what, a, true), batch.dtype(what, a)
  local x, w = batch.by_columns(matrices, dtype), batch.new(a, (batch.parts(dtype)), matrices.count, matrices.rows)
  if x.count > 0 then
    local info = batch.new(a, "int", matrices.count)
    batch.run(what, name, x, w, info)
    batch.check(what, matrices, info, DIVERGED)
  end
  return matrices, x, w
end

---Eigenvalues, ascending, and orthonormal eigenvectors, as columns, of symmetric (or Hermitian) matrices. Only the
---lower triangle of a is read.
---@param a moonwarp.array
---@return moonwarp.array w
---@return moonwarp.array v
function linalg.eigh(a)
  local matrices, x, w = symmetric("mw.linalg.eigh", "eigh", a)
  return batch.shaped(matrices, w, matrices.rows), batch.by_rows(matrices, x)
end

---Eigenvalues alone, of symmetric (or Hermitian) matrices.
---@param a moonwarp.array
---@return moonwarp.array
function linalg.eigvalsh(a)
  local matrices, _, w = symmetric("mw.linalg.eigvalsh", "eigvalsh", a)
  return batch.shaped(matrices, w, matrices.rows)
end

-- Eigenvalues and, if wanted, vectors of any square matrices: complex numbers.
local function general(what, a, with_vectors)
  local matrices, dtype = batch.matrices(what, a, true), batch.dtype(what, a)
  local _, complex = batch.parts(dtype)
  local n = matrices.rows
  local x, w = batch.by_columns(matrices, dtype), batch.new(a, complex, matrices.count, n)
  local v = with_vectors and batch.new(a, complex, matrices.count, n, n)
  if x.count > 0 then
    local info = batch.new(a, "int", matrices.count)
    if v then
      batch.run(what, "eig", x, w, info, v)
    else
      batch.run(what, "eigvals", x, w, info)
    end
    batch.check(what, matrices, info, DIVERGED)
  end
  return matrices, w, v or nil
end

---Eigenvalues and eigenvectors, as columns of length 1, of square matrices. Both are complex. Needs LAPACK.
---@param a moonwarp.array
---@return moonwarp.array w
---@return moonwarp.array v
function linalg.eig(a)
  local matrices, w, v = general("mw.linalg.eig", a, true)
  return batch.shaped(matrices, w, matrices.rows), batch.by_rows(matrices, v)
end

---Eigenvalues alone, of square matrices: complex numbers. Needs LAPACK.
---@param a moonwarp.array
---@return moonwarp.array
function linalg.eigvals(a)
  local matrices, w = general("mw.linalg.eigvals", a, false)
  return batch.shaped(matrices, w, matrices.rows)
end

for name, f in pairs(require "moonwarp.linalg.measures"(linalg)) do linalg[name] = f end

return linalg
