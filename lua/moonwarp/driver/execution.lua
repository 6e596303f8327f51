-- cuFunc…, cuParam…, cuLaunch…: functions are moonwarp's kernels.
--
-- As in CUDA, a function keeps its block shape, shared memory and parameters from call to call. Parameters are the
-- bytes of a block; values that are not plain bytes (tables, arrays, textures) are recorded by their offsets.

local raw = require "moonwarp.binding"
local execution = require "moonwarp.runtime.execution"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local runtime = require "moonwarp.runtime"
local body = require("moonwarp.runtime.result").body
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"
local textures = require "moonwarp.driver.texture"

local fail, call = result.fail, contexts.call
local M = {}

local MOST_PARAMETERS = 4096 -- of all parameters, in bytes

---@param value any
---@return moonwarp.kernel
function M.check(value)
  if raw.type(value) ~= "kernel" then
    fail("CUDA_ERROR_INVALID_HANDLE", "a function is what cuModuleGetFunction returns, not a %s", type(value))
  end
  if contexts.unloaded[value.module] then
    fail("CUDA_ERROR_INVALID_HANDLE", "the module of %s was unloaded", value.name)
  end
  return value
end
local check = M.check

local states = setmetatable({}, { __mode = "k" })

local function state_of(f)
  local state = states[check(f)]
  if not state then
    state = { shared = 0, size = 0, bytes = {}, values = {} }
    states[f] = state
  end
  return state
end

local function whole(value, least, most, what)
  if type(value) ~= "number" or value % 1 ~= 0 or value < least or value > most then
    fail("CUDA_ERROR_INVALID_VALUE", "%s is a whole number from %d to %s, got %s", what, least, tostring(most),
      tostring(value))
  end
  return value
end

-- ---- parameters ----

-- A value of a type as its bytes.
local function pack(value, dtype)
  local size = raw.dtype_size(dtype)
  local at = raw.memory_new("host", size)
  local ok, bytes = pcall(function()
    raw.memory_set(at, dtype, value)
    return raw.memory_bytes(at, size)
  end)
  raw.memory_free(at)
  if not ok then error(bytes, 0) end
  return bytes
end

local function check_offset(offset, size)
  whole(offset, 0, MOST_PARAMETERS - size, "a parameter's offset")
end

-- Bytes overwrite whatever was there, also values that begin among them.
local function set_bytes(state, offset, bytes)
  for i = 1, #bytes do
    state.bytes[offset + i] = bytes:byte(i)
    state.values[offset + i - 1] = nil
  end
end

local function set_value(state, offset, value, size)
  for i = 1, size do
    state.bytes[offset + i] = 0
    state.values[offset + i - 1] = nil
  end
  state.values[offset] = { value = value, size = size }
end

local function number_parameter(dtypes)
  return function(f, offset, value)
    local state = state_of(f)
    check_offset(offset, 4)
    if type(value) ~= "number" then
      fail("CUDA_ERROR_INVALID_VALUE", "a number of 4 bytes is wanted, got a %s; set pointers with cuParamSetv",
        pointer.is(value) and "pointer" or type(value))
    end
    set_bytes(state, offset, pack(value, value < 0 and dtypes[2] or dtypes[1]))
  end
end

