-- Grids of processes (MPI's Cartesian topologies), and exchanges between neighbours. Axes count from 1, coordinates
-- from 0 as ranks do. The neighbours of a rank have an order: below and above it along axis 1, along axis 2, and so on.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"

local mpi_communicator = communicators.methods
local TAG = 32000 -- of exchanges between neighbours

---A grid of the first ranks: a communicator with dims, periodic and coordinates. Dimensions of 0 are filled in, so that
---the grid is as square as the number of ranks allows.
---@param dims integer[]
---@param options? { periodic?: boolean|boolean[], reorder?: boolean } whether the grid is closed, for all axes or each;
---whether MPI may give the ranks other numbers
---@return moonwarp.mpi_communicator? nil on ranks beyond the grid
function mpi_communicator:cartesian(dims, options)
  options = options or {}
  if type(dims) ~= "table" or #dims < 1 or #dims > 8 then
    errors.usage("comm:cartesian wants a table of 1 to 8 dimensions, got %s", raw.describe(dims))
  end
  local cells, open = 1, false
  for _, n in ipairs(dims) do
    if n == 0 then open = true else cells = cells * n end
  end
  if cells > self.size or open and self.size % cells ~= 0 then
    errors.usage("comm:cartesian: a grid of %s does not fit %d ranks", table.concat(dims, " × "), self.size)
  end
  dims = open and raw.mpi_dims(self.size, dims) or { (table.unpack or unpack)(dims) } -- luacheck: ignore 143
  local periodic, numbers = {}, {}
  for d = 1, #dims do
    local closed = options.periodic
    if type(closed) == "table" then closed = closed[d] end
    periodic[d], numbers[d] = closed and true or false, closed and 1 or 0
  end
  communicators.agree(self, ("cartesian of %s, %s"):format(table.concat(dims, " × "), table.concat(numbers, "")))
  local handle = raw.mpi_cartesian(self.handle, dims, numbers, options.reorder or false)
  if not handle then return nil end
  local grid = communicators.new(handle)
  grid.dims, grid.periodic = dims, periodic
  grid.coordinates = grid:coordinates_of(grid.rank)
  return grid
end

local function check_grid(grid, where)
  local dims = rawget(grid, "dims")
  return dims or errors.usage("%s: this communicator is not a grid; comm:cartesian makes one", where)
end

---The coordinates of a rank of the grid.
---@param rank integer
---@return integer[]
function mpi_communicator:coordinates_of(rank)
  local dims, result = check_grid(self, "comm:coordinates_of"), {}
  communicators.check_rank(self, rank, "comm:coordinates_of")
  for d = #dims, 1, -1 do
    result[d] = rank % dims[d]
    rank = math.floor(rank / dims[d])
  end
  return result
end

---The rank at coordinates of the grid; nil beyond an open border.
---@param coordinates integer[]
---@return integer?
function mpi_communicator:rank_at(coordinates)
  local dims, rank = check_grid(self, "comm:rank_at"), 0
  for d = 1, #dims do
    local x = coordinates[d]
    if self.periodic[d] then x = x % dims[d] end
    if x < 0 or x >= dims[d] then return nil end
    rank = rank * dims[d] + x
  end
  return rank
end

---The ranks that are `steps` steps away along an axis: below and above. nil beyond an open border.
---@param axis integer from 1
---@param steps? integer 1 by default
---@return integer? below
---@return integer? above
function mpi_communicator:shift(axis, steps)
  local dims, found = check_grid(self, "comm:shift"), {}
  if type(axis) ~= "number" or not dims[axis] then
    errors.usage("comm:shift: the axes of this grid are 1 to %d, got %s", #dims, raw.describe(axis))
  end
  for i, sign in ipairs { -1, 1 } do
    local at = {}
    for d = 1, #dims do at[d] = self.coordinates[d] end
    at[axis] = at[axis] + sign * (steps or 1)
    found[i] = self:rank_at(at)
  end
  return found[1], found[2]
end

-- The ranks of the 2 × axes neighbours; false for none. A grid does not change, so they are found once.
local function neighbours(grid)
  local list = rawget(grid, "neighbours")
  if list then return list end
  list = {}
  for d = 1, #grid.dims do
    local below, above = grid:shift(d)
    list[2 * d - 1], list[2 * d] = below or false, above or false
  end
  grid.neighbours = list
  return list
end

---@class moonwarp.mpi_exchange an exchange of arrays between neighbours on its way: comm:ineighbour_alltoall
local exchange = {}
local exchange_metatable = { __index = exchange, __name = "moonwarp.mpi_exchange" }

---Wait until all arrays have been sent and received.
---@return moonwarp.array[] what was received
function exchange:wait()
  for _, request in ipairs(self) do request:wait() end
  return self.receive
end

---Whether all arrays have been sent and received; does not wait.
---@return boolean
function exchange:test()
  local is_done = true
  for _, request in ipairs(self) do is_done = request:test() and is_done end
  return is_done
end

---Begin to exchange arrays with all neighbours, as comm:neighbour_alltoall does; what is computed before
---exchange:wait() hides the messages. Until then the arrays to receive must not be used, those to send not be written.
---@param send moonwarp.array[]
---@param receive moonwarp.array[] they are overwritten
---@return moonwarp.mpi_exchange
function mpi_communicator:ineighbour_alltoall(send, receive)
  check_grid(self, "comm:neighbour_alltoall")
  local requests, list = { receive = receive }, neighbours(self)
  for i, rank in ipairs(list) do
    if rank then requests[#requests + 1] = self:irecv(receive[i], rank, TAG + i) end
  end
  for i, rank in ipairs(list) do
    -- What goes down arrives from above.
    if rank then requests[#requests + 1] = self:isend(send[i], rank, TAG + (i % 2 == 1 and i + 1 or i - 1)) end
  end
  return setmetatable(requests, exchange_metatable)
end

---Exchange arrays with all neighbours: [2 d - 1] of each table is for the one below along axis d, [2 d] for the one
---above. Arrays of neighbours that are not there are ignored.
---@param send moonwarp.array[]
---@param receive moonwarp.array[] they are overwritten
---@return moonwarp.array[] receive
function mpi_communicator:neighbour_alltoall(send, receive) return self:ineighbour_alltoall(send, receive):wait() end

---Send an array, or any value, to all neighbours, and receive theirs.
---@param what any
---@return any[] in the order of the neighbours; nil for those that are not there
function mpi_communicator:neighbour_allgather(what)
  check_grid(self, "comm:neighbour_allgather")
  local receiving, sending, result, list = {}, {}, {}, neighbours(self)
  for i, rank in ipairs(list) do
    if rank then receiving[i] = self:irecv(rank, TAG + i) end
  end
  for i, rank in ipairs(list) do
    if rank then sending[#sending + 1] = self:isend(what, rank, TAG + (i % 2 == 1 and i + 1 or i - 1)) end
  end
  for i = 1, #list do
    if receiving[i] then result[i] = receiving[i]:wait() end
  end
  for _, request in ipairs(sending) do request:wait() end
  return result
end

return mpi_communicator
