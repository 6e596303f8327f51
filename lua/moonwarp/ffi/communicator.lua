-- Communicators: one rank of a group of devices, and the messages that it queues. Ranks count from 0.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"

local meta = class.proxy_meta "communicator"

local function check(communicator, what)
  errors.check(communicator, "communicator", what)
  local state = class.state(communicator)
  if state.handle == nil then errors.closed(what, "communicator") end
  return state
end

local function adopt(of, handle)
  return class.proxy("communicator", { device = of, handle = ffi.gc(handle, C.mw_communicator_release) }, meta)
end

-- communicator_library() -> the name of the current device's library; or nil, why there is none
local function communicator_library()
  local name = ffi.new "char[512]"
  local code = C.mw_communicator_library(device.current()._handle, name, 512)
  if code == C.MW_NOT_SUPPORTED then
    local message = ffi.string(C.mw_error_last().message)
    C.mw_error_clear()
    return nil, message
  end
  errors.must(code)
  return ffi.string(name)
end

-- communicator_id() -> the bytes that identify a new group
local function communicator_id()
  local id = ffi.new("char[?]", C.MW_COMMUNICATOR_ID)
  errors.must(C.mw_communicator_id(device.current()._handle, id))
  return ffi.string(id, C.MW_COMMUNICATOR_ID)
end

-- communicator_new(id, size, rank, seconds) -> communicator of the current device
local function communicator_new(id, size, rank, seconds)
  assert(#id == C.MW_COMMUNICATOR_ID, "an id of 128 bytes")
  local of, out = device.current(), ffi.new "mw_communicator *[1]"
  errors.must(C.mw_communicator_new(of._handle, id, size, rank, seconds, out))
  return adopt(of, out[0])
end

-- communicator_split(communicator, color, key) -> communicator, or nil if color is negative
local function communicator_split(communicator, color, key)
  local state, out = check(communicator, "communicator_split"), ffi.new "mw_communicator *[1]"
  errors.must(C.mw_communicator_split(state.handle, color, key, out))
  return out[0] ~= nil and adopt(state.device, out[0]) or nil
end

-- communicator_rank(communicator) -> rank, size
local function communicator_rank(communicator)
  local numbers = ffi.new "int[2]"
  errors.must(C.mw_communicator_rank(check(communicator, "communicator_rank").handle, numbers, numbers + 1))
  return numbers[0], numbers[1]
end

-- communicator_queue(communicator, kind, source, target, operation, peer): as mw_communicator_queue
local function communicator_queue(communicator, kind, source, target, operation, peer)
  local state = check(communicator, "communicator_queue")
  source = source ~= nil and array.check(source, "a message")._handle or nil
  target = target ~= nil and array.check(target, "a message")._handle or nil
  C.mw_owner_use(device.owner)
  state.device._pending = 1
  errors.must(C.mw_communicator_queue(state.handle, kind, source, target, operation, peer, errors.site()))
end

return {
  raw = {
    communicator_library = communicator_library,
    communicator_id = communicator_id,
    communicator_new = communicator_new,
    communicator_split = communicator_split,
    communicator_rank = communicator_rank,
    communicator_queue = communicator_queue,
    -- communicator_group(begins): of the current device's library
    communicator_group = function(begins)
      errors.must(C.mw_communicator_group(device.current()._handle, begins and 1 or 0))
    end,
    communicator_abort = function(communicator, reason)
      errors.must(C.mw_communicator_abort(check(communicator, "communicator_abort").handle, reason))
    end,
    communicator_limit = function(communicator, seconds)
      C.mw_communicator_limit(check(communicator, "communicator_limit").handle, seconds)
    end,
    communicator_free = function(communicator)
      local state = class.state(errors.check(communicator, "communicator", "communicator_free"))
      local handle = state.handle
      state.handle = nil
      if handle ~= nil then C.mw_communicator_release(ffi.gc(handle, nil)) end
    end,
  },
}
