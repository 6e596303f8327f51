-- Memory for textures: pitched arrays and CUDA arrays, and copies of regions between them and arrays.
--
-- Coordinates of regions count from 1, as all indices in Lua do; the binding's count from 0.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.check.signatures"

local usage = errors.usage
local M = {}

-- In the order of mw_cuda_array_kind, and which sizes each has.
local kinds = {
  { name = "1d", sizes = { "width" } },
  { name = "2d", sizes = { "width", "height" } },
  { name = "3d", sizes = { "width", "height", "depth" } },
  { name = "1dlayered", sizes = { "width", "layers" } },
  { name = "2dlayered", sizes = { "width", "height", "layers" } },
  { name = "cubemap", sizes = { "width", "height" }, faces = true },
  { name = "cubemaplayered", sizes = { "width", "height", "layers" }, faces = true },
}
local kind_number, kind_names = {}, {}
for i, kind in ipairs(kinds) do
  kind_number[kind.name] = i
  kind_names[i] = kind.name
  for _, size in ipairs(kind.sizes) do kind[size] = true end
end

-- ---- extents ----

-- The extent of memory in elements, and its shape as that of an array: width, height, slices, shape.
local function extent_of(memory, level)
  if raw.type(memory) == "cuda_array" then
    local _, number, width, height, slices = memory:describe(level and level - 1)
    local kind = kinds[number + 1]
    local shape = { width }
    if kind.height then table.insert(shape, 1, height) end
    if kind.depth or kind.layers or kind.faces then table.insert(shape, 1, slices) end
    return width, height, slices, shape
  end
  local shape = memory.shape
  local n = #shape
  if n > 3 then usage("a region of an array of %d dimensions cannot be copied: at most three are possible", n) end
  return shape[n], shape[n - 1] or 1, shape[n - 2] or 1, shape
end

local function is_memory(value)
  local class = raw.type(value)
  return class == "array" or class == "pitched" or class == "cuda_array"
end

-- ---- copies ----

local function whole_number(value, default, what)
  if value == nil then return default end
  if type(value) ~= "number" or value % 1 ~= 0 or value < 0 then
    usage("a region's %s is a whole number, got %s", what, tostring(value))
  end
  return value
end

-- The start of a region in memory, from 0, and the extent from there to the end.
local function place(memory, at, what)
  at = at or {}
  local level = whole_number(at.level, 1, what .. ".level")
  local size = { extent_of(memory, level) }
  local from = {}
  for i, axis in ipairs { "x", "y", "z" } do
    from[i] = whole_number(at[axis], 1, what .. "." .. axis) - 1
    if from[i] < 0 or from[i] >= size[i] then
      usage("a region that begins at %s.%s = %d (counted from 1) of %d", what, axis, from[i] + 1, size[i])
    end
    size[i] = size[i] - from[i]
  end
  return { from[1], from[2], from[3], level - 1 }, size
end

local function check_memory(value, what)
  if is_memory(value) then return end
  usage("%s is an array, a pitched array or a CUDA array, got a %s", what, raw.type(value) or type(value))
end

-- queued: do not wait if that is possible.
local function copy_box(target, source, region, queued)
  region = region or {}
  check_memory(target, "the target of mw.copy_region")
  check_memory(source, "the source of mw.copy_region")
  local to, room = place(target, region.to, "to")
  local from, have = place(source, region.from, "from")
  local size = {}
  for i, name in ipairs { "width", "height", "depth" } do
    size[i] = whole_number(region[name], math.min(room[i], have[i]), name)
    if size[i] > room[i] or size[i] > have[i] then
      usage("a region with a %s of %d: the target has %d from there on, the source %d", name, size[i], room[i], have[i])
    end
  end
  raw.box_copy(target, to[1], to[2], to[3], to[4], source, from[1], from[2], from[3], from[4],
    size[1], size[2], size[3], queued)
  return target
end

---Copy a region of texels between arrays (of one to three dimensions), pitched arrays and CUDA arrays of one element
---size, in the order of the current stream; graphs capture it. If the regions are in the same memory and may overlap,
---it waits for the work before.
---@param target moonwarp.array|moonwarp.pitched|moonwarp.cuda_array
---@param source moonwarp.array|moonwarp.pitched|moonwarp.cuda_array
---@param region? table { to = {x, y, z, level}, from = {x, y, z, level}, width, height, depth }, where the fields of
---`to` and `from` go by name and count from 1; without sizes, as much as both have
---@return any target
function M.copy_region(target, source, region) return copy_box(target, source, region, true) end

local function product(shape)
  local count = 1
  for _, size in ipairs(shape) do count = count * size end
  return count
end

local function same_shape(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] then return false end
  end
  return true
end

-- Whether texels of `dtype` consist of such scalars: uchar4 of uchar.
local function is_channel(scalar, dtype) return scalar == dtype or tostring(dtype):match("^(%a+)[24]$") == scalar end

