-- Fourier transforms of distributed arrays, by pencils: the array is moved so that a rank has whole lines of the axis,
-- which it transforms, axis by axis, and at the end back into its layout.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arrays = require "moonwarp.dist.array"
local pencils = require "moonwarp.dist.pencil"

local usage = errors.usage
local M = {}

local function transform(name, d, axes, norm)
  arrays.check(d, "mw.dist." .. name)
  if #d.shape < 2 then
    usage("mw.dist.%s is of arrays with 2 axes or more: along one axis alone the ranks have nothing to divide", name)
  end
  local one = raw.part("fourier.fft")[name:gsub("n$", "")]
  local result = d
  for _, axis in ipairs(axes) do
    if not d.shape[axis] then usage("mw.dist.%s: axis %s of an array with %d axes", name, tostring(axis), #d.shape) end
    result = pencils.along(result, axis)
    local part = result.part
    if part.count > 0 then
      part = one(part, { axis = axis, norm = norm })
    else
      part = raw.array_new(tostring(part.dtype):find "double" and "complex128" or part.dtype == "complex128"
        and "complex128" or "complex64", part.shape)
    end
    result = arrays.new(result.layout, part)
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
