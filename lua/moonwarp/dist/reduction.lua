-- Reductions and scans of distributed arrays: of each rank's part, and then of the ranks' results in the order of their
-- places. Sums of floating-point numbers are added in double precision between the ranks, so that they differ from one
-- machine's by the last rounding at most.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arrays = require "moonwarp.dist.array"
local transport = require "moonwarp.dist.transport"
local operators = raw.part "array.operators"

local usage = errors.usage
local dist_array = arrays.methods

-- The axes to reduce, as a set; nil: all.
local function axes_of(d, options, where)
  local axis, set = options and options.axis, {}
  for e = 1, #d.shape do set[e] = axis == nil end
  if axis == nil then return set, true end
  for _, e in ipairs(type(axis) == "table" and axis or { axis }) do
    if set[e] == nil then usage("%s: axis %s of an array with %d axes", where, tostring(e), #d.shape) end
    set[e] = true
  end
  return set, false
end

-- The ranks whose places differ from this one's along some axes only, in the order of their places.
local function group_of(layout, set)
  local mine, ranks = layout:place(), {}
  for rank = 0, layout.comm.size - 1 do
    local place, same = layout:place(rank), true
    for axis = 1, #mine do same = same and (set[axis] or place[axis] == mine[axis]) end
    if same then ranks[#ranks + 1] = rank end
  end
  return ranks
end

local wide = { float = "double", half = "double", bfloat16 = "double", complex64 = "complex128" }

-- combine: of two ranks' results. widens: in double precision between ranks. nothing: an empty part has no result.
local reductions = {
  sum = { combine = function(a, b) return a + b end, widens = true },
  prod = { combine = function(a, b) return a * b end, widens = true },
  max = { combine = function(a, b) return operators.fmax(a, b) end, nothing = true }, -- which ignore NaN, as a:max does
  min = { combine = function(a, b) return operators.fmin(a, b) end, nothing = true },
  any = { combine = function(a, b) return operators.maximum(a, b) end },
  all = { combine = function(a, b) return operators.minimum(a, b) end },
  count_nonzero = { combine = function(a, b) return a + b end },
}

local function list_of(set)
  local list = {}
  for axis = 1, #set do
    if set[axis] then list[#list + 1] = axis end
  end
  return list
end

local function count_of(shape)
  local count = 1
  for _, n in ipairs(shape) do count = count * n end
  return count
end

-- The reduction of this rank's part, with the reduced axes of length 1; nil if there is none (a maximum of nothing).
local function of_part(d, name, rule, axes)
  local part = d.part
  local to = rule.widens and wide[tostring(part.dtype)]
  if to then part = part:to(to) end
  local shape, is_empty = part.shape, false
  for _, axis in ipairs(axes) do is_empty = is_empty or shape[axis] == 0 end
  if rule.nothing and is_empty then return nil end
  if rule.nothing and part.count == 0 then -- nothing is wanted either
    for _, axis in ipairs(axes) do shape[axis] = 1 end
    return raw.array_new(part.dtype, shape)
  end
  return part[name](part, { axis = axes, keepdims = true })
end

-- The results of the ranks of a group, in order: arrays of one shape and dtype. A rank may have none.
local function gather_some(comm, mine, shape, dtype, ranks)
  local flags = transport.allgather(comm, raw.array_from({ mine and 1 or 0 }, "uchar"), ranks)
  local sends, receives, all = {}, {}, {}
  for i, rank in ipairs(ranks) do
    if rank == comm.rank then
      all[#all + 1] = mine
    else
      if mine then sends[#sends + 1] = { rank = rank, array = mine } end
      if flags[i][1] == 1 then
        all[#all + 1] = raw.array_new(dtype, shape)
        receives[#receives + 1] = { rank = rank, array = all[#all] }
      end
    end
  end
  transport.exchange(comm, sends, receives)
  return all
end

-- The reduction, with the reduced axes of length 1, of the whole array's elements at this rank's other positions.
local function reduce(d, name, options)
  local rule = reductions[name]
  local set, whole = axes_of(d, options, "d:" .. name)
  local axes, shape = list_of(set), d.part.shape
  for _, axis in ipairs(axes) do shape[axis] = 1 end
  local mine, ranks = of_part(d, name, rule, axes), group_of(d.layout, set)
  mine = mine and mine:contiguous()
  local all
  if not rule.nothing then
    all = transport.allgather(d.comm, mine, ranks)
  elseif count_of(shape) == 0 then
    all = { mine or raw.array_new(d.dtype, shape) }
  else
    all = gather_some(d.comm, mine, shape, d.dtype, ranks)
  end
  if #all == 0 then usage("d:%s of an empty array", name) end
  local total = all[1]
  for i = 2, #all do total = rule.combine(total, all[i]) end
  return total, set, whole, rule.widens and wide[tostring(d.dtype)] and d.dtype
end

-- The reduction as an array that every rank has: the other ranks' pieces of the axes that are kept are gathered.
local function assemble(d, total, set, whole, options)
  local layout, shape, kept = d.layout, {}, {}
  for axis = 1, #d.shape do
    shape[axis] = set[axis] and 1 or d.shape[axis]
    kept[#kept + 1] = not set[axis] and d.shape[axis] or nil
  end
  if whole and not (options and options.keepdims) then return total:reshape(1)[1] end
  local mover = raw.part "dist.redistribution"
  local target = raw.array_new(total.dtype, shape)
  local everything = mover.whole(shape)
  mover.move(d.comm, total, function(rank)
    local place, runs = layout:place(rank), layout:runs(rank)
    for axis = 1, #shape do
      if set[axis] then
        if place[axis] ~= 0 then return nil end -- the first of those that have the same
        runs[axis] = { { global = 1, count = 1, at = 1 } }
      end
    end
    return runs
  end, target, function() return everything end)
  if options and options.keepdims then return target end
  return target:reshape(#kept > 0 and kept or { 1 })
end

for name in pairs(reductions) do
  dist_array[name] = function(self, options)
    local total, set, whole, narrow = reduce(self, name, options)
    if narrow then total = total:to(narrow) end
    return assemble(self, total, set, whole, options)
  end
end

-- Documented in meta/dist.lua, as those that are made from the table above.
function dist_array:mean(options)
  local total, set, whole, narrow = reduce(self, "sum", options)
  local count = 1
  for axis, n in ipairs(self.shape) do count = count * (set[axis] and n or 1) end
  local mean = total / count
  if narrow then mean = mean:to(narrow) end
  return assemble(self, mean, set, whole, options)
end

-- ---- scans ----

local scan
function scan(d, name, options, combine)
  local axis = options and options.axis
  if axis == nil and #d.shape > 1 then usage("d:%s of an array with %d axes: name one, {axis = 1}", name, #d.shape) end
  axis = axis or 1
  if not d.shape[axis] then usage("d:%s: axis %s of an array with %d axes", name, tostring(axis), #d.shape) end
  if d.layout.block then -- neighbours are ranks' neighbours in blocks only
    return scan(arrays.in_blocks(d), name, options, combine):redistribute(d.layout)
  end
  local part = d.part[name](d.part, { axis = axis })
  local set = {}
  for e = 1, #d.shape do set[e] = e == axis end
  -- The total of each rank's part, and what comes before this one's.
  local to = wide[tostring(d.dtype)]
  local source = to and d.part:to(to) or d.part
  local mine = source[name == "cumsum" and "sum" or "prod"](source, { axis = axis, keepdims = true }):contiguous()
  local ranks = group_of(d.layout, set)
  local all, before = transport.allgather(d.comm, mine, ranks), nil
  for i, rank in ipairs(ranks) do
    if rank == d.comm.rank then break end
    before = before and combine(before, all[i]) or all[i]
  end
  if before and part.count > 0 then
    local result = combine(to and part:to(to) or part, before)
    part = result.dtype == part.dtype and result or result:to(part.dtype)
  end
  return arrays.new(d.layout, part)
end

---The sums of the elements up to each one, along an axis.
---@param options? { axis?: integer } which an array of several axes needs
---@return moonwarp.dist_array
function dist_array:cumsum(options) return scan(self, "cumsum", options, function(a, b) return a + b end) end

---The products of the elements up to each one, along an axis.
---@param options? { axis?: integer }
---@return moonwarp.dist_array
function dist_array:cumprod(options) return scan(self, "cumprod", options, function(a, b) return a * b end) end

return { axes_of = axes_of, list_of = list_of }
