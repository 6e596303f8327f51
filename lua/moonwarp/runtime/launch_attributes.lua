-- Launches with attributes, and clusters, under CUDA's names. A configuration is a table { gridDim =, blockDim =,
-- dynamicSmemBytes =, stream =, attrs = { { id =, val = { clusterDim = { x =, y =, z = } } }, … } }; the driver's has
-- its own names of fields.

local raw = require "moonwarp.binding"
local execution = require "moonwarp.runtime.execution"
local names = require "moonwarp.runtime.names"
local occupancy = require "moonwarp.module.occupancy"
local pointer = require "moonwarp.runtime.pointer"
local result = require "moonwarp.runtime.result"
local streams = require "moonwarp.runtime.stream"

local fail, api = result.fail, result.api
local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 113
local PORTABLE = 8 -- blocks of a cluster; more want an attribute of the kernel

-- CUDA's names of the attributes, after cudaLaunchAttribute and CU_LAUNCH_ATTRIBUTE_.
M.attributes = {
  [0] = { "Ignore", "IGNORE" }, { "AccessPolicyWindow", "ACCESS_POLICY_WINDOW" }, { "Cooperative", "COOPERATIVE" },
  { "SynchronizationPolicy", "SYNCHRONIZATION_POLICY" }, { "ClusterDimension", "CLUSTER_DIMENSION" },
  { "ClusterSchedulingPolicyPreference", "CLUSTER_SCHEDULING_POLICY_PREFERENCE" },
  { "ProgrammaticStreamSerialization", "PROGRAMMATIC_STREAM_SERIALIZATION" },
  { "ProgrammaticEvent", "PROGRAMMATIC_EVENT" }, { "Priority", "PRIORITY" },
  { "MemSyncDomainMap", "MEM_SYNC_DOMAIN_MAP" }, { "MemSyncDomain", "MEM_SYNC_DOMAIN" },
  { "PreferredClusterDimension", "PREFERRED_CLUSTER_DIMENSION" },
  { "LaunchCompletionEvent", "LAUNCH_COMPLETION_EVENT" },
  { "DeviceUpdatableKernelNode", "DEVICE_UPDATABLE_KERNEL_NODE" },
  { "PreferredSharedMemoryCarveout", "PREFERRED_SHARED_MEMORY_CARVEOUT" },
}

local function whole(value, least, most, what)
  if type(value) ~= "number" or value % 1 ~= 0 or value < least or value > most then
    fail("cudaErrorInvalidValue", "%s is %d to %d, not %s", what, least, most, tostring(value))
  end
  return value
end

local function sizes(of, what)
  if type(of) ~= "table" then fail("cudaErrorInvalidValue", "%s is a table of x, y and z", what) end
  local list = {}
  for i, axis in ipairs { "x", "y", "z" } do list[i] = whole(of[axis] or of[i] or 1, 1, 65535, what) end
  return list
end

local function yes(value) return value ~= nil and value ~= 0 and value ~= false end

