-- Distributed arrays: a layout and this rank's part, an ordinary array. What concerns single elements runs on the
-- parts; only what needs elements of other ranks sends messages. All ranks make the same calls, in the same order.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.check.signatures"
local layouts = require "moonwarp.dist.layout"
local mover = require "moonwarp.dist.redistribution"
local operators = raw.part "array.operators"
raw.part "array.views"
raw.part "array.reduction"

local usage = errors.usage
local M = {}

---@class moonwarp.dist_array an array of which each rank has a part; made by mw.dist
---@field layout moonwarp.layout
---@field part moonwarp.array this rank's elements, an ordinary array: what is written to it is written to the whole
---@field shape integer[] of the whole array
---@field dtype moonwarp.dtype
---@field comm table the communicator
local dist_array = {}
M.methods = dist_array

local metatable = { __name = "moonwarp.dist_array", __made = "mw.dist" }

function metatable.__tostring(d)
  return ("distributed array of %s: %s"):format(tostring(d.dtype), tostring(d.layout))
end

function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

-- A distributed array whose part on this rank is `part`. Not in this form: a copy.
function M.new(layout, part)
  local shape = layout:part_shape()
  for d, n in ipairs(shape) do
    if part.shape[d] ~= n then
      usage("mw.dist: the part of rank %d has the shape %s, got %s", layout.comm.rank, layouts.text(shape),
        layouts.text(part.shape))
    end
  end
  return setmetatable({ layout = layout, part = part, shape = layout.shape, dtype = part.dtype, comm = layout.comm },
    metatable)
end

local function check(d, where)
  if not M.is(d) then usage("%s wants a distributed array, got %s", where, raw.describe(d)) end
  return d
end
M.check = check

-- ---- elements of arrays that every rank has ----

-- This rank's elements of an array that every rank has. Axes of length 1 and missing first axes are repeated.
function M.local_part(layout, a)
  local runs, missing, ranges = layout:runs(), #layout.shape - #a.shape, {}
  if missing < 0 then
    usage("mw.dist: an array of the shape %s does not broadcast to %s", layouts.text(a.shape),
      layouts.text(layout.shape))
  end
  for d, n in ipairs(a.shape) do
    local wanted = layout.shape[d + missing]
    if n ~= 1 and n ~= wanted then
      usage("mw.dist: an array of the shape %s does not broadcast to %s", layouts.text(a.shape),
        layouts.text(layout.shape))
    end
    local list = n == 1 and wanted ~= 1 and { { global = 1, count = 1 } } or runs[d + missing]
    ranges[d] = list
  end
  local result = a
  for d, list in ipairs(ranges) do
    if #list == 1 then
      local index = {}
      for e = 1, #a.shape do index[e] = e == d and { list[1].global, list[1].global + list[1].count - 1 } or {} end
      result = result[index]
    else
      local pieces = {}
      for i, run in ipairs(list) do
        local index = {}
        for e = 1, #a.shape do index[e] = e == d and { run.global, run.global + run.count - 1 } or {} end
        pieces[i] = result[index]
      end
      if #pieces > 0 then
        result = raw.part("array.joining").concat(pieces, { axis = d })
      else
        local shape = result.shape
        shape[d] = 0
        result = raw.array_new(result.dtype, shape)
      end
    end
  end
  return result
end

-- ---- operators ----

-- The operands' parts, and the layout that they share.
local function parts_of(where, list)
  local layout
  for _, operand in ipairs(list) do
    if M.is(operand) then
      if layout and not layout:equals(operand.layout) then
        usage("%s: the operands are %s, and %s; d:redistribute(layout) moves one of them", where, tostring(layout),
          tostring(operand.layout))
      end
      layout = layout or operand.layout
    end
  end
  local parts = {}
  for i, operand in ipairs(list) do
    if M.is(operand) then
      parts[i] = operand.part
    elseif raw.type(operand) == "array" then
      parts[i] = M.local_part(layout, operand)
    else
      parts[i] = operand
    end
  end
  return parts, layout
