-- Views of arrays: ranges, other orders of dimensions, repeated elements. They share the array's memory.
--
-- Indices, axes and ranges count from 1 and include both ends; negative ones count from the end.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local usage = errors.usage
local M = {}
local array = raw.classes.array

local function shape_text(shape) return "{" .. table.concat(shape, ", ") .. "}" end
M.shape_text = shape_text

local function is_whole(value) return type(value) == "number" and value % 1 == 0 end

---Check a number that names an axis of an array; returns the axis, from 1.
---@param what string the function's name, for the message
---@param axis any
---@param rank integer
---@return integer
function M.axis(what, axis, rank)
  if not is_whole(axis) then usage("%s: an axis is a whole number, got %s", what, raw.describe(axis)) end
  local from_start = axis < 0 and rank + axis + 1 or axis
  if from_start < 1 or from_start > rank then
    usage("%s: there is no axis %d: the array has %d (-1 is the last)", what, axis, rank)
  end
  return from_start
end

-- A view with the array's dtype whose first element is `offset` bytes after the array's.
local function view(of, offset, shape, strides) return raw.array_strided(of, offset, nil, shape, strides) end

-- ---- parts ----

local function index_of(i, size, d)
  if not is_whole(i) then
    local selects = raw.type(i) == "array"
    usage("index %d: an index is a whole number or a range {first, last}, got %s%s", d, raw.describe(i), selects
      and ("; a:%s(…, {axis = %d}) selects by an array"):format(i.dtype == "bool" and "compress" or "take", d) or "")
  end
  local at = i < 0 and size + i + 1 or i
  if at < 1 or at > size then
    usage("index %d: %d is outside 1..%d%s", d, i, size, i == 0 and " (Lua counts from 1: C's [0] is [1] here)" or "")
  end
  return at
end

-- A range {first, last, step} of a dimension: its first index, its length, its step.
local function range_of(range, size, d)
  for key in next, range do
    if key ~= 1 and key ~= 2 and key ~= 3 then
      usage("index %d: a range is {first, last, step}, this one has %s", d, raw.describe(key))
    end
  end
  local step = rawget(range, 3)
  if step == nil then step = 1 end
  if not is_whole(step) or step == 0 then
    usage("index %d: a step is a whole number that is not 0, got %s", d, raw.describe(step))
  end
  local first, last = rawget(range, 1), rawget(range, 2)
  if first == nil then first = step > 0 and 1 or size end
  if last == nil then last = step > 0 and size or 1 end
  if not is_whole(first) or not is_whole(last) then
    usage("index %d: a range is {first, last} in whole numbers, got {%s, %s}", d, tostring(first), tostring(last))
  end
  local from, to = first < 0 and size + first + 1 or first, last < 0 and size + last + 1 or last
  local direction = step > 0 and 1 or -1
  local lowest, highest = direction > 0 and 1 or 0, direction > 0 and size + 1 or size
  if to == from - direction and from >= lowest and from <= highest then return from, 0, step end -- empty
  if from < 1 or from > size or to < 1 or to > size then
    usage("index %d: the range {%d, %d} is outside 1..%d", d, first, last, size)
  end
  if (to - from) * direction < 0 then
    usage("index %d: the range {%d, %d} runs %s; give it a step of %d, as in {%d, %d, %d}", d, first, last,
      step > 0 and "backwards" or "forwards", -direction, first, last, -direction)
  end
  return from, math.floor((to - from) / step) + 1, step
end

