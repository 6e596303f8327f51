-- Moving elements between ranks: from the parts of one division to the parts of another. Redistribution, halos, gathers
-- and transpositions are all this.
--
-- A division is a function from a rank to its runs along each axis (layout:runs). A rank's runs may overlap those of
-- others in the target: elements then go to several ranks. Both sides of a message list the same boxes in the same
-- order, so the elements need no description.

local raw = require "moonwarp.binding"
local transport = require "moonwarp.dist.transport"

local M = {}

-- What a source's runs and a target's runs have in common along an axis: { from =, to =, count = }.
local function overlaps(source, target)
  local list = {}
  for _, t in ipairs(target) do
    for _, s in ipairs(source) do
      local first = math.max(s.global, t.global)
      local count = math.min(s.global + s.count, t.global + t.count) - first
      if count > 0 then
        list[#list + 1] = { from = s.at + first - s.global, to = t.at + first - t.global, count = count }
      end
    end
  end
  return list
end

-- The boxes that source and target have in common; `side` is "from" or "to": lists of ranges, one an axis.
local function boxes(source, target, side)
  local list, total = { {} }, { 1 }
  for axis = 1, #source do
    local longer, counts = {}, {}
    for i, box in ipairs(list) do
      for _, overlap in ipairs(overlaps(source[axis], target[axis])) do
        local ranges = {}
        for d = 1, axis - 1 do ranges[d] = box[d] end
        ranges[axis] = { overlap[side], overlap[side] + overlap.count - 1 }
        longer[#longer + 1] = ranges
        counts[#counts + 1] = total[i] * overlap.count
      end
    end
    list, total = longer, counts
  end
  local count = 0
  for _, n in ipairs(total) do count = count + n end
  return list, total, count
end

local function pack(part, list, counts, count)
  if #list == 1 then return part[list[1]]:contiguous():reshape(-1) end
  local message, at = raw.array_new(part.dtype, { count }), 0
  for i, box in ipairs(list) do
    message:sub(at + 1, at + counts[i]):copy_from(part[box]:contiguous():reshape(-1))
    at = at + counts[i]
  end
  return message
end

local function unpack_into(part, message, list, counts)
  local at = 0
  for i, box in ipairs(list) do
    local view = part[box]
    view:assign(message:sub(at + 1, at + counts[i]):reshape(view.shape))
    at = at + counts[i]
  end
end

---Fill `target` with the elements that this rank's runs of the division `to` name. Every rank calls it.
---@param comm table
---@param source moonwarp.array this rank's part
---@param from fun(rank: integer): table[][]? its runs; nil: the rank has nothing
---@param target? moonwarp.array
---@param to fun(rank: integer): table[][]? nil: the rank wants nothing
---@return moonwarp.array? target
function M.move(comm, source, from, target, to)
  local mine, wanted = from(comm.rank), to(comm.rank)
  local sends, receives = {}, {}
  for step = 0, comm.size - 1 do -- each rank begins with another one
    local rank = (comm.rank + step) % comm.size
    local theirs, their_wish = from(rank), to(rank)
    if mine and their_wish and rank ~= comm.rank then
      local list, counts, count = boxes(mine, their_wish, "from")
      if count > 0 then sends[#sends + 1] = { rank = rank, array = pack(source, list, counts, count) } end
    end
    if wanted and theirs then
      local list, counts, count = boxes(theirs, wanted, "to")
      if count > 0 and rank == comm.rank then
        unpack_into(target, pack(source, (boxes(mine, wanted, "from")), counts, count), list, counts)
      elseif count > 0 then
        receives[#receives + 1] = { rank = rank, array = raw.array_new(target.dtype, { count }), list = list,
          counts = counts }
      end
    end
  end
  transport.exchange(comm, sends, receives)
  for _, message in ipairs(receives) do unpack_into(target, message.array, message.list, message.counts) end
  return target
end

---The runs of a whole array: all of it in one place.
---@param shape integer[]
---@return table[][]
function M.whole(shape)
  local runs = {}
  for axis, n in ipairs(shape) do runs[axis] = n > 0 and { { global = 1, count = n, at = 1 } } or {} end
  return runs
end

return M