end
M.parts_of = parts_of

local unpack = table.unpack or unpack -- luacheck: ignore 143

-- Apply a function of `count` arrays to the operands' parts: numbers, distributed arrays of one layout, and arrays that
-- every rank has and that broadcast.
function M.apply(where, f, count, ...)
  local list = { ... }
  list[count + 1] = nil
  local parts, layout = parts_of(where, list)
  return M.new(layout, f(unpack(parts, 1, count)))
end

for event, operate in pairs(raw.operators) do
  local unary = event == "__unm" or event == "__bnot"
  metatable[event] = function(a, b)
    return M.apply("an operator", operate, unary and 1 or 2, a, b)
  end
end

-- Functions of elements by name: d:exp(), d:maximum(0).
function metatable.__index(d, key)
  local method = dist_array[key]
  if method then return method end
  if type(key) ~= "string" then
    usage("a distributed array has no elements by index: d.part has this rank's, d:gather() all of them")
  end
  local f = raw.operator_rules[key] and operators[key]
  if not f then usage("a distributed array has no method %s", key) end
  local function apply(...) return M.apply("d:" .. key, f, select("#", ...), ...) end
  return rawget(d, "part") and apply
end

---Convert the elements to another dtype.
---@param dtype moonwarp.dtype
---@return moonwarp.dist_array
function dist_array:to(dtype) return M.new(self.layout, self.part:to(dtype)) end

---A copy.
---@return moonwarp.dist_array
function dist_array:copy() return M.new(self.layout, self.part:copy()) end

---Another distributed array of the same layout, with this part: what was computed from d.part.
---@param part moonwarp.array
---@return moonwarp.dist_array
function dist_array:with(part) return M.new(self.layout, part) end

-- ---- moving ----

---The whole array at one rank, or at every rank.
---@param root? integer nil: every rank
---@return moonwarp.array? at other ranks than the root: nil
function dist_array:gather(root)
  local whole, comm = mover.whole(self.shape), self.comm
  local target = (root == nil or root == comm.rank) and raw.array_new(self.dtype, self.shape) or nil
  return mover.move(comm, self.part, function(rank) return self.layout:runs(rank) end, target,
    function(rank) return (root == nil or root == rank) and whole or nil end)
end

---The same array in another layout of the same shape and communicator.
---@param layout moonwarp.layout
---@return moonwarp.dist_array
function dist_array:redistribute(layout)
  if self.layout:equals(layout) then return self:copy() end
  if layouts.text(layout.shape) ~= layouts.text(self.shape) or layout.comm ~= self.comm then
    usage("d:redistribute: the array is %s and the layout for %s%s", layouts.text(self.shape),
      layouts.text(layout.shape), layout.comm ~= self.comm and ", of another communicator" or "")
  end
  local target = raw.array_new(self.dtype, layout:part_shape())
  mover.move(self.comm, self.part, function(rank) return self.layout:runs(rank) end, target,
    function(rank) return layout:runs(rank) end)
  return M.new(layout, target)
end

---The array with two axes exchanged, in the same division as before (rows stay divided, say) or another layout.
---@param first? integer axis, the last but one by default
---@param second? integer axis, the last by default
---@param layout? moonwarp.layout
---@return moonwarp.dist_array
function dist_array:transpose(first, second, layout)
  local rank = #self.shape
  first, second = first or rank - 1, second or rank
  if first < 1 or second < 1 or first > rank or second > rank then
    usage("d:transpose: axes %d and %d of an array with %d axes", first, second, rank)
  end
  local shape = {}
  for d = 1, rank do shape[d] = self.shape[d == first and second or d == second and first or d] end
  layout = layout or self.layout:with(shape)
  local target = raw.array_new(self.dtype, layout:part_shape())
  mover.move(self.comm, self.part:transpose(first, second), function(r)
    local runs = self.layout:runs(r)
    runs[first], runs[second] = runs[second], runs[first]
    return runs
  end, target, function(r) return layout:runs(r) end)
  return M.new(layout, target)
end

-- ---- halos ----

