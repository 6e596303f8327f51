-- cudaStream…, cudaEvent… under CUDA's names. Streams and events are moonwarp's own objects.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

local function open(object) return (pcall(function() return object.device end)) end

---The stream object for a stream argument: nil and 0 are the default stream, 1 and 2 the named ones.
function M.stream(value)
  if value == nil or value == 0 or value == 1 then return raw.stream_default(false) end
  if value == 2 then return raw.stream_default(true) end
  if raw.type(value) ~= "stream" or not open(value) then
    fail("cudaErrorInvalidResourceHandle", "this is not a stream, or it was destroyed")
  end
  return value
end

local function event(value)
  if raw.type(value) ~= "event" or not open(value) then
    fail("cudaErrorInvalidResourceHandle", "this is not an event, or it was destroyed")
  end
  return value
end
M.event = event

local function not_ready(done)
  if not done then fail("cudaErrorNotReady", "the work is not done") end
end

local function flag(value, bit) return value % (2 * bit) >= bit end

---Check an attribute's value, which may contain an access-policy window.
function M.check_window(value)
  local window = type(value) == "table" and value.accessPolicyWindow
  if window and not (tonumber(window.hitRatio) and window.hitRatio >= 0 and window.hitRatio <= 1) then
    fail("cudaErrorInvalidValue", "the hitRatio of an access-policy window is a number from 0 to 1")
  end
end

-- The attributes that cudaStreamSetAttribute set, by stream.
local attributes = setmetatable({}, { __mode = "k" })

---@param rt table
function M.install(rt)
  local api, takes = result.api, result.takes
  rt.cudaStreamDefault, rt.cudaStreamNonBlocking = 0, 1
  rt.cudaStreamLegacy, rt.cudaStreamPerThread = 1, 2
  rt.cudaEventDefault, rt.cudaEventBlockingSync, rt.cudaEventDisableTiming, rt.cudaEventInterprocess = 0, 1, 2, 4
  rt.cudaStreamAttributeAccessPolicyWindow, rt.cudaStreamAttributeSynchronizationPolicy = 1, 3
  rt.cudaAccessPropertyNormal, rt.cudaAccessPropertyStreaming, rt.cudaAccessPropertyPersisting = 0, 1, 2

  rt.cudaStreamCreateWithPriority = api(takes("cudaStreamCreateWithPriority", function(flags, priority)
    if flags ~= 0 and flags ~= 1 then fail("cudaErrorInvalidValue", "a stream's flags are 0 or 1") end
    return raw.stream_new(flags == 1, priority or 0)
  end))
  rt.cudaStreamCreate = function() return rt.cudaStreamCreateWithPriority(0, 0) end
  rt.cudaStreamCreateWithFlags = function(flags) return rt.cudaStreamCreateWithPriority(flags, 0) end
  rt.cudaStreamDestroy = api(function(stream)
    if type(stream) == "number" or stream == nil then
      fail("cudaErrorInvalidResourceHandle", "a default stream cannot be destroyed")
    end
    M.stream(stream):free()
  end)
  rt.cudaStreamQuery = api(function(stream) not_ready(M.stream(stream):query()) end)
  rt.cudaStreamSynchronize = api(function(stream) M.stream(stream):synchronize() end)
  rt.cudaStreamGetPriority = api(function(stream) return M.stream(stream).priority end)
  rt.cudaStreamGetFlags = api(function(stream) return M.stream(stream).kind == "non-blocking" and 1 or 0 end)
  rt.cudaStreamGetId = api(function(stream) return M.stream(stream).id end)
  rt.cudaDeviceGetStreamPriorityRange = api(function() return raw.stream_priorities() end)
  rt.cudaStreamWaitEvent = api(function(stream, which, flags)
    if (flags or 0) ~= 0 then fail("cudaErrorInvalidValue", "the flags of cudaStreamWaitEvent are 0") end
    M.stream(stream):wait(event(which))
  end)
  -- Functions are called in Lua's thread, while it waits or polls; see s:call.
  rt.cudaLaunchHostFunc = api(function(stream, f, data)
    if type(f) ~= "function" then fail("cudaErrorInvalidValue", "cudaLaunchHostFunc wants a function") end
    M.stream(stream):call(function() f(data) end)
  end)
  rt.cudaStreamAddCallback = api(function(stream, f, data, flags)
    if (flags or 0) ~= 0 then fail("cudaErrorInvalidValue", "the flags of cudaStreamAddCallback are 0") end
    if type(f) ~= "function" then fail("cudaErrorInvalidValue", "cudaStreamAddCallback wants a function") end
    M.stream(stream):call(function() f(stream, rt.cudaSuccess, data) end)
  end)
  rt.cudaStreamSetAttribute = api(function(stream, attribute, value)
    if attribute ~= rt.cudaStreamAttributeAccessPolicyWindow and
      attribute ~= rt.cudaStreamAttributeSynchronizationPolicy then
      fail("cudaErrorInvalidValue", "a stream has no attribute %s", tostring(attribute))
    end
    local object = M.stream(stream)
    M.check_window(value)
    local known = attributes[object.id] or {}
    attributes[object.id] = known
    known[attribute] = value
  end)
  rt.cudaStreamGetAttribute = api(function(stream, attribute)
    return (attributes[M.stream(stream).id] or {})[attribute] or {}
  end)

  rt.cudaEventCreateWithFlags = api(takes("cudaEventCreateWithFlags", function(flags) return raw.event_new(flags) end))
  rt.cudaEventCreate = function() return rt.cudaEventCreateWithFlags(0) end
  rt.cudaEventRecord = api(function(which, stream) event(which):record(M.stream(stream)) end)
  rt.cudaEventRecordWithFlags = api(function(which, stream, flags)
    if flags ~= 0 and flags ~= 1 then
      fail("cudaErrorInvalidValue", "the flags of cudaEventRecordWithFlags are 0 or 1")
    end
    event(which):record(M.stream(stream))
  end)
  rt.cudaEventQuery = api(function(which) not_ready(event(which):query()) end)
  rt.cudaEventSynchronize = api(function(which) event(which):synchronize() end)
  rt.cudaEventDestroy = api(function(which) event(which):free() end)
  rt.cudaEventElapsedTime = api(function(start, stop) return event(stop) - event(start) end)
end

M.flag = flag

return M
