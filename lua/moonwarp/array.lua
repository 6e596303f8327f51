-- Arrays: the functions that make them, and the methods whose speed does not matter. Elements, sums and conversions to
-- tables are the binding's.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local is_number = require("moonwarp.check.arguments").is_number

local usage = errors.usage
local M = {}

-- The dtype that a table of sizes names: {3, 4, dtype = "int"}. No other field may be in the table.
local function dtype_in(name, shape)
  for key in next, shape do
    if type(key) ~= "number" and key ~= "dtype" then
      usage('%s: a shape has sizes and perhaps a dtype: {3, 4, dtype = "int"}; this one has %s', name,
        raw.describe(key))
    end
  end
  return rawget(shape, "dtype")
end

-- The dtype named in a shape's table or after it; at most one of them may name it.
local function dtype_of(name, shape, dtype, ...)
  local named = dtype_in(name, shape)
  if named ~= nil and dtype ~= nil then usage("%s: the dtype is given twice, in the shape and after it", name) end
  if select("#", ...) > 0 then usage("%s takes a shape and a dtype, and nothing after that", name) end
  if named ~= nil then return named end
  return dtype
end

-- A shape and a dtype from (n, dtype), (h, w, dtype), ({h, w}, dtype) or {h, w, dtype =}.
local function shape_and_dtype(name, first, ...)
  name = "mw." .. name
  if type(first) == "table" then return first, dtype_of(name, first, ...) end
  if first == nil then usage("%s wants a shape: a number, several, or a table of them", name) end
  local shape, given = { first }, select("#", ...)
  for i = 1, given do
    local value = select(i, ...)
    if not is_number(value) then
      if i < given then usage("%s takes a shape and a dtype, and nothing after that", name) end
      return shape, value
    end
    shape[i + 1] = value
  end
  return shape, nil
end

raw.shape_and_dtype = shape_and_dtype

-- Textures and surfaces whose handles an array holds live as long as the array.
local objects_in = setmetatable({}, { __mode = "k" })

local function keep_objects(array, list)
  local kept = {}
  for i, object in ipairs(list) do kept[i] = object end
  objects_in[array] = kept
end

local function is_complex_value(value) return type(value) == "table" and getmetatable(value) == raw.complex end

-- Whether a nested table begins with a value of mw.complex. A table may contain itself: array_from refuses that.
local function has_complex(data)
  local deepest = 8 -- dimensions
  for _ = 1, deepest do
    if type(data[1]) ~= "table" or is_complex_value(data[1]) then break end
    data = data[1]
  end
  return is_complex_value(data[1])
end

---An array of the numbers in a nested table ({1, 2, 3}, {{1, 2}, {3, 4}}), or a copy of an array with another dtype.
---With the dtype "cudaTextureObject_t" or "cudaSurfaceObject_t", an array of textures or surfaces, which it retains.
---@param data table|moonwarp.array
---@param dtype? moonwarp.dtype "float" by default, "complex64" of values of mw.complex
---@return moonwarp.array
function M.array(data, dtype)
  if raw.type(data) == "array" then return data:to(dtype or data.dtype) end
  if type(data) ~= "table" then
    usage("mw.array wants a table of numbers, or of such tables, got %s", raw.describe(data))
  end
  local array = raw.array_from(data, dtype or (has_complex(data) and "complex64" or nil))
  local class = raw.type(data[1])
  if class == "texture" or class == "surface" then keep_objects(array, data) end
  return array
end

---An array without initial contents.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array contents are undefined
function M.empty(...)
  local shape, dtype = shape_and_dtype("empty", ...)
  return raw.array_new(dtype, shape)
end

---As mw.empty, in page-locked host memory: copies between it and device memory can run asynchronously,
---and kernels can use it directly.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array contents are undefined
function M.pinned(...)
  local shape, dtype = shape_and_dtype("pinned", ...)
  return raw.array_new(dtype, shape, "pinned")
end

---As mw.empty, in memory that host and device share.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array contents are undefined
function M.managed(...)
  local shape, dtype = shape_and_dtype("managed", ...)
  return raw.array_new(dtype, shape, "managed")
