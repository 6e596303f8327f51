-- MPI: windows.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local array = require "moonwarp.ffi.array.array"
local device = require "moonwarp.ffi.device"
local communicator = require "moonwarp.ffi.mpi.communicator"

local function close(self)
  C.mw_mpi_window_release(self._handle)
  self._handle = nil
end

local window_type = class.struct("mpi_window_handle", "struct { mw_mpi_window *_handle; }", { __gc = close })

local function check_window(window) return errors.check_open(window, "mpi_window_handle", "MPI", "window")._handle end

local raw = {}

-- mpi_window_new(comm, array) -> window; collective
function raw.mpi_window_new(comm, of)
  local handle, out = communicator.check_comm(comm), ffi.new "mw_mpi_window *[1]"
  array.check(of, "a window")
  device.settle(of._device)
  errors.must(C.mw_mpi_window_new(handle, of._handle, out))
  local window = window_type()
  window._handle = out[0]
  return window
end

-- mpi_window_free(window): collective
function raw.mpi_window_free(window)
  errors.must(C.mw_mpi_window_free(check_window(window)))
  close(window)
end

local function settled(of) return communicator.settled(of, "an access to a window") end

-- mpi_window_access(window, kind, operator, rank, first from 0, origin, result, compare); what is nil is not there
function raw.mpi_window_access(window, kind, operator, rank, first, origin, result, compare)
  local handle, access = check_window(window), ffi.new "mw_mpi_access[1]"
  local a = access[0]
  a.kind, a.op, a.rank, a.first = kind, operator, rank, first
  a.origin, a.result, a.compare = settled(origin), settled(result), settled(compare)
  errors.must(C.mw_mpi_window_access(handle, access))
end

-- mpi_window_epoch(window, what, list of ranks or nil, seconds) -> whether it is done
function raw.mpi_window_epoch(window, what, ranks, seconds)
  local count = ranks and #ranks or 0
  local list = ffi.new("int[?]", count + 1, ranks or {})
  local code = C.mw_mpi_window_epoch(check_window(window), what, list, count, seconds)
  if code == C.MW_NOT_READY then return false end
  errors.must(code)
  return true
end

return { raw = raw }
