-- cuDevice…: a device is its number, from 0.

local runtime = require "moonwarp.runtime"
local body = require("moonwarp.runtime.result").body
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local fail, plain = result.fail, contexts.plain
local M = {}

-- CU_DEVICE_ATTRIBUTE_…
local attributes = {
  MAX_THREADS_PER_BLOCK = 1, MAX_BLOCK_DIM_X = 2, MAX_BLOCK_DIM_Y = 3, MAX_BLOCK_DIM_Z = 4, MAX_GRID_DIM_X = 5,
  MAX_GRID_DIM_Y = 6, MAX_GRID_DIM_Z = 7, MAX_SHARED_MEMORY_PER_BLOCK = 8, SHARED_MEMORY_PER_BLOCK = 8,
  TOTAL_CONSTANT_MEMORY = 9, WARP_SIZE = 10, MAX_PITCH = 11, MAX_REGISTERS_PER_BLOCK = 12, REGISTERS_PER_BLOCK = 12,
  CLOCK_RATE = 13, TEXTURE_ALIGNMENT = 14, GPU_OVERLAP = 15, MULTIPROCESSOR_COUNT = 16, KERNEL_EXEC_TIMEOUT = 17,
  INTEGRATED = 18, CAN_MAP_HOST_MEMORY = 19, COMPUTE_MODE = 20, SURFACE_ALIGNMENT = 30, CONCURRENT_KERNELS = 31,
  ECC_ENABLED = 32, PCI_BUS_ID = 33, PCI_DEVICE_ID = 34, TCC_DRIVER = 35, MEMORY_CLOCK_RATE = 36,
  GLOBAL_MEMORY_BUS_WIDTH = 37, L2_CACHE_SIZE = 38, MAX_THREADS_PER_MULTIPROCESSOR = 39, ASYNC_ENGINE_COUNT = 40,
  UNIFIED_ADDRESSING = 41, PCI_DOMAIN_ID = 50, TEXTURE_PITCH_ALIGNMENT = 51, COMPUTE_CAPABILITY_MAJOR = 75,
  COMPUTE_CAPABILITY_MINOR = 76, STREAM_PRIORITIES_SUPPORTED = 78, GLOBAL_L1_CACHE_SUPPORTED = 79,
  LOCAL_L1_CACHE_SUPPORTED = 80, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81, MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
  MANAGED_MEMORY = 83, MULTI_GPU_BOARD = 84, MULTI_GPU_BOARD_GROUP_ID = 85, HOST_NATIVE_ATOMIC_SUPPORTED = 86,
  PAGEABLE_MEMORY_ACCESS = 88, CONCURRENT_MANAGED_ACCESS = 89, COMPUTE_PREEMPTION_SUPPORTED = 90,
  CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = 91, COOPERATIVE_LAUNCH = 95, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  HOST_REGISTER_SUPPORTED = 99, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = 101, MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
  MAX_PERSISTING_L2_CACHE_SIZE = 108, MAX_ACCESS_POLICY_WINDOW_SIZE = 109,
}

local properties = body(runtime.cudaGetDeviceProperties)

-- Cut a text to fit a buffer of `size` bytes with its terminating zero byte.
local function cut(text, size)
  if type(size) ~= "number" or size < 1 then
    fail("CUDA_ERROR_INVALID_VALUE", "the length of a buffer is a number above 0, got %s", tostring(size))
  end
  return text:sub(1, size - 1)
end

---@param cu table
function M.install(cu)
  for name, number in pairs(attributes) do cu["CU_DEVICE_ATTRIBUTE_" .. name] = number end

  cu.cuDriverGetVersion = runtime.cudaDriverGetVersion -- before cuInit too
  cu.cuDeviceGetCount = plain(body(runtime.cudaGetDeviceCount))
  cu.cuDeviceGet = plain(function(ordinal)
    contexts.device_name(ordinal)
    return ordinal
  end)
  -- C needs the length of the buffer; here it only cuts the name.
  cu.cuDeviceGetName = plain(function(length, device) return cut(properties(device).name, length) end)
  cu.cuDeviceTotalMem = plain(function(device) return properties(device).totalGlobalMem end)
  cu.cuDeviceComputeCapability = plain(function(device)
    local facts = properties(device)
    return facts.major, facts.minor
  end)
  cu.cuDeviceGetProperties = plain(function(device)
    local facts = properties(device)
    return {
      maxThreadsPerBlock = facts.maxThreadsPerBlock, maxThreadsDim = facts.maxThreadsDim,
      maxGridSize = facts.maxGridSize, sharedMemPerBlock = facts.sharedMemPerBlock,
      totalConstantMemory = facts.totalConstMem, SIMDWidth = facts.warpSize, memPitch = facts.memPitch,
      regsPerBlock = facts.regsPerBlock, clockRate = facts.clockRate, textureAlign = facts.textureAlignment,
    }
  end)
  cu.cuDeviceGetAttribute = plain(body(runtime.cudaDeviceGetAttribute))
  cu.cuDeviceGetPCIBusId = plain(function(length, device)
    return cut(body(runtime.cudaDeviceGetPCIBusId)(device), length)
  end)
  cu.cuDeviceGetByPCIBusId = plain(body(runtime.cudaDeviceGetByPCIBusId))
  cu.cuDeviceCanAccessPeer = plain(body(runtime.cudaDeviceCanAccessPeer))
  cu.cuDeviceGetDefaultMemPool = plain(function(device)
    contexts.device_name(device)
    return body(runtime.cudaDeviceGetDefaultMemPool)(device)
  end)
  cu.cuDeviceGetMemPool = plain(function(device)
    contexts.device_name(device)
    return body(runtime.cudaDeviceGetMemPool)(device)
  end)
  cu.cuDeviceSetMemPool = plain(body(runtime.cudaDeviceSetMemPool))
end

return M
