-- MPI: communicators, and what concerns all ranks. Waits return after a while to the Lua layer, which knows where the
-- script is.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local function close(self)
  C.mw_mpi_release(self._handle)
  self._handle = nil
end

local comm_type = class.struct("mpi_comm", "struct { mw_mpi_comm *_handle; }", { __gc = close })

local function check_comm(comm) return errors.check_open(comm, "mpi_comm", "MPI", "communicator")._handle end

-- The handle of an array, or nil for nil. Work on its device is finished.
local function settled(of, what)
  if of == nil then return nil end
  array.check(of, what)
  device.settle(of._device)
  return of._handle
end

-- ---- communicators ----

local comm_out = ffi.typeof "mw_mpi_comm *[1]"

-- A communicator, or nil if there is none on this rank.
local function comm_or_nil(out)
  if out[0] == nil then return nil end
  local comm = comm_type()
  comm._handle = out[0]
  return comm
end

local raw = {}

-- mpi_report() -> a text
function raw.mpi_report()
  local size = tonumber(C.mw_mpi_report(nil, 0)) + 1
  local text = ffi.new("char[?]", size)
  C.mw_mpi_report(text, size)
  return ffi.string(text)
end

-- mpi_world() -> the communicator of all processes
function raw.mpi_world()
  local out = comm_out()
  errors.must(C.mw_mpi_world(out))
  return comm_or_nil(out)
end

-- mpi_facts(comm) -> rank, size
function raw.mpi_facts(comm)
  local handle = check_comm(comm)
  return C.mw_mpi_rank(handle), C.mw_mpi_size(handle)
end

-- mpi_split(comm, color, key) -> comm, or nil; the color -1 is none, -2 the machine's
function raw.mpi_split(comm, color, key)
  local out = comm_out()
  errors.must(C.mw_mpi_split(check_comm(comm), color, key, out))
  return comm_or_nil(out)
end

-- mpi_dup(comm) -> comm
function raw.mpi_dup(comm)
  local out = comm_out()
  errors.must(C.mw_mpi_dup(check_comm(comm), out))
  return comm_or_nil(out)
end

-- mpi_cartesian(comm, dims, periods, reorder) -> comm, or nil beyond the grid; periods are 0 or 1
function raw.mpi_cartesian(comm, dims, periods, reorder)
  local out, rank = comm_out(), math.min(#dims, 8)
  errors.must(C.mw_mpi_cartesian(check_comm(comm), rank, ffi.new("int[8]", dims), ffi.new("int[8]", periods),
    reorder and 1 or 0, out))
  return comm_or_nil(out)
end

-- mpi_dims(nodes, dims) -> dims, those that were 0 filled in
function raw.mpi_dims(nodes, dims)
  local rank = math.min(#dims, 8)
  local out, list = ffi.new("int[8]", dims), {}
  errors.must(C.mw_mpi_dims(nodes, rank, out))
  for i = 1, rank do list[i] = out[i - 1] end
  return list
end

-- mpi_free(comm): collective
function raw.mpi_free(comm)
  errors.check(comm, "mpi_comm", "free")
  if comm._handle == nil then return end
  errors.must(C.mw_mpi_free(comm._handle))
  C.mw_mpi_release(comm._handle)
  comm._handle = nil
end

-- mpi_abort(comm, status)
function raw.mpi_abort(comm, status) C.mw_mpi_abort(check_comm(comm), status) end

-- mpi_watch(where)
function raw.mpi_watch(where) errors.must(C.mw_mpi_watch(where)) end

-- mpi_agree(comm, what, seconds) -> whether all ranks do; nil: not all of them are there
function raw.mpi_agree(comm, what, seconds)
  local agrees = ffi.new "int[1]"
  local code = C.mw_mpi_agree(check_comm(comm), what, seconds, agrees)
  if code == C.MW_NOT_READY then return nil end
  errors.must(code)
  return agrees[0] ~= 0
end

-- mpi_compare(comm, what) -> the text of each rank
function raw.mpi_compare(comm, what)
  local handle = check_comm(comm)
  local size = C.mw_mpi_size(handle)
  local texts, list = ffi.new("char[?]", size * C.MW_MPI_TEXT), {}
  errors.must(C.mw_mpi_compare(handle, what, texts))
  for i = 1, size do list[i] = ffi.string(texts + (i - 1) * C.MW_MPI_TEXT) end
  return list
end

return { raw = raw, check_comm = check_comm, settled = settled }
