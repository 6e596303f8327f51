-- Devices under CUDA's names: counted from 0 in the order of raw.device_list.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local occupancy = require "moonwarp.occupancy"
local names = require "moonwarp.runtime.names"

local fail, api = result.fail, result.api
local M = {}

-- Other devices, while they are asked: the one in use stays.
local function with(name, f)
  local before = raw.device().name
  if name == before then return f() end
  raw.use(name)
  local ok, value = pcall(f)
  raw.use(before)
  if not ok then error(value, 0) end
  return value
end

local function name_of(ordinal)
  local name = type(ordinal) == "number" and raw.device_list()[ordinal + 1]
  if not name then fail("cudaErrorInvalidDevice", "there is no device %s", tostring(ordinal)) end
  return name
end

local function vector(t) return { t[1], t[2], t[3] } end

-- cudaDeviceProp. What a machine without such hardware has none of is 0.
local function properties_of(ordinal)
  return with(name_of(ordinal), function()
    local facts = raw.properties_of()
    local limits = occupancy.capabilities[facts.major .. "." .. facts.minor] or occupancy.capabilities["8.0"]
    local cpu = facts.driver == "cpu" and 1 or 0
    return {
      name = facts.name, totalGlobalMem = facts.total_memory, sharedMemPerBlock = facts.shared_per_block,
      regsPerBlock = facts.registers_per_block, warpSize = facts.warp_size, memPitch = facts.memory_pitch,
      maxThreadsPerBlock = facts.max_threads_per_block, maxThreadsDim = vector(facts.max_block),
      maxGridSize = vector(facts.max_grid), totalConstMem = facts.total_constant, major = facts.major,
      minor = facts.minor,
      clockRate = facts.clock_khz, textureAlignment = facts.texture_alignment,
      texturePitchAlignment = facts.texture_pitch_alignment,
      deviceOverlap = 1, asyncEngineCount = 2, multiProcessorCount = facts.multiprocessors,
      kernelExecTimeoutEnabled = 0,
      integrated = cpu, canMapHostMemory = 1, computeMode = 0, concurrentKernels = 1, ECCEnabled = 0, pciBusID = 0,
      pciDeviceID = ordinal, pciDomainID = 0, tccDriver = 0, unifiedAddressing = 1, managedMemory = 1,
      concurrentManagedAccess = cpu, pageableMemoryAccess = 0, isMultiGpuBoard = 0, multiGpuBoardGroupID = ordinal,
      streamPrioritiesSupported = 1, globalL1CacheSupported = 1, localL1CacheSupported = 1,
      sharedMemPerMultiprocessor = limits.shared, regsPerMultiprocessor = limits.registers,
      maxThreadsPerMultiProcessor = limits.warps * 32, maxBlocksPerMultiProcessor = limits.blocks,
      sharedMemPerBlockOptin = facts.shared_per_block_optin, hostNativeAtomicSupported = cpu, l2CacheSize = 0,
      persistingL2CacheMaxSize = 0, accessPolicyMaxWindowSize = 0, memoryClockRate = 0, memoryBusWidth = 0,
      surfaceAlignment = facts.texture_alignment, cooperativeLaunch = 1, computePreemptionSupported = 0,
      hostRegisterSupported = 1, canUseHostPointerForRegisteredMem = 0, directManagedMemAccessFromHost = cpu,
    }
  end)
end

-- cudaDeviceAttr: number -> field of cudaDeviceProp, [2]: which part of it.
local attributes = {
  [1] = { "maxThreadsPerBlock" }, [2] = { "maxThreadsDim", 1 }, [3] = { "maxThreadsDim", 2 },
  [4] = { "maxThreadsDim", 3 },
  [5] = { "maxGridSize", 1 }, [6] = { "maxGridSize", 2 }, [7] = { "maxGridSize", 3 }, [8] = { "sharedMemPerBlock" },
  [9] = { "totalConstMem" }, [10] = { "warpSize" }, [11] = { "memPitch" }, [12] = { "regsPerBlock" },
  [13] = { "clockRate" },
  [14] = { "textureAlignment" }, [15] = { "deviceOverlap" }, [16] = { "multiProcessorCount" },
  [17] = { "kernelExecTimeoutEnabled" }, [18] = { "integrated" }, [19] = { "canMapHostMemory" },
  [20] = { "computeMode" },
  [30] = { "surfaceAlignment" }, [31] = { "concurrentKernels" }, [32] = { "ECCEnabled" },
  [33] = { "pciBusID" },
  [34] = { "pciDeviceID" }, [35] = { "tccDriver" }, [36] = { "memoryClockRate" }, [37] = { "memoryBusWidth" },
  [38] = { "l2CacheSize" }, [39] = { "maxThreadsPerMultiProcessor" }, [40] = { "asyncEngineCount" },
  [41] = { "unifiedAddressing" }, [50] = { "pciDomainID" }, [51] = { "texturePitchAlignment" }, [75] = { "major" },
  [76] = { "minor" }, [78] = { "streamPrioritiesSupported" }, [79] = { "globalL1CacheSupported" },
  [80] = { "localL1CacheSupported" }, [81] = { "sharedMemPerMultiprocessor" }, [82] = { "regsPerMultiprocessor" },
  [83] = { "managedMemory" }, [84] = { "isMultiGpuBoard" }, [85] = { "multiGpuBoardGroupID" },
  [86] = { "hostNativeAtomicSupported" }, [88] = { "pageableMemoryAccess" }, [89] = { "concurrentManagedAccess" },
  [90] = { "computePreemptionSupported" }, [91] = { "canUseHostPointerForRegisteredMem" },
  [95] = { "cooperativeLaunch" },
  [97] = { "sharedMemPerBlockOptin" }, [99] = { "hostRegisterSupported" }, [101] = { "directManagedMemAccessFromHost" },
  [106] = { "maxBlocksPerMultiProcessor" },
}

