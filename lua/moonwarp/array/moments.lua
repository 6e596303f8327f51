-- Reductions of squares and powers: var, std and norm.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local reduction = require "moonwarp.array.reduction"

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- Elements are computed with as double. Results have the elements' type, or double for integers.
local function spec_of(dtype, what)
  local of = promotion.of(dtype, what)
  local result = of.kind == "float" and of or promotion.of("double", what)
  return {
    type = of.C, x = of.kind == "float" and of.bits < 64 and "(double)(float)x" or "(double)x",
    result = result.C, result_dtype = result.name, accumulator = "double", init = "0", combine = "a + b",
  }
end

-- Reductions by their names, dtypes and parameters.
local made = {}
local function named(key, make)
  made[key] = made[key] or reduction.new(make())
  return made[key]
end

-- The options that are the reduction's own.
local function plain(options)
  return { axis = options.axis, keepdims = options.keepdims, keys = options.keys, out = options.out }
end

-- ---- variance ----

local moments = [[
struct moments_ { double n, mean, squares; };           // squares: of the distances from the mean
__device__ inline moments_ moments_of(double x) { moments_ r; r.n = 1; r.mean = x; r.squares = 0; return r; }
__device__ inline moments_ none_() { moments_ r; r.n = 0; r.mean = 0; r.squares = 0; return r; }
__device__ inline moments_ together(moments_ a, moments_ b) { // Chan, Golub and LeVeque
  moments_ r;
  r.n = a.n + b.n;
  double part = r.n > 0 ? b.n / r.n : 0, d = b.mean - a.mean;
  r.mean = a.n > 0 ? a.mean + d * part : b.mean;
  r.squares = a.squares + b.squares + d * d * a.n * part;
  return r;
}]]

local function variance(what, x, options, finish)
  options = options or {}
  if promotion.complex(x.dtype) then
    return raw.part("array.complex").variance(x, options, what == "a:std")
  end
  local ddof = options.ddof or 0
  return reduction.apply(what, named(("%s %s %.17g"):format(what, x.dtype, ddof), function()
    local spec = spec_of(x.dtype, what)
    spec.preamble, spec.accumulator, spec.init = moments, "moments_", "none_()"
    spec.map, spec.combine = ("moments_of(%s)"):format(spec.x), "together(a, b)"
    spec.finish = ("(%s)" .. finish):format(spec.result, ("a.squares / fmax(a.n - %.17g, 0.0)"):format(ddof))
    return spec
  end), x, plain(options))
end

---The variance: the mean of the squared distances from the mean, computed in double precision.
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys,
---out?: moonwarp.array, ddof?: number } ddof: the sum of squares is divided by n - ddof, 0 by default; keys: see a:sum
---@return any a number where no dimension is left, else an array
function array:var(options) return variance("a:var", self, options, "(%s)") end

---The standard deviation: the square root of a:var(options).
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys,
---out?: moonwarp.array, ddof?: number }
---@return any a number where no dimension is left, else an array
function array:std(options) return variance("a:std", self, options, "sqrt(%s)") end

-- ---- norms ----

-- The reduction of a norm: map, combine and finish in double.
local function norm_of(spec, order)
  local size = ("fabs(%s)"):format(spec.x)
  spec.map = size
  if order == 2 then
    spec.map, spec.finish = ("%s * %s"):format(spec.x, spec.x), "sqrt(a)"
  elseif order == math.huge then
    spec.combine = "a != a ? a : b != b ? b : a > b ? a : b"
  elseif order == -math.huge then
    spec.combine, spec.init = "a != a ? a : b != b ? b : a < b ? a : b", "INFINITY"
  elseif order == 0 then
    spec.map = size .. " != 0"
  elseif order ~= 1 then
    spec.map, spec.finish = ("pow(%s, %.17g)"):format(size, order), ("pow(a, %.17g)"):format(1 / order)
  end
  spec.finish = ("(%s)(%s)"):format(spec.result, spec.finish or "a")
  return spec
end

---The norm of all elements, or of those along axes, taken as one vector (of complex elements, of their magnitudes).
---`ord` is 2 by default (the square root of the sum of squares), 1, math.huge (the greatest magnitude), -math.huge (the
---least), 0 (the number of nonzero elements) or any other power.
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys,
---out?: moonwarp.array, ord?: number }
---@return any a number where no dimension is left, else an array
function array:norm(options)
  options = options or {}
  local order = options.ord or 2
  if type(order) ~= "number" then usage("a:norm: ord is a number, got %s", raw.describe(order)) end
  if promotion.complex(self.dtype) then return self:abs():norm(options) end
  if order == -math.huge and self.count == 0 then usage "a:norm: an empty array has no least magnitude" end
  return reduction.apply("a:norm", named(("norm %s %.17g"):format(self.dtype, order), function()
    return norm_of(spec_of(self.dtype, "a:norm"), order)
  end), self, plain(options))
end

return M
