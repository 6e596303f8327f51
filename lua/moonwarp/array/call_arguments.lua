-- Checks of array functions' arguments: axes or options in the last place, arrays, and the array to write into.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local views = require "moonwarp.array.views"
local promotion = require "moonwarp.array.promotion"

local usage = errors.usage
local shape_text = views.shape_text
local M = {}

---The options of a call whose last argument is an axis or a table of options.
---@param what string the function's name, for messages
---@param given any
---@param names string[] the options there are, the first of which a bare value stands for
---@param kinds? string[] what a bare value may be: "number" by default
---@return table
function M.options(what, given, names, kinds)
  if given == nil then return {} end
  for _, kind in ipairs(kinds or { "number" }) do
    if (raw.type(given) or type(given)) == kind then return { [names[1]] = given } end
  end
  if type(given) ~= "table" or raw.type(given) then
    usage("%s wants options such as {%s = …}, got %s", what, names[1], raw.describe(given))
  end
  for key in next, given do
    local known = false
    for _, name in ipairs(names) do known = known or key == name end
    if not known then arguments.no_option(what, key, names) end
  end
  return given
end

---An error unless a value is an array.
---@param what string
---@param value any
---@return moonwarp.array
function M.array(what, value)
  if raw.type(value) ~= "array" then
    usage("%s wants an array, got %s; mw.array(…) makes one of a table", what, raw.describe(value))
  end
  return value
end

---Check that a value is a whole number of at least `least`.
---@param what string
---@param value any
---@param least number
---@param name string
---@return integer
function M.whole(what, value, least, name)
  if type(value) ~= "number" or value % 1 ~= 0 or value < least then
    usage("%s: %s is a whole number%s, got %s", what, name, least > -math.huge and (" from %d on"):format(least) or "",
      type(value) == "number" and tostring(value) or raw.describe(value))
  end
  return value
end

---Call f(...) while an array's device is in use, so that new arrays are made on it.
---@param like moonwarp.array
---@param f function
---@param ... any
---@return any ... what f returns
function M.on_device_of(like, f, ...)
  local device = like.device
  if raw.device() == device then return f(...) end
  return require("moonwarp.stream").with(device, f, ...)
end

---A new array on the device of another array.
---@param like moonwarp.array
---@param dtype moonwarp.dtype
---@param shape integer[]
---@return moonwarp.array
function M.new(like, dtype, shape) return M.on_device_of(like, raw.array_new, dtype, shape) end

---The array to write into: `out`, if it has the dtype and shape of the result, or a new one.
---@param what string
---@param out moonwarp.array?
---@param like moonwarp.array
---@param dtype moonwarp.dtype
---@param shape integer[]
---@return moonwarp.array
function M.out(what, out, like, dtype, shape)
  if out == nil then return M.new(like, dtype, shape) end
  if raw.type(out) ~= "array" then usage("%s: out is the array to write into, got %s", what, raw.describe(out)) end
  if out.dtype ~= dtype or shape_text(out.shape) ~= shape_text(shape) then
    usage("%s: the result is %s %s and cannot be written into out, %s %s", what, tostring(dtype), shape_text(shape),
      tostring(out.dtype), shape_text(out.shape))
  end
  return out
end

---Whether two arrays may share memory.
---@param a moonwarp.array
---@param b moonwarp.array
---@return boolean
function M.overlap(a, b)
  local function range(x)
    local low = x.address
    if x.is_contiguous then return low, low + x.nbytes end
    local high = low + raw.dtype_size(x.dtype)
    local strides = x.strides
    for d, size in ipairs(x.shape) do
      if size == 0 then return 0, 0 end
      local far = (size - 1) * strides[d]
      if far < 0 then low = low + far else high = high + far end
    end
    return low, high
  end
  local first, last = range(a)
  local from, to = range(b)
  return first < to and from < last
end

---The common dtype of a list of arrays. Dtypes that are not numeric must all be the same.
---@param what string
---@param list moonwarp.array[]
---@return moonwarp.dtype
function M.together(what, list)
  local dtype = list[1].dtype
  for i = 2, #list do
    local other = list[i].dtype
    if other ~= dtype then
      dtype = promotion.promote(promotion.number(dtype, what).name, promotion.number(other, what).name)
    end
  end
  return dtype
end

return M
