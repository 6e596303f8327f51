-- Quantiles along axes: median and quantile.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local reduction = require "moonwarp.array.reduction"
local select_rank = require "moonwarp.array.order.selection"

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- ---- quantiles ----

local functions = {}

-- Interpolate between two elements, at the fraction t; NaN if the line's greatest element is NaN.
local function between(low, high, last, t, result)
  local key = low.device.name .. " " .. low.dtype
  local f = functions[key]
  if not f then
    local of, to = promotion.of(low.dtype, "a:quantile"), promotion.of(result, "a:quantile")
    local cast = of.kind == "float" and of.bits < 64 and "(double)(float)" or "(double)"
    f = kernels.on(low.device, raw.elementwise_new, { name = "quantile",
      body = ([[double l = $low, d = $high - l, n = $last;
  double q = t < 0.5 ? l + d * t : $high - d * (1 - t);
  y = ($TO)(n != n ? n : t == 0 ? l : q);]]):gsub("%$(%l+)", function(name) return cast .. name end)
        :gsub("%$TO", to.C),
      operands = { { "y", "out", result }, { "low", "in", low.dtype }, { "high", "in", low.dtype },
        { "last", "in", low.dtype }, { "t", "scalar", "double" } } })
    functions[key] = f
  end
  return raw.elementwise_run(f, nil, low, high, last, t)
end

-- One quantile of each line of x, {lines, length}.
local function of_lines(x, q, last, result)
  local length = x.shape[2]
  local at = q * (length - 1)
  local below = math.floor(at)
  local low = select_rank(x, below)
  local high = below + 1 < length and select_rank(x, below + 1) or low
  return between(low, high, last, at - below, result)
end

local function result_dtype(what, dtype)
  local of = promotion.of(dtype, what)
  return of.kind == "float" and of.name or "double"
end

-- The quantiles qs along the axes: an array for each.
local function quantiles(what, x, qs, options)
  local dtype, results = result_dtype(what, x.dtype), {}
  local lines, length, shape = reduction.lines(what, x, options.axis, options.keepdims)
  local flat = #shape > 0 and shape or { 1 }
  for i, q in ipairs(qs) do
    if type(q) ~= "number" or not (q >= 0 and q <= 1) then
      usage("%s: q is a number from 0 to 1 or several, got %s", what, raw.describe(q))
    end
    if length == 0 then
      results[i] = kernels.empty(x.device, dtype, flat):fill(0 / 0)
    elseif lines.count == 0 then
      results[i] = kernels.empty(x.device, dtype, flat)
    else
      local last = select_rank(lines, length - 1)
      results[i] = of_lines(lines, q, last, dtype):reshape(flat)
    end
  end
  return results, shape, dtype
end

-- One quantile or several, as a:quantile gives them.
local function quantile(what, x, q, options)
  if raw.type(q) == "array" then q = q:reshape(-1):totable() end
  local single = type(q) ~= "table"
  local results, shape, dtype = quantiles(what, x, single and { q } or q, options)
  local y = results[1]
  if not single then
    local whole = { #results }
    for _, size in ipairs(shape) do whole[#whole + 1] = size end
    y = kernels.empty(x.device, dtype, whole)
    for i, result in ipairs(results) do y[{ { i, i } }]:assign(result:reshape(#shape > 0 and shape or { 1 })) end
    shape = whole
  end
  if options.out ~= nil then
    kernels.check_out(what, options.out, dtype, #shape > 0 and shape or { 1 })
    return options.out:assign(y)
  end
  return #shape == 0 and y[1] or y
end

---Quantiles, of all elements or along axes: q = 0 is the least element, 1 the greatest; between two elements the result
---is interpolated linearly. If an element is NaN, or if there are none, the result is NaN.
---@param q number|number[] several give a result with a first dimension for them
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array }
---@return any a number where no dimension is left, else an array
function array:quantile(q, options) return quantile("a:quantile", self, q, options or {}) end

---The median, of all elements or along axes; of an even number of elements, the mean of the two in the middle.
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array }
---@return any a number where no dimension is left, else an array
function array:median(options) return quantile("a:median", self, 0.5, options or {}) end

return M
