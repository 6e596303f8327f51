-- mw.convolve and mw.correlate, of one or two dimensions: short kernels by a sum for each element, long ones by Fourier
-- transforms.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"

local usage = errors.usage

local M = {}

local settings = { DIRECT = 256 } -- elements of the shorter array up to which each sum is made by itself
raw.convolve_settings = settings -- which tests change

local text = [[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <moonwarp/algorithms/complex.h>
// kernels
// y[r][c] is the sum of a[r + top - i][c + left - j] b[i][j].
extern "C" __global__ void convolve(int rows, int columns, int top, int left, int a_rows, int a_columns, int b_rows,
    int b_columns, const $T *a, const $T *b, $T *y) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c >= columns) return;
  int row = r + top, column = c + left;
  int first = max(0, row - a_rows + 1), last = min(b_rows - 1, row);
  $A sum = 0;
  for (int i = first; i <= last; i++)
    for (int j = 0; j < b_columns; j++) {
      int k = column - j;
      if (k >= 0 && k < a_columns) sum = sum + ($A)a[(long long)(row - i) * a_columns + k] * ($A)b[i * b_columns + j];
    }
  y[(long long)r * columns + c] = ($T)sum;
}
]]

local made = {}

local function direct(of, a, b, start, shape)
  local A = of.kind == "bool" and "int" or of.compute
  made[of.name] = made[of.name] or kernels.module(text:gsub("%$(%u)", { T = of.C, A = A }), "convolution")
  local y = kernels.empty(a.device, of.name, shape)
  local p, q, rank = a.shape, b.shape, #shape
  if rank == 1 then p, q, shape, start = { 1, p[1] }, { 1, q[1] }, { 1, shape[1] }, { 0, start[1] } end
  if shape[1] > 65535 then
    return direct(of, a:transpose():contiguous(), b:transpose():contiguous(), { start[2], start[1] },
      { shape[2], shape[1] }):transpose():contiguous()
  end
  made[of.name](a.device).convolve({ kernels.blocks(shape[2], 128), shape[1] }, 128)(shape[1], shape[2], start[1],
    start[2], p[1], p[2], q[1], q[2], a, b, y)
  return y
end

-- A length of at least n whose prime factors are 2, 3 and 5.
local function good_length(n)
  while true do
    local rest = n
    for _, by in ipairs { 2, 3, 5 } do
      while rest % by == 0 do rest = rest / by end
    end
    if rest == 1 then return n end
    n = n + 1
  end
end

local function by_transforms(of, a, b, start, shape)
  local fft = raw.part "fourier.fft"
  local sizes, key = {}, {}
  for d = 1, #shape do
    sizes[d] = good_length(a.shape[d] + b.shape[d] - 1)
    key[d] = { start[d] + 1, start[d] + shape[d] }
  end
  local is_complex = of.kind == "complex"
  local forward, inverse = is_complex and fft.fftn or fft.rfftn, is_complex and fft.ifftn or fft.irfftn
  local y = inverse(forward(a, { shape = sizes }) * forward(b, { shape = sizes }), { shape = sizes })
  return kernels.empty(a.device, of.name, shape):assign(y[key])
end

local modes = { full = true, same = true, valid = true }

-- The convolution of a and b; `is_mirrored`: b was turned around, and the middle is that of a correlation.
local function convolve(what, a, b, options, mode, is_mirrored)
  options = given.options(what, options, { "mode" }, { "string" })
  mode = options.mode or mode
  if not modes[mode] then
    usage('%s: mode is "full", "same" or "valid", got %s', what, raw.describe(mode))
  end
  local rank = a.rank
  if rank > 2 or b.rank ~= rank then
    usage("%s wants two arrays of one dimension, or of two; got %s and %s", what, views.shape_text(a.shape),
      views.shape_text(b.shape))
  end
  local of = promotion.number(given.together(what, { a, b }), what)
  local start, shape, count = {}, {}, 1
  for d = 1, rank do
    local n, m = a.shape[d], b.shape[d]
    if n == 0 or m == 0 then usage("%s of an empty array", what) end
    local short, long = math.min(n, m), math.max(n, m)
    if mode == "full" then
      start[d], shape[d] = 0, n + m - 1
    elseif mode == "valid" then
      start[d], shape[d] = short - 1, long - short + 1
    else
      start[d], shape[d] = math.floor((short - 1) / 2), long
      if is_mirrored and n < m then start[d] = math.floor(short / 2) end
    end
    count = count * short
  end
  local function as(x)
    return (x.dtype == of.name and x or kernels.empty(x.device, of.name, x.shape):assign(x)):contiguous()
  end
  a, b = as(a), as(b)
  local is_exact = of.kind ~= "float" and of.kind ~= "complex"
  if is_exact or count <= settings.DIRECT then
    if b.count > a.count then a, b = b, a end
    return direct(of, a, b, start, shape)
  end
  return by_transforms(of, a, b, start, shape)
end

---The convolution of two arrays of one dimension, or of two: each element of y is a sum of products of elements of a
---and of b in reverse. It is computed directly where b is short or has integers, otherwise by Fourier transforms.
---@param a moonwarp.array
---@param b moonwarp.array
---@param options? "full"|"same"|"valid"|{ mode?: "full"|"same"|"valid" } all sums (full); as many as the larger array
---has; those in which the arrays overlap entirely
---@return moonwarp.array
function M.convolve(a, b, options) return convolve("mw.convolve", a, b, options, "full", false) end

---The cross-correlation of two arrays of one dimension, or of two: mw.convolve(a, b:flip():conj()).
---@param a moonwarp.array
---@param b moonwarp.array
---@param options? "full"|"same"|"valid"|{ mode?: "full"|"same"|"valid" } as in mw.convolve, but valid by default
---@return moonwarp.array
function M.correlate(a, b, options)
  b = b:flip()
  if promotion.complex(b.dtype) then b = b:conj() end
  return convolve("mw.correlate", a, b, options, "valid", true)
end

return M
