-- Launching under CUDA's names, and kernels' attributes. Kernels are moonwarp's objects, m.name, or their names if the
-- module was registered.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local names = require "moonwarp.runtime.names"
local occupancy = require "moonwarp.module.occupancy"

local fail, api, takes = result.fail, result.api, result.takes
local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 113

-- Convert a value of a program's host code to a launch's argument.
local function argument(value)
  if pointer.is(value) then return raw.pointer(value.address) end
  return value
end

local function launch(kernel, grid, block, shared, stream, count, values, cooperative)
  local arguments = {}
  for i = 1, count do arguments[i] = argument(values[i]) end
  local object
  if not (stream == nil or stream == 0) then object = streams.stream(stream) end
  kernel = names.kernel(kernel)
  local configured
  if cooperative then
    configured = kernel:cooperative(grid, block, shared or 0, object)
  else
    configured = kernel(grid, block, shared or 0, object)
  end
  configured(unpack(arguments, 1, count))
end

-- The attributes that cudaFuncSetAttribute set, by kernel.
local settings = setmetatable({}, { __mode = "k" })

local function attributes_of(kernel)
  local facts = raw.properties_of()
  local known = settings[kernel] or {}
  return {
    sharedSizeBytes = kernel.shared_bytes,
    constSizeBytes = 0,
    localSizeBytes = kernel.local_bytes,
    maxThreadsPerBlock = kernel.max_threads,
    numRegs = kernel.registers,
    ptxVersion = facts.major * 10 + facts.minor,
    binaryVersion = facts.major * 10 + facts.minor,
    cacheModeCA = 0,
    maxDynamicSharedSizeBytes = known.shared or facts.shared_per_block - kernel.shared_bytes,
    preferredShmemCarveout = known.carveout or -1,
    clusterDimMustBeSet = kernel.cluster_dims and 1 or 0,
    requiredClusterWidth = (kernel.cluster_dims or known)[1] or 0,
    requiredClusterHeight = (kernel.cluster_dims or known)[2] or 0,
    requiredClusterDepth = (kernel.cluster_dims or known)[3] or 0,
    clusterSchedulingPolicyPreference = known.policy or 0,
    nonPortableClusterSizeAllowed = known.larger or 0,
  }
end

-- Shared with the driver's functions.
M.launch, M.attributes_of = launch, attributes_of

---The clusters of a kernel: `required`, by its __cluster_dims__ or as they were set, and whether they may be `larger`
---than is portable.
function M.clusters(kernel)
  local known = settings[kernel] or {}
  local all = (known[1] or 0) > 0 and (known[2] or 0) > 0 and (known[3] or 0) > 0
  return {
    required = kernel.cluster_dims or all and { known[1], known[2], known[3] } or nil,
    larger = known.larger == 1,
  }
end

-- The attributes of clusters: 11 to 13 the sizes, 14 whether they may be larger, 15 a policy.
local function set_cluster_attribute(kernel, known, attribute, value)
  local most = attribute == 14 and 1 or attribute == 15 and 2 or 16
  if type(value) ~= "number" or value % 1 ~= 0 or value < 0 or value > most then
    fail("cudaErrorInvalidValue", "the kernel's attribute %d is 0 to %d", attribute, most)
  end
  if attribute < 14 and kernel.cluster_dims then
    fail("cudaErrorInvalidValue", "%s has its clusters from __cluster_dims__", kernel.name)
  end
  known[attribute == 14 and "larger" or attribute == 15 and "policy" or attribute - 10] = value
end

---cudaFuncSetAttribute; the driver's attributes have the same numbers.
function M.set_attribute(kernel, attribute, value)
  local known = settings[kernel] or {}
  if attribute == 8 then
    local most = raw.properties_of().shared_per_block_optin - kernel.shared_bytes
    if type(value) ~= "number" or value < 0 or value > most then
      fail("cudaErrorInvalidValue", "a block of %s can have 0 to %d bytes of dynamic shared memory", kernel.name, most)
    end
    known.shared = value
  elseif attribute == 9 then
    if type(value) ~= "number" or value < -1 or value > 100 then
      fail("cudaErrorInvalidValue", "a carveout is a percentage from 0 to 100, or -1")
    end
    known.carveout = value
  elseif type(attribute) == "number" and attribute >= 11 and attribute <= 15 then
    set_cluster_attribute(kernel, known, attribute, value)
  else
    fail("cudaErrorInvalidValue", "a kernel has no attribute %s that can be set", tostring(attribute))
  end
  settings[kernel] = known
end

