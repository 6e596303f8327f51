-- Fourier transforms of distributed arrays, by pencils: the array is moved so that a rank has whole lines of the axis,
-- which it transforms, axis by axis, and at the end back into its layout.
--
-- An array of one axis is transformed as a matrix of n1 × n2 = n elements (Bailey, "FFTs in external or hierarchical
-- memory", 1990): with j = j1 n2 + j2 and k = k1 + k2 n1,
--   X[k] = sum over j2 of w^(j2 k1) (sum over j1 of x[j] w1^(j1 k1)) w2^(j2 k2),
-- where w = exp(-2 pi i / n), w1 = w^n2 and w2 = w^n1.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local mw = require "moonwarp"
local arrays = require "moonwarp.dist.array"
local layouts = require "moonwarp.dist.layout"
local pencils = require "moonwarp.dist.pencil"

local usage = errors.usage
local M = {}

-- Element (k1, j2) times exp(sign 2 pi i j2 k1 / n), of a matrix's columns from `first` (from 0) on. The product j2 k1
-- is exact, as it is less than n.
local function twiddle(part, first, n, sign)
  local rows, columns = part.shape[1], part.shape[2]
  local given = { k1 = mw.arange(0, rows, 1, "double"):reshape { rows, 1 },
    j2 = mw.arange(first, first + columns, 1, "double"):reshape { 1, columns }, n = n }
  local imaginary = mw.array({ { 0, sign } }, "complex128")
  local factor = mw.map("cospi(2 * (j2 * k1 / n))", given) + mw.map("sinpi(2 * (j2 * k1 / n))", given) * imaginary
  return part * factor:to(part.dtype)
end

-- The transform of a part's lines along an axis; an empty part has the transform's dtype.
local function lines(name, part, axis, norm)
  if part.count > 0 then return raw.part("fourier.fft")[name](part, { axis = axis, norm = norm }) end
  local is_double = tostring(part.dtype):find "double" or part.dtype == "complex128"
  return raw.array_new(is_double and "complex128" or "complex64", part.shape)
end

-- The divisor of n that is closest to its root, from below.
local function divisor(n)
  for k = math.floor(math.sqrt(n)), 2, -1 do
    if n % k == 0 then return k end
  end
  return 1
end

-- Rows of a matrix in turn, so that each rank has as many whole rows as another; as a matrix, or as its elements.
local function rows_of(comm, n1, n2)
  local height = math.max(1, math.ceil(n1 / comm.size))
  return layouts.new(comm, { n1, n2 }, { grid = { comm.size, 1 }, block = { height, n2 } }),
    layouts.new(comm, { n1 * n2 }, { block = height * n2 })
end

local function of_one_axis(name, d, norm)
  local comm, n = d.comm, d.shape[1]
  local n1 = divisor(n)
  local n2 = math.floor(n / n1)
  if n1 == 1 then -- a prime: one rank transforms all of it
    local whole = d:gather(0)
    if comm.rank == 0 then whole = lines(name, whole, 1, norm) end
    local is_double = tostring(d.dtype):find "double" or d.dtype == "complex128"
    return raw.part("dist.dist").scatter(d.layout, whole, 0, is_double and "complex128" or "complex64")
  end
  local matrix, elements = rows_of(comm, n1, n2)
  local m = arrays.new(matrix, d:redistribute(elements).part:reshape(matrix:part_shape()))
  local columns = layouts.new(comm, { n1, n2 }, { grid = { 1, comm.size } })
  m = m:redistribute(columns)
  local part = lines(name, m.part, 1, norm)
  local run = columns:runs()[2][1]
  if part.count > 0 then part = twiddle(part, run.global - 1, n, name == "fft" and -1 or 1) end
  m = arrays.new(columns, part):redistribute(layouts.new(comm, { n1, n2 }, { grid = { comm.size, 1 } }))
  m = m:with(lines(name, m.part, 2, norm))
  matrix, elements = rows_of(comm, n2, n1)
  m = m:transpose(1, 2, matrix)
  return arrays.new(elements, m.part:contiguous():reshape(elements:part_shape())):redistribute(d.layout)
end

local function transform(name, d, axes, norm)
  arrays.check(d, "mw.dist." .. name)
  for _, axis in ipairs(axes) do
    if not d.shape[axis] then usage("mw.dist.%s: axis %s of an array with %d axes", name, tostring(axis), #d.shape) end
  end
  local one = name:gsub("n$", "")
  if #d.shape == 1 then return of_one_axis(one, d, norm) end
  local result = d
  for _, axis in ipairs(axes) do
    result = pencils.along(result, axis)
    result = arrays.new(result.layout, lines(one, result.part, axis, norm))
  end
  return result:redistribute(d.layout)
end

local function all_axes(d)
  local axes = {}
  for axis = #d.shape, 1, -1 do axes[#axes + 1] = axis end
  return axes
end

function M.fft(d, options)
  return transform("fft", d, { options and options.axis or #arrays.check(d, "mw.dist.fft").shape },
    options and options.norm)
end

function M.ifft(d, options)
  return transform("ifft", d, { options and options.axis or #arrays.check(d, "mw.dist.ifft").shape },
    options and options.norm)
end

function M.fftn(d, options)
  return transform("fftn", d, options and options.axes or all_axes(arrays.check(d, "mw.dist.fftn")),
    options and options.norm)
end

function M.ifftn(d, options)
  return transform("ifftn", d, options and options.axes or all_axes(arrays.check(d, "mw.dist.ifftn")),
    options and options.norm)
end

return M
