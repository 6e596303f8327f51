-- Products of matrices and vectors: a:mm(b), mw.dot, mw.outer.
--
-- The kernel is src/device/moonwarp/algorithms/matmul.h. It takes strides, so that views of matrices need no copy; a
-- block of the grid's third dimension is a matrix of a batch.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.given"
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
]]

local modules = {}

local function kernel_of(device, of)
  if not modules[of.name] then
    local fields = { T = of.C, A = of.compute, INCLUDE = of.C == "__half" and "#include <cuda_fp16.h>\n"
      or of.C == "__nv_bfloat16" and "#include <cuda_bf16.h>\n" or "" }
    if of.kind == "bool" then fields.A = "int" end
    modules[of.name] = kernels.module(text:gsub("%$(%u+)", fields), "matrix product")
  end
  return modules[of.name](device).product
end

local MOST = 65535 -- blocks along the grid's third dimension

-- An array in the dtype of the product, with a batch that the kernel can walk: its matrices at one distance.
local function operand(x, dtype, batch)
  if x.dtype ~= dtype then x = given.new(x, dtype, x.shape):assign(x) end
  local shape, strides = x.shape, x.strides
  local size, rank = raw.dtype_size(dtype), #shape
  local count = 1
  for d = 1, #batch do count = count * batch[d] end
  local own = 1
  for d = 1, rank - 2 do own = own * shape[d] end
  if own == 1 then return x, strides[rank - 1] / size, strides[rank] / size, 0 end
  if not x.is_contiguous or own ~= count then
    local full = {}
    for d = 1, #batch do full[d] = batch[d] end
    full[#full + 1], full[#full + 2] = shape[rank - 1], shape[rank]
    x = x:broadcast_to(full):contiguous()
  end
  return x, shape[rank], 1, shape[rank - 1] * shape[rank]
end

-- All of the memory that a view without negative strides is in: what a kernel takes.
local function memory_of(view)
  local size, strides, far = raw.dtype_size(view.dtype), view.strides, 0
  for d, extent in ipairs(view.shape) do far = far + (extent - 1) * strides[d] end
  return raw.array_strided(view, 0, nil, { far / size + 1 }, { size })
end

-- The broadcast batch of two shapes, without their last two sizes.
local function batch_of(what, a, b)
  local batch, more = {}, math.max(#a, #b) - 2
  for d = 1, more do
    local p, q = a[#a - 2 - more + d] or 1, b[#b - 2 - more + d] or 1
    if p ~= q and p ~= 1 and q ~= 1 then
      usage("%s: the batches of %s and %s do not fit together: sizes have to be equal or 1", what, shape_text(a),
        shape_text(b))
    end
    batch[d] = p == 1 and q or p
  end
  return batch
end

-- The product of matrices, or batches of them.
local function multiply(what, a, b, out)
  local as, bs = a.shape, b.shape
  local m, inner, n = as[#as - 1], as[#as], bs[#bs]
  if bs[#bs - 1] ~= inner then
    usage("%s: %s times %s: the first has %d columns and the second %d rows; see a:transpose()", what, shape_text(as),
      shape_text(bs), inner, bs[#bs - 1])
  end
  local of = promotion.of(promotion.promote(promotion.of(a.dtype, what).name, promotion.of(b.dtype, what).name), what)
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
  else
    local x, x_row, x_column, x_next = operand(a, of.name, batch)
    local z, z_row, z_column, z_next = operand(b, of.name, batch)
    if x_row < 0 or x_column < 0 then x, x_row, x_column = x:contiguous(), inner, 1 end
    if z_row < 0 or z_column < 0 then z, z_row, z_column = z:contiguous(), n, 1 end
    local p, q, r = memory_of(x), memory_of(z), y:reshape(-1)
    local kernel = kernel_of(y.device, of)
    for first = 0, count - 1, MOST do
      local matrices = math.min(MOST, count - first)
      kernel({ kernels.blocks(n, 64), kernels.blocks(m, 64), matrices }, { 16, 16 })(
        first == 0 and p or p:sub(first * x_next + 1), x_row, x_column, first == 0 and q or q:sub(first * z_next + 1),
        z_row, z_column, first == 0 and r or r:sub(first * m * n + 1), m, n, inner, x_next, z_next)
    end
  end
  if out and not is_direct then out:assign(y) end
  return out or y
end

---The product of matrices; of more dimensions, of those in the last two, where the others are batches that broadcast. A
---vector is a row on the left and a column on the right, and drops out of the result.
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

---The product of vectors, a number; of a matrix and a vector; of two matrices.
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

---All products of an element of a and one of b, in a matrix.
---@param a moonwarp.array
---@param b moonwarp.array
---@return moonwarp.array
function M.outer(a, b) return a:reshape(-1, 1) * b:reshape(1, -1) end

---@param b moonwarp.array
---@return moonwarp.array see mw.outer
function array:outer(b) return M.outer(self, b) end

return M
