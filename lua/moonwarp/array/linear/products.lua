-- Products of matrices and vectors: a:mm(b), mw.dot, mw.outer, mw.matvec and others.
--
-- The device's library multiplies what it can: OpenBLAS on the CPU, cuBLAS on GPUs. The rest is done by the kernel in
-- src/device/moonwarp/algorithms/matmul.h. It takes strides, so that views of matrices need no copy; a block of the
-- grid's third dimension is a matrix of a batch.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"

local usage = errors.usage
local array = raw.classes.array
local shape_text = views.shape_text

local M = {}

local text = [[
$INCLUDE#include <moonwarp/algorithms/matmul.h>
// kernels
extern "C" __global__ void product(const $T *a, long long a_row, long long a_column, const $T *b, long long b_row,
    long long b_column, $T *c, int m, int n, int inner, long long a_next, long long b_next) {
  moonwarp::matrix_strides as = {a_row, a_column}, bs = {b_row, b_column};
  moonwarp::matmul_tile<$T, $A>(a + blockIdx.z * a_next, as, b + blockIdx.z * b_next, bs,
    c + blockIdx.z * (long long)m * n, m, n, inner);
}
extern "C" __global__ void small_products(const $T *a, long long a_row, long long a_next, const $T *b, long long b_row,
    long long b_next, $T *c, int m, int n, int inner, int count) {
  for (int i = blockIdx.x; i < count; i += gridDim.x)
    moonwarp::matmul_small<$T, $A>(a + i * a_next, a_row, b + i * b_next, b_row, c + i * (long long)m * n, m, n, inner);
}
]]

local modules = {}

local function kernels_of(device, of)
  if not modules[of.name] then
    local fields = { T = of.C, A = of.compute, INCLUDE = of.C == "__half" and "#include <cuda_fp16.h>\n"
      or of.C == "__nv_bfloat16" and "#include <cuda_bf16.h>\n"
      or of.kind == "complex" and "#include <moonwarp/algorithms/complex.h>\n" or "" }
    if of.kind == "bool" then fields.A = "int" end
    modules[of.name] = kernels.module(text:gsub("%$(%u+)", fields), "matrix product")
  end
  return modules[of.name](device)
end

local MOST = 65535 -- blocks along the grid's third dimension

