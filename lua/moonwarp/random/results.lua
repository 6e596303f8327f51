-- The results of generators' methods: an array of the shape, the array given as `out`, or one number.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local usage = errors.usage

local M = {}

local function sizes(shape)
  if shape == nil then return { 1 } end
  return type(shape) == "table" and shape or { shape }
end

local function same_shape(a, b)
  for d = 1, math.max(#a, #b) do
    if a[d] ~= b[d] then return false end
  end
  return true
end

---The array to fill.
---@param name string the method's
---@param shape? integer|integer[]
---@param dtype string
---@param options? table out
---@return moonwarp.array
function M.array(name, shape, dtype, options)
  local out = options and options.out
  if not out then return raw.array_new(dtype, sizes(shape)) end
  if out.dtype ~= raw.array_new(dtype, { 1 }).dtype or not out.is_contiguous
    or shape ~= nil and not same_shape(out.shape, sizes(shape)) then
    usage("g:%s: out has to be a contiguous array of %s%s; this is one of %s, {%s}", name, dtype,
      shape ~= nil and (" with the shape {%s}"):format(table.concat(sizes(shape), ", ")) or "", tostring(out.dtype),
      table.concat(out.shape, ", "))
  end
  return out
end

---The method's result.
---@param out moonwarp.array
---@param shape? integer|integer[]
---@param options? table
function M.given(out, shape, options)
  if shape == nil and not (options and options.out) then return out[1] end
  return out
end

---A dtype of real numbers, and the suffix of the kernels' names for it.
---@param name string
---@param options? table
---@return string dtype
---@return string suffix
function M.real(name, options)
  local dtype = options and (options.dtype or options.out and tostring(options.out.dtype)) or "float"
  if dtype ~= "float" and dtype ~= "double" then
    usage("g:%s makes numbers of float or double, not of %s", name, tostring(dtype))
  end
  return dtype, dtype == "double" and "_double" or ""
end

return M
