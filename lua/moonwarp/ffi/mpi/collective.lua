-- MPI: collective operations.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local array = require "moonwarp.ffi.array.array"
local communicator = require "moonwarp.ffi.mpi.communicator"
local new_request = require("moonwarp.ffi.mpi.message").new_request
local check_comm = communicator.check_comm

local raw = {}

-- mpi_reduces(array, operator's number) -> whether libmpi reduces its dtype by it
function raw.mpi_reduces(of, operator)
  return C.mw_mpi_reduces(array.check(of, "a reduction")._type, operator) ~= 0
end

local function rows(list, size) return list and ffi.new("size_t[?]", size, list) or nil end

local function settled(of) return communicator.settled(of, "a collective operation") end

local kept = {} -- what has to live until C has read it

-- The operation as C has it.
local function new_call(size, kind, from, into, operator, root, row, send_rows, receive_rows)
  local sends, receives = rows(send_rows, size), rows(receive_rows, size)
  local call = ffi.new "mw_mpi_call[1]"
  local c = call[0]
  c.kind, c.op, c.root, c.row = kind, operator, root, row
  c["in"], c.out = settled(from), settled(into)
  c.send_rows, c.receive_rows = sends, receives
  kept[1], kept[2] = sends, receives
  return call
end

-- mpi_collect(comm, kind, in, out, operator, root, row, send_rows, receive_rows); what is nil is not there
function raw.mpi_collect(comm, kind, ...)
  local handle = check_comm(comm)
  errors.must(C.mw_mpi_collect(handle, new_call(C.mw_mpi_size(handle), kind, ...)))
end

local request_out = ffi.new "mw_mpi_request *[1]"

-- mpi_begin(comm, kind, …, what or nil, where) -> request
function raw.mpi_begin(comm, kind, from, into, operator, root, row, send_rows, receive_rows, what, where)
  local handle = check_comm(comm)
  local call = new_call(C.mw_mpi_size(handle), kind, from, into, operator, root, row, send_rows, receive_rows)
  errors.must(C.mw_mpi_begin(handle, call, what, where, request_out))
  return new_request(request_out[0])
end

return { raw = raw, kept = kept }
