-- Variances, positions of extremes and medians of distributed arrays, from reductions and from pencils.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arrays = require "moonwarp.dist.array"
local pencils = require "moonwarp.dist.pencil"
local reduction = require "moonwarp.dist.reduction"
local mw = require "moonwarp"

local usage = errors.usage
local dist_array = arrays.methods

local is_float = { float = true, half = true, bfloat16 = true, double = true }

-- How many elements of the whole array come together.
local function count_of(d, set)
  local count = 1
  for axis, n in ipairs(d.shape) do count = count * (set[axis] and n or 1) end
  return count
end

-- ---- variances ----

-- The mean of the squared distances from the mean, in double precision. finish: of the result.
local function variance(d, options, name, finish)
  options = options or {}
  if tostring(d.dtype):find "complex" then usage("d:%s is of real numbers; this array is %s", name, d.dtype) end
  local set = reduction.axes_of(d, options, "d:" .. name)
  local wide = d:to "double"
  local mean = wide:mean { axis = reduction.list_of(set), keepdims = true }
  local apart = wide - mean
  local squares = (apart * apart):sum { axis = options.axis, keepdims = options.keepdims }
  local result = finish(squares / math.max(count_of(d, set) - (options.ddof or 0), 0))
  if type(result) == "number" or not is_float[d.dtype] then return result end
  return result:to(d.dtype)
end

---The variance, of all elements or along axes; see a:var.
---@param options? { axis?: integer|integer[], keepdims?: boolean, ddof?: number }
---@return any a number, or an array that every rank has
function dist_array:var(options) return variance(self, options, "var", function(v) return v end) end

---The standard deviation: the square root of d:var(options).
---@param options? { axis?: integer|integer[], keepdims?: boolean, ddof?: number }
---@return any a number, or an array that every rank has
function dist_array:std(options)
  return variance(self, options, "std", function(v) return type(v) == "number" and math.sqrt(v) or v:sqrt() end)
end

-- ---- positions of extremes ----

local NONE = 2 ^ 53 -- no position

-- The places of the elements in row order along the axes of a set, from 1, as this rank's part has them.
local function places(d, set)
  local dist, at = raw.part "dist.dist", 1
  for axis, n in ipairs(d.shape) do
    if set[axis] then at = (at - 1) * n + dist.positions(d.layout, axis, "double") end
  end
  return at.part
end

-- The first position of the greatest or least element.
local function position(d, name, extreme, options)
  local set, whole = reduction.axes_of(d, options, "d:" .. name)
  local best = d[extreme](d, { axis = reduction.list_of(set), keepdims = true })
  local found = places(d, set)
  if d.part.count > 0 then
    local is_best = d.part:eq(arrays.local_part(d.layout, best))
    found = mw.where(is_best, found, NONE)
  end
  local at = arrays.new(d.layout, found):min(options)
  if whole and type(at) == "number" then return at == NONE and 0 or math.floor(at) end
  return mw.where(at:eq(NONE), 0, at):to "longlong"
end

---The position of the first greatest element, from 1: in row order, or along an axis. NaN is ignored; 0 if all are.
---@param options? { axis?: integer|integer[], keepdims?: boolean }
---@return any a number, or an array that every rank has
function dist_array:argmax(options) return position(self, "argmax", "max", options) end

---The position of the first least element, as d:argmax.
---@param options? { axis?: integer|integer[], keepdims?: boolean }
---@return any a number, or an array that every rank has
function dist_array:argmin(options) return position(self, "argmin", "min", options) end

-- ---- medians ----

---The median along an axis of several; see a:median.
---@param options { axis: integer, keepdims?: boolean }
---@return moonwarp.array that every rank has
function dist_array:median(options)
  local axis = options and options.axis
  if type(axis) ~= "number" or not self.shape[axis] or #self.shape < 2 then
    usage("d:median wants one of several axes, { axis = 1 }; got %s of %d", raw.describe(axis), #self.shape)
  end
  local lines = pencils.along(self, axis)
  local shape, kept = {}, {}
  for e, n in ipairs(self.shape) do
    shape[e] = e == axis and 1 or n
    kept[#kept + 1] = e ~= axis and n or nil
  end
  local layout = lines.layout:with(shape)
  local part
  if lines.part.count > 0 then
    part = lines.part:median { axis = axis, keepdims = true }
  else
    part = raw.array_new(is_float[self.dtype] and self.dtype or "double", layout:part_shape())
  end
  local all = arrays.new(layout, part):gather()
  return options.keepdims and all or all:reshape(kept)
end

return {}