-- The runs of an axis from `first` to `last` of 1 … n, with places outside of it.
local function padded(first, last, width, n, boundary)
  local runs, at = {}, 1
  local function add(global, count)
    if count <= 0 then return end
    runs[#runs + 1] = { global = global, count = count, at = at }
    at = at + count
  end
  local lowest, highest = first - width, last + width
  if boundary == "periodic" then
    local place = lowest
    while place <= highest do
      local inside = (place - 1) % n + 1
      local count = math.min(n - inside + 1, highest - place + 1)
      add(inside, count)
      place = place + count
    end
  elseif boundary == "edge" then
    for _ = lowest, 0 do add(1, 1) end
    add(math.max(lowest, 1), math.min(highest, n) - math.max(lowest, 1) + 1)
    for _ = n + 1, highest do add(n, 1) end
  else
    at = at + math.max(0, 1 - lowest)
    add(math.max(lowest, 1), math.min(highest, n) - math.max(lowest, 1) + 1)
  end
  return runs
end

---This rank's part with the elements around it, of other ranks, corners included: halos of `width` elements on both
---sides of each axis. A stencil on this array gives the bits that it gives on the whole array.
---@param width integer|integer[] of all axes, or of each; 0: no halo
---@param options? { boundary?: "zero"|"periodic"|"edge" } outside of the whole array: zeros, the other end, or the
---nearest element
---@return moonwarp.array of the part's shape plus 2 * width
function dist_array:exchange(width, options)
  local layout, boundary = self.layout, options and options.boundary or "zero"
  if layout.block then
    usage "d:exchange: halos are of blocks; d:redistribute a cyclic array into a layout without block"
  end
  if boundary ~= "zero" and boundary ~= "periodic" and boundary ~= "edge" then
    usage('d:exchange: the boundary is "zero", "periodic" or "edge", got %s', raw.describe(boundary))
  end
  local widths = {}
  for d = 1, #self.shape do
    widths[d] = type(width) == "table" and width[d] or width
    if type(widths[d]) ~= "number" or widths[d] < 0 or widths[d] % 1 ~= 0 then
      usage("d:exchange: a width is a whole number, of all axes or one an axis; got %s", raw.describe(widths[d]))
    end
  end
  local function wanted(rank)
    local runs = layout:runs(rank)
    for d, list in ipairs(runs) do
      if #list == 0 then return nil end
      local run = list[1]
      runs[d] = padded(run.global, run.global + run.count - 1, widths[d], self.shape[d], boundary)
    end
    return runs
  end
  local shape = self.part.shape
  for d = 1, #shape do shape[d] = shape[d] + 2 * widths[d] end
  local target = raw.array_new(self.dtype, shape)
  if target.count > 0 then raw.array_view(target, 0, "uchar", { target.nbytes }):fill(0) end
  return mover.move(self.comm, self.part, function(rank) return layout:runs(rank) end, target, wanted)
end

-- The array in blocks over the same grid, if its layout is block-cyclic.
function M.in_blocks(d)
  if not d.layout.block then return d end
  return d:redistribute(layouts.new(d.comm, d.shape, { grid = d.layout.grid }))
end

---Apply a stencil: f gets the part with its halos and returns an array of the part's shape. A
---block-cyclic array is redistributed into blocks for that, and back.
---@param width integer|integer[]
---@param f fun(padded: moonwarp.array): moonwarp.array
---@param options? { boundary?: "zero"|"periodic"|"edge" }
---@return moonwarp.dist_array
function dist_array:stencil(width, f, options)
  local d = M.in_blocks(self)
  local part = d:exchange(width, options)
  local result = M.new(d.layout, d.part.count > 0 and f(part) or d.part:copy())
  return self.layout.block and result:redistribute(self.layout) or result
end

-- Check the arguments of all methods, once the files that add methods are read.
function M.finish()
  for name, text in pairs(signatures.dist_array) do
    dist_array[name] = arguments.checked_method("d:" .. name, text, dist_array[name], metatable)
  end
end

return M
