-- Contexts: objects are released with the context that they were made in. The stack of contexts belongs to the script,
-- where CUDA's belongs to a thread.

local raw = require "moonwarp.binding"
local result = require "moonwarp.driver.result"
local runtime = require "moonwarp.runtime"
local names = require "moonwarp.runtime.names"
local runtime_result = require "moonwarp.runtime.result"

local fail = result.fail
local body, counted = runtime_result.body, runtime_result.counted
local M = {}

local initialized = false
local stack = {}
local Context = {}

function Context:__tostring()
  return ("context %d on %s%s"):format(self.id, self.name, self.alive and "" or " (destroyed)")
end

local last_id = 0

local function new(ordinal, flags)
  last_id = last_id + 1
  return setmetatable({
    id = last_id, device = ordinal, name = M.device_name(ordinal), flags = flags, usage = 1, alive = true,
    -- What was made in it: addresses, objects that have a method free, modules.
    memory = {}, objects = {}, modules = {},
  }, Context)
end

---The name by which the device with a number is opened.
function M.device_name(ordinal)
  return names.device(ordinal)
end

local function check_initialized()
  if not initialized then fail("CUDA_ERROR_NOT_INITIALIZED", "cuInit must be called before all other functions") end
end

local function check(value)
  if getmetatable(value) ~= Context then fail("CUDA_ERROR_INVALID_CONTEXT", "this is not a context") end
  if not value.alive then fail("CUDA_ERROR_CONTEXT_IS_DESTROYED", "%s", tostring(value)) end
  return value
end

M.check = check