-- The view that a key of numbers and ranges names: offset, shape, strides. The shape {} is one element.
local function part(of, key)
  local shape, strides, rank = of.shape, of.strides, of.rank
  local given = 0
  for d in next, key do
    if not is_whole(d) or d < 1 then
      usage("an array is indexed by numbers and ranges, such as a[{ {2, 4}, 3 }]; this key has %s", raw.describe(d))
    end
    given = math.max(given, d)
  end
  if given > rank then usage("%d indices for an array of %d dimension%s", given, rank, rank == 1 and "" or "s") end
  local offset, out_shape, out_strides = 0, {}, {}
  for d = 1, rank do
    local entry = rawget(key, d)
    if entry == nil then entry = {} end
    if type(entry) == "table" then
      local from, count, step = range_of(entry, shape[d], d)
      if count > 0 then offset = offset + (from - 1) * strides[d] end
      out_shape[#out_shape + 1], out_strides[#out_strides + 1] = count, strides[d] * step
    else
      offset = offset + (index_of(entry, shape[d], d) - 1) * strides[d]
    end
  end
  return offset, out_shape, out_strides
end

local function check_key(key)
  if type(key) == "table" then return end
  if type(key) == "boolean" then
    usage("an array is not indexed by %s: Lua's == gives one boolean; a:eq(b) is a mask", tostring(key))
  end
  usage("an array is indexed by numbers, ranges such as a[{ {2, 4}, 3 }], and arrays, not by %s", raw.describe(key))
end

-- The selection by a key that is an array: a mask, or indices along the first axis.
local function selector(key) return raw.part(key.dtype == "bool" and "array.masks" or "array.indices") end

-- a[key] for a key that is a table of indices and ranges, or an array.
local function select_by(of, key)
  if raw.type(key) == "array" then return selector(key).select(of, key) end
  check_key(key)
  local offset, shape, strides = part(of, key)
  if #shape > 0 then return view(of, offset, shape, strides) end
  return view(of, offset, { 1 }, { 0 })[1]
end

local function assign_by(of, key, value)
  if raw.type(key) == "array" then return selector(key).assign(of, key, value) end
  check_key(key)
  local offset, shape, strides = part(of, key)
  if #shape > 0 then
    view(of, offset, shape, strides):assign(value)
  else
    local size = raw.dtype_size(of.dtype)
    raw.array_strided(of, offset, nil, { 1 }, { size })[1] = value
  end
end

raw.array_selectors(select_by, assign_by)

-- ---- writing ----

local converters = {}

-- Whether a value is a table of elements, rather than one element that is a vector or a struct.
function M.is_nested(dtype, value)
  if type(value) ~= "table" or getmetatable(value) ~= nil or rawget(value, 1) == nil then return false end
  local _, components = raw.dtype_size(dtype)
  return components == 0 or type(rawget(value, 1)) ~= "number"
end

---Write a number (into each element), an array whose shape broadcasts to this one's and whose numbers are converted, or
---a nested table. The source may overlap the array.
---@param value number|boolean|table|moonwarp.array
---@return moonwarp.array self
function array:assign(value)
  local later = package.loaded["moonwarp.array.lazy"]
  if later and later.is(value) then return later.into(value, self) end
  if raw.type(value) ~= "array" then
    return M.is_nested(self.dtype, value) and self:copy_from(value) or self:fill(value)
  end
  local key = tostring(self.device.name) .. " " .. tostring(value.dtype) .. " " .. tostring(self.dtype)
  local f = type(self.dtype) == "string" and converters[key] -- structs of two modules may have one name
  if not f then
    local promotion = require "moonwarp.array.promotion"
    local body
    if value.dtype == self.dtype then
      body = "y = a;"
    else
      local from, to = promotion.number(value.dtype, "a:assign"), promotion.number(self.dtype, "a:assign")
      if to.kind ~= "complex" and to.kind ~= "bool" then promotion.of(value.dtype, "a:assign to " .. to.name) end
      body = ("y = %s;"):format(promotion.converted("a", from, to))
    end
    f = raw.elementwise_new { name = "assign", body = body,
      operands = { { "y", "out", self.dtype }, { "a", "in", value.dtype } } }
    converters[key] = f
  end
  raw.elementwise_run(f, self, value)
  return self
end

-- ---- other orders and shapes ----

---The array itself if its elements are contiguous in memory, else a contiguous copy.
---@return moonwarp.array
function array:contiguous() return self.is_contiguous and self or self:copy() end

---A view with the dimensions in another order, {2, 3, 1} or 2, 3, 1; without arguments, in reverse order.
---@param ... integer|integer[]
---@return moonwarp.array
function array:permute(...)
  local order = type((...)) == "table" and (...) or { ... }
  local rank, shape, strides = self.rank, self.shape, self.strides
  if #order == 0 then
    order = {}
    for d = 1, rank do order[d] = rank - d + 1 end
  end
  if #order ~= rank then usage("a:permute wants each of the %d axes once, got %d", rank, #order) end
  local seen, new_shape, new_strides = {}, {}, {}
  for d = 1, rank do
    local from = M.axis("a:permute", order[d], rank)
    if seen[from] then usage("a:permute wants each axis once; %d is given twice", from) end
    seen[from] = true
    new_shape[d], new_strides[d] = shape[from], strides[from]
  end
  return view(self, 0, new_shape, new_strides)
end

---A view with two axes exchanged, by default the last two.
---@param first? integer
---@param second? integer
---@return moonwarp.array
function array:transpose(first, second)
  local rank = self.rank
  if rank == 1 and first == nil then return self end
  first = M.axis("a:transpose", first == nil and -2 or first, rank)
  second = M.axis("a:transpose", second == nil and -1 or second, rank)
  local order = {}
  for d = 1, rank do order[d] = d end
  order[first], order[second] = second, first
  return self:permute(order)
end

---A view without the dimensions of one element, or without the given ones.
---@param ... integer
---@return moonwarp.array
function array:squeeze(...)
  local rank, shape, strides, drop = self.rank, self.shape, self.strides, {}
  for i = 1, select("#", ...) do
    local axis = M.axis("a:squeeze", (select(i, ...)), rank)
    if shape[axis] ~= 1 then usage("a:squeeze: axis %d has %d elements, not 1", axis, shape[axis]) end
    drop[axis] = true
  end
  local new_shape, new_strides = {}, {}
  for d = 1, rank do
    if not (drop[d] or (select("#", ...) == 0 and shape[d] == 1)) then
      new_shape[#new_shape + 1], new_strides[#new_strides + 1] = shape[d], strides[d]
    end
  end
  if #new_shape == 0 then new_shape[1], new_strides[1] = 1, raw.dtype_size(self.dtype) end
  return view(self, 0, new_shape, new_strides)
end

---A view with a new dimension of one element, which becomes axis `axis`.
---@param axis integer
---@return moonwarp.array
function array:expand(axis)
  local rank, shape, strides = self.rank, self.shape, self.strides
  axis = M.axis("a:expand", axis, rank + 1)
  table.insert(shape, axis, 1)
  table.insert(strides, axis, 0)
  return view(self, 0, shape, strides)
end

---A read-only view of that shape in which elements are repeated: sizes are aligned at the last one, and 1 becomes any
---size.
---@param ... integer|integer[]
---@return moonwarp.array
function array:broadcast_to(...)
  local wanted, count = ..., select("#", ...)
  if type(wanted) ~= "table" then
    wanted = { ... }
  else
    count = #wanted
  end
  for d = 1, count do
    if not is_whole(wanted[d]) or wanted[d] < 0 then
      usage("a:broadcast_to wants a shape of whole numbers, got %s", raw.describe(wanted[d]))
    end
  end
  local shape, strides, missing = self.shape, self.strides, #wanted - self.rank
  if missing < 0 then
    usage("a:broadcast_to: %s has fewer dimensions than the array, %s", shape_text(wanted), shape_text(shape))
  end
  local new_strides = {}
  for d = 1, #wanted do
    local size = d > missing and shape[d - missing] or 1
    if size ~= wanted[d] and size ~= 1 then
      usage("a:broadcast_to: %s does not become %s: sizes have to be equal or 1, from the last on", shape_text(shape),
        shape_text(wanted))
    end
    new_strides[d] = size ~= 1 and strides[d - missing] or 0
  end
  return view(self, 0, wanted, new_strides)
end

---A view with the elements along the given axes, by default all, in reverse order.
---@param ... integer
---@return moonwarp.array
function array:flip(...)
  local rank, shape, strides, offset, axes = self.rank, self.shape, self.strides, 0, {}
  for i = 1, select("#", ...) do axes[M.axis("a:flip", (select(i, ...)), rank)] = true end
  for d = 1, rank do
    if (axes[d] or select("#", ...) == 0) and shape[d] > 0 then
      offset = offset + (shape[d] - 1) * strides[d]
      strides[d] = -strides[d]
    end
  end
  return view(self, offset, shape, strides)
end

return M
