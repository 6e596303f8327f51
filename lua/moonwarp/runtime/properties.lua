-- Devices' properties: cudaDeviceProp as a table, and its fields by the numbers of cudaDeviceAttr. Properties of
-- hardware that a machine does not have are 0, as are those introduced after the device's compute capability.

local raw = require "moonwarp.binding"
local names = require "moonwarp.runtime.names"
local occupancy = require "moonwarp.module.occupancy"

local M = {}

-- Names of texture limits in cudaDeviceProp. A 2-D texture over pitched memory has a third limit, of its pitch.
local textures = {
  maxTexture1D = "texture_1d", maxTexture1DMipmap = "texture_1d", maxTexture1DLinear = "texture_1d_linear",
  maxTexture2D = "texture_2d", maxTexture2DMipmap = "texture_2d", maxTexture2DLinear = "texture_2d_linear",
  maxTexture2DGather = "texture_2d_gather", maxTexture3D = "texture_3d", maxTexture3DAlt = "texture_3d",
  maxTextureCubemap = "texture_cubemap", maxTexture1DLayered = "texture_1d_layered",
  maxTexture2DLayered = "texture_2d_layered", maxTextureCubemapLayered = "texture_cubemap_layered",
  maxSurface1D = "surface_1d", maxSurface2D = "surface_2d", maxSurface3D = "surface_3d",
  maxSurface1DLayered = "surface_1d_layered", maxSurface2DLayered = "surface_2d_layered",
  maxSurfaceCubemap = "surface_cubemap", maxSurfaceCubemapLayered = "surface_cubemap_layered",
}
local most_pitch = 2097120

local function copy(value)
  if type(value) ~= "table" then return value end
  local list = {}
  for i, number in ipairs(value) do list[i] = number end
  return list
end

---cudaDeviceProp of a device.
---@param ordinal integer
---@return table
function M.of(ordinal)
  local facts = raw.open(names.device(ordinal)):properties()
  local limits = occupancy.find(facts.major .. "." .. facts.minor) or occupancy.find("9.0")
  local cpu = facts.driver == "cpu" and 1 or 0
  local capability = facts.major * 10 + facts.minor
  local function since(number, value) return capability >= number and (value or 1) or 0 end
  local prop = {
    name = facts.name, totalGlobalMem = facts.total_memory, sharedMemPerBlock = facts.shared_per_block,
    regsPerBlock = facts.registers_per_block, warpSize = facts.warp_size, memPitch = facts.memory_pitch,
    maxThreadsPerBlock = facts.max_threads_per_block, maxThreadsDim = copy(facts.max_block),
    maxGridSize = copy(facts.max_grid), totalConstMem = facts.total_constant, major = facts.major,
    minor = facts.minor, clockRate = facts.clock_khz, textureAlignment = facts.texture_alignment,
    texturePitchAlignment = facts.texture_pitch_alignment, deviceOverlap = since(11),
    asyncEngineCount = capability >= 20 and 2 or since(11), multiProcessorCount = facts.multiprocessors,
    kernelExecTimeoutEnabled = 0, integrated = cpu, canMapHostMemory = 1, computeMode = 0,
    concurrentKernels = since(20), ECCEnabled = 0, pciBusID = 0, pciDeviceID = ordinal, pciDomainID = 0,
    tccDriver = 0, unifiedAddressing = since(20), managedMemory = since(30),
    concurrentManagedAccess = since(60, cpu), pageableMemoryAccess = 0, isMultiGpuBoard = 0,
    multiGpuBoardGroupID = ordinal, streamPrioritiesSupported = since(35), globalL1CacheSupported = since(20),
    localL1CacheSupported = since(20), sharedMemPerMultiprocessor = limits.shared,
    regsPerMultiprocessor = limits.registers, maxThreadsPerMultiProcessor = limits.warps * 32,
    maxBlocksPerMultiProcessor = limits.blocks, sharedMemPerBlockOptin = facts.shared_per_block_optin,
    reservedSharedMemPerBlock = limits.shared_reserved, hostNativeAtomicSupported = since(60, cpu),
    l2CacheSize = since(20, facts.l2_cache), persistingL2CacheMaxSize = 0, accessPolicyMaxWindowSize = 0,
    memoryClockRate = 0, memoryBusWidth = 0,
    surfaceAlignment = facts.texture_alignment, cooperativeLaunch = since(60), computePreemptionSupported = 0,
    hostRegisterSupported = 1, canUseHostPointerForRegisteredMem = 0, directManagedMemAccessFromHost = since(60, cpu),
  }
  for field, name in pairs(textures) do prop[field] = copy(facts.textures[name]) end
  prop.maxTexture2DLinear[3] = most_pitch
  return prop
end

-- cudaDeviceAttr: number -> field of cudaDeviceProp; [2]: the index in it. The header for C hosts has the same table
-- (src/host/include/device_attributes.h): to read it from here would take more code, and host_constants_spec.lua
-- compares them.
M.attributes = {
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
  [106] = { "maxBlocksPerMultiProcessor" }, [108] = { "persistingL2CacheMaxSize" },
  [109] = { "accessPolicyMaxWindowSize" }, [111] = { "reservedSharedMemPerBlock" },
  [21] = { "maxTexture1D" }, [22] = { "maxTexture2D", 1 }, [23] = { "maxTexture2D", 2 }, [24] = { "maxTexture3D", 1 },
  [25] = { "maxTexture3D", 2 }, [26] = { "maxTexture3D", 3 }, [27] = { "maxTexture2DLayered", 1 },
  [28] = { "maxTexture2DLayered", 2 }, [29] = { "maxTexture2DLayered", 3 }, [42] = { "maxTexture1DLayered", 1 },
  [43] = { "maxTexture1DLayered", 2 }, [45] = { "maxTexture2DGather", 1 }, [46] = { "maxTexture2DGather", 2 },
  [47] = { "maxTexture3DAlt", 1 }, [48] = { "maxTexture3DAlt", 2 }, [49] = { "maxTexture3DAlt", 3 },
  [52] = { "maxTextureCubemap" }, [53] = { "maxTextureCubemapLayered", 1 }, [54] = { "maxTextureCubemapLayered", 2 },
  [55] = { "maxSurface1D" }, [56] = { "maxSurface2D", 1 }, [57] = { "maxSurface2D", 2 }, [58] = { "maxSurface3D", 1 },
  [59] = { "maxSurface3D", 2 }, [60] = { "maxSurface3D", 3 }, [61] = { "maxSurface1DLayered", 1 },
  [62] = { "maxSurface1DLayered", 2 }, [63] = { "maxSurface2DLayered", 1 }, [64] = { "maxSurface2DLayered", 2 },
  [65] = { "maxSurface2DLayered", 3 }, [66] = { "maxSurfaceCubemap" }, [67] = { "maxSurfaceCubemapLayered", 1 },
  [68] = { "maxSurfaceCubemapLayered", 2 }, [69] = { "maxTexture1DLinear" }, [70] = { "maxTexture2DLinear", 1 },
  [71] = { "maxTexture2DLinear", 2 }, [72] = { "maxTexture2DLinear", 3 }, [73] = { "maxTexture2DMipmap", 1 },
  [74] = { "maxTexture2DMipmap", 2 }, [77] = { "maxTexture1DMipmap" },
}

return M
