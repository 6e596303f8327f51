-- Shapes as C has them, without loops for the usual ranks: LuaJIT compiles a loop by itself and not with its callers.

local ffi = require "ffi"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

local M = {}

local size_list = ffi.typeof "size_t[8]"
local MAX_RANK = 8
M.MAX_RANK = MAX_RANK

---A size in a shape, or a usage error.
---@param size any
---@return integer
function M.check_size(size)
  local whole = value.whole(size)
  if not whole or whole < 0 then errors.refuse("shape", size) end
  return whole
end

local check_size = M.check_size

local function check_further(shape, rank, sizes)
  for i = 3, rank do sizes[i - 1] = check_size(rawget(shape, i)) end
end

---A shape (a number, or a table of numbers) as C has it.
---@param shape any
---@return integer rank
---@return ffi.cdata* sizes
function M.check(shape)
  local sizes = size_list()
  if type(shape) ~= "table" then
    sizes[0] = check_size(shape)
    return 1, sizes
  end
  local rank = #shape
  if rank < 1 or rank > MAX_RANK then errors.refuse("rank", rank, MAX_RANK) end
  sizes[0] = check_size(rawget(shape, 1))
  if rank > 1 then sizes[1] = check_size(rawget(shape, 2)) end
  if rank > 2 then check_further(shape, rank, sizes) end
  return rank, sizes
end

---The bytes of elements of a size.
---@param size number
---@param rank integer
---@param shape ffi.cdata*
---@return number
function M.bytes(size, rank, shape)
  if rank > 1 then size = size * tonumber(shape[1]) end
  if rank > 2 then size = size * tonumber(shape[2]) end
  if rank > 3 then size = size * tonumber(shape[3]) * (rank > 4 and M.bytes(1, rank - 4, shape + 4) or 1) end
  return size * tonumber(shape[0])
end

return M