local function set_any(f, offset, value, size)
  local state = state_of(f)
  whole(size, 1, MOST_PARAMETERS, "a parameter's size")
  check_offset(offset, size)
  if type(value) == "string" then
    if #value < size then
      fail("CUDA_ERROR_INVALID_VALUE", "%d bytes out of a string of %d", size, #value)
    end
    set_bytes(state, offset, value:sub(1, size))
  elseif pointer.is(value) then
    if size ~= 8 then fail("CUDA_ERROR_INVALID_VALUE", "a pointer has 8 bytes, not %d", size) end
    set_bytes(state, offset, pack(value.address, "ulonglong"))
  elseif value == nil then
    fail("CUDA_ERROR_INVALID_VALUE", "cuParamSetv wants a value: the null pointer is cu.pointer(0)")
  else
    set_value(state, offset, value, size)
  end
end

-- The whole block as a string, and values by their parameters' numbers; fails if a parameter was not set.
local function parameters_of(f, state)
  local values = {}
  for i, param in ipairs(f.params) do
    local given, last = state.values[param.offset], param.offset + param.size
    if last > state.size then
      fail("CUDA_ERROR_INVALID_VALUE", "cuParamSetSize was given %d bytes, but parameter %d '%s' of %s ends at byte %d",
        state.size, i, param.name, f.name, last)
    end
    if given and given.size ~= param.size then
      fail("CUDA_ERROR_INVALID_VALUE", "parameter %d '%s' of %s has %d bytes, but %d were set", i, param.name, f.name,
        param.size, given.size)
    end
    for byte = param.offset + 1, last do
      if not state.bytes[byte] then
        fail("CUDA_ERROR_INVALID_VALUE", "parameter %d '%s' of %s is at offset %d, but byte %d was not set", i,
          param.name, f.name, param.offset, byte - 1)
      end
    end
    if given then values[i] = given.value end
  end
  local block = {}
  for i = 1, state.size do block[i] = string.char(state.bytes[i] or 0) end
  return table.concat(block), values
end

local function install_parameters(cu)
  cu.cuParamSetSize = call(function(f, bytes)
    state_of(f).size = whole(bytes, 0, MOST_PARAMETERS, "the size of all parameters")
  end)
  cu.cuParamSeti = call(number_parameter { "uint", "int" })
  cu.cuParamSetf = call(number_parameter { "float", "float" })
  ---The value itself where C takes its address: bytes as a string, a pointer, an array, a texture object, or a number
  ---or table in the form that the kernel's parameter at that offset takes.
  cu.cuParamSetv = call(set_any)
  cu.cuParamSetTexRef = call(function(f, unit, reference)
    check(f)
    if unit ~= cu.CU_PARAM_TR_DEFAULT then
      fail("CUDA_ERROR_INVALID_VALUE", "the texture unit must be CU_PARAM_TR_DEFAULT")
    end
    textures.attach(reference, f.module)
  end)
end

-- ---- launches ----

local function launch(f, width, height, stream)
  local state = state_of(f)
  if not state.block then
    fail("CUDA_ERROR_INVALID_VALUE", "cuFuncSetBlockShape must be called before a launch of %s", f.name)
  end
  local block, values = parameters_of(f, state)
  local object
  if not (stream == nil or stream == 0) then object = streams.stream(stream) end
  textures.bind_all(f.module)
  raw.launch_block(f({ width, height, 1 }, state.block, state.shared, object), block, values)
end

-- CU_LAUNCH_PARAM_…: a parameter block, as in cuLaunchKernel's `extra`.
local function block_of(extra)
  local given = {}
  for i = 1, #extra, 2 do
    local key = extra[i]
    if key == 0 then break end
    if key ~= 1 and key ~= 2 then fail("CUDA_ERROR_INVALID_VALUE", "%s is not a CU_LAUNCH_PARAM_…", tostring(key)) end
    given[key] = extra[i + 1]
  end
  local block, size = given[1], given[2]
  if pointer.is(block) and type(size) == "number" then block = block:tostring(size) end
  if type(block) ~= "string" or type(size) ~= "number" or size > #block then
    fail("CUDA_ERROR_INVALID_VALUE", "extra wants CU_LAUNCH_PARAM_BUFFER_POINTER and a block, "
      .. "CU_LAUNCH_PARAM_BUFFER_SIZE and its size, CU_LAUNCH_PARAM_END")
  end
  return block:sub(1, size)
end

M.block_of = block_of

-- cuLaunchKernel with a table of values or a block of bytes, plain or cooperative.
local function launch_kernel(cooperative, f, gx, gy, gz, bx, by, bz, shared, stream, values, extra)
  check(f)
  if values ~= nil and extra ~= nil then
    fail("CUDA_ERROR_INVALID_VALUE", "parameters are given either as a table or as a block")
  end
  textures.bind_all(f.module)
  local grid, block = { gx, gy, gz }, { bx, by, bz }
  if extra then
    local object
    if not (stream == nil or stream == 0) then object = streams.stream(stream) end
    local configured = cooperative and f:cooperative(grid, block, shared or 0, object)
      or f(grid, block, shared or 0, object)
    raw.launch_block(configured, block_of(extra), {})
    return
  end
  values = values or {}
  execution.launch(f, grid, block, shared, stream, values.n or #f.params, values, cooperative)
end

local function install_launches(cu)
  cu.CU_LAUNCH_PARAM_END, cu.CU_LAUNCH_PARAM_BUFFER_POINTER, cu.CU_LAUNCH_PARAM_BUFFER_SIZE = 0, 1, 2

  cu.cuLaunch = call(function(f) launch(f, 1, 1) end)
  cu.cuLaunchGrid = call(function(f, width, height) launch(f, width, height) end)
  cu.cuLaunchGridAsync = call(launch)
  cu.cuLaunchKernel = call(function(...) launch_kernel(false, ...) end)
  cu.cuLaunchCooperativeKernel = call(function(...) launch_kernel(true, ...) end)
  contexts.forward(cu, { cuLaunchHostFunc = "cudaLaunchHostFunc" })
end

-- ---- attributes ----

-- CUfunction_attribute: number -> the field of cudaFuncAttributes.
local attributes = {
  [0] = "maxThreadsPerBlock", "sharedSizeBytes", "constSizeBytes", "localSizeBytes", "numRegs", "ptxVersion",
  "binaryVersion", "cacheModeCA", "maxDynamicSharedSizeBytes", "preferredShmemCarveout", "clusterDimMustBeSet",
  "requiredClusterWidth", "requiredClusterHeight", "requiredClusterDepth", "nonPortableClusterSizeAllowed",
  "clusterSchedulingPolicyPreference",
}

local function install_facts(cu)
  for number, name in pairs {
    [0] = "MAX_THREADS_PER_BLOCK", "SHARED_SIZE_BYTES", "CONST_SIZE_BYTES", "LOCAL_SIZE_BYTES", "NUM_REGS",
    "PTX_VERSION", "BINARY_VERSION", "CACHE_MODE_CA", "MAX_DYNAMIC_SHARED_SIZE_BYTES",
    "PREFERRED_SHARED_MEMORY_CARVEOUT", "CLUSTER_SIZE_MUST_BE_SET", "REQUIRED_CLUSTER_WIDTH",
    "REQUIRED_CLUSTER_HEIGHT", "REQUIRED_CLUSTER_DEPTH", "NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
    "CLUSTER_SCHEDULING_POLICY_PREFERENCE",
  } do
    cu["CU_FUNC_ATTRIBUTE_" .. name] = number
  end

  cu.cuFuncSetBlockShape = call(function(f, x, y, z)
    local state = state_of(f)
    local most = raw.properties_of()
    local block = {}
    for i, size in ipairs { x or false, y or 1, z or 1 } do
      block[i] = whole(size, 1, most.max_block[i], "a block's size")
    end
    whole(block[1] * block[2] * block[3], 1, f.max_threads, "the number of a block's threads")
    state.block = block
  end)
  cu.cuFuncSetSharedSize = call(function(f, bytes)
    local state = state_of(f)
    state.shared = whole(bytes, 0, raw.properties_of().shared_per_block_optin - f.shared_bytes,
      "the size of dynamic shared memory")
  end)
  cu.cuFuncGetAttribute = call(function(attribute, f)
    local name = attributes[attribute]
    if not name then fail("CUDA_ERROR_INVALID_VALUE", "a function has no attribute %s", tostring(attribute)) end
    return execution.attributes_of(check(f))[name]
  end)
  cu.cuFuncSetAttribute = call(function(f, attribute, value) execution.set_attribute(check(f), attribute, value) end)
  cu.cuFuncGetModule = call(function(f) return check(f).module end)
  for name, counterpart in pairs {
    cuFuncSetCacheConfig = "cudaFuncSetCacheConfig", cuFuncSetSharedMemConfig = "cudaFuncSetSharedMemConfig",
    cuOccupancyMaxActiveBlocksPerMultiprocessor = "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags = "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
  } do
    local f = body(runtime[counterpart])
    cu[name] = call(function(kernel, ...) return f(check(kernel), ...) end)
  end
  -- cuOccupancyMaxPotentialBlockSize(function, bytes of shared memory by block size or nil, bytes, limit)
  cu.cuOccupancyMaxPotentialBlockSize = call(function(f, by_size, bytes, limit)
    return body(runtime.cudaOccupancyMaxPotentialBlockSize)(check(f), by_size or bytes or 0, limit or 0)
  end)
end

---@param cu table
function M.install(cu)
  install_parameters(cu)
  install_launches(cu)
  install_facts(cu)
end

return M
