-- Products of matrices by SUMMA: c = a b over one grid. For each run of the inner dimension that one column of ranks
-- has of a, and one row of ranks of b, these send their pieces along the rows and the columns of the grid, and every
-- rank adds the product of the two pieces it got.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"
local transport = require "moonwarp.dist.transport"
raw.part "array.linear.products"

local usage = errors.usage
local dist_array = arrays.methods

-- The runs of an axis at all places of the grid, by their first element: { global, count, at, place }.
local function all_runs(layout, axis)
  local list, place = {}, {}
  for d = 1, 2 do place[d] = 0 end
  for p = 0, layout.grid[axis] - 1 do
    place[axis] = p
    for _, run in ipairs(layout:runs(layout:rank_at(place))[axis]) do
      list[#list + 1] = { global = run.global, count = run.count, at = run.at, place = p }
    end
  end
  table.sort(list, function(x, y) return x.global < y.global end)
  return list
end

-- The pieces of the inner dimension: { a =, b = (places), from_a, from_b (positions in the parts), count }.
local function segments(a, b)
  local left, right, list, i, j = all_runs(a.layout, 2), all_runs(b.layout, 1), {}, 1, 1
  while left[i] and right[j] do
    local x, y = left[i], right[j]
    local first = math.max(x.global, y.global)
    local last = math.min(x.global + x.count, y.global + y.count) - 1
    list[#list + 1] = { a = x.place, b = y.place, count = last - first + 1, from_a = x.at + first - x.global,
      from_b = y.at + first - y.global }
    if x.global + x.count - 1 == last then i = i + 1 end
    if y.global + y.count - 1 == last then j = j + 1 end
  end
  return list
end

-- A piece of the rank at `from` for all ranks of its row or column of the grid.
local function share(layout, axis, from, piece, shape, dtype, sends, receives)
  local place = layout:place()
  if place[axis] == from then
    if piece.count > 0 then
      for p = 0, layout.grid[axis] - 1 do
        place[axis] = p
        if p ~= from then sends[#sends + 1] = { rank = layout:rank_at(place), array = piece } end
      end
    end
    return piece
  end
  local target = raw.array_new(dtype, shape)
  place[axis] = from
  if target.count > 0 then receives[#receives + 1] = { rank = layout:rank_at(place), array = target } end
  return target
end

---The product of two matrices over one grid of ranks.
---@param b moonwarp.dist_array
---@return moonwarp.dist_array
function dist_array:mm(b)
  local a = self
  arrays.check(b, "d:mm")
  if #a.shape ~= 2 or #b.shape ~= 2 or a.shape[2] ~= b.shape[1] then
    usage("d:mm: the shapes %s and %s do not fit", layouts.text(a.shape), layouts.text(b.shape))
  end
  if a.dtype ~= b.dtype then
    usage("d:mm: the dtypes %s and %s differ; d:to converts", tostring(a.dtype), tostring(b.dtype))
  end
  if a.comm ~= b.comm or layouts.text(a.layout.grid) ~= layouts.text(b.layout.grid) then
    usage("d:mm: the matrices are %s, and %s; d:redistribute moves one to the other's grid", tostring(a.layout),
      tostring(b.layout))
  end
  local block = a.layout.block and b.layout.block and { a.layout.block[1], b.layout.block[2] } or nil
  if (a.layout.block ~= nil) ~= (b.layout.block ~= nil) then
    usage("d:mm: one matrix is divided into blocks in turn and the other is not: %s, and %s", tostring(a.layout),
      tostring(b.layout))
  end
  local layout = layouts.new(a.comm, { a.shape[1], b.shape[2] }, { grid = a.layout.grid, block = block })
  local shape = layout:part_shape()
  local total
  for _, s in ipairs(segments(a, b)) do
    local sends, receives, place = {}, {}, layout:place()
    local left = place[2] == s.a and a.part[{ {}, { s.from_a, s.from_a + s.count - 1 } }]:contiguous()
    local right = place[1] == s.b and b.part[{ { s.from_b, s.from_b + s.count - 1 }, {} }]:contiguous()
    left = share(layout, 2, s.a, left, { shape[1], s.count }, a.dtype, sends, receives)
    right = share(layout, 1, s.b, right, { s.count, shape[2] }, a.dtype, sends, receives)
    transport.exchange(a.comm, sends, receives)
    local term = left:mm(right)
    total = total and total + term or term
  end
  if not total then
    total = raw.array_new(a.dtype, shape)
    if total.count > 0 then total:fill(0) end
  end
  return arrays.new(layout, total)
end

return {}