end

-- Vectors are filled with the same number in each component, structs with zero bytes.
local function filled(name, value, ...)
  local shape, dtype = shape_and_dtype(name, ...)
  local array = raw.array_new(dtype, shape)
  local _, components, dtype_name, is_struct = raw.dtype_size(array.dtype)
  if is_struct then
    if value ~= 0 then usage("mw.%s: a struct has fields; see mw.full", name) end
    raw.array_view(array, 0, "uchar", { array.nbytes }):fill(0)
    return array
  end
  if components > 0 and not dtype_name:find "^complex" then
    local vector = {}
    for i = 1, components do vector[i] = value end
    value = vector
  end
  return array:fill(value)
end

---An array of zeros.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array
function M.zeros(...) return filled("zeros", 0, ...) end

---An array of ones.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array
function M.ones(...) return filled("ones", 1, ...) end

---An array whose elements all have one value.
---@param shape integer|integer[]
---@param value number|boolean|table a number, or a table for elements that are vectors or structs
---@param dtype? moonwarp.dtype "float" by default, "complex64" of a value of mw.complex
---@return moonwarp.array
function M.full(shape, value, dtype)
  if value == nil then usage("mw.full wants a shape and a value: mw.full(shape, value, dtype)") end
  if type(shape) == "table" then dtype = dtype_of("mw.full", shape, dtype) end
  return raw.array_new(dtype or (is_complex_value(value) and "complex64" or nil), shape):fill(value)
end

-- An array made by a function of this file, in the shape and on the device of another.
local function like(make, a, ...) return raw.part("array.call_arguments").on_device_of(a, make, a.shape, ...) end

---An array of zeros with the shape, device and dtype of another.
---@param a moonwarp.array
---@param dtype? moonwarp.dtype that of `a` by default
---@return moonwarp.array
function M.zeros_like(a, dtype) return like(M.zeros, a, dtype or a.dtype) end

---An array of ones with the shape, device and dtype of another.
---@param a moonwarp.array
---@param dtype? moonwarp.dtype that of `a` by default
---@return moonwarp.array
function M.ones_like(a, dtype) return like(M.ones, a, dtype or a.dtype) end

---An array of one value with the shape, device and dtype of another.
---@param a moonwarp.array
---@param value number|boolean|table as for mw.full
---@param dtype? moonwarp.dtype that of `a` by default
---@return moonwarp.array
function M.full_like(a, value, dtype)
  if value == nil then usage("mw.full_like wants an array and a value: mw.full_like(a, value, dtype)") end
  return like(M.full, a, value, dtype or a.dtype)
end

---An array without initial contents, with the shape, device and dtype of another.
---@param a moonwarp.array
---@param dtype? moonwarp.dtype that of `a` by default
---@return moonwarp.array contents are undefined
function M.empty_like(a, dtype) return like(M.empty, a, dtype or a.dtype) end

-- Up to `most` numbers, and a dtype that may follow any of them.
local function numbers_and_dtype(name, most, ...)
  local numbers, given = {}, select("#", ...)
  while given > 0 and (select(given, ...)) == nil do given = given - 1 end
  for i = 1, given do
    local value = select(i, ...)
    if not is_number(value) then
      if i < given then usage("%s wants numbers and then a dtype, got %s", name, raw.describe(value)) end
      return numbers, value
    end
    if i > most then usage("%s takes %d numbers at most, and a dtype", name, most) end
    numbers[i] = tonumber(value)
  end
  return numbers, nil
end

---0, 1, … up to `stop`, exclusive; or from `start` in steps of `step`, 1 by default.
---@param ... any stop | start, stop[, step]; then a dtype, "float" by default
---@return moonwarp.array
function M.arange(...)
  local n, dtype = numbers_and_dtype("mw.arange", 3, ...)
  local start, stop, step = n[1], n[2], n[3] or 1
  if not start then usage("mw.arange wants mw.arange(stop) or mw.arange(start, stop, step)") end
  if not stop then start, stop = 0, start end
  if step == 0 then usage("mw.arange: the step must not be 0") end
  local count = math.max(0, math.ceil((stop - start) / step))
  local array = raw.array_new(dtype, { count })
  raw.array_ramp(array, start, step)
  return array
