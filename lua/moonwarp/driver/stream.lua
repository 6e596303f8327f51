-- cuStream…, cuEvent…: streams and events are moonwarp's own objects, and belong to the current context.

local raw = require "moonwarp.binding"
local streams = require "moonwarp.runtime.stream"
local runtime = require "moonwarp.runtime"
local runtime_result = require "moonwarp.runtime.result"
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local fail, call = result.fail, contexts.call
local body, takes = runtime_result.body, runtime_result.takes
local M = {}

local function destroying(counterpart)
  local f = body(runtime[counterpart])
  return call(function(object)
    f(object)
    contexts.disown(object)
  end)
end

local function install_streams(cu)
  cu.CU_STREAM_DEFAULT, cu.CU_STREAM_NON_BLOCKING, cu.CU_STREAM_LEGACY, cu.CU_STREAM_PER_THREAD = 0, 1, 1, 2
  cu.CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, cu.CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY = 1, 3

  local create = body(runtime.cudaStreamCreateWithPriority)
  cu.cuStreamCreate = call(function(flags) return contexts.own(create(flags, 0)) end)
  cu.cuStreamCreateWithPriority = call(function(flags, priority) return contexts.own(create(flags, priority)) end)
  cu.cuStreamDestroy = destroying "cudaStreamDestroy"
  cu.cuStreamGetCtx = call(function(stream)
    streams.stream(stream)
    return contexts.owner(stream) or contexts.current()
  end)
  cu.cuStreamAddCallback = call(function(stream, f, data, flags)
    if (flags or 0) ~= 0 then fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuStreamAddCallback are 0") end
    if type(f) ~= "function" then fail("CUDA_ERROR_INVALID_VALUE", "cuStreamAddCallback wants a function") end
    streams.stream(stream):call(function() f(stream, cu.CUDA_SUCCESS, data) end)
  end)
  contexts.forward(cu, {
    cuStreamQuery = "cudaStreamQuery", cuStreamSynchronize = "cudaStreamSynchronize",
    cuStreamWaitEvent = "cudaStreamWaitEvent", cuStreamGetPriority = "cudaStreamGetPriority",
    cuStreamGetFlags = "cudaStreamGetFlags", cuStreamSetAttribute = "cudaStreamSetAttribute",
    cuStreamGetAttribute = "cudaStreamGetAttribute", cuStreamAttachMemAsync = "cudaStreamAttachMemAsync",
  })
end

local function install_events(cu)
  cu.CU_EVENT_DEFAULT, cu.CU_EVENT_BLOCKING_SYNC, cu.CU_EVENT_DISABLE_TIMING, cu.CU_EVENT_INTERPROCESS = 0, 1, 2, 4

  cu.cuEventCreate = call(takes("cuEventCreate", function(flags) return contexts.own(raw.event_new(flags or 0)) end))
  cu.cuEventDestroy = destroying "cudaEventDestroy"
  contexts.forward(cu, {
    cuEventRecord = "cudaEventRecord", cuEventRecordWithFlags = "cudaEventRecordWithFlags",
    cuEventQuery = "cudaEventQuery", cuEventSynchronize = "cudaEventSynchronize",
    cuEventElapsedTime = "cudaEventElapsedTime",
  })
end

---@param cu table
function M.install(cu)
  install_streams(cu)
  install_events(cu)
end

return M
