-- Layouts: which rank has which elements of a distributed array.
--
-- The ranks form a grid with a size along each axis of the array; the last axis of the grid counts fastest. Along an
-- axis the elements are divided into runs {global =, count =, at =}: elements from `global` on of the array are those
-- from `at` on of the rank's part. In blocks, a rank has one run, and the counts differ by at most 1. In cycles of
-- blocks of b, the runs of b elements go to the grid's places in turn.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local usage = errors.usage
local M = {}

---@class moonwarp.layout which rank has which elements of a distributed array; made by mw.dist.layout
---@field comm table the communicator
---@field shape integer[] of the whole array
---@field grid integer[] the number of ranks along each axis
---@field block integer[]? the sizes of the blocks that go around in turn; nil: one block per rank
local layout = {}

local metatable = { __index = layout, __name = "moonwarp.layout", __made = "mw.dist.layout" }

local function text(list) return "{" .. table.concat(list, ", ") .. "}" end
M.text = text

function metatable.__tostring(self)
  local cyclic = self.block and (", blocks of %s in turn"):format(text(self.block)) or ""
  return ("%s over a grid of %s ranks%s"):format(text(self.shape), text(self.grid), cyclic)
end

local function product(list)
  local result = 1
  for _, n in ipairs(list) do result = result * n end
  return result
end

local function check_sizes(what, list, rank)
  if type(list) ~= "table" or #list ~= rank then
    usage("mw.dist.layout: %s has a number for each of the %d axes", what, rank)
  end
  for _, n in ipairs(list) do
    if type(n) ~= "number" or n < 1 or n % 1 ~= 0 then
      usage("mw.dist.layout: %s has whole numbers from 1 on, got %s", what, raw.describe(n))
    end
  end
end

local function grid_of(comm, rank, options)
  local grid = options.grid
  if not grid then
    local axis = options.axis or 1
    if axis < 1 or axis > rank then usage("mw.dist.layout: axis %d of an array with %d axes", axis, rank) end
    grid = {}
    for d = 1, rank do grid[d] = d == axis and comm.size or 1 end
  end
  check_sizes("the grid", grid, rank)
  if product(grid) ~= comm.size then
    usage("mw.dist.layout: the grid %s has %d places, and the communicator %d ranks", text(grid), product(grid),
      comm.size)
  end
  return grid
end

-- A layout of an array of this shape over the ranks of a communicator. All ranks make the same one.
-- default; or grid: the number of ranks along each axis; block: the sizes of blocks that the ranks get in turn
function M.new(comm, shape, options)
  options = options or {}
  if type(comm.rank) ~= "number" or type(comm.size) ~= "number" then
    usage "mw.dist.layout wants a communicator, such as mw.mpi.world(), got a table without a rank and a size"
  end
  if type(shape) == "number" then shape = { shape } end
  local copy = {}
  for d, n in ipairs(shape) do
    if type(n) ~= "number" or n < 0 or n % 1 ~= 0 then
      usage("mw.dist.layout: a shape has whole numbers, got %s", raw.describe(n))
    end
    copy[d] = n
  end
  local block = options.block
  if type(block) == "number" then
    local n = block
    block = {}
    for d = 1, #shape do block[d] = n end
  end
  if block then check_sizes("block", block, #shape) end
  return setmetatable({ comm = comm, shape = copy, grid = grid_of(comm, #shape, options), block = block }, metatable)
end

function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

---The place of a rank in the grid, from 0.
---@param rank? integer this rank by default
---@return integer[]
function layout:place(rank)
  rank = rank or self.comm.rank
  local place = {}
  for d = #self.grid, 1, -1 do
    place[d] = rank % self.grid[d]
    rank = math.floor(rank / self.grid[d])
  end
  return place
end

-- The rank at a place of the grid.
function layout:rank_at(place)
  local rank = 0
  for d = 1, #self.grid do rank = rank * self.grid[d] + place[d] end
  return rank
end

-- The runs along an axis at a place of the grid.
local function runs(self, axis, place)
  local n, ranks, b = self.shape[axis], self.grid[axis], self.block and self.block[axis]
  if not b then
    local first, last = math.floor(place * n / ranks), math.floor((place + 1) * n / ranks)
    return last > first and { { global = first + 1, count = last - first, at = 1 } } or {}
  end
  local list, at = {}, 1
  for first = place * b, n - 1, ranks * b do
    local count = math.min(b, n - first)
    list[#list + 1] = { global = first + 1, count = count, at = at }
    at = at + count
  end
  return list
end

---The runs of a rank along each axis: lists of { global =, count =, at = }, where elements from `global` on are those
---from `at` on in the rank's part.
---@param rank? integer this rank by default
---@return table[][]
function layout:runs(rank)
  local place, list = self:place(rank), {}
  for axis = 1, #self.shape do list[axis] = runs(self, axis, place[axis]) end
  return list
end

---The shape of a rank's part.
---@param rank? integer this rank by default
---@return integer[]
function layout:part_shape(rank)
  local shape = {}
  for axis, list in ipairs(self:runs(rank)) do
    shape[axis] = 0
    for _, run in ipairs(list) do shape[axis] = shape[axis] + run.count end
  end
  return shape
end

---Whether two layouts give each rank the same elements.
---@param other moonwarp.layout
---@return boolean
function layout:equals(other)
  if self == other then return true end
  if self.comm ~= other.comm or #self.shape ~= #other.shape or (self.block ~= nil) ~= (other.block ~= nil) then
    return false
  end
  for d = 1, #self.shape do
    if self.shape[d] ~= other.shape[d] or self.grid[d] ~= other.grid[d] then return false end
    if self.block and self.block[d] ~= other.block[d] then return false end
  end
  return true
end

-- The same division of another shape, or over another grid.
function layout:with(shape, grid)
  return M.new(self.comm, shape or self.shape, { grid = grid or self.grid, block = self.block })
end

for _, name in ipairs { "place", "runs", "part_shape", "equals" } do
  local f = layout[name]
  layout[name] = function(self, ...)
    if not M.is(self) then usage("layout:%s is called on a layout, with a colon", name) end
    return f(self, ...)
  end
end

return M
