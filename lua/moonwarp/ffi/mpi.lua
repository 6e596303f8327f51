-- MPI: communicators, messages, collective operations. Waits return after a while to the Lua layer, which knows where
-- the script is.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local function closer(release)
  return function(self)
    release(self._handle)
    self._handle = nil
  end
end

local comm_type = class.struct("mpi_comm", "struct { mw_mpi_comm *_handle; }", { __gc = closer(C.mw_mpi_release) })
local request_type = class.struct("mpi_request", "struct { mw_mpi_request *_handle; }",
  { __gc = closer(C.mw_mpi_request_release) })

local function check_comm(comm) return errors.check_open(comm, "mpi_comm", "MPI", "communicator")._handle end
local function check_request(request) return errors.check_open(request, "mpi_request", "MPI", "request")._handle end

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

-- ---- messages ----

local request_out = ffi.new "mw_mpi_request *[1]"

local function new_request()
  local request = request_type()
  request._handle = request_out[0]
  return request
end

local function wait_for(handle, seconds)
  local code = C.mw_mpi_wait(handle, seconds)
  if code == 0 then return true end
  if code ~= C.MW_NOT_READY then errors.raise() end
  return false
end

-- mpi_send(comm, array or string, to, tag, seconds) -> request, whether it is done
function raw.mpi_send(comm, what, to, tag, seconds)
  local handle = check_comm(comm)
  if type(what) == "string" then
    errors.must(C.mw_mpi_send(handle, nil, what, #what, to, tag, request_out))
  else
    array.check(what, "a message")
    device.settle(what._device)
    errors.must(C.mw_mpi_send(handle, what._handle, nil, 0, to, tag, request_out))
  end
  local request = new_request()
  return request, wait_for(request._handle, seconds)
end

-- mpi_receive(comm, array or nil, from, tag, seconds) -> request, whether it is done
function raw.mpi_receive(comm, into, from, tag, seconds)
  local handle = check_comm(comm)
  local target
  if into ~= nil then
    target = array.check(into, "a message")._handle
    device.settle(into._device)
  end
  errors.must(C.mw_mpi_receive(handle, target, from, tag, request_out))
  local request = new_request()
  return request, wait_for(request._handle, seconds)
end

-- mpi_release(request): what a request that is done holds goes back now, not when it is collected
function raw.mpi_release(request)
  C.mw_mpi_request_release(request._handle)
  request._handle = nil
end

-- mpi_wait(request, seconds) -> whether it is done
function raw.mpi_wait(request, seconds) return wait_for(check_request(request), seconds) end

-- mpi_received(request) -> source, tag, contents, dtype, shape; the last two of an array
function raw.mpi_received(request)
  local message = ffi.new "mw_mpi_message[1]"
  errors.must(C.mw_mpi_received(check_request(request), message))
  local found = message[0]
  local contents = found.contents ~= nil and ffi.string(found.contents, found.bytes) or nil
  if found.rank < 0 then return found.source, found.tag, contents end
  local shape = {}
  for i = 1, found.rank do shape[i] = tonumber(found.shape[i - 1]) end
  return found.source, found.tag, contents, ffi.string(found.dtype), shape
end

local place = ffi.new "mw_mpi_message[1]"

-- mpi_place(request) -> source, tag
function raw.mpi_place(request)
  errors.must(C.mw_mpi_received(check_request(request), place))
  return place[0].source, place[0].tag
end

-- mpi_probe(comm, from, tag) -> source, tag; or nil
function raw.mpi_probe(comm, from, tag)
  local source, found = ffi.new "int[1]", ffi.new "int[1]"
  local code = C.mw_mpi_probe(check_comm(comm), from, tag, source, found)
  if code == C.MW_NOT_READY then return nil end
  errors.must(code)
  return source[0], found[0]
end

-- mpi_watch(where)
function raw.mpi_watch(where) errors.must(C.mw_mpi_watch(where)) end

-- ---- collective operations ----

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

-- mpi_reduces(array, operator's number) -> whether libmpi reduces its dtype by it
function raw.mpi_reduces(of, operator)
  return C.mw_mpi_reduces(array.check(of, "a reduction")._type, operator) ~= 0
end

local function rows(list, size) return list and ffi.new("size_t[?]", size, list) or nil end

local function settled(of)
  if of == nil then return nil end
  array.check(of, "a collective operation")
  device.settle(of._device)
  return of._handle
end

-- mpi_collect(comm, kind, in, out, operator, root, row, send_rows, receive_rows); what is nil is not there
function raw.mpi_collect(comm, kind, from, into, operator, root, row, send_rows, receive_rows)
  local handle = check_comm(comm)
  local size = C.mw_mpi_size(handle)
  local sends, receives = rows(send_rows, size), rows(receive_rows, size)
  local call = ffi.new "mw_mpi_call[1]"
  local c = call[0]
  c.kind, c.op, c.root, c.row = kind, operator, root, row
  c["in"], c.out = settled(from), settled(into)
  c.send_rows, c.receive_rows = sends, receives
  errors.must(C.mw_mpi_collect(handle, call))
end

return { raw = raw }
