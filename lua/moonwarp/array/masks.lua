-- Selection by masks: nonzero, compress, a[mask], a[mask] = values, and mw.where.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local indices = require "moonwarp.array.indices"
local lazy = require "moonwarp.array.lazy"
local views = require "moonwarp.array.views"

local usage, shape_text = errors.usage, views.shape_text
local array = raw.classes.array

local M = { public = {} }

-- ---- positions ----

local compaction = [[
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <moonwarp/algorithms/compact.h>
// kernels
extern "C" __global__ void compact_count(long long count, long long chunk, const $T *x, long long *counts) {
  moonwarp::compact_count(count, chunk, x, counts);
}
extern "C" __global__ void compact(long long count, long long chunk, const $T *x, const long long *ends,
    long long *positions) {
  moonwarp::compact(count, chunk, x, ends, positions);
}
]]

local CHUNK = 2048
local made = {}

-- The positions, from 1 in row order, of the elements that are not 0.
local function positions_of(what, x)
  local count, device = x.count, x.device
  if count == 0 then return kernels.empty(device, "longlong", { 0 }) end
  if promotion.complex(x.dtype) then x = x:ne(0) end
  local C = promotion.of(x.dtype, what).C
  made[C] = made[C] or kernels.module((compaction:gsub("%$T", C)), "compaction")
  local m, chunks = made[C](device), kernels.blocks(count, CHUNK)
  local counts = kernels.empty(device, "longlong", { chunks })
  x = x:contiguous()
  m.compact_count(chunks, 32)(count, CHUNK, x, counts)
  local ends = counts:cumsum()
  local positions = kernels.empty(device, "longlong", { tonumber(ends[chunks]) })
  if positions.count > 0 then m.compact(chunks, 32)(count, CHUNK, x, ends, positions) end
  return positions
end

-- Functions of elements by device.
local functions = {}
local function run(device, key, source, ...)
  key = device.name .. " " .. key
  functions[key] = functions[key] or kernels.on(device, raw.elementwise_new, source)
  return raw.elementwise_run(functions[key], ...)
end

