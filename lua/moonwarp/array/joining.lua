-- Joining, splitting and repeating arrays: concat, stack, split, tile, repeat_each, roll and pad.
--
-- Parts are copied between strided views. Functions that need positions are functions of elements that compute the
-- position along the axis from i, the position of the result's element in row order.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"

local usage = errors.usage
local array = raw.classes.array
local shape_text = views.shape_text
local MOST_DIMENSIONS = 8

local M = {}

local function is_whole(value) return type(value) == "number" and value % 1 == 0 end

local function copy_of(list)
  local copy = {}
  for i = 1, #list do copy[i] = list[i] end
  return copy
end

-- The elements first to first + count - 1 along an axis, as a view.
local function part(of, axis, first, count)
  local shape, strides = of.shape, of.strides
  shape[axis] = count
  return raw.array_strided(of, count > 0 and (first - 1) * strides[axis] or 0, nil, shape, strides)
end

local function check_list(what, list)
  if raw.type(list) == "array" then
    usage("%s wants a table of arrays: %s({a, b})", what, what)
  end
  if type(list) ~= "table" or #list == 0 then
    usage("%s wants a table of at least one array, got %s", what, raw.describe(list))
  end
  for i = 1, #list do
    if raw.type(list[i]) ~= "array" then usage("%s: element %d is %s, not an array", what, i, raw.describe(list[i])) end
  end
end

-- Join arrays along an axis. Their shapes are equal except along that axis.
local function concat(what, list, axis, out)
  local shape = list[1].shape
  for i = 2, #list do
    local other = list[i].shape
    local fits = #other == #shape
    for d = 1, #shape do fits = fits and (d == axis or other[d] == shape[d]) end
    if not fits then
      usage("%s: array %d is %s, and array 1 %s; they may differ only along axis %d", what, i, shape_text(other),
        shape_text(list[1].shape), axis)
    end
    shape[axis] = shape[axis] + other[axis]
  end
  local y = given.out(what, out, list[1], given.together(what, list), shape)
  local sources = list
  for i = 1, out and #list or 0 do
    if given.overlap(out, list[i]) then
      if sources == list then sources = copy_of(list) end
      sources[i] = list[i]:copy()
    end
  end
  local first = 1
  for i = 1, #sources do
    local count = sources[i].shape[axis]
    if sources[i].count > 0 then part(y, axis, first, count):assign(sources[i]) end
    first = first + count
  end
  return y
end

---Arrays joined along an existing axis, the first by default. Their dtypes are promoted.
---@param list moonwarp.array[]
---@param options? integer|{ axis?: integer, out?: moonwarp.array } or the axis
---@return moonwarp.array
function M.concat(list, options)
  check_list("mw.concat", list)
  options = given.options("mw.concat", options, { "axis", "out" })
  return concat("mw.concat", list, views.axis("mw.concat", options.axis or 1, list[1].rank), options.out)
end

---Arrays of one shape joined along a new axis, the first by default.
---@param list moonwarp.array[]
---@param options? integer|{ axis?: integer, out?: moonwarp.array } or the axis
---@return moonwarp.array
function M.stack(list, options)
  check_list("mw.stack", list)
  options = given.options("mw.stack", options, { "axis", "out" })
  local axis = views.axis("mw.stack", options.axis or 1, list[1].rank + 1)
  local expanded = {}
  for i = 1, #list do
    if shape_text(list[i].shape) ~= shape_text(list[1].shape) then
      usage("mw.stack: array %d is %s, and array 1 %s; shapes have to be equal", i, shape_text(list[i].shape),
        shape_text(list[1].shape))
    end
    expanded[i] = list[i]:expand(axis)
  end
  return concat("mw.stack", expanded, axis, options.out)
end