-- What each attribute says of a launch: f(launch, value).
local read = {
  [0] = function() end,
  [1] = function(_, v) streams.check_window(v) end,
  [2] = function(launch, v) launch.cooperative = yes(v.cooperative) end,
  [4] = function(launch, v) launch.cluster = sizes(v.clusterDim, "a cluster's size") end,
  [5] = function(_, v) whole(v.clusterSchedulingPolicyPreference or 0, 0, 2, "the policy of scheduling clusters") end,
  [6] = function(launch, v) launch.dependent = yes(v.programmaticStreamSerializationAllowed) end,
  [7] = function(launch, v) launch.events[#launch.events + 1] = (v.programmaticEvent or {}).event end,
  [8] = function() end,
  [9] = function() end,
  [10] = function(_, v) whole(v.memSyncDomain or 0, 0, 1, "a memory domain") end,
  [11] = function(launch, v)
    for i, size in ipairs(sizes(v.preferredClusterDim, "a preferred cluster's size")) do
      if not launch.cluster or size % launch.cluster[i] ~= 0 then
        fail("cudaErrorInvalidValue",
          "the preferred cluster is a multiple of the launch's cluster dimension, which comes before it")
      end
    end
  end,
  [12] = function(launch, v) launch.events[#launch.events + 1] = (v.launchCompletionEvent or {}).event end,
  [14] = function(_, v) whole(v.sharedMemCarveout or 0, -1, 100, "a carveout") end,
}

---A configuration of the runtime API's: { grid, block, shared, stream, cooperative, dependent, cluster, events }.
local function configuration(config)
  if type(config) ~= "table" then fail("cudaErrorInvalidValue", "a launch wants a configuration") end
  local launch = {
    grid = config.gridDim, block = config.blockDim, shared = config.dynamicSmemBytes or 0, stream = config.stream,
    events = {},
  }
  local attributes = config.attrs or {}
  for i = 1, config.numAttrs or #attributes do
    local attribute = attributes[i]
    if type(attribute) ~= "table" then
      fail("cudaErrorInvalidValue", "attribute %d of the launch is a table with an id and a val", i)
    end
    local f = read[attribute.id]
    if not f then fail("cudaErrorInvalidValue", "a launch has no attribute %s", tostring(attribute.id)) end
    f(launch, attribute.val or {})
  end
  for _, event in ipairs(launch.events) do streams.event(event) end
  return launch
end

-- The launch's clusters: its own, or those that were set for the kernel.
local function cluster_of(kernel, launch)
  local set = execution.clusters(kernel)
  local cluster = launch.cluster or set.required
  if cluster and cluster[1] * cluster[2] * cluster[3] > PORTABLE and not set.larger then
    fail("cudaErrorInvalidClusterSize",
      "a cluster of %d blocks: more than %d want cudaFuncAttributeNonPortableClusterSizeAllowed",
      cluster[1] * cluster[2] * cluster[3], PORTABLE)
  end
  return cluster, set
end

local function configured(kernel, launch)
  local stream
  if not (launch.stream == nil or launch.stream == 0) then stream = streams.stream(launch.stream) end
  local flags = (launch.cooperative and 1 or 0) + (launch.dependent and 2 or 0)
  local cluster = cluster_of(kernel, launch)
  return raw.kernel_launch(kernel, flags, cluster, launch.grid, launch.block, launch.shared, stream)
end

---Launch a kernel with a table of values, or a block of bytes (extra).
function M.launch(kernel, config, values, block)
  local launch = configuration(config)
  if block then
    raw.launch_block(configured(kernel, launch), block, {})
  else
    local arguments, count = {}, values.n or #kernel.params
    for i = 1, count do
      arguments[i] = pointer.is(values[i]) and raw.pointer(values[i].address) or values[i]
    end
    configured(kernel, launch)(unpack(arguments, 1, count))
  end
  -- They stand for a point before the launch's end, and may be recorded later.
  for _, event in ipairs(launch.events) do event:record(streams.stream(launch.stream)) end
end

function M.largest(kernel, config)
  configuration(config)
  local set, most = execution.clusters(kernel), raw.properties_of().max_cluster
  if most == 0 then fail("cudaErrorNotSupported", "clusters came with compute capability 9.0") end
  return set.larger and most or math.min(most, PORTABLE)
end

function M.count(kernel, config)
  local launch = configuration(config)
  local cluster = cluster_of(kernel, launch)
  if not cluster then
    fail("cudaErrorInvalidClusterSize", "neither the configuration nor the kernel says how large clusters are")
  end
  local made = configured(kernel, launch)
  local clusters = raw.launch_clusters(made)
  if clusters >= 0 then return clusters end
  -- The device has no rule of its own: what the table of capabilities says, one multiprocessor like another.
  local block = made.block
  local blocks = occupancy.of(kernel, block[1] * block[2] * block[3], launch.shared).blocks
  return math.floor(blocks * raw.properties_of().multiprocessors / (cluster[1] * cluster[2] * cluster[3]))
end

---@param rt table
function M.install(rt)
  for id, both in pairs(M.attributes) do rt["cudaLaunchAttribute" .. both[1]] = id end
  rt.cudaClusterSchedulingPolicyDefault, rt.cudaClusterSchedulingPolicySpread = 0, 1
  rt.cudaClusterSchedulingPolicyLoadBalancing = 2
  rt.cudaEnableDefault, rt.cudaEnableLegacyStream, rt.cudaEnablePerThreadDefaultStream = 0, 1, 2
  rt.cudaDriverEntryPointSuccess, rt.cudaDriverEntryPointSymbolNotFound = 0, 1

  rt.cudaLaunchKernelExC = api(function(config, kernel, arguments)
    M.launch(names.kernel(kernel), config, arguments or {})
  end)
  ---The arguments themselves, as in C++.
  rt.cudaLaunchKernelEx = api(function(config, kernel, ...)
    M.launch(names.kernel(kernel), config, { n = select("#", ...), ... })
  end)
  rt.cudaOccupancyMaxPotentialClusterSize = api(function(kernel, config)
    return M.largest(names.kernel(kernel), config)
  end)
  rt.cudaOccupancyMaxActiveClusters = api(function(kernel, config) return M.count(names.kernel(kernel), config) end)

  -- A function of moonwarp.driver; nil and cudaDriverEntryPointSymbolNotFound if there is none.
  local function entry_point(symbol, flags)
    if type(symbol) ~= "string" or symbol == "" then
      fail("cudaErrorInvalidValue", "the name of a function of the driver API is a string")
    end
    whole(flags or 0, 0, 2, "the flags of cudaGetDriverEntryPoint")
    local found = symbol:find "^cu%u" and rawget(require "moonwarp.driver", symbol)
    if not found then return nil, 1 end
    return found, 0
  end
  rt.cudaGetDriverEntryPoint = api(function(symbol, flags) return entry_point(symbol, flags) end)
  rt.cudaGetDriverEntryPointByVersion = api(function(symbol, _version, flags) return entry_point(symbol, flags) end)
end

return M