---The current context, whose device is in use from now on; fails if there is none.
function M.current()
  local context = stack[#stack]
  if not context then
    fail("CUDA_ERROR_INVALID_CONTEXT", "no context is current: see cuCtxCreate and cuCtxPushCurrent")
  end
  check(context)
  if raw.device().name ~= context.name then raw.use(context.name) end
  return context
end

---A function that needs only cuInit.
function M.plain(f)
  f = counted(f)
  return result.api(function(...)
    check_initialized()
    return f(...)
  end)
end

---A function that needs a current context.
function M.call(f)
  f = counted(f)
  return result.api(function(...)
    check_initialized()
    M.current()
    return f(...)
  end)
end

---Functions that run one of the runtime's functions in a context: { cuStreamQuery = "cudaStreamQuery" }.
function M.forward(cu, list)
  for name, counterpart in pairs(list) do cu[name] = M.call(body(runtime[counterpart])) end
end

-- Objects and addresses -> the context in which they were made.
local owners, address_owners = setmetatable({}, { __mode = "k" }), {}

---Record an object that has a method free in the current context.
function M.own(object)
  local context = M.current()
  context.objects[object], owners[object] = true, context
  return object
end

---The context of an object, or nil.
function M.owner(object) return owners[object] end

---Forget an object that was destroyed before its context.
function M.disown(object)
  if owners[object] then owners[object].objects[object] = nil end
  owners[object] = nil
end

---Record memory that is freed with the current context.
function M.own_address(at)
  M.disown_address(at) -- the runtime's functions may have freed earlier memory at this address
  address_owners[at] = M.current()
  M.current().memory[at] = true
end

function M.disown_address(at)
  if address_owners[at] then address_owners[at].memory[at] = nil end
  address_owners[at] = nil
end

---The device number of a context.
function M.device_of(context) return M.check(context).device end

---Modules that were unloaded, before or with their context.
M.unloaded = setmetatable({}, { __mode = "k" })

-- Release everything in the context; failures of its kernels are forgotten.
local function destroy(context)
  local before = raw.device().name
  if before ~= context.name then raw.use(context.name) end
  pcall(raw.synchronize)
  for at in pairs(context.memory) do
    local info = raw.memory_find(at)
    if info and info.address == at then raw.memory_free(at) end
    address_owners[at] = nil
  end
  for object in pairs(context.objects) do object:free() end
  for module in pairs(context.modules) do M.unloaded[module] = true end
  context.memory, context.objects, context.modules = {}, {}, {}
  context.alive = false
  if stack[#stack] == context then stack[#stack] = nil end
  if before ~= context.name then raw.use(before) end
end

local function check_flags(flags)
  flags = flags or 0
  if type(flags) ~= "number" or flags < 0 or flags > 31 or flags % 1 ~= 0 or flags % 8 > 4 or
    flags % 8 == 3 then
    fail("CUDA_ERROR_INVALID_VALUE", "the flags of a context are one of 0, 1, 2, 4 for scheduling, and 8 and 16")
  end
  return flags
end

local function install_contexts(cu)
  cu.cuInit = result.api(function(flags)
    if (flags or 0) ~= 0 then fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuInit are 0") end
    initialized = true
  end)
  cu.cuCtxCreate = M.plain(function(flags, device)
    local context = new(device, check_flags(flags))
    stack[#stack + 1] = context
    M.current()
    return context
  end)
  cu.cuCtxDestroy = M.plain(function(context) destroy(check(context)) end)
  cu.cuCtxAttach = M.call(function(flags)
    if (flags or 0) ~= 0 then fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuCtxAttach are 0") end
    local context = M.current()
    context.usage = context.usage + 1
    return context
  end)
  cu.cuCtxDetach = M.call(function(context)
    if check(context) ~= M.current() then
      fail("CUDA_ERROR_INVALID_CONTEXT", "cuCtxDetach takes the current context")
    end
    context.usage = context.usage - 1
    if context.usage == 0 then destroy(context) end
  end)
  cu.cuCtxPushCurrent = M.plain(function(context)
    stack[#stack + 1] = check(context)
    M.current()
  end)
  cu.cuCtxPopCurrent = M.plain(function()
    local context = stack[#stack] or fail("CUDA_ERROR_INVALID_CONTEXT", "no context is current")
    stack[#stack] = nil
    return context
  end)
  cu.cuCtxSetCurrent = M.plain(function(context)
    if context == nil then
      stack[#stack] = nil
      return
    end
    stack[math.max(#stack, 1)] = check(context)
    M.current()
  end)
  cu.cuCtxGetCurrent = M.plain(function() return stack[#stack] end)
  cu.cuCtxGetDevice = M.call(function() return M.current().device end)
  cu.cuCtxGetFlags = M.call(function() return M.current().flags end)
  cu.cuCtxGetApiVersion = M.plain(function(context)
    if context == nil then context = M.current() end
    check(context)
    return 11020
  end)
  cu.cuCtxSynchronize = M.call(function() raw.synchronize() end)
  M.forward(cu, {
    cuCtxGetLimit = "cudaDeviceGetLimit", cuCtxSetLimit = "cudaDeviceSetLimit",
    cuCtxGetCacheConfig = "cudaDeviceGetCacheConfig", cuCtxSetCacheConfig = "cudaDeviceSetCacheConfig",
    cuCtxGetSharedMemConfig = "cudaDeviceGetSharedMemConfig", cuCtxSetSharedMemConfig = "cudaDeviceSetSharedMemConfig",
    cuCtxGetStreamPriorityRange = "cudaDeviceGetStreamPriorityRange",
    cuCtxResetPersistingL2Cache = "cudaCtxResetPersistingL2Cache",
  })
  cu.cuCtxEnablePeerAccess = M.call(function(peer, flags)
    if (flags or 0) ~= 0 then fail("CUDA_ERROR_INVALID_VALUE", "the flags of cuCtxEnablePeerAccess are 0") end
    local here, there = M.current(), check(peer)
    if here == there then fail("CUDA_ERROR_INVALID_CONTEXT", "a context is not its own peer") end
    if body(runtime.cudaDeviceCanAccessPeer)(here.device, there.device) == 0 then
      fail("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "kernels of %s do not reach memory of %s", here.name, there.name)
    end
    body(runtime.cudaDeviceEnablePeerAccess)(there.device)
  end)
  cu.cuCtxDisablePeerAccess = M.call(function(peer) body(runtime.cudaDeviceDisablePeerAccess)(check(peer).device) end)
end

-- The primary context of each device, which the runtime shares; it is reference-counted.
local function install_primary(cu)
  local primary, flags_of = {}, {}

  cu.cuDevicePrimaryCtxRetain = M.plain(function(device)
    M.device_name(device)
    local entry = primary[device]
    if not entry then
      entry = { context = new(device, flags_of[device] or 0), count = 0 }
      primary[device] = entry
    end
    entry.count = entry.count + 1
    return entry.context
  end)
  local function leave(device, all)
    M.device_name(device)
    local entry = primary[device]
    if not entry then
      if all then return end
      fail("CUDA_ERROR_INVALID_CONTEXT", "the primary context of device %d is not retained", device)
    end
    entry.count = all and 0 or entry.count - 1
    if entry.count == 0 then
      destroy(entry.context)
      primary[device] = nil
    end
  end
  cu.cuDevicePrimaryCtxRelease = M.plain(function(device) leave(device, false) end)
  cu.cuDevicePrimaryCtxReset = M.plain(function(device) leave(device, true) end)
  cu.cuDevicePrimaryCtxSetFlags = M.plain(function(device, flags)
    M.device_name(device)
    flags_of[device] = check_flags(flags)
    if primary[device] then primary[device].context.flags = flags end
  end)
  cu.cuDevicePrimaryCtxGetState = M.plain(function(device)
    M.device_name(device)
    return flags_of[device] or 0, primary[device] and 1 or 0
  end)
end

---@param cu table
function M.install(cu)
  install_contexts(cu)
  install_primary(cu)
end

return M