---Views of an array's parts along an axis, returned as several values: a number of equal parts, or the parts that end
---at the positions of a list, {2, 5} for the elements 1 to 2, 3 to 5 and the rest.
---@param where integer|integer[]
---@param axis? integer the first one by default
---@return moonwarp.array ...
function array:split(where, axis)
  axis = views.axis("a:split", axis or 1, self.rank)
  local size, ends = self.shape[axis], {}
  if type(where) == "table" then
    for i = 1, #where do
      local at, before = where[i], ends[i - 1] or 0
      if not is_whole(at) or at < 0 or at > size then
        usage("a:split: a cut is a position from 1 to %d, got %s", size, is_whole(at) and at or raw.describe(at))
      end
      if at < before then usage("a:split: cuts must be in ascending order; %d follows %d", at, before) end
      ends[i] = at
    end
    ends[#ends + 1] = size
  else
    given.whole("a:split", where, 1, "the number of parts")
    if size % where ~= 0 then
      usage("a:split: %d elements do not divide into %d equal parts; write the cuts, as in a:split({2, 5})", size,
        where)
    end
    for i = 1, where do ends[i] = i * size / where end
  end
  local parts, first = {}, 0
  for i = 1, #ends do
    parts[i] = part(self, axis, first + 1, math.floor(ends[i] - first))
    first = math.floor(ends[i])
  end
  return (table.unpack or unpack)(parts, 1, #parts)
end

---@param a moonwarp.array
---@param where integer|integer[]
---@param axis? integer
---@return moonwarp.array ... see a:split
function M.split(a, where, axis) return a:split(where, axis) end

-- ---- repetition ----

-- Every element, or the whole axis, repeated `count` times: a view with one more dimension, copied.
local function repeated(of, axis, count, each)
  local shape, strides = of.shape, of.strides
  local result = copy_of(shape)
  result[axis] = shape[axis] * count
  if of.rank == MOST_DIMENSIONS then -- no more dimensions are possible: merge those before the axis
    of = of:contiguous()
    local before, after = 1, 1
    for d = 1, axis - 1 do before = before * shape[d] end
    for d = axis + 1, #shape do after = after * shape[d] end
    return repeated(of:reshape(before, shape[axis], after), 2, count, each):reshape(result)
  end
  local at = each and axis + 1 or axis
  table.insert(shape, at, count)
  table.insert(strides, at, 0)
  return raw.array_strided(of, 0, nil, shape, strides):copy():reshape(result)
end

---The array repeated along its axes, a number of times for each; numbers are aligned at the last axis, as in shapes.
---@param ... integer|integer[]
---@return moonwarp.array
function array:tile(...)
  local counts = type((...)) == "table" and copy_of((...)) or { ... }
  local given_counts = type((...)) == "table" and #counts or select("#", ...)
  if given_counts == 0 then usage "a:tile wants the number of repetitions for each axis" end
  for i = 1, given_counts do given.whole("a:tile", counts[i], 0, "how many times") end
  while #counts < self.rank do table.insert(counts, 1, 1) end
  local shape = self.shape
  while #shape < #counts do table.insert(shape, 1, 1) end
  if #shape > MOST_DIMENSIONS then usage("a:tile: arrays have at most %d dimensions", MOST_DIMENSIONS) end
  local y = #shape == self.rank and self or self:contiguous():reshape(shape)
  for d = #counts, 1, -1 do
    if counts[d] ~= 1 then y = repeated(y, d, counts[d], false) end
  end
  return y.address == self.address and y:copy() or y
end

---@param a moonwarp.array
---@param ... integer|integer[]
---@return moonwarp.array see a:tile
function M.tile(a, ...) return a:tile(...) end

-- ---- elements by their position along an axis ----

local by_position = {}

-- y, whose element at position p (from 0) along the axis is x's element at the position that the expression `from`
-- computes from p and from n, x's size along the axis. The expression may read the array `whole` as t.
local function take_by(x, axis, count, name, from, numbers, whole)
  local shape = x.shape
  local n, inner = shape[axis], 1
  for d = axis + 1, #shape do inner = inner * shape[d] end
  shape[axis] = count
  local y = given.new(x, x.dtype, shape)
  if y.count == 0 then return y end
  local key = x.device.name .. " " .. name .. " " .. tostring(x.dtype)
  local f = by_position[key]
  if not f or type(x.dtype) ~= "string" then
    f = given.on_device_of(x, raw.elementwise_new, {
      name = name, index = true,
      body = ([[const long long p = i / inner %% count, q = %s;
  y = x[(i / inner / count * n + q) * inner + i %% inner];]]):format(from),
      operands = { { "y", "out", x.dtype }, { "x", "whole", x.dtype }, { "count", "scalar", "longlong" },
        { "n", "scalar", "longlong" }, { "inner", "scalar", "longlong" }, { "by", "scalar", "longlong" },
        whole and { "t", "whole", "longlong" } or nil },
    })
    by_position[key] = f
  end
  raw.elementwise_run(f, y, x:contiguous(), count, n, inner, numbers, whole)
  return y
end

---Every element repeated a number of times, along an axis or, without one, in row order. The number is the same for
---all, or one for each element along the axis.
---@param counts integer|integer[]|moonwarp.array
---@param axis? integer
---@return moonwarp.array
function array:repeat_each(counts, axis)
  local x = axis and self or self:reshape(-1)
  axis = views.axis("a:repeat_each", axis or 1, x.rank)
  if type(counts) == "number" then
    return repeated(x, axis, given.whole("a:repeat_each", counts, 0, "how many times"), true)
  end
  if raw.type(counts) == "array" then counts = counts:totable() end
  if type(counts) ~= "table" or #counts ~= x.shape[axis] then
    usage("a:repeat_each wants a number, or one for each of the %d elements along axis %d, got %s", x.shape[axis], axis,
      type(counts) == "table" and tostring(#counts) or raw.describe(counts))
  end
  local from = {}
  for k = 1, #counts do
    for _ = 1, given.whole("a:repeat_each", tonumber(counts[k]), 0, "how many times") do from[#from + 1] = k - 1 end
  end
  local places = given.new(x, "longlong", { math.max(1, #from) })
  if #from > 0 then places:copy_from(from) end
  return take_by(x, axis, #from, "repeat_each", "t[p]", 0, places)
end

---@param a moonwarp.array
---@param counts integer|integer[]|moonwarp.array
---@param axis? integer
---@return moonwarp.array see a:repeat_each
function M.repeat_each(a, counts, axis) return a:repeat_each(counts, axis) end

---The elements moved `shift` positions along an axis, or in row order; those moved past the end continue at the start.
---@param shift integer|integer[] one for each axis where there are several
---@param axis? integer|integer[]
---@return moonwarp.array
function array:roll(shift, axis)
  if axis == nil then
    if type(shift) == "table" then usage "a:roll: several shifts want as many axes: a:roll({1, 2}, {1, 2})" end
    return self:reshape(-1):roll(shift, 1):reshape(self.shape)
  end
  local axes = type(axis) == "table" and axis or { axis }
  if type(shift) == "table" and #shift ~= #axes then
    usage("a:roll: %d shifts for %d axes", #shift, #axes)
  end
  local y = self
  for k = 1, #axes do
    local d = views.axis("a:roll", axes[k], self.rank)
    local by = given.whole("a:roll", type(shift) == "table" and shift[k] or shift, -math.huge, "a shift")
    local n = self.shape[d]
    by = n > 0 and by % n or 0
    if by ~= 0 then y = concat("a:roll", { part(y, d, n - by + 1, by), part(y, d, 1, n - by) }, d) end
  end
  return y == self and self:copy() or y
end

---@param a moonwarp.array
---@param shift integer|integer[]
---@param axis? integer|integer[]
---@return moonwarp.array see a:roll
function M.roll(a, shift, axis) return a:roll(shift, axis) end

-- ---- margins ----

-- Where the elements of a margin come from: the position q in x for the position p in y, `by` elements further on.
local modes = {
  edge = "p < by ? 0 : p - by >= n ? n - 1 : p - by",
  wrap = "((p - by) % n + n) % n",
  symmetric = "(((p - by) % (2 * n) + 2 * n) % (2 * n) < n ? ((p - by) % (2 * n) + 2 * n) % (2 * n)"
    .. " : 2 * n - 1 - ((p - by) % (2 * n) + 2 * n) % (2 * n))",
  reflect = "n == 1 ? 0 : (((p - by) % (2 * n - 2) + 2 * n - 2) % (2 * n - 2) < n"
    .. " ? ((p - by) % (2 * n - 2) + 2 * n - 2) % (2 * n - 2)"
    .. " : 2 * n - 2 - ((p - by) % (2 * n - 2) + 2 * n - 2) % (2 * n - 2))",
}

-- The widths before and after each axis.
local function widths_of(width, rank)
  local before, after = {}, {}
  local list = type(width) == "table" and width or {}
  local pair = rank == 1 and #list == 2 and type(list[1]) == "number" -- {before, after} of the only axis
  for d = 1, rank do
    local entry = width
    if pair then entry = list elseif type(width) == "table" then entry = list[d] end
    if type(entry) == "table" and #entry == 2 then
      before[d], after[d] = entry[1], entry[2]
    else
      before[d], after[d] = entry, entry
    end
    for _, size in ipairs { before[d] or false, after[d] or false } do
      if not is_whole(size) or size < 0 then
        usage("a:pad wants one width, or one or {before, after} for each of %d axes, as in a:pad({ 1, {0, 2} })", rank)
      end
    end
  end
  if not pair and type(width) == "table" and #width ~= rank then
    usage("a:pad: %d widths for %d axes", #width, rank)
  end
  return before, after
end

---The array with a margin: of a value, or of its own elements.
---@param width integer|table one width, or a list with one or {before, after} for each axis
---@param options? { mode?: "constant"|"edge"|"wrap"|"reflect"|"symmetric", value?: any } 0 by default
---@return moonwarp.array
function array:pad(width, options)
  options = options or {}
  local mode = options.mode or "constant"
  local before, after = widths_of(width, self.rank)
  if mode == "constant" then
    local shape, inside = self.shape, {}
    for d = 1, #shape do
      inside[d] = { before[d] + 1, before[d] + shape[d] }
      shape[d] = before[d] + shape[d] + after[d]
    end
    local y = given.new(self, self.dtype, shape)
    if y.count == 0 then return y end
    local value = options.value
    if value == nil and type(self.dtype) ~= "string" then
      y:as "uchar":fill(0)
    elseif value == nil then
      local _, components = raw.dtype_size(self.dtype)
      local zeros = {}
      for k = 1, components do zeros[k] = 0 end
      y:fill(components > 0 and zeros or 0)
    else
      y:fill(value)
    end
    if self.count > 0 then y[inside] = self end
    return y
  end
  if not modes[mode] then
    usage("a:pad: mode is constant, edge, wrap, reflect or symmetric, got %s", raw.describe(mode))
  end
  if options.value ~= nil then usage("a:pad: value is only for the mode constant, not for %s", mode) end
  local y = self
  for d = 1, self.rank do
    local n = y.shape[d]
    local count = before[d] + n + after[d]
    if n == 0 and count > 0 then usage("a:pad: axis %d has no elements to fill the margin from", d) end
    if count > n then y = take_by(y, d, count, "pad_" .. mode, modes[mode], before[d]) end
  end
  return y == self and self:copy() or y
end

---@param a moonwarp.array
---@param width integer|table
---@param options? { mode?: string, value?: any }
---@return moonwarp.array see a:pad
function M.pad(a, width, options) return a:pad(width, options) end

return M