-- An array in the product's dtype whose batch kernels and libraries can address: consecutive matrices are a fixed
-- distance apart. Also the distances between rows, columns and matrices, in elements; none is negative.
local function operand(x, dtype, batch)
  if x.dtype ~= dtype then x = given.new(x, dtype, x.shape):assign(x) end
  local shape, strides, rank = x.shape, x.strides, x.rank
  local size, count, own = raw.dtype_size(dtype), 1, 1
  for d = 1, #batch do count = count * batch[d] end
  for d = 1, rank - 2 do own = own * shape[d] end
  local rows, columns = shape[rank - 1], shape[rank]
  local row, column, next = strides[rank - 1] / size, strides[rank] / size, 0
  local is_plain = row >= 0 and column >= 0 and (row == 1 or column == 1 or rows == 1 or columns == 1)
  if own > 1 and own ~= count then
    local full = {}
    for d = 1, #batch do full[d] = batch[d] end
    full[#full + 1], full[#full + 2] = rows, columns
    x, is_plain = x:broadcast_to(full), false
  elseif own > 1 then
    for d = rank - 2, 1, -1 do
      if shape[d] > 1 then
        if next == 0 then next, own = strides[d] / size, 1 end
        is_plain = is_plain and strides[d] / size == next * own and next > 0
        own = own * shape[d]
      end
    end
  end
  if is_plain then return x, { row = row, column = column, next = next } end
  return x:contiguous(), { row = columns, column = 1, next = own > 1 and rows * columns or 0 }
end

-- All memory that a view without negative strides spans, which is the kernel's argument.
local function memory_of(view)
  local size, strides, far = raw.dtype_size(view.dtype), view.strides, 0
  for d, extent in ipairs(view.shape) do far = far + (extent - 1) * strides[d] end
  return raw.array_strided(view, 0, nil, { far / size + 1 }, { size })
end

-- A matrix, or `count` of them, as a view for the library.
local function matrices(x, rows, columns, row, column, count, next)
  local size = raw.dtype_size(x.dtype)
  if count == 1 then return raw.array_strided(x, 0, nil, { rows, columns }, { row * size, column * size }) end
  return raw.array_strided(x, 0, nil, { count, rows, columns }, { next * size, row * size, column * size })
end

local in_libraries = { float = true, complex = true } -- the kinds that libraries may multiply
local SMALL, OWN, SEVERAL = 32, 128, 32 -- the longest side where there is a library, and where not; matrices

-- A batch of matrices whose rows are contiguous, and its distances.
local function by_rows(x, s, rows, columns)
  if s.column == 1 then return x, s end
  return x:contiguous(), { row = columns, column = 1, next = s.next == 0 and 0 or rows * columns }
end

-- Many small matrices on the CPU: their products take less time than calls of a library do, and than tiles of the
-- other kernel, which are mostly empty.
local function small(of, x, xs, z, zs, y, m, n, inner, count)
  if count < SEVERAL or count >= 2 ^ 31 or y.device.name:sub(1, 3) ~= "cpu" then return false end
  local by_library = in_libraries[of.kind] and of.bits >= 32 and kernels.on(y.device, raw.linear_library, false)
  if by_library and (of.kind ~= "float" or xs.column ~= 1 or zs.column ~= 1) then return false end
  if math.max(m, n, inner) > (by_library and SMALL or OWN) then return false end
  x, xs = by_rows(x, xs, m, inner)
  z, zs = by_rows(z, zs, inner, n)
  local threads = 8
  while threads < n do threads = threads * 2 end
  kernels_of(y.device, of).small_products(count, threads)(memory_of(x), xs.row, xs.next, memory_of(z), zs.row, zs.next,
    y:reshape(-1), m, n, inner, count)
  return true
end

local by_kernel

-- y = x z for `count` matrices whose elements are row, column and next elements apart, by the library or the kernel.
-- y is contiguous.
local function run(of, x, xs, z, zs, y, m, n, inner, count)
  if small(of, x, xs, z, zs, y, m, n, inner, count) then return end
  if in_libraries[of.kind] then
    if count > 1 and zs.next == 0 and xs.column == 1 and xs.next == m * xs.row then m, count = m * count, 1 end
    local p = matrices(x, m, inner, xs.row, xs.column, count, xs.next)
    local q = matrices(z, inner, n, zs.row, zs.column, count, zs.next)
    local r = matrices(y, m, n, n, 1, count, m * n)
    if raw.array_product(p, q, r) then return end
  end
  by_kernel(of, x, xs, z, zs, y, m, n, inner, count)
end

function by_kernel(of, x, xs, z, zs, y, m, n, inner, count)
  local p, q, r = memory_of(x), memory_of(z), y:reshape(-1)
  local kernel = kernels_of(y.device, of).product
  for first = 0, count - 1, MOST do
    local some = math.min(MOST, count - first)
    kernel({ kernels.blocks(n, 64), kernels.blocks(m, 64), some }, { 16, 16 })(
      first == 0 and p or p:sub(first * xs.next + 1), xs.row, xs.column, first == 0 and q or q:sub(first * zs.next + 1),
      zs.row, zs.column, first == 0 and r or r:sub(first * m * n + 1), m, n, inner, xs.next, zs.next)
  end
end

-- Elements of 16 bits are multiplied as floats if the library has no products for them.
local function through_floats(of, x, z, y, batch, m, n, inner, count)
  if of.bits ~= 16 or of.kind ~= "float" or m * n * inner * count < 2 ^ 15 or raw.device().name ~= y.device.name or
    y.device.name:sub(1, 3) ~= "cpu" or not raw.linear_library(false) then return false end
  local wide, float = kernels.empty(y.device, "float", y.shape), promotion.of "float"
  local p, ps = operand(x, "float", batch)
  local q, qs = operand(z, "float", batch)
  run(float, p, ps, q, qs, wide, m, n, inner, count)
  y:assign(wide)
  return true
end

-- The broadcast batch of two shapes: all sizes except the last two.
local function batch_of(what, a, b)
  local batch, more = {}, math.max(#a, #b) - 2
  for d = 1, more do
    local p, q = a[#a - 2 - more + d] or 1, b[#b - 2 - more + d] or 1
    if p ~= q and p ~= 1 and q ~= 1 then
      usage("%s: the batches of %s and %s do not broadcast: sizes must be equal or 1", what, shape_text(a),
        shape_text(b))
    end
    batch[d] = p == 1 and q or p
  end
  return batch
end

-- The product of matrices, or of batches of them.
local function multiply(what, a, b, out)
  local as, bs = a.shape, b.shape
  local m, inner, n = as[#as - 1], as[#as], bs[#bs]
  if bs[#bs - 1] ~= inner then
    usage("%s: %s times %s: the first has %d columns and the second %d rows; see a:transpose()", what, shape_text(as),
      shape_text(bs), inner, bs[#bs - 1])
  end
  local of = promotion.number(promotion.promote(promotion.number(a.dtype, what).name,
    promotion.number(b.dtype, what).name), what)
  local batch = batch_of(what, as, bs)
  local shape, count = {}, 1
  for d = 1, #batch do
    shape[d] = batch[d]
    count = count * batch[d]
  end
  shape[#shape + 1], shape[#shape + 2] = m, n
  if out then given.out(what, out, a, of.name, shape) end
  local is_direct = out and out.is_contiguous and not given.overlap(out, a) and not given.overlap(out, b)
  local y = is_direct and out or given.new(a, of.name, shape)
  if y.count == 0 then return out or y end
  if math.max(m, n, inner) >= 2 ^ 31 then usage("%s: a side has at most 2^31 - 1 elements", what) end
  if inner == 0 then
    y:fill(of.kind == "bool" and false or 0)
  elseif #shape > 2 or a.dtype ~= b.dtype or not in_libraries[of.kind] or not raw.array_product(a, b, y) then
    if not through_floats(of, a, b, y, batch, m, n, inner, count) then
      local x, xs = operand(a, of.name, batch)
      local z, zs = operand(b, of.name, batch)
      run(of, x, xs, z, zs, y, m, n, inner, count)
    end
  end
  if out and not is_direct then out:assign(y) end
  return out or y
end

---The matrix product. Of arrays with more dimensions, the matrices in the last two are multiplied, and the others are
---batches that broadcast. A vector is a row on the left and a column on the right; its dimension is not in the result.
---@param b moonwarp.array
---@param options? { out?: moonwarp.array }
---@return number|moonwarp.array a number for two vectors
function array:mm(b, options)
  local out = options and options.out
  local left, right = self, b
  if self.rank == 1 then left = self:expand(1) end
  if b.rank == 1 then right = b:expand(2) end
  if self.rank > 1 and b.rank > 1 then return multiply("a:mm", self, b, out) end
  local y = multiply("a:mm", left, right)
  local shape = y.shape
  if b.rank == 1 then table.remove(shape) end
  if self.rank == 1 then table.remove(shape, b.rank == 1 and #shape or #shape - 1) end
  if #shape == 0 then
    if out then return given.out("a:mm", out, self, y.dtype, { 1 }):assign(y:reshape(1)) end
    return y:reshape(1)[1]
  end
  y = y:reshape(shape)
  return out and given.out("a:mm", out, self, y.dtype, shape):assign(y) or y
end

---@param a moonwarp.array
---@param b moonwarp.array
---@param options? { out?: moonwarp.array }
---@return number|moonwarp.array see a:mm
function M.mm(a, b, options) return a:mm(b, options) end

---The product of two vectors (a number), of a matrix and a vector, or of two matrices.
---@param a moonwarp.array
---@param b moonwarp.array
---@return number|moonwarp.array
function M.dot(a, b)
  if a.rank > 2 or b.rank > 2 then
    usage("mw.dot wants vectors and matrices, got %s and %s; see a:mm for batches", shape_text(a.shape),
      shape_text(b.shape))
  end
  return a:mm(b)
end

---@param b moonwarp.array
---@return number|moonwarp.array see mw.dot
function array:dot(b) return M.dot(self, b) end

-- ---- vectors, and batches of them ----

-- The axis of an option, -1 by default, moved to the end.
local function along(what, x, options)
  local axis = views.axis(what, options and options.axis or -1, x.rank)
  return axis == x.rank and x or x:transpose(axis, -1)
end

-- A product of batches without the axes of one element that were added for it; a number if no axis is left.
local function without(y, ...)
  local shape, gone = {}, {}
  for _, axis in ipairs { ... } do gone[y.rank + 1 + axis] = true end
  for d, size in ipairs(y.shape) do
    if not gone[d] then shape[#shape + 1] = size end
  end
  if #shape == 0 then return y:reshape(1)[1] end
  return y:reshape(shape)
end

---The product of a matrix and a vector, for batches of both.
---@param a moonwarp.array matrices, in its last two axes
---@param b moonwarp.array vectors, in its last axis
---@return moonwarp.array
function M.matvec(a, b)
  if a.rank < 2 then usage("mw.matvec wants matrices first, and this array is %s", shape_text(a.shape)) end
  return without(multiply("mw.matvec", a, b:expand(b.rank + 1)), -1)
end

---@param b moonwarp.array
---@return moonwarp.array see mw.matvec
function array:matvec(b) return M.matvec(self, b) end

-- The complex conjugate; of other numbers, the array itself.
local function conjugate(a, what)
  return promotion.number(a.dtype, what).kind == "complex" and a:conj() or a
end

---The product of a vector, as a row, and a matrix, for batches of both. Complex numbers of a are conjugated.
---@param a moonwarp.array vectors, in its last axis
---@param b moonwarp.array matrices, in its last two axes
---@return moonwarp.array
function M.vecmat(a, b)
  if b.rank < 2 then usage("mw.vecmat wants matrices second, and this array is %s", shape_text(b.shape)) end
  return without(multiply("mw.vecmat", conjugate(a, "mw.vecmat"):expand(a.rank), b), -2)
end

---Sums of products over an axis, the last one by default, for batches of vectors. Complex numbers of a are conjugated.
---@param a moonwarp.array
---@param b moonwarp.array
---@param options? { axis?: integer }
---@return number|moonwarp.array
function M.vecdot(a, b, options)
  local x, y = along("mw.vecdot", conjugate(a, "mw.vecdot"), options), along("mw.vecdot", b, options)
  return without(multiply("mw.vecdot", x:expand(x.rank), y:expand(y.rank + 1)), -1, -2)
end

---The sum of all products of an element of a and the one of b in the same place, in row order. Complex numbers of a are
---conjugated.
---@param a moonwarp.array
---@param b moonwarp.array
---@return number
function M.vdot(a, b)
  if a.count ~= b.count then
    usage("mw.vdot: %s and %s have %d and %d elements", shape_text(a.shape), shape_text(b.shape), a.count, b.count)
  end
  return conjugate(a, "mw.vdot"):reshape(-1):mm(b:reshape(-1))
end

---The outer product: the matrix of all products of an element of a and an element of b.
---@param a moonwarp.array
---@param b moonwarp.array
---@return moonwarp.array
function M.outer(a, b) return a:reshape(-1, 1) * b:reshape(1, -1) end

---@param b moonwarp.array
---@return moonwarp.array see mw.outer
function array:outer(b) return M.outer(self, b) end

return M