---The positions of the elements that are not 0: one array of indices for each dimension.
---@return moonwarp.array ... several: positions from 1, of longlong
function array:nonzero()
  local positions, shape, results = positions_of("a:nonzero", self), self.shape, {}
  if #shape == 1 then return positions end
  local stride = 1
  for d = #shape, 1, -1 do
    results[d] = kernels.empty(self.device, "longlong", positions.shape)
    if positions.count > 0 then
      run(self.device, "coordinate", { name = "coordinate", body = "y = (p - 1) / stride % size + 1;", operands = {
        { "y", "out", "longlong" }, { "p", "in", "longlong" }, { "stride", "scalar", "longlong" },
        { "size", "scalar", "longlong" } } }, results[d], positions, stride, shape[d])
    end
    stride = stride * shape[d]
  end
  return (table.unpack or unpack)(results, 1, #shape)
end

-- ---- parts by a mask ----

---The elements for which the condition holds: of all elements in row order, or the parts along an axis.
---@param condition moonwarp.array|boolean[] one dimension; it may be shorter than the axis
---@param options? { axis?: integer, out?: moonwarp.array }
---@return moonwarp.array
function array:compress(condition, options)
  options = options or {}
  if raw.type(condition) ~= "array" then
    if type(condition) ~= "table" then
      usage("a:compress: the condition is an array or a table of booleans, got %s", raw.describe(condition))
    end
    condition = #condition == 0 and kernels.empty(self.device, "bool", { 0 })
      or kernels.on(self.device, raw.array_from, condition, "bool")
  end
  if condition.rank ~= 1 then
    usage("a:compress: the condition has one dimension, this one is %s; a[mask] takes any",
      shape_text(condition.shape))
  end
  local positions = positions_of("a:compress", condition)
  local size = options.axis and self.shape[views.axis("a:compress", options.axis, self.rank)] or self.count
  if positions.count > 0 and condition.count > size and positions[positions.count] > size then
    usage("a:compress: the condition holds at position %d, but there are %d elements",
      tonumber(positions[positions.count]), size)
  end
  return self:take(positions, options)
end

-- Check that a mask's shape is the array's first sizes; returns the remaining sizes.
local function below(a, mask)
  local shape, of, rest = a.shape, mask.shape, {}
  local fits = #of <= #shape
  for d = 1, #of do fits = fits and of[d] == shape[d] end
  if not fits then
    usage("a mask has the array's shape, %s, or its first sizes; this one is %s", shape_text(shape), shape_text(of))
  end
  for d = #of + 1, #shape do rest[#rest + 1] = shape[d] end
  return rest
end

-- The array reshaped so that the mask's dimensions are one.
local function flattened(a, mask, rest)
  local shape = { mask.count }
  for _, size in ipairs(rest) do shape[#shape + 1] = size end
  return a:contiguous():reshape(shape)
end

-- a[mask]: a new array of the elements, or parts, for which the mask holds.
function M.select(a, mask)
  local rest = below(a, mask)
  return flattened(a, mask, rest):take(positions_of("a[mask]", mask), { axis = 1 })
end

-- a[mask] = values: one value, or one for each element for which the mask holds.
function M.assign(a, mask, values)
  local rest = below(a, mask)
  local is_struct = type(a.dtype) ~= "string" -- structs of two modules may have one name: no function is kept
  if is_struct or raw.type(values) == "array" or type(values) == "table" and type(values[1]) ~= "nil" then
    local copy = a.is_contiguous and a or a:copy()
    indices.assign(flattened(copy, mask, rest), positions_of("a[mask]", mask), values)
    if copy ~= a then a:assign(copy) end
    return
  end
  local shape = mask.shape
  for _ = 1, #rest do shape[#shape + 1] = 1 end
  run(a.device, "assign " .. tostring(a.dtype), { name = "assign_masked", body = "y = p ? v : x;", operands = {
    { "y", "out", a.dtype }, { "x", "in", a.dtype }, { "p", "in", "bool" }, { "v", "scalar", a.dtype } } },
    a, a, mask:contiguous():reshape(shape), values)
end

-- ---- where ----

local function is_whole(value) return type(value) == "number" and value % 1 == 0 end

-- The dtype of mw.where's result. Of two numbers it is longlong or double, as in NumPy.
local function where_dtype(a, b)
  if promotion.is_array(a) or promotion.is_array(b) then return promotion.together("mw.where", { a, b }, 2) end
  for _, value in ipairs { a, b } do
    if promotion.is_complex(value) then return "complex128" end
    if type(value) ~= "number" and type(value) ~= "boolean" then
      usage("mw.where wants arrays and numbers, got %s", raw.describe(value))
    end
  end
  if type(a) == "boolean" and type(b) == "boolean" then return "bool" end
  return (is_whole(a) or type(a) == "boolean") and (is_whole(b) or type(b) == "boolean") and "longlong" or "double"
end

local function where_plan(condition, a, b)
  if not promotion.is_array(condition) then
    usage("mw.where wants an array as condition, got %s", raw.describe(condition))
  end
  local dtype = where_dtype(a, b)
  local operands, values = { { "y", "out", dtype }, { "p", "in", condition.dtype } }, {}
  local to = promotion.number(dtype, "mw.where")
  for i, value in ipairs { a, b } do
    local is_array = promotion.is_array(value)
    local name, from = i == 1 and "a" or "b", is_array and value.dtype or dtype
    operands[i + 2] = { name, is_array and "in" or "scalar", from }
    values[i] = promotion.converted(name, promotion.number(from, "mw.where"), to)
  end
  local test = ("p != (%s)0"):format(promotion.number(condition.dtype, "mw.where").compute)
  return { name = "where", operands = operands, body = ("y = %s ? %s : %s;"):format(test, values[1], values[2]) }, dtype
end

local function where_function(...)
  local plan, dtype = where_plan(...)
  return raw.elementwise_new(plan), dtype
end

-- mw.where of vectors and structs, which are only moved: a and b are arrays of one dtype, or one is an element.
local function where_elements(dtype, condition, a, b, out)
  local both = { a, b }
  for i, value in ipairs(both) do
    if raw.type(value) ~= "array" then
      both[i] = kernels.empty(condition.device, dtype, { 1 })
      both[i][1] = value
    elseif value.dtype ~= dtype then
      usage("mw.where chooses between elements of one dtype, got %s and %s", tostring(a.dtype), tostring(b.dtype))
    end
  end
  if raw.type(condition) ~= "array" then
    usage("mw.where wants an array as condition, got %s", raw.describe(condition))
  end
  local test = ("p != (%s)0"):format(promotion.number(condition.dtype, "mw.where").compute)
  local f = kernels.on(condition.device, raw.elementwise_new, { name = "where", body = "y = " .. test .. " ? a : b;",
    operands = { { "y", "out", dtype }, { "p", "in", condition.dtype }, { "a", "in", dtype }, { "b", "in", dtype } } })
  return raw.elementwise_run(f, out, condition, both[1], both[2]) or out
end

-- The dtype of vectors or structs that mw.where chooses between; nil for numbers.
local function element_dtype(a, b)
  for _, value in ipairs { a, b } do
    if raw.type(value) == "array" and not promotion.is_number(value.dtype) then return value.dtype end
  end
end

local where = raw.array_operator(3, function(...) return (where_function(...)) end)

---The elements of `a` where a condition holds, and those of `b` elsewhere; a and b are arrays or numbers (or arrays of
---one vector or struct dtype, or an element of it), and shapes broadcast. Without a and b, the positions
---where the condition holds, as a:nonzero returns them.
---@param condition moonwarp.array
---@param a? moonwarp.array|number|boolean
---@param b? moonwarp.array|number|boolean
---@param options? { out?: moonwarp.array }
---@return moonwarp.array ... several for positions: one array for each dimension
function M.public.where(condition, a, b, options)
  if lazy.is(condition) or lazy.is(a) or lazy.is(b) then
    if options ~= nil and options.out ~= nil then usage "mw.where of expressions has no out: write out:assign(e)" end
    if a == nil or b == nil then usage "mw.where of an expression wants the elements to choose: mw.where(e, a, b)" end
    return lazy.operation("where", { condition, a, b }, (where_plan(condition, a, b)))
  end
  if a == nil and b == nil and raw.type(condition) == "array" then return condition:nonzero() end
  local out = options and options.out
  local elements = element_dtype(a, b)
  if elements then
    if out ~= nil and (raw.type(out) ~= "array" or out.dtype ~= elements) then
      usage("mw.where: out has to be an array of %s, got %s", tostring(elements), raw.describe(out))
    end
    return where_elements(elements, condition, a, b, out)
  end
  if out == nil then return where(condition, a, b) end
  local f, dtype = where_function(condition, a, b)
  if raw.type(out) ~= "array" or out.dtype ~= dtype then
    usage("mw.where: out has to be an array of %s, got %s", dtype, raw.describe(out))
  end
  raw.elementwise_run(f, out, condition, a, b)
  return out
end

---a:compress(condition, options) with the condition as the first argument.
---@param condition moonwarp.array|boolean[]
---@param a moonwarp.array
---@param options? { axis?: integer, out?: moonwarp.array }
---@return moonwarp.array
function M.public.compress(condition, a, options)
  if raw.type(a) ~= "array" then usage("mw.compress(condition, a) wants an array, got %s", raw.describe(a)) end
  return a:compress(condition, options)
end

---As a:nonzero().
---@param a moonwarp.array
---@return moonwarp.array ...
function M.public.nonzero(a)
  if raw.type(a) ~= "array" then usage("mw.nonzero wants an array, got %s", raw.describe(a)) end
  return a:nonzero()
end

return M
