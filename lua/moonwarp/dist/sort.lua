-- Sorting. Along an axis of several: by pencils. Of one axis by sample sort: each rank sorts its part and names samples
-- at even distances; size - 1 of all samples split the values among the ranks; what each rank received is sorted again,
-- and moved into the layout.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arrays = require "moonwarp.dist.array"
local mover = require "moonwarp.dist.redistribution"
local pencils = require "moonwarp.dist.pencil"
local transport = require "moonwarp.dist.transport"

local usage = errors.usage
local dist_array = arrays.methods

-- `count` evenly spaced elements of a sorted array; of an empty one none.
local function samples(sorted, count)
  local places = {}
  for i = 1, count do places[i] = math.floor((i - 0.5) * #sorted / count) + 1 end
  return sorted:take(places, { axis = 1 })
end

-- The numbers of elements of every rank, by rank + 1.
local function counts_of(comm, count)
  local counts = {}
  for i, one in ipairs(transport.allgather(comm, raw.array_from({ count }, "longlong"), transport.everyone(comm))) do
    counts[i] = tonumber(one[1])
  end
  return counts
end

-- The values at which the ranks' shares begin: size - 1 of them, or fewer.
local function splitters(comm, sorted)
  local count = math.min(#sorted, comm.size)
  local counts, pieces = counts_of(comm, count), {}
  local sends, receives = {}, {}
  local mine = samples(sorted, count)
  for i = 1, comm.size do
    if i - 1 == comm.rank then
      pieces[#pieces + 1] = count > 0 and mine or nil
    else
      if counts[i] > 0 then
        pieces[#pieces + 1] = raw.array_new(sorted.dtype, { counts[i] })
        receives[#receives + 1] = { rank = i - 1, array = pieces[#pieces] }
      end
      if count > 0 then sends[#sends + 1] = { rank = i - 1, array = mine } end
    end
  end
  transport.exchange(comm, sends, receives)
  if #pieces == 0 then return nil end
  local all = raw.part("array.joining").concat(pieces):sort()
  local places = {}
  for r = 1, comm.size - 1 do places[r] = math.min(math.floor(r * #all / comm.size) + 1, #all) end
  return #places > 0 and all:take(places, { axis = 1 }) or nil
end

-- The pieces of a sorted array that go to each rank.
local function shares(sorted, split, size)
  local list, first = {}, 1
  local places = split and #sorted > 0 and sorted:searchsorted(split):totable() or {}
  for r = 1, size do
    local last = places[r] and tonumber(places[r]) - 1 or r < size and #places > 0 and first - 1 or #sorted
    if r == size then last = #sorted end
    list[r] = last >= first and sorted:sub(first, last) or false
    first = math.max(first, last + 1)
  end
  return list
end

-- Along an axis of several: each rank sorts whole lines.
local function sort_lines(d, axis)
  axis = axis or #d.shape
  if not d.shape[axis] or axis % 1 ~= 0 then
    usage("d:sort: axis %s of an array with %d axes", tostring(axis), #d.shape)
  end
  local lines = pencils.along(d, axis)
  local part = lines.part.count > 0 and lines.part:sort { axis = axis } or lines.part
  return arrays.new(lines.layout, part):redistribute(d.layout)
end

---The elements in rising order, NaN last, in the same layout.
---@param options? { axis?: integer } the last axis by default
---@return moonwarp.dist_array
function dist_array:sort(options)
  local axis = options and options.axis
  if #self.shape ~= 1 then return sort_lines(self, axis) end
  if axis ~= nil and axis ~= 1 then usage("d:sort: axis %s of an array with 1 axis", tostring(axis)) end
  local comm = self.comm
  local sorted = self.part:sort()
  local list = shares(sorted, splitters(comm, sorted), comm.size)
  local numbers = {}
  for r = 1, comm.size do numbers[r] = list[r] and #list[r] or 0 end
  local table_of = transport.allgather(comm, raw.array_from(numbers, "longlong"), transport.everyone(comm))
  local sends, receives, pieces = {}, {}, {}
  for r = 1, comm.size do
    local count = tonumber(table_of[r][comm.rank + 1])
    if r - 1 == comm.rank then
      pieces[#pieces + 1] = list[r] or nil
    else
      if list[r] then sends[#sends + 1] = { rank = r - 1, array = list[r]:contiguous() } end
      if count > 0 then
        pieces[#pieces + 1] = raw.array_new(self.dtype, { count })
        receives[#receives + 1] = { rank = r - 1, array = pieces[#pieces] }
      end
    end
  end
  transport.exchange(comm, sends, receives)
  local mine = #pieces > 0 and raw.part("array.joining").concat(pieces):sort() or raw.array_new(self.dtype, { 0 })
  -- Rank r has the elements after those of the ranks before it.
  local totals, first, firsts = counts_of(comm, #mine), 1, {}
  for r = 1, comm.size do
    firsts[r] = first
    first = first + totals[r]
  end
  local target = raw.array_new(self.dtype, self.layout:part_shape())
  mover.move(comm, mine, function(rank)
    local count = totals[rank + 1]
    return { count > 0 and { { global = firsts[rank + 1], count = count, at = 1 } } or {} }
  end, target, function(rank) return self.layout:runs(rank) end)
  return arrays.new(self.layout, target)
end

return {}
