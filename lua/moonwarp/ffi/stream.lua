-- Streams and events, and Lua functions that a stream calls.
--
-- Lua code runs on Lua's own thread only. So a function given to a stream is a hold in the core: the stream stands
-- still there until this state, while it waits for the device or polls, finds the hold reached, calls the function and
-- lets go.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"

local M = {}

-- ---- functions that streams call ----

local calls = {} -- { hold, function }, in the order in which they were queued

-- Call the function of the first hold that is reached, and let go of it. False: none is. An error of the function is
-- raised once the stream goes on.
local function run_call()
  for i = 1, #calls do
    local hold, call = calls[i][1], calls[i][2]
    if C.mw_hold_reached(hold) ~= 0 then
      table.remove(calls, i) -- first: the function may wait, and so come here again
      device.has_calls = #calls > 0
      C.mw_hold_enter(hold)
      local ok, err = pcall(call)
      C.mw_hold_release(ffi.gc(hold, nil))
      if not ok then error(err, 0) end
      return true
    end
  end
  return false
end

---A function to be called when the hold, which becomes the queue's, is reached.
function M.queue_call(hold, call)
  calls[#calls + 1] = { ffi.gc(hold, C.mw_hold_release), call }
  device.has_calls = true
end

---The function is the graph's next host node's. graph.lua's.
M.keep_function = nil

function device.run_calls()
  local any = false
  while device.has_calls and run_call() do any = true end
  return any
end

-- ---- streams ----

local function close(release)
  return function(self)
    release(self._handle)
    self._handle = nil
  end
end

local free_stream, free_event = close(C.mw_stream_release), close(C.mw_event_release)

local stream_type = class.struct("stream", "struct { mw_stream *_handle; $ *_device; }", { __gc = free_stream },
  device.ctype)
M.ctype = stream_type

---An open stream, or a usage error.
---@param stream any
---@param what string
---@return moonwarp.stream
function M.check(stream, what) return errors.check_open(stream, "stream", what) end
local check = M.check

local function new_stream(handle)
  local stream = stream_type()
  stream._handle, stream._device = handle, device.current()
  return stream
end

-- Whether it is done: a result code.
local function is_done(code)
  if code ~= 0 and code ~= C.MW_NOT_READY then errors.raise() end
  return code == 0
end

local using -- the stream object of mw.with, or nil

-- ---- events ----

local check_event
local event_type = class.struct("event", "struct { mw_event *_handle; $ *_device; }", {
  __gc = free_event,
  -- later - earlier: milliseconds
  __sub = function(later, earlier)
    check_event(later, "later - earlier")
    check_event(earlier, "later - earlier")
    local milliseconds = ffi.new "double[1]"
    errors.must(C.mw_event_elapsed(earlier._handle, later._handle, milliseconds))
    return milliseconds[0]
  end,
}, device.ctype)

function check_event(event, what) return errors.check_open(event, "event", what) end

local function new_event(where, flags)
  local out = ffi.new "mw_event *[1]"
  errors.must(C.mw_event_new(where._handle, flags, out))
  local event = event_type()
  event._handle, event._device = out[0], where
  return event
end

-- ---- methods of streams ----

local streams = class.methods.stream

streams.free = function(self) free_stream(errors.check(self, "stream", "free")) end

function streams.synchronize(self)
  errors.must(device.wait(C.mw_stream_synchronize, check(self, "synchronize")._handle))
end

function streams.query(self)
  check(self, "query")
  device.run_calls()
  return is_done(C.mw_stream_query(self._handle))
end

-- s:record([event]) -> event
function streams.record(self, event)
  check(self, "record")
  if event == nil then event = new_event(self._device, C.MW_EVENT_DEFAULT) end
  errors.must(C.mw_event_record(check_event(event, "s:record")._handle, self._handle))
  return event
end

-- s:wait(event or stream) -> s
function streams.wait(self, event)
  check(self, "wait")
  if class.is(event, "stream") then
    local other = check(event, "s:wait")
    event = new_event(other._device, C.MW_EVENT_DISABLE_TIMING)
    errors.must(C.mw_event_record(event._handle, other._handle))
  end
  errors.must(C.mw_stream_wait(self._handle, check_event(event, "s:wait")._handle))
  return self
end

-- s:call(function) -> s
function streams.call(self, call)
  check(self, "call")
  local out = ffi.new "mw_hold *[1]"
  local graph = C.mw_stream_capturing(self._handle, nil)
  errors.must(C.mw_stream_hold(self._handle, out))
  if graph ~= nil then -- the graph keeps it, and calls it at each launch
    M.keep_function(graph, call)
    return self
  end
  M.queue_call(out[0], call)
  self._device._pending = 1
  return self
end

local facts = class.properties.stream

function facts.device(self) return device.object(check(self, "device")._device) end
function facts.priority(self) return C.mw_stream_priority(check(self, "priority")._handle) end
function facts.id(self) return value.narrow(C.mw_stream_id(check(self, "id")._handle)) end

-- "legacy", "blocking" or "non-blocking"
function facts.kind(self)
  local flags = C.mw_stream_flags_of(check(self, "kind")._handle)
  if flags >= C.MW_STREAM_LEGACY then return "legacy" end
  return flags % 2 == C.MW_STREAM_NON_BLOCKING and "non-blocking" or "blocking"
end

---Where work for a device goes that names no stream.
function M.in_use(where)
  if using and using._device == where and using._handle ~= nil then return using._handle end
  return C.mw_device_stream(where._handle)
end

-- ---- methods of events ----

local events = class.methods.event

events.free = function(self) free_event(errors.check(self, "event", "free")) end

-- e:record([stream]) -> e; without one, where work goes that names none
function events.record(self, stream)
  check_event(self, "record")
  local handle
  if stream ~= nil then
    handle = check(stream, "e:record")._handle
  else
    handle = M.in_use(self._device)
  end
  errors.must(C.mw_event_record(self._handle, handle))
  return self
end

function events.synchronize(self)
  errors.must(device.wait(C.mw_event_synchronize, check_event(self, "synchronize")._handle))
end

function events.query(self)
  check_event(self, "query")
  device.run_calls()
  return is_done(C.mw_event_query(self._handle))
end

class.properties.event.device = function(self) return device.object(check_event(self, "device")._device) end

-- ---- the raw table ----

M.raw = {
  -- stream_new(non-blocking, priority) -> stream
  stream_new = function(non_blocking, priority)
    local out = ffi.new "mw_stream *[1]"
    local flags = non_blocking and C.MW_STREAM_NON_BLOCKING or C.MW_STREAM_DEFAULT
    errors.must(C.mw_stream_new(device.current()._handle, flags, priority or 0, out))
    return new_stream(out[0])
  end,
  -- stream_default(of the thread) -> stream
  stream_default = function(of_thread)
    local where = device.current()._handle
    if not of_thread then return new_stream(C.mw_stream_retain(C.mw_device_stream(where))) end
    local out = ffi.new "mw_stream *[1]"
    errors.must(C.mw_stream_per_thread(where, out))
    return new_stream(out[0])
  end,
  -- stream_priorities() -> least, greatest
  stream_priorities = function()
    local range = ffi.new "int[2]"
    C.mw_stream_priorities(device.current()._handle, range, range + 1)
    return range[0], range[1]
  end,
  -- stream_use(stream or nil) -> the one before: where work goes that names none
  stream_use = function(stream)
    if stream ~= nil then check(stream, "mw.with") end
    errors.must(C.mw_stream_use(stream and stream._handle, nil))
    local before = using
    using = stream
    return before
  end,
  -- stream_in_use() -> the stream that stream_use was given last, or nil
  stream_in_use = function() return using end,
  event_new = function(flags) return new_event(device.current(), flags or C.MW_EVENT_DEFAULT) end,
  -- poll(): call the functions whose turn it is; how many.
  poll = function()
    local count = 0
    while device.has_calls and run_call() do count = count + 1 end
    return count
  end,
}

return M
