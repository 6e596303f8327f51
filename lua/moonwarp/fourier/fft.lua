-- mw.fft: discrete Fourier transforms of arrays, of any length, along any axes. The device's library makes them where
-- there is one (FFTW on the CPU, cuFFT on GPUs), else the kernels of kernels.lua.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local own = require "moonwarp.fourier.kernels"
local mw = require "moonwarp"

local usage = errors.usage

local fft = {}

local real_of = { complex64 = "float", complex128 = "double" }

-- ---- what is given ----

-- What results are multiplied by.
local function scale_of(what, norm, n, is_inverse)
  norm = norm or "backward"
  if norm == "ortho" then return 1 / math.sqrt(n) end
  if norm == "backward" then return is_inverse and 1 / n or 1 end
  if norm == "forward" then return is_inverse and 1 or 1 / n end
  return usage('%s: norm is "backward", "ortho" or "forward", got %s', what, raw.describe(norm))
end

-- The array with n elements along an axis: its first ones, and zeros after its last.
local function resized(what, x, axis, n)
  given.whole(what, n, 1, "n")
  local shape, key = x.shape, {}
  if shape[axis] == n then return x end
  for d = 1, #shape do key[d] = {} end
  key[axis] = { 1, math.min(n, shape[axis]) }
  if n < shape[axis] then return x[key] end
  local old = shape[axis]
  shape[axis] = n
  local y = kernels.empty(x.device, x.dtype, shape):fill(x.dtype == "bool" and false or 0)
  if old > 0 then y[key] = x end
  return y
end

-- The axis, and the array with the elements along it that are transformed.
local function prepared(what, x, options, count)
  given.array(what, x)
  promotion.number(x.dtype, what)
  local axis = views.axis(what, options.axis or -1, x.rank)
  local n = count or options.n
  if not n then
    n = x.shape[axis]
    if n == 0 then
      usage("%s: axis %d of %s has no elements; n = … pads with zeros", what, axis, views.shape_text(x.shape))
    end
  end
  return resized(what, x, axis, n), axis
end

local function as_dtype(x, dtype)
  return x.dtype == dtype and x or kernels.empty(x.device, dtype, x.shape):assign(x)
end

-- ---- along one axis ----

local SIZE = 2 ^ 31
local uses_library = os.getenv "MOONWARP_FFT" ~= "own" -- where it is found; "own": kernels alone

-- Whether the device's library has transformed x into y: unscaled, so that what is to be scaled is scaled here.
local function by_library(x, y, kind, n, inner, scale)
  if not uses_library or not raw.array_fourier(x, y, kind, n, inner) then return false end
  if scale ~= 1 then y:multiply(scale, { out = y }) end
  return true
end

-- The transform along an axis, with its scale.
local function along(what, x, axis, sign, scale)
  x = as_dtype(x, promotion.complex_of(x.dtype)):contiguous()
  local y = kernels.empty(x.device, x.dtype, x.shape)
  local outer, n, inner = kernels.around(x.shape, axis)
  if n * inner >= SIZE then usage("%s: up to 2^31 elements from the axis on, got %.0f", what, n * inner) end
  if x.count > 0 and not by_library(x, y, sign < 0 and "forward" or "inverse", n, inner, scale) then
    own.transform(x, y, outer, n, inner, sign, scale)
  end
  return y
end

local function complex_transform(name, sign)
  local what = "mw.fft." .. name
  return function(a, options)
    options = given.options(what, options, { "n", "axis", "norm" })
    local x, axis = prepared(what, a, options)
    return along(what, x, axis, sign, scale_of(what, options.norm, x.shape[axis], sign > 0))
  end
end

local forward, inverse = complex_transform("fft", -1), complex_transform("ifft", 1)

---The discrete Fourier transform along an axis: y[k] is the sum of a[j] exp(-2 pi i (j - 1) (k - 1) / n). Of half and
---float complex64, of double and integers complex128. The error, relative to the size of the result, is a few epsilon
---times log2(n).
---@param a moonwarp.array
---@param options? integer|{ n?: integer, axis?: integer, norm?: "backward"|"ortho"|"forward" } n, or: how many elements
---are taken, or made by zeros (all); the axis (the last); which way divides by n, or both by its root (backward)
---@return moonwarp.array
function fft.fft(a, options) return forward(a, options) end

