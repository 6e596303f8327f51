-- Arrays of complex numbers: their real and imaginary parts, and functions computed part by part.
--
-- In memory the two parts of a complex number are adjacent, so an array of complex numbers is also an array of real
-- numbers with one more dimension, of size 2. Sums and means are computed for the parts, and are as exact.

local raw = require "moonwarp.binding"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local views = require "moonwarp.array.views"

local array = raw.classes.array

local M = { public = {} }

-- ---- parts ----

-- The real numbers that an array of complex ones consists of: a view with one more dimension, {real, imaginary}.
-- @param x moonwarp.array
-- @return moonwarp.array
function M.parts(x)
  local part = promotion.complex(x.dtype).part
  local shape, strides = x.shape, x.strides
  shape[#shape + 1], strides[#strides + 1] = 2, raw.dtype_size(part)
  return raw.array_strided(x, 0, part, shape, strides)
end

-- The complex numbers that a contiguous array of pairs consists of: a view without the last dimension.
-- @param pairs_ moonwarp.array
-- @param dtype string
-- @return moonwarp.array
function M.joined(pairs_, dtype)
  local shape = pairs_.shape
  shape[#shape] = nil
  if #shape == 0 then shape[1] = 1 end
  return raw.array_view(pairs_, 0, dtype, shape)
end

local function part(x, place)
  local of = promotion.complex(x.dtype)
  local size = raw.dtype_size(of.part)
  return raw.array_strided(x, (place - 1) * size, of.part, x.shape, x.strides)
end

---The real parts, as a view: a:real():assign(x) writes them. Of real numbers, the array itself.
---@return moonwarp.array
function array:real()
  promotion.number(self.dtype, "a:real")
  return promotion.complex(self.dtype) and part(self, 1) or self
end

---The imaginary parts, as a view: a:imag():assign(x) writes them. Of real numbers, a new array of zeros.
---@return moonwarp.array
function array:imag()
  promotion.number(self.dtype, "a:imag")
  if promotion.complex(self.dtype) then return part(self, 2) end
  return kernels.empty(self.device, self.dtype, self.shape):fill(self.dtype == "bool" and false or 0)
end

---@param a moonwarp.array
---@return moonwarp.array see a:real
function M.public.real(a) return a:real() end

---@param a moonwarp.array
---@return moonwarp.array see a:imag
function M.public.imag(a) return a:imag() end

-- ---- reductions ----

-- The axes that are reduced: those named, or all.
local function axes_of(what, options, rank)
  local named = options.axis
  if named == nil then
    named = {}
    for d = 1, rank do named[d] = d end
  elseif type(named) ~= "table" then
    named = { named }
  end
  local axes = {}
  for i, axis in ipairs(named) do axes[i] = views.axis(what, axis, rank) end
  return axes
end

-- A result into options.out, or as a number where no dimension is left.
local function deliver(what, y, options)
  if options.out ~= nil then
    kernels.check_out(what, options.out, y.dtype, y.shape)
    return options.out:assign(y)
  end
  return options.axis == nil and not options.keepdims and y[1] or y
end

-- The reduction of each part by keys, which are those of all elements or of an axis.
local function by_keys(name, x, options)
  local of, axis = M.parts(options.axis and x or x:reshape(-1)), options.axis or 1
  if type(axis) == "table" then axis = #axis == 1 and axis[1] or nil end
  local y, keys = of[name](of, { axis = axis and views.axis("a:" .. name, axis, x.rank) or options.axis,
    keys = options.keys, ddof = options.ddof })
  y = name == "var" and y:sum { axis = -1 } or M.joined(y, x.dtype)
  if options.out ~= nil then kernels.check_out("a:" .. name, options.out, y.dtype, y.shape) end
  return kernels.deliver(options.out, y), keys
end

-- A reduction of each part by itself: sum or mean.
-- @param name string
-- @param x moonwarp.array
-- @param options? table
-- @return any
function M.reduce(name, x, options)
  options = options or {}
  if options.keys ~= nil then return by_keys(name, x, options) end
  local what, pairs_ = "a:" .. name, M.parts(x)
  local y = pairs_[name](pairs_, { axis = axes_of(what, options, x.rank), keepdims = options.keepdims })
  return deliver(what, M.joined(y, x.dtype), options)
end

-- The mean square of the distances from the mean: the sum of the parts' variances.
-- @param x moonwarp.array
-- @param options? table
-- @param root boolean whether its square root is wanted
-- @return any
function M.variance(x, options, root)
  options = options or {}
  if options.keys ~= nil then
    local y, keys = by_keys("var", x, options)
    return root and y:sqrt { out = options.out } or y, keys
  end
  local pairs_ = M.parts(x)
  local y = pairs_:var { axis = axes_of("a:var", options, x.rank), keepdims = options.keepdims, ddof = options.ddof }
  y = y:sum { axis = -1, keepdims = y.rank == 1 }
  if root then y = y:sqrt() end
  return deliver("a:var", y, options)
end

-- Sums or products up to each element.
-- @param x moonwarp.array
-- @param options? table
-- @return moonwarp.array
function M.cumsum(x, options)
  options = options or {}
  local axis = options.axis and views.axis("a:cumsum", options.axis, x.rank) or 1
  local pairs_ = M.parts(options.axis and x or x:reshape(-1))
  local y = M.joined(pairs_:cumsum { axis = axis, keys = options.keys }, x.dtype)
  if options.out then kernels.check_out("a:cumsum", options.out, y.dtype, y.shape) end
  return kernels.deliver(options.out, y)
end

-- ---- order ----

-- The positions that sort an array along an axis: by real parts, equal ones by imaginary parts. Numbers with a NaN are
-- last: first those with a real part that is a number, then those whose real part is NaN.
-- @param x moonwarp.array
-- @param axis integer
-- @param descending boolean
-- @return moonwarp.array of longlong, from 1
function M.order(x, axis, descending)
  local re, im = x:real(), x:imag()
  local order = im:argsort { axis = axis, descending = descending }
  local function then_by(key, down)
    local moved = key:gather(axis, order):argsort { axis = axis, descending = down }
    order = order:gather(axis, moved)
  end
  then_by(re, descending)
  local nan = re:isnan():to "uchar" * 2 + im:isnan():to "uchar"
  if nan:any() then then_by(nan, false) end
  return order
end

return M