end

---`count` numbers in equal steps from `first` to `last`, both included.
---@param first number
---@param last number
---@param count integer
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.array
function M.linspace(first, last, count, dtype)
  local array = raw.array_new(dtype, { count })
  raw.array_ramp(array, first, count > 1 and (last - first) / (count - 1) or 0)
  if count > 1 then array[count] = last end
  return array
end

---An array made from the bytes of a string, for instance one from string.pack.
---@param bytes string
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.array
function M.from_bytes(bytes, dtype)
  local size, _, name = raw.dtype_size(dtype or "float")
  if #bytes % size ~= 0 then
    usage("mw.from_bytes: %d bytes are not a whole number of %s (%d bytes each)", #bytes, name, size)
  end
  return raw.array_new(dtype, { math.floor(#bytes / size) }):copy_from(bytes)
end

-- ---- methods ----

local array = raw.classes.array

---Overwrite all elements with those of a nested table, of an array of equal count and dtype, or of a string of bytes.
---@param source table|moonwarp.array|string
---@return moonwarp.array self
function array:copy_from(source)
  raw.array_assign(self, source)
  return self
end

-- "cpu", "cpu:1", "cuda": no dtype has such a name.
local function is_device(to)
  return raw.type(to) == "device" or type(to) == "string" and (to:find "^cpu%f[%W]" or to:find "^cuda%f[%W]")
end

local function is_complex(dtype) return dtype == "complex64" or dtype == "complex128" end

---A copy with another dtype, which is an error if a number does not fit into it; or a copy on another device.
---@param dtype moonwarp.dtype|moonwarp.device|string "int"; "cpu", "cuda", "cuda:1"
---@return moonwarp.array
function array:to(dtype)
  if is_device(dtype) then
    local device = raw.type(dtype) == "device" and dtype or raw.open(dtype)
    return require("moonwarp.stream").with(device, raw.array_new, self.dtype, self.shape):copy_from(self)
  end
  if dtype == self.dtype then return self:copy() end
  local copy = raw.array_new(dtype, self.shape)
  if copy.dtype == self.dtype then return copy:copy_from(self) end
  if is_complex(copy.dtype) and not is_complex(self.dtype) then return copy:assign(self) end
  if is_complex(self.dtype) and not is_complex(copy.dtype) then
    usage("a:to: complex numbers are not %s: give it a:real(), a:imag() or a:abs(); a:as sees their parts",
      tostring(copy.dtype))
  end
  raw.array_convert(copy, self)
  return copy
end

---A view of the same memory with another shape, or of a copy if the array is strided. One size may be -1, which
---stands for the remaining elements.
---@param ... integer|integer[]
---@return moonwarp.array
function array:reshape(...)
  local shape = { ... }
  if type(shape[1]) == "table" then
    if select("#", ...) > 1 then usage("a:reshape takes sizes, or one table of them, and nothing after it") end
    shape = shape[1]
    if dtype_in("a:reshape", shape) ~= nil then usage "a:reshape keeps the dtype; see a:as and a:to" end
  end
  local known, unknown = 1, nil
  local sizes = {}
  for i = 1, #shape do
    local size = tonumber(shape[i])
    if not size or size % 1 ~= 0 or size < -1 or type(shape[i]) == "string" then
      usage("a:reshape wants whole numbers as sizes, or one -1 for the remaining elements; got %s",
        raw.describe(shape[i]))
    end
    sizes[i] = size
    if size ~= -1 then
      known = known * size
    elseif unknown then
      usage("a:reshape: only one size may be -1")
    else
      unknown = i
    end
  end
  local count = self.count
  if unknown then
    if known == 0 or count % known ~= 0 then
      usage("a:reshape: %d elements do not divide into rows of %.0f", count, known)
    end
    sizes[unknown] = math.floor(count / known)
  elseif known ~= count then
    usage("a:reshape: {%s} has %.0f elements, the array has %d", table.concat(sizes, ", "), known, count)
  end
  return raw.array_view(self.is_contiguous and self or self:copy(), 0, nil, sizes)
end

---A view of the same bytes as another dtype. The last size changes with the dtype's size; if it becomes 1, the
---dimension is dropped: uchar {h, w, 3} as uchar3 is {h, w}.
---@param dtype moonwarp.dtype
---@return moonwarp.array
function array:as(dtype)
  local old = raw.dtype_size(self.dtype)
  local new, _, name = raw.dtype_size(dtype)
  local shape = self.shape
  local bytes = shape[#shape] * old
  if bytes % new ~= 0 then
    usage("a:as: rows of %d bytes (%d %s) are not a whole number of %s (%d bytes each)", bytes, shape[#shape],
      self.dtype, name, new)
  end
  shape[#shape] = math.floor(bytes / new)
  if #shape > 1 and shape[#shape] == 1 and new > old then shape[#shape] = nil end
  return raw.array_view(self, 0, dtype, shape)
end

---A view of the elements first to last, both included; of an array with several dimensions, of the rows. Negative
---positions count from the end.
---@param first integer
---@param last? integer the last one by default
---@return moonwarp.array
function array:sub(first, last)
  local shape = self.shape
  local size = shape[1]
  last = last or size
  if first < 0 then first = size + first + 1 end
  if last < 0 then last = size + last + 1 end
  if first < 1 or last > size or first > last + 1 then
    usage("a:sub: %d to %d is outside 1..%d", first, last, size)
  end
  shape[1] = last - first + 1
  local strides = self.strides
  return raw.array_strided(self, shape[1] == 0 and 0 or (first - 1) * strides[1], nil, shape, strides)
end

-- Complex numbers are shown by their sizes.
local function shown(a) return is_complex(a.dtype) and a:abs() or a end

---Print the array as a picture: one dimension as a sparkline, two as a heat map, pixels as an image. With `file` a
---heat map is written as SVG or PNG instead.
---@param options? { width?: integer, height?: integer, graphics?: "kitty"|"sixel"|"blocks"|"text", file?: string }
function array:show(options) io.write(raw.part("show.picture").picture(shown(self), options)) end

---Print a chart with axes, or with `file` write it as SVG or PNG (width and height are then pixels, else characters).
---`kind` is "line" (further arrays in the list are further lines, and so are the rows of two dimensions), "scatter" (of
---{n, 2}, or of `x` and the array; further arrays are lines over the points), "hist" (with `bins` bins) or "heat" (two
---dimensions); `log` is "x", "y" or "xy". Others are `labels` (of lines), `title`, `xlabel`, `ylabel` and `graphics`.
---@param options? { kind?: string, x?: moonwarp.array, labels?: string[], log?: string, bins?: integer, file?: string }
function array:plot(options) io.write(raw.part("show.picture").graph(shown(self), options)) end

function array:__tostring() return raw.part("show.text").array(self) end

-- Operators, views and reductions are loaded when a script first uses one.
-- The binding's own metamethods stay in place if this file is loaded again.
raw.reduced_by_host = raw.reduced_by_host or { sum = array.sum, min = array.min, max = array.max }
for _, name in ipairs { "sum", "min", "max" } do
  array[name] = function(self, options)
    raw.part "array.reduction"
    return raw.classes.array[name](self, options)
  end
end
local forward = {}
for name in ("add sub mul div mod pow unm idiv band bor bnot shl shr lt le"):gmatch "%S+" do
  local event = "__" .. name
  forward[event] = function(a, b)
    raw.part "array.operators"
    return raw.operators[event](a, b)
  end
end
raw.array_metamethods(forward)
for event in ("index newindex add sub mul div pow unm eq tostring"):gmatch "%S+" do
  event = "__" .. event
  raw.complex[event] = function(...)
    raw.part "complex"
    return raw.complex[event](...)
  end
end
raw.array_selectors(function(of, key)
  raw.part "array.views"
  return of[key]
end, function(of, key, value)
  raw.part "array.views"
  of[key] = value
end)

return M
