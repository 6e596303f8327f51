-- Files that the ranks of a communicator read and write together (MPI-IO): the elements of arrays, without a header.
--
-- Without a view a file is a sequence of bytes. With one it is an array, of which each rank sees a part. Offsets count
-- from 0: in bytes, or in elements of what this rank sees.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local communicators = require "moonwarp.mpi.communicator"
local operands = require "moonwarp.mpi.operands"
local mw = require "moonwarp"

local usage = errors.usage

local mpi_communicator = communicators.methods

---@class moonwarp.mpi_file a file of several ranks; made by comm:open
---@field path string
---@field comm moonwarp.mpi_communicator
local mpi_file = {}
local metatable = { __index = mpi_file, __name = "moonwarp.mpi_file" }

function metatable.__tostring(file) return ("file %s of %s"):format(file.path, tostring(file.comm)) end

local READS, WRITES, CREATES, EMPTIES, EXCLUDES = 1, 2, 4, 8, 16
local modes = {
  r = READS, w = WRITES + CREATES + EMPTIES, x = READS + WRITES + CREATES + EXCLUDES,
  ["r+"] = READS + WRITES, ["w+"] = READS + WRITES + CREATES + EMPTIES, ["a+"] = READS + WRITES + CREATES,
}

-- mw_mpi_file_kind
local READ_AT, WRITE_AT, READ_AT_ALL, WRITE_AT_ALL, READ_SHARED, WRITE_SHARED, READ_ORDERED, WRITE_ORDERED =
  0, 1, 2, 3, 4, 5, 6, 7

---Open a file, on all ranks.
---@param path string
---@param mode? string "r": to read, the default; "r+": also to write; "w" and "w+": the same of an empty file; "a+": to
---read and write what is there or is created; "x": of a file that must not exist
---@return moonwarp.mpi_file
function mpi_communicator:open(path, mode)
  local flags = modes[mode or "r"]
  if type(path) ~= "string" then usage("comm:open wants the name of a file, got %s", raw.describe(path)) end
  if not flags then usage('comm:open: a mode is "r", "r+", "w", "w+", "a+" or "x", got %s', raw.describe(mode)) end
  communicators.agree(self, ("open of %s, mode %s"):format(path, mode or "r"), true)
  return setmetatable({ path = path, comm = self, handle = raw.mpi_file_open(self.handle, path, flags) }, metatable)
end

local function open_handle(file) return file.handle or usage("%s was closed", file.path) end

---Close the file, on all ranks.
function mpi_file:close()
  if not self.handle then return end
  communicators.agree(self.comm, "close of " .. self.path, true)
  raw.mpi_file_close(self.handle)
  self.handle = nil
end

-- ---- reading and writing ----

local function check_offset(offset, where)
  if type(offset) == "number" and offset % 1 == 0 and offset >= 0 then return offset end
  return usage("%s: the offset is %s; it counts from 0", where, raw.describe(offset))
end

local function read(file, kind, a, offset, where, agreed)
  local handle = open_handle(file)
  operands.check_array(a, where)
  if a.is_read_only then usage("%s: a view whose elements share memory cannot be read into", where) end
  check_offset(offset, where)
  if agreed then communicators.agree(file.comm, ("%s of %s"):format(agreed, file.path), true) end
  local into = a.is_contiguous and a or mw.empty(a.shape, a.dtype)
  raw.mpi_file_move(handle, kind, into, offset)
  if into ~= a then a:assign(into) end
  return a
end

local function write(file, kind, a, offset, where, agreed)
  local handle = open_handle(file)
  operands.check_array(a, where)
  check_offset(offset, where)
  if agreed then communicators.agree(file.comm, ("%s of %s"):format(agreed, file.path), true) end
  raw.mpi_file_move(handle, kind, operands.packed(a), offset)
end

---Read an array's elements. The other ranks need not call it.
---@param a moonwarp.array
---@param offset? integer 0 by default
---@return moonwarp.array a
function mpi_file:read_at(a, offset) return read(self, READ_AT, a, offset or 0, "file:read_at") end

---Write an array's elements. The other ranks need not call it.
---@param a moonwarp.array
---@param offset? integer 0 by default
function mpi_file:write_at(a, offset) write(self, WRITE_AT, a, offset or 0, "file:write_at") end

---Read on all ranks together, which is faster; a rank may have an empty array.
---@param a moonwarp.array
---@param offset? integer 0 by default
---@return moonwarp.array a
function mpi_file:read_all(a, offset) return read(self, READ_AT_ALL, a, offset or 0, "file:read_all", "read_all") end

---Write on all ranks together, which is faster; a rank may have an empty array.
---@param a moonwarp.array
---@param offset? integer 0 by default
function mpi_file:write_all(a, offset) write(self, WRITE_AT_ALL, a, offset or 0, "file:write_all", "write_all") end

---Read at the place that all ranks share, which moves on: each element goes to one rank.
---@param a moonwarp.array
---@return moonwarp.array a
function mpi_file:read_shared(a) return read(self, READ_SHARED, a, 0, "file:read_shared") end

---Write at the place that all ranks share, which moves on.
---@param a moonwarp.array
function mpi_file:write_shared(a) write(self, WRITE_SHARED, a, 0, "file:write_shared") end

---The same on all ranks, in their order.
---@param a moonwarp.array
---@return moonwarp.array a
function mpi_file:read_ordered(a) return read(self, READ_ORDERED, a, 0, "file:read_ordered", "read_ordered") end

---The same on all ranks, in their order.
---@param a moonwarp.array
function mpi_file:write_ordered(a) write(self, WRITE_ORDERED, a, 0, "file:write_ordered", "write_ordered") end

-- ---- views ----

---Make the file an array of which this rank sees a part, on all ranks: those elements in row order are what it reads
---and writes. Without an argument: all bytes again.
---@param view? { dtype: moonwarp.dtype, shape: integer[], from: integer[], count: integer[], offset?: integer } the
---whole array; this rank's first element along each axis, from 1, and how many; where the array begins, in bytes
function mpi_file:view(view)
  local handle = open_handle(self)
  communicators.agree(self.comm, "view of " .. self.path, true)
  if view == nil then return raw.mpi_file_view(handle, 0, 1, {}, {}, {}) end
  local shape, from, count, first = view.shape, view.from, view.count, {}
  if type(shape) ~= "table" or type(from) ~= "table" or type(count) ~= "table" or #from ~= #shape or #count ~= #shape
    or #shape < 1 or #shape > 8 then
    usage "file:view wants shape, from and count: tables of 1 to 8 numbers, one for each axis"
  end
  for i, n in ipairs(from) do first[i] = n - 1 end
  local element = mw.empty(1, view.dtype).nbytes
  raw.mpi_file_view(handle, check_offset(view.offset or 0, "file:view"), element, shape, first, count)
end

-- ---- sizes ----

---The file's size in bytes.
---@return integer
function mpi_file:size() return raw.mpi_file_size(open_handle(self)) end

---Set the file's size, on all ranks.
---@param bytes integer
function mpi_file:resize(bytes)
  local handle = open_handle(self)
  check_offset(bytes, "file:resize")
  communicators.agree(self.comm, ("resize of %s to %d"):format(self.path, bytes), true)
  raw.mpi_file_resize(handle, bytes)
end

---Wait, on all ranks, until what was written is on the disk and can be read by the others.
function mpi_file:sync()
  local handle = open_handle(self)
  communicators.agree(self.comm, "sync of " .. self.path, true)
  raw.mpi_file_sync(handle)
end

return mpi_file