-- Lua data as memory that can be copied from: an array of `dtype`. An array with as many elements takes the shape
-- `shape`.
local function as_memory(data, dtype, shape, what)
  if type(data) == "string" then
    local array = raw.array_new(dtype, shape)
    if array.nbytes ~= #data then
      usage("%s wants %d bytes (%d %s), got a string of %d", what, array.nbytes, array.count, tostring(dtype), #data)
    end
    return array:copy_from(data)
  end
  if type(data) == "table" then data = raw.array_from(data, dtype) end
  if not is_memory(data) then
    usage("%s wants a nested table, a string of bytes, an array, a pitched array or a CUDA array, got a %s", what,
      raw.type(data) or type(data))
  end
  if raw.type(data) ~= "array" then return data end
  if data.dtype ~= dtype then
    local size = raw.dtype_size(dtype)
    if not is_channel(data.dtype, dtype) or data.nbytes ~= product(shape) * size then
      usage("%s wants %d elements of %s, got an array of %d %s", what, product(shape), tostring(dtype), data.count,
        tostring(data.dtype))
    end
    return raw.array_view(data, 0, dtype, shape)
  end
  if same_shape(data.shape, shape) or data.count ~= product(shape) then return data end
  return data:reshape(shape)
end

-- An array as the box that has the form of `like`: for a layered 1-D array, whose layers are slices, rows become
-- slices.
local function boxed(array, like, level)
  local width, height, slices, shape = extent_of(like, level)
  if raw.type(array) == "cuda_array" or height > 1 or #shape < 2 then return array end
  if raw.type(array) == "pitched" then array = array:array() end
  return raw.array_view(array, 0, nil, { slices, height, width })
end

-- The whole memory, or the given region.
local function fill(memory, data, region, queued)
  if region ~= nil and type(region) ~= "table" then
    usage("copy_from: a region is a table { to =, from =, width =, … }, got a %s", raw.type(region) or type(region))
  end
  local level = region and region.to and region.to.level
  local _, _, _, shape = extent_of(memory, level)
  if region then
    if type(data) == "table" then data = raw.array_from(data, memory.dtype) end
    return copy_box(memory, data, region, queued)
  end
  local source = as_memory(data, memory.dtype, shape, "copy_from")
  local _, _, _, have = extent_of(source)
  if not same_shape(shape, have) then
    usage("copy_from: {%s} elements do not fill {%s}; give a region to copy a part", table.concat(have, ", "),
      table.concat(shape, ", "))
  end
  return copy_box(memory, boxed(source, memory, level), nil, queued)
end

-- memory:copy_from(data[, region]): data from Lua is copied before this returns.
local function copy_from(memory, data, region) return fill(memory, data, region, is_memory(data)) end

-- memory:array([level]): a copy as an ordinary array.
local function to_array(memory, level)
  local _, _, _, shape = extent_of(memory, level)
  local array = raw.array_new(memory.dtype, shape)
  copy_box(boxed(array, memory, level), memory, { from = { level = level } })
  return array
end

local function add_methods(class)
  class.copy_from = copy_from
  class.array = to_array
  function class:totable(level) return to_array(self, level):totable() end
  function class:bytes(level) return to_array(self, level):bytes() end
end

-- ---- pitched arrays ----

---A two-dimensional array whose rows begin at aligned addresses (cudaMallocPitch), p.pitch bytes apart. A kernel takes
---it as a pointer to its first element; p[i] is row i, a view. Contents are undefined.
---@param height integer
---@param width integer
---@param dtype? moonwarp.dtype "float" by default
---@return moonwarp.pitched
function M.pitched(height, width, dtype)
  return raw.pitched_new(dtype, height, width)
end

local pitched = raw.classes.pitched
add_methods(pitched)

---Set every element.
---@param value number|boolean|moonwarp.vector
function pitched:fill(value)
  local shape = self.shape
  return copy_from(self, raw.array_new(self.dtype, shape):fill(value))
end

function pitched:__tostring()
  local shape = self.shape
  return ("%s {%d, %d} in rows of %d bytes on %s"):format(tostring(self.dtype), shape[1], shape[2], self.pitch,
    self.device.name)
end

-- ---- CUDA arrays ----

local function size_field(spec, name)
  local value = spec[name]
  if value == nil or value == 0 then return nil end
  if type(value) ~= "number" or value < 0 or value % 1 ~= 0 then
    usage("mw.cuda_array: %s is a whole number, got %s", name, tostring(value))
  end
  return value
end

local function find_kind(spec, rank)
  if spec.kind == nil then
    if size_field(spec, "layers") then return size_field(spec, "height") and 5 or 4 end
    if size_field(spec, "depth") then return 3 end
    if size_field(spec, "height") then return 2 end
    return size_field(spec, "width") and 1 or rank
  end
  local number = kind_number[tostring(spec.kind):lower():gsub("[%s_-]", "")]
  if not number then
    usage("mw.cuda_array: there is no kind '%s'; there are %s", tostring(spec.kind), table.concat(kind_names, ", "))
  end
  return number
end

-- The sizes for a kind: as given, or else from the data's shape.
local function find_sizes(spec, kind, shape)
  local desc = { levels = size_field(spec, "levels") }
  local faces = kind.faces and 6 or 1
  desc.width, desc.height = size_field(spec, "width"), size_field(spec, "height")
  local slices = size_field(spec, "depth")
  if shape and not desc.width then
    local n = #shape
    desc.width = shape[n]
    if kind.height and not desc.height then desc.height = shape[n - 1] end
    if not slices then slices = kind.height and shape[n - 2] or not kind.height and shape[n - 1] or nil end
  end
  if kind.depth then desc.depth = slices end
  if kind.layers then
    desc.layers = size_field(spec, "layers")
    if not desc.layers and slices then
      if slices % faces ~= 0 then usage("mw.cuda_array: %d slices do not make whole layers of 6 faces", slices) end
      desc.layers = slices / faces
    end
  elseif kind.faces then
    if slices and slices ~= 6 then usage("mw.cuda_array: a cubemap has 6 faces, not %d", slices) end
  elseif not kind.depth and slices and slices ~= 1 then
    usage("mw.cuda_array: a '%s' array has no depth, but %d is given", kind.name, slices)
  end
  if not kind.height and desc.height ~= 1 and desc.height then
    usage("mw.cuda_array: a '%s' array has no height, but %d is given", kind.name, desc.height)
  end
  return desc
end

local function data_facts(data, dtype)
  if type(data) == "table" then data = raw.array_from(data, dtype) end
  if not is_memory(data) then return data, dtype or "float", nil end
  local _, _, _, shape = extent_of(data)
  if raw.type(data) == "array" and dtype and dtype ~= data.dtype then
    if not is_channel(data.dtype, dtype) then
      usage("mw.cuda_array: texels of %s cannot be made from an array of %s; see a:to(dtype) and a:as(dtype)", dtype,
        tostring(data.dtype))
    end
    local texels = data:as(dtype) -- {h, w, 4} of uchar as {h, w} of uchar4
    return texels, dtype, texels.shape
  end
  return data, dtype or data.dtype, shape
end

local make = arguments.checked("mw.cuda_array", signatures.mw.cuda_array, function(data, spec)
  spec = spec or {}
  local source, dtype, shape = data_facts(data, spec.dtype)
  local number = find_kind(spec, shape and #shape)
  if not number then usage("mw.cuda_array wants data, or sizes: { width =, height =, depth =, dtype = }") end
  local desc = find_sizes(spec, kinds[number] or
    usage("mw.cuda_array: an array of %d dimensions cannot be a CUDA array", number), shape)
  desc.kind = number - 1
  local array = raw.cuda_array_new(dtype, desc)
  return data == nil and array or fill(array, source)
end)

---A CUDA array: memory for textures and surfaces, in a layout that the device chooses.
---@param data? table|string|moonwarp.array|moonwarp.pitched|moonwarp.cuda_array its texels (of the first level): a
---nested table, raw bytes, or memory to copy; undefined by default
---@param spec? { kind?: string, dtype?: moonwarp.dtype, width?: integer, height?: integer, depth?: integer,
---layers?: integer, levels?: integer } kind: "1d", "2d", "3d", "1dlayered", "2dlayered", "cubemap" or
---"cubemaplayered"; sizes that are not given follow from the data. The depth of a layered kind is its layers, of
---cubemaps six a layer
---@return moonwarp.cuda_array
function M.cuda_array(data, spec)
  if spec == nil and type(data) == "table" and data[1] == nil then return make(nil, data) end
  return make(data, spec)
end

local cuda_array, facts = raw.classes.cuda_array, raw.properties.cuda_array
add_methods(cuda_array)

function facts:dtype() return (self:describe()) end

function facts:kind()
  local _, number = self:describe()
  return kind_names[number + 1]
end

function facts:shape()
  local _, _, _, shape = extent_of(self)
  return shape
end

function facts:width() return (extent_of(self)) end

function facts:height()
  local _, height = extent_of(self)
  return height
end

function facts:depth()
  local _, _, depth = extent_of(self)
  return depth
end

function facts:layers()
  local _, _, _, _, _, layers = self:describe()
  return layers
end

function facts:levels()
  local _, _, _, _, _, _, levels = self:describe()
  return levels
end

-- cudaChannelFormatDesc: bits of x, y, z, w, and the kind.
function facts:channels()
  local dtype = self.dtype
  local size, components = raw.dtype_size(dtype)
  local count = math.max(components, 1)
  local bits = size * 8 / count
  local function channel(i) return i <= count and math.floor(bits) or 0 end
  local kind = (dtype:match("^u") and "unsigned") or ((dtype:match("^float") or dtype:match("^half")) and "float")
  return { x = channel(1), y = channel(2), z = channel(3), w = channel(4), kind = kind or "signed" }
end

function cuda_array:__tostring()
  return ("%s CUDA array of %s {%s} on %s"):format(self.kind, self.dtype, table.concat(self.shape, ", "),
    self.device.name)
end

return M
