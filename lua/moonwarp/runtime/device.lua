-- Devices under CUDA's names: numbered from 0 in the order of raw.device_list.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local names = require "moonwarp.runtime.names"
local pool = require "moonwarp.runtime.pool"
local properties = require "moonwarp.runtime.properties"

local fail, api, takes = result.fail, result.api, result.takes
local M = {}

-- The device most similar to a wanted cudaDeviceProp: those of at least its capability come before all others, then the
-- one with most matching properties, then the first.
local function choose(wanted)
  if type(wanted) ~= "table" then fail("cudaErrorInvalidValue", "cudaChooseDevice wants a table of properties") end
  local best, most = 0, -1
  local capability = (wanted.major or 0) * 10 + (wanted.minor or 0)
  for i = 1, #raw.device_list() do
    local have = properties.of(i - 1)
    local score = have.major * 10 + have.minor >= capability and 1000 or 0
    for field, value in pairs(wanted) do
      if type(value) == "number" and type(have[field]) == "number" and have[field] >= value then score = score + 1 end
      if type(value) == "string" and have[field] == value then score = score + 10 end
    end
    if score > most then best, most = i - 1, score end
  end
  return best
end

-- cudaLimit: number -> moonwarp's name of the limit, or the initial value of one that has no effect.
local limits = { [0] = "stack", [2] = "heap", [4] = "launches" }
local noted = { [1] = 1048576, [6] = 0 }
local notes, defaults = {}, {} -- by device name: limits that were set without effect; initial values of changed limits

local function check_limit(which)
  if not (limits[which] or noted[which]) then
    fail("cudaErrorUnsupportedLimit", "this device has no limit %s", tostring(which))
  end
end

local function get_limit(which)
  check_limit(which)
  if limits[which] then return raw.limit(nil, limits[which]) end
  local own = notes[raw.device().name]
  return own and own[which] or noted[which]
end

local function set_limit(which, value)
  check_limit(which)
  if type(value) ~= "number" or value < 0 then fail("cudaErrorInvalidValue", "a limit is a number of bytes") end
  local name = raw.device().name
  if noted[which] then
    notes[name] = notes[name] or {}
    notes[name][which] = value -- accepted and reported, without effect: this device allocates memory as needed
    return
  end
  local old = raw.limit(nil, limits[which], value)
  defaults[name] = defaults[name] or {}
  if not defaults[name][which] then defaults[name][which] = old end
end

local flags = {} -- by device name

local function install_peers(rt)
  local function device(ordinal) return raw.open(names.device(ordinal)) end
  local function check_flags(value)
    if value ~= nil and value ~= 0 then fail("cudaErrorInvalidValue", "the flags of peer access are 0") end
  end
  rt.cudaDeviceCanAccessPeer = api(function(ordinal, peer)
    return device(ordinal):can_access_peer(device(peer)) and 1 or 0
  end)
  rt.cudaDeviceEnablePeerAccess = api(function(peer, value)
    check_flags(value)
    raw.device():enable_peer_access(device(peer))
  end)
  rt.cudaDeviceDisablePeerAccess = api(function(peer) raw.device():disable_peer_access(device(peer)) end)
end

-- Free all memory that the runtime's functions allocated on the device, restore its limits and flags, and end its
-- access to other devices' memory. Arrays and modules are objects of their own and remain.
local function reset()
  raw.synchronize()
  local device = raw.device()
  local name = device.name
  for _, info in ipairs(raw.memory_live()) do
    if info.device == name and info.kind ~= "registered" then
      raw.memory_free(info.address)
      pool.forget(info.address)
    end
  end
  for which, value in pairs(defaults[name] or {}) do raw.limit(nil, limits[which], value) end
  notes[name], defaults[name], flags[name] = nil, nil, nil
  for _, other in ipairs(raw.device_list()) do
    pcall(device.disable_peer_access, device, raw.open(other))
  end
end

