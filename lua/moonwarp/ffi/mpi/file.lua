-- MPI: files.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local communicator = require "moonwarp.ffi.mpi.communicator"

local function close(self)
  C.mw_mpi_file_release(self._handle)
  self._handle = nil
end

local file_type = class.struct("mpi_file_handle", "struct { mw_mpi_file *_handle; }", { __gc = close })

local function check_file(file) return errors.check_open(file, "mpi_file_handle", "MPI", "file")._handle end

local raw = {}

-- mpi_file_open(comm, path, mode) -> file; collective
function raw.mpi_file_open(comm, path, mode)
  local handle, out = communicator.check_comm(comm), ffi.new "mw_mpi_file *[1]"
  errors.must(C.mw_mpi_file_open(handle, path, mode, out))
  local file = file_type()
  file._handle = out[0]
  return file
end

-- mpi_file_close(file): collective
function raw.mpi_file_close(file)
  errors.must(C.mw_mpi_file_close(check_file(file)))
  close(file)
end

-- mpi_file_move(file, kind, array, offset)
function raw.mpi_file_move(file, kind, of, offset)
  local handle = check_file(file)
  errors.must(C.mw_mpi_file_move(handle, kind, communicator.settled(of, "a file"), offset))
end

-- mpi_file_view(file, offset, bytes of an element, shape, first from 0, count): collective; an empty shape: no view
function raw.mpi_file_view(file, offset, element, shape, first, count)
  local rank, sizes = math.min(#shape, 8), ffi.typeof "size_t[8]"
  errors.must(C.mw_mpi_file_view(check_file(file), offset, element, rank, sizes(shape), sizes(first), sizes(count)))
end

-- mpi_file_size(file) -> bytes
function raw.mpi_file_size(file)
  local bytes = ffi.new "uint64_t[1]"
  errors.must(C.mw_mpi_file_size(check_file(file), bytes))
  return tonumber(bytes[0])
end

-- mpi_file_resize(file, bytes): collective
function raw.mpi_file_resize(file, bytes) errors.must(C.mw_mpi_file_resize(check_file(file), bytes)) end

-- mpi_file_sync(file): collective
function raw.mpi_file_sync(file) errors.must(C.mw_mpi_file_sync(check_file(file))) end

return { raw = raw }