---The inverse of mw.fft.fft.
---@param a moonwarp.array
---@param options? integer|{ n?: integer, axis?: integer, norm?: "backward"|"ortho"|"forward" }
---@return moonwarp.array
function fft.ifft(a, options) return inverse(a, options) end

-- With the axis as the last one, contiguous.
local function lines_of(x, axis)
  return (axis == x.rank and x or x:transpose(axis, x.rank)):contiguous()
end

local function back(y, axis) return axis == y.rank and y or y:transpose(axis, y.rank):contiguous() end

---The first n / 2 + 1 numbers of the transform of real ones, of which the others are the conjugates.
---@param a moonwarp.array of real numbers
---@param options? integer|{ n?: integer, axis?: integer, norm?: "backward"|"ortho"|"forward" } as mw.fft.fft
---@return moonwarp.array
function fft.rfft(a, options)
  local what = "mw.fft.rfft"
  options = given.options(what, options, { "n", "axis", "norm" })
  local x, axis = prepared(what, a, options)
  if promotion.complex(a.dtype) then usage("%s takes real numbers, got %s: see mw.fft.fft", what, a.dtype) end
  local n = x.shape[axis]
  local scale = scale_of(what, options.norm, n, false)
  local dtype = promotion.complex_of(a.dtype)
  local half = math.floor(n / 2)
  if n % 2 == 1 then
    local key = {}
    for d = 1, x.rank do key[d] = {} end
    key[axis] = { 1, half + 1 }
    return along(what, x, axis, -1, scale)[key]:contiguous()
  end
  x = lines_of(as_dtype(x, real_of[dtype]), axis)
  local shape, outer = x.shape, x.count / n
  shape[#shape] = half + 1
  local y = kernels.empty(x.device, dtype, shape)
  if outer > 0 and not by_library(x, y, "real", n, 1, scale) then own.real_forward(x, y, outer, n, scale) end
  return back(y, axis)
end

---The inverse of mw.fft.rfft: n real numbers.
---@param a moonwarp.array
---@param options? integer|{ n?: integer, axis?: integer, norm?: "backward"|"ortho"|"forward" } n is 2 (m - 1) for m
---elements where it is not given
---@return moonwarp.array
function fft.irfft(a, options)
  local what = "mw.fft.irfft"
  options = given.options(what, options, { "n", "axis", "norm" })
  given.array(what, a)
  local n = options.n or 2 * (a.shape[views.axis(what, options.axis or -1, a.rank)] - 1)
  if n == -2 then prepared(what, a, options) end
  given.whole(what, n, 1, "n")
  local half = math.floor(n / 2)
  local x, axis = prepared(what, a, options, half + 1)
  local scale = scale_of(what, options.norm, n, true)
  x = lines_of(as_dtype(x, promotion.complex_of(a.dtype)), axis)
  local shape, outer = x.shape, x.count / (half + 1)
  shape[#shape] = n
  local y = kernels.empty(x.device, real_of[x.dtype], shape)
  if outer == 0 or by_library(x, y, "real inverse", n, 1, scale) then
    return back(y, axis)
  elseif n % 2 == 0 then
    own.real_inverse(x, y, outer, n, scale)
  else
    y:assign(along(what, own.mirror(x, outer, n):reshape(outer, n), 2, 1, scale):real():copy():reshape(shape))
  end
  return back(y, axis)
end

-- ---- along several axes ----

-- The axes that options name, or the last `count` (nil: all), and the sizes along them.
local function axes_of(what, a, options, count)
  given.array(what, a)
  local axes, rank = {}, a.rank
  if options.axes then
    for i, axis in ipairs(options.axes) do axes[i] = views.axis(what, axis, rank) end
  else
    count = count or (options.shape and #options.shape) or rank
    if count > rank then usage("%s wants at least %d axes, got %s", what, count, views.shape_text(a.shape)) end
    for i = 1, count do axes[i] = rank - count + i end
  end
  if options.shape and #options.shape ~= #axes then
    usage("%s: shape has %d sizes for %d axes", what, #options.shape, #axes)
  end
  if #axes == 0 then usage("%s wants at least one axis", what) end
  return axes
end

local function several(name, one, count, last)
  local what = "mw.fft." .. name
  return function(a, options)
    options = given.options(what, options, { "axes", "shape", "norm" }, {})
    local axes, sizes = axes_of(what, a, options, count), options.shape or {}
    local function step(x, i, f)
      return f(x, { n = sizes[i], axis = axes[i], norm = options.norm })
    end
    if last == fft.rfft then a = step(a, #axes, last) end
    for i = last and #axes - 1 or #axes, 1, -1 do a = step(a, i, one) end
    if last == fft.irfft then a = step(a, #axes, last) end
    return a
  end
end

local all = {
  fft2 = several("fft2", fft.fft, 2), ifft2 = several("ifft2", fft.ifft, 2),
  rfft2 = several("rfft2", fft.fft, 2, fft.rfft), irfft2 = several("irfft2", fft.ifft, 2, fft.irfft),
  fftn = several("fftn", fft.fft), ifftn = several("ifftn", fft.ifft),
  rfftn = several("rfftn", fft.fft, nil, fft.rfft), irfftn = several("irfftn", fft.ifft, nil, fft.irfft),
}

---mw.fft.fft along the last two axes.
---@param a moonwarp.array
---@param options? { axes?: integer[], shape?: integer[], norm?: "backward"|"ortho"|"forward" } shape: n for each axis
---@return moonwarp.array
function fft.fft2(a, options) return all.fft2(a, options) end

---mw.fft.ifft along the last two axes.
---@param a moonwarp.array
---@param options? table as mw.fft.fft2
---@return moonwarp.array
function fft.ifft2(a, options) return all.ifft2(a, options) end

---mw.fft.rfft along the last axis, then mw.fft.fft along the one before.
---@param a moonwarp.array of real numbers
---@param options? table as mw.fft.fft2
---@return moonwarp.array
function fft.rfft2(a, options) return all.rfft2(a, options) end

---The inverse of mw.fft.rfft2.
---@param a moonwarp.array
---@param options? table as mw.fft.fft2; where the last size was odd, shape has to say so
---@return moonwarp.array
function fft.irfft2(a, options) return all.irfft2(a, options) end

---mw.fft.fft along all axes, or those named.
---@param a moonwarp.array
---@param options? table as mw.fft.fft2
---@return moonwarp.array
function fft.fftn(a, options) return all.fftn(a, options) end

---mw.fft.ifft along all axes, or those named.
---@param a moonwarp.array
---@param options? table as mw.fft.fft2
---@return moonwarp.array
function fft.ifftn(a, options) return all.ifftn(a, options) end

---mw.fft.rfft along the last axis, or the last one named, then mw.fft.fft along the others.
---@param a moonwarp.array of real numbers
---@param options? table as mw.fft.fft2
---@return moonwarp.array
function fft.rfftn(a, options) return all.rfftn(a, options) end

---The inverse of mw.fft.rfftn.
---@param a moonwarp.array
---@param options? table as mw.fft.irfft2
---@return moonwarp.array
function fft.irfftn(a, options) return all.irfftn(a, options) end

-- ---- order and frequencies ----

local function shifted(what, a, axes, sign)
  given.array(what, a)
  axes = axes_of(what, a, { axes = type(axes) == "number" and { axes } or axes })
  local shifts = {}
  for i, axis in ipairs(axes) do shifts[i] = sign * math.floor(a.shape[axis] / 2) end
  return a:roll(shifts, axes)
end

---With the frequency 0 in the middle, as a:roll.
---@param a moonwarp.array
---@param axes? integer|integer[] all by default
---@return moonwarp.array
function fft.fftshift(a, axes) return shifted("mw.fft.fftshift", a, axes, 1) end

---The inverse of mw.fft.fftshift.
---@param a moonwarp.array
---@param axes? integer|integer[]
---@return moonwarp.array
function fft.ifftshift(a, axes) return shifted("mw.fft.ifftshift", a, axes, -1) end

---The frequencies of mw.fft.fft's n results, for samples at a distance.
---@param n integer
---@param distance? number 1 by default
---@return moonwarp.array of double
function fft.fftfreq(n, distance)
  given.whole("mw.fft.fftfreq", n, 1, "n")
  local k = mw.arange(n, "double")
  return mw.where(k:lt(math.floor((n + 1) / 2)), k, k - n) / (n * (distance or 1))
end

---The frequencies of mw.fft.rfft's n / 2 + 1 results.
---@param n integer
---@param distance? number 1 by default
---@return moonwarp.array of double
function fft.rfftfreq(n, distance)
  given.whole("mw.fft.rfftfreq", n, 1, "n")
  return mw.arange(math.floor(n / 2) + 1, "double") / (n * (distance or 1))
end

return fft
