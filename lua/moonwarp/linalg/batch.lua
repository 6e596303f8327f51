-- Batches of matrices for factorisations: conversion to LAPACK's column-major order and back, the dtype to compute in,
-- the choice of a library or own kernels, and the errors of failed factorisations.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"

local usage = errors.usage
local shape_text = views.shape_text

local M = {}

---The dtype that a matrix is factored in: floating point of 32 or 64 bits, or complex numbers of these.
---@param what string
---@param ... moonwarp.array
---@return string
function M.dtype(what, ...)
  local of = promotion.number(given.together(what, { ... }), what)
  if of.kind == "complex" then return of.name end
  if of.kind ~= "float" then return "double" end
  return of.bits <= 32 and "float" or "double"
end

---The real dtype of a dtype, and the complex one.
---@param dtype string
---@return string real
---@return string complex
function M.parts(dtype)
  local is_double = dtype == "double" or dtype == "complex128"
  return is_double and "double" or "float", is_double and "complex128" or "complex64"
end

---Check that an array holds matrices in its last two axes.
---@param what string
---@param a moonwarp.array
---@param is_square? boolean
---@return { array: moonwarp.array, batch: integer[], count: integer, rows: integer, columns: integer }
function M.matrices(what, a, is_square)
  given.array(what, a)
  local shape, batch, count = a.shape, {}, 1
  local rank = #shape
  if rank < 2 then usage("%s wants a matrix, or several in the last two axes, got %s", what, shape_text(shape)) end
  if is_square and shape[rank - 1] ~= shape[rank] then
    usage("%s wants square matrices, got %s", what, shape_text(shape))
  end
  for d = 1, rank - 2 do
    batch[d] = shape[d]
    count = count * shape[d]
  end
  return { array = a, batch = batch, count = count, rows = shape[rank - 1], columns = shape[rank] }
end

---A new array on the device of another array.
---@param like moonwarp.array
---@param dtype string
---@param ... integer
---@return moonwarp.array
function M.new(like, dtype, ...) return kernels.empty(like.device, dtype, { ... }) end

---A copy of matrices in column-major order: {count, columns, rows}.
---@param matrices table M.matrices's
---@param dtype string
---@return moonwarp.array
function M.by_columns(matrices, dtype)
  local x = matrices.array
  local y = M.new(x, dtype, matrices.count, matrices.columns, matrices.rows)
  if y.count == 0 then return y end
  return y:assign(x:reshape(matrices.count, matrices.rows, matrices.columns):transpose())
end

---An array with the batch's dimensions before those of each matrix.
---@param matrices table
---@param array moonwarp.array
---@param ... integer
---@return moonwarp.array
function M.shaped(matrices, array, ...)
  local shape = {}
  for d, size in ipairs(matrices.batch) do shape[d] = size end
  for _, size in ipairs { ... } do shape[#shape + 1] = size end
  return array:reshape(shape)
end

---Matrices in column-major order, {count, columns, rows}, as an array in row-major order with the batch's dimensions.
---@param matrices table
---@param y moonwarp.array
---@return moonwarp.array
function M.by_rows(matrices, y)
  local shape = y.shape
  return M.shaped(matrices, y:transpose():contiguous(), shape[3], shape[2])
end

---One value for each matrix: a number if there is one matrix, else an array.
---@param matrices table
---@param values moonwarp.array {count}
---@return any
function M.each(matrices, values)
  if #matrices.batch == 0 then return values[1] end
  return values:reshape(matrices.batch)
end

-- ---- failures ----

local function name_of(matrices, place)
  return #matrices.batch == 0 and "the matrix" or ("matrix %d of the batch"):format(place)
end

---The first place where info is not 0, from 1, and the value there; nil if there is none. Waits.
---@param info moonwarp.array int {count}
---@return integer?
---@return integer?
function M.failure(info)
  if info.count == 0 or not info:any() then return nil end
  local place = info:ne(0):argmax()
  return place, info[place]
end

---Raise a failure of a factorisation, if there was one.
---@param what string
---@param matrices table
---@param info moonwarp.array
---@param sentence string with the number of the pivot, and what to do
function M.check(what, matrices, info, sentence)
  local place, value = M.failure(info)
  if place and value == -2 ^ 31 then
    usage("%s: there is no memory for a copy of %s", what, name_of(matrices, place))
  end
  if place then usage("%s: %s %s", what, name_of(matrices, place), sentence:format(value)) end
end

-- ---- libraries and own kernels ----

local settings = {}
raw.linalg_settings = settings -- tests change them
settings.own = false -- use moonwarp's own kernels even if there is a LAPACK

-- Run a routine on the CPU for a device that does not have it: the arrays are copied there and back.
local function on_the_cpu(what, name, arrays)
  local copies = {}
  for k, array in ipairs(arrays) do copies[k] = array:to "cpu" end
  M.run(what, name, (table.unpack or unpack)(copies))
  for k, array in ipairs(arrays) do array:copy_from(copies[k]) end
end

-- The singular values and vectors of wide matrices, by those of the transposed ones.
local function by_transposed(what, name, a, s, info, u, vt)
  local flipped = a:transpose():contiguous()
  if not u then return M.run(what, name, flipped, s, info) end
  local left = M.new(a, a.dtype, a.shape[1], vt.shape[3], a.shape[2])
  local right = M.new(a, a.dtype, a.shape[1], a.shape[3], u.shape[2])
  M.run(what, name, flipped, s, info, left, right)
  u:assign(right:transpose())
  vt:assign(left:transpose())
end

-- Eigenvalues of real matrices by a library that has them of complex ones only.
local function by_complex(name, a, ...)
  if name ~= "eig" and name ~= "eigvals" then return false end
  local _, complex = M.parts(a.dtype)
  return a.dtype ~= complex and raw.array_factor(name, given.new(a, complex, a.shape):assign(a), ...)
end

local function by_library(name, ...)
  local is_done, why = raw.array_factor(name, ...)
  if is_done or by_complex(name, ...) then return true end
  return false, why
end

---Run a factorisation (mw_array_factor) of batches that have elements: by a library, or by kernels.
---@param what string
---@param name string
---@param ... moonwarp.array
function M.run(what, name, ...)
  local first, own = ..., require "moonwarp.linalg.kernels"
  local is_done, why
  if not settings.own then is_done, why = by_library(name, ...) end
  if is_done then return end
  if name:match "^svd" and first.shape[3] < first.shape[2] then return by_transposed(what, name, ...) end
  if own.factor(name, ...) then return end
  if settings.own then is_done, why = by_library(name, ...) end
  if is_done then return end
  if first.device.name:sub(1, 3) ~= "cpu" then return on_the_cpu(what, name, { ... }) end
  usage("%s of %s needs LAPACK. %s", what, tostring(first.dtype), why)
end

return M