local function install_triple(rt)
  -- Configurations nest, as <<< >>> in the arguments of another launch does: the last one is launched first.
  local configurations = {}

  rt.cudaConfigureCall = api(function(grid, block, shared, stream)
    if grid == nil or block == nil then
      fail("cudaErrorInvalidConfiguration", "cudaConfigureCall wants a grid and a block")
    end
    configurations[#configurations + 1] =
      { grid = grid, block = block, shared = shared, stream = stream, arguments = {}, count = 0 }
  end)

  -- C needs the size; here the kernel's signature determines the parameter at the offset.
  rt.cudaSetupArgument = api(function(value, size, offset)
    local configuration = configurations[#configurations]
    if not configuration then
      fail("cudaErrorMissingConfiguration", "cudaConfigureCall must be called before cudaSetupArgument")
    end
    if offset == nil then size, offset = nil, size end
    if type(offset) ~= "number" or offset < 0 or offset % 1 ~= 0 then
      fail("cudaErrorInvalidValue", "cudaSetupArgument wants a value, a size and an offset")
    end
    configuration.arguments[offset] = { value = value, size = size }
    configuration.count = configuration.count + 1
  end)

  rt.cudaLaunch = api(function(kernel)
    local configuration = table.remove(configurations)
    if not configuration then
      fail("cudaErrorMissingConfiguration", "cudaConfigureCall must be called before cudaLaunch")
    end
    kernel = names.kernel(kernel)
    local values, params = {}, kernel.params
    for i, param in ipairs(params) do
      local given = configuration.arguments[param.offset]
      if not given then
        fail("cudaErrorInvalidValue", "parameter %d '%s' of %s is at offset %d, but nothing was set there", i,
          param.name, kernel.name, param.offset)
      end
      if given.size and given.size ~= param.size then
        fail("cudaErrorInvalidValue", "parameter %d '%s' of %s has %d bytes, but %d were set", i, param.name,
          kernel.name, param.size, given.size)
      end
      values[i] = given.value
    end
    if configuration.count > #params then
      fail("cudaErrorInvalidValue", "%s has %d parameters, but %d were set", kernel.name, #params, configuration.count)
    end
    launch(kernel, configuration.grid, configuration.block, configuration.shared, configuration.stream, #params, values)
  end)
end

local function install_launches(rt)
  local function by_array(name, cooperative)
    return api(takes(name, function(kernel, grid, block, arguments, shared, stream)
      arguments = arguments or {}
      local count = arguments.n or #names.kernel(kernel).params
      launch(kernel, grid, block, shared, stream, count, arguments, cooperative)
    end))
  end
  rt.cudaLaunchKernel = by_array("cudaLaunchKernel", false)
  rt.cudaLaunchCooperativeKernel = by_array("cudaLaunchCooperativeKernel", true)

  ---moonwarp's own: the kernel's launch as a function, for <<<grid, block, shared, stream>>>(…).
  function rt.call(kernel, grid, block, shared, stream)
    return function(...)
      return rt.cudaLaunchKernel(kernel, grid, block, { n = select("#", ...), ... }, shared, stream)
    end
  end

  ---dim3(x, y, z): arguments left out are 1.
  function rt.dim3(x, y, z) return { x = x or 1, y = y or 1, z = z or 1 } end
end

local function install_attributes(rt)
  rt.cudaFuncAttributeMaxDynamicSharedMemorySize, rt.cudaFuncAttributePreferredSharedMemoryCarveout = 8, 9
  for i, name in ipairs {
    "ClusterDimMustBeSet", "RequiredClusterWidth", "RequiredClusterHeight", "RequiredClusterDepth",
    "NonPortableClusterSizeAllowed", "ClusterSchedulingPolicyPreference",
  } do
    rt["cudaFuncAttribute" .. name] = 9 + i
  end
  rt.cudaFuncCachePreferNone, rt.cudaFuncCachePreferShared = 0, 1
  rt.cudaFuncCachePreferL1, rt.cudaFuncCachePreferEqual = 2, 3

  rt.cudaFuncGetAttributes = api(function(kernel) return attributes_of(names.kernel(kernel)) end)
  rt.cudaFuncSetAttribute = api(function(kernel, attribute, value)
    M.set_attribute(names.kernel(kernel), attribute, value)
  end)
  rt.cudaFuncSetCacheConfig = api(function(kernel, config)
    names.kernel(kernel)
    if type(config) ~= "number" or config < 0 or config > 3 then
      fail("cudaErrorInvalidValue", "a cache configuration is 0 to 3")
    end
  end)
  rt.cudaFuncSetSharedMemConfig = api(function(kernel, config)
    names.kernel(kernel)
    if type(config) ~= "number" or config < 0 or config > 2 then
      fail("cudaErrorInvalidValue", "a shared memory configuration is 0 to 2")
    end
  end)

  local function most_blocks(kernel, block, shared)
    return occupancy.of(names.kernel(kernel), block, shared or 0).blocks
  end
  for _, name in ipairs { "", "WithFlags" } do
    name = "cudaOccupancyMaxActiveBlocksPerMultiprocessor" .. name
    rt[name] = api(takes(name, most_blocks))
  end
  local function best_block(kernel, shared, limit)
    return occupancy.best(names.kernel(kernel), shared or 0, limit or 0)
  end
  rt.cudaOccupancyMaxPotentialBlockSize = api(takes("cudaOccupancyMaxPotentialBlockSize", best_block))
end

---@param rt table
function M.install(rt)
  install_triple(rt)
  install_launches(rt)
  install_attributes(rt)
end

return M
