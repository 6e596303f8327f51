-- MPI: messages, and requests.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"
local check_comm = require("moonwarp.ffi.mpi.communicator").check_comm

local function close(self)
  C.mw_mpi_request_release(self._handle)
  self._handle = nil
end

local request_type = class.struct("mpi_request", "struct { mw_mpi_request *_handle; }", { __gc = close })

local function check_request(request) return errors.check_open(request, "mpi_request", "MPI", "request")._handle end

local request_out = ffi.new "mw_mpi_request *[1]"

-- What is not done, as a request.
local function new_request(handle)
  local request = request_type()
  request._handle = handle
  return request
end

local array_type = class.ctype "array"

-- The handle of an array; nil for other values.
local function array_at(of)
  if not ffi.istype(array_type, of) then return nil end
  local handle = array.check(of, "a message")._handle
  device.settle(of._device)
  return handle
end

local raw = {}

-- mpi_send(comm, array, to, tag or nil, seconds) -> nil: it is done; a request; or false: this is no array
function raw.mpi_send(comm, what, to, tag, seconds)
  local handle, contents = check_comm(comm), array_at(what)
  if contents == nil then return false end
  errors.must(C.mw_mpi_send(handle, contents, nil, 0, to, tag or 0, seconds, request_out))
  if request_out[0] == nil then return nil end
  return new_request(request_out[0])
end

-- mpi_send_bytes(comm, string, to, tag, seconds) -> nil: it is done; or a request
function raw.mpi_send_bytes(comm, bytes, to, tag, seconds)
  errors.must(C.mw_mpi_send(check_comm(comm), nil, bytes, #bytes, to, tag, seconds, request_out))
  if request_out[0] == nil then return nil end
  return new_request(request_out[0])
end

local ANY = C.MW_MPI_ANY
local from_whom, which_tag = ffi.new "int[1]", ffi.new "int[1]"

-- mpi_receive(comm, array, from, tag, seconds) -> source and tag of what is done; nil and a request; or false: this is
-- no array. No from and no tag are any.
function raw.mpi_receive(comm, into, from, tag, seconds)
  local handle, target = check_comm(comm), array_at(into)
  if target == nil then return false end
  errors.must(C.mw_mpi_receive(handle, target, from or ANY, tag or ANY, seconds, from_whom, which_tag, request_out))
  if request_out[0] ~= nil then return nil, new_request(request_out[0]) end
  return from_whom[0], which_tag[0]
end

-- mpi_receive_any(comm, from, tag, seconds) -> a request of whatever was sent
function raw.mpi_receive_any(comm, from, tag, seconds)
  errors.must(C.mw_mpi_receive(check_comm(comm), nil, from or ANY, tag or ANY, seconds, from_whom, which_tag,
    request_out))
  return new_request(request_out[0])
end

-- mpi_quick(send, finish_send, recv, finish_recv) -> send, recv: methods with less overhead; these have none to lose
function raw.mpi_quick(send, _, recv) return send, recv end

-- mpi_release(request): what a request that is done holds goes back now, not when it is collected
function raw.mpi_release(request) close(request) end

-- mpi_wait(request, seconds) -> whether it is done
function raw.mpi_wait(request, seconds)
  local code = C.mw_mpi_wait(check_request(request), seconds)
  if code == 0 then return true end
  if code ~= C.MW_NOT_READY then errors.raise() end
  return false
end

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

return { raw = raw, new_request = new_request }