---@param rt table
function M.install(rt)
  rt.cudaLimitStackSize, rt.cudaLimitPrintfFifoSize, rt.cudaLimitMallocHeapSize = 0, 1, 2
  rt.cudaLimitDevRuntimePendingLaunchCount, rt.cudaLimitPersistingL2CacheSize = 4, 6
  rt.cudaDeviceScheduleAuto, rt.cudaDeviceScheduleSpin, rt.cudaDeviceScheduleYield = 0, 1, 2
  rt.cudaDeviceScheduleBlockingSync, rt.cudaDeviceMapHost, rt.cudaDeviceLmemResizeToMax = 4, 8, 16

  rt.cudaGetDeviceCount = api(function() return #raw.device_list() end)
  rt.cudaSetDevice = api(function(ordinal) raw.use(names.device(ordinal)) end)
  rt.cudaGetDevice = api(function() return names.ordinal(raw.device().name) end)
  rt.cudaGetDeviceProperties = api(properties.of)
  rt.cudaChooseDevice = api(choose)
  rt.cudaDeviceGetAttribute = api(function(attribute, ordinal)
    local where = properties.attributes[attribute]
    if not where then fail("cudaErrorInvalidValue", "a device has no attribute %s", tostring(attribute)) end
    local value = properties.of(ordinal)[where[1]]
    return where[2] and value[where[2]] or value
  end)
  rt.cudaSetValidDevices = api(takes("cudaSetValidDevices", function(list)
    for _, ordinal in ipairs(list) do names.device(ordinal) end
  end))
  rt.cudaSetDeviceFlags = api(function(value)
    if type(value) ~= "number" or value < 0 or value > 31 then
      fail("cudaErrorInvalidValue", "a device's flags are 0 to 31")
    end
    flags[raw.device().name] = value
  end)
  rt.cudaGetDeviceFlags = api(function() return flags[raw.device().name] or 0 end)
  rt.cudaDeviceGetLimit = api(get_limit)
  rt.cudaDeviceSetLimit = api(set_limit)
  rt.cudaDeviceGetPCIBusId = api(function(ordinal)
    names.device(ordinal)
    return ("0000:00:%02x.0"):format(ordinal)
  end)
  rt.cudaDeviceGetByPCIBusId = api(takes("cudaDeviceGetByPCIBusId", function(id)
    local digits = id:match "^%x+:%x+:(%x+)%.%x+$"
    local ordinal = digits and tonumber(digits, 16)
    names.device(ordinal)
    return ordinal
  end))
  rt.cudaDeviceGetCacheConfig = api(function() return 0 end)
  rt.cudaDeviceSetCacheConfig = api(function(config)
    if type(config) ~= "number" or config < 0 or config > 3 then
      fail("cudaErrorInvalidValue", "a cache configuration is 0 to 3")
    end
  end)
  rt.cudaDeviceGetSharedMemConfig = api(function() return 1 end)
  rt.cudaDeviceSetSharedMemConfig = api(function(config)
    if type(config) ~= "number" or config < 0 or config > 2 then
      fail("cudaErrorInvalidValue", "a shared memory configuration is 0 to 2")
    end
  end)
  -- The names before CUDA 4.0.
  for _, what in ipairs { "GetLimit", "SetLimit", "GetCacheConfig", "SetCacheConfig" } do
    rt["cudaThread" .. what] = rt["cudaDevice" .. what]
  end
  -- Access policy windows are recorded and reported, without effect on the cache.
  rt.cudaCtxResetPersistingL2Cache = api(function() end)
  rt.cudaDeviceSynchronize = api(function() raw.synchronize() end)
  rt.cudaThreadSynchronize = rt.cudaDeviceSynchronize
  rt.cudaDeviceReset = api(reset)
  rt.cudaThreadExit = rt.cudaDeviceReset
  rt.cudaDriverGetVersion = api(function() return 11020 end)
  rt.cudaRuntimeGetVersion = api(function() return 11020 end)
  install_peers(rt)
end

return M