-- The device most like a wanted cudaDeviceProp: capability first, then how many wishes it fulfils.
local function choose(wanted)
  if type(wanted) ~= "table" then fail("cudaErrorInvalidValue", "cudaChooseDevice wants a table of properties") end
  local best, most = 0, -1
  for i = 1, #raw.device_list() do
    local have, score = properties_of(i - 1), 0
    if (wanted.major or 0) < have.major or (wanted.major == have.major and (wanted.minor or 0) <= have.minor) then
      score = score + 100
    end
    for field, value in pairs(wanted) do
      if type(value) == "number" and type(have[field]) == "number" and have[field] >= value then score = score + 1 end
      if type(value) == "string" and have[field] == value then score = score + 10 end
    end
    if score > most then best, most = i - 1, score end
  end
  return best
end

-- cudaLimit: number -> moonwarp's name of it, or a value that cannot be changed.
local limits = { [0] = "stack", [2] = "heap" }
local fixed = { [1] = 1048576, [6] = 0 }

local function get_limit(which)
  if limits[which] then return raw.limit(nil, limits[which]) end
  if fixed[which] then return fixed[which] end
  fail("cudaErrorUnsupportedLimit", "%s is no limit that this device has", tostring(which))
end

local function set_limit(which, value)
  if type(value) ~= "number" or value < 0 then fail("cudaErrorInvalidValue", "a limit is a number of bytes") end
  if limits[which] then
    raw.limit(nil, limits[which], value)
  elseif fixed[which] then
    fixed[which] = value -- accepted and reported: this device takes memory as it is needed
  else
    fail("cudaErrorUnsupportedLimit", "%s is no limit that this device has", tostring(which))
  end
end

local flags = 0
local peers = {}

local function install_peers(rt)
  local function key(peer) return raw.device().name .. " " .. name_of(peer) end
  rt.cudaDeviceCanAccessPeer = api(function(device, peer)
    name_of(device)
    name_of(peer)
    return 0
  end)
  rt.cudaDeviceEnablePeerAccess = api(function(peer)
    key(peer)
    fail("cudaErrorPeerAccessUnsupported", "kernels of one device do not reach another's memory; cudaMemcpyPeer does")
  end)
  rt.cudaDeviceDisablePeerAccess = api(function(peer)
    if not peers[key(peer)] then fail("cudaErrorPeerAccessNotEnabled", "peer access was not enabled") end
  end)
end

---@param rt table
function M.install(rt)
  rt.cudaLimitStackSize, rt.cudaLimitPrintfFifoSize, rt.cudaLimitMallocHeapSize = 0, 1, 2
  rt.cudaLimitPersistingL2CacheSize = 6
  rt.cudaDeviceScheduleAuto, rt.cudaDeviceScheduleSpin, rt.cudaDeviceScheduleYield = 0, 1, 2
  rt.cudaDeviceScheduleBlockingSync, rt.cudaDeviceMapHost, rt.cudaDeviceLmemResizeToMax = 4, 8, 16

  rt.cudaGetDeviceCount = api(function() return #raw.device_list() end)
  rt.cudaSetDevice = api(function(ordinal) raw.use(name_of(ordinal)) end)
  rt.cudaGetDevice = api(function() return names.ordinal(raw.device().name) end)
  rt.cudaGetDeviceProperties = api(properties_of)
  rt.cudaChooseDevice = api(choose)
  rt.cudaDeviceGetAttribute = api(function(attribute, ordinal)
    local where = attributes[attribute]
    if not where then fail("cudaErrorInvalidValue", "a device has no attribute %s", tostring(attribute)) end
    local value = properties_of(ordinal)[where[1]]
    return where[2] and value[where[2]] or value
  end)
  rt.cudaSetValidDevices = api(function(list)
    for _, ordinal in ipairs(list) do name_of(ordinal) end
  end)
  rt.cudaSetDeviceFlags = api(function(value)
    if type(value) ~= "number" or value < 0 or value > 31 then
      fail("cudaErrorInvalidValue", "a device's flags are 0 to 31")
    end
    flags = value
  end)
  rt.cudaGetDeviceFlags = api(function() return flags end)
  rt.cudaDeviceGetLimit = api(get_limit)
  rt.cudaDeviceSetLimit = api(set_limit)
  rt.cudaDeviceGetPCIBusId = api(function(ordinal)
    name_of(ordinal)
    return ("0000:00:%02x.0"):format(ordinal)
  end)
  rt.cudaDeviceGetByPCIBusId = api(function(id)
    local ordinal = tonumber((tostring(id):match("^%x+:%x+:(%x+)%.%x+$")), 16)
    name_of(ordinal)
    return ordinal
  end)
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
  rt.cudaDeviceSynchronize = api(function() raw.synchronize() end)
  rt.cudaThreadSynchronize = rt.cudaDeviceSynchronize
  -- All that the runtime's functions allocated goes; arrays and modules are objects of their own and stay.
  rt.cudaDeviceReset = api(function()
    raw.synchronize()
    local name = raw.device().name
    for _, info in ipairs(raw.memory_live()) do
      if info.device == name and info.kind ~= "registered" then raw.memory_free(info.address) end
    end
  end)
  rt.cudaThreadExit = rt.cudaDeviceReset
  rt.cudaDriverGetVersion = api(function() return 11020 end)
  rt.cudaRuntimeGetVersion = api(function() return 11020 end)
  install_peers(rt)
end

return M
