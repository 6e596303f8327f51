-- cuMem…: linear memory. Allocations belong to the current context.

local raw = require "moonwarp.binding"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local runtime = require "moonwarp.runtime"
local body = require("moonwarp.runtime.result").body
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"

local fail, call, address = result.fail, contexts.call, pointer.address
local M = {}

local function own(p, ...)
  if p.address ~= 0 then contexts.own_address(p.address) end
  return p, ...
end

local function size_of(bytes, what)
  if type(bytes) ~= "number" or bytes < 1 or bytes % 1 ~= 0 then
    fail("CUDA_ERROR_INVALID_VALUE", "%s is a whole number above 0, got %s", what, tostring(bytes))
  end
  return bytes
end

-- A function of the runtime that allocates `bytes` bytes, in the current context; 0 bytes are refused.
local function making(counterpart)
  local f = body(runtime[counterpart])
  return call(function(bytes, ...) return own(f(size_of(bytes, "a size"), ...)) end)
end

local function freeing(counterpart)
  local f = body(runtime[counterpart])
  return call(function(p, ...)
    f(p, ...)
    contexts.disown_address(address(p))
  end)
end

local function alloc_pitch(width, height, element)
  if element ~= 4 and element ~= 8 and element ~= 16 then
    fail("CUDA_ERROR_INVALID_VALUE", "elements of pitched memory have 4, 8 or 16 bytes, not %s", tostring(element))
  end
  return own(body(runtime.cudaMallocPitch)(size_of(width, "a width"), size_of(height, "a height")))
end

local function install_making(cu)
  cu.CU_MEMHOSTALLOC_PORTABLE, cu.CU_MEMHOSTALLOC_DEVICEMAP, cu.CU_MEMHOSTALLOC_WRITECOMBINED = 1, 2, 4
  cu.CU_MEMHOSTREGISTER_PORTABLE, cu.CU_MEMHOSTREGISTER_DEVICEMAP = 1, 2
  cu.CU_MEM_ATTACH_GLOBAL, cu.CU_MEM_ATTACH_HOST, cu.CU_MEM_ATTACH_SINGLE = 1, 2, 4

  cu.cuMemAlloc = making "cudaMalloc"
  cu.cuMemAllocHost = making "cudaMallocHost"
  cu.cuMemHostAlloc = making "cudaHostAlloc"
  cu.cuMemAllocManaged = making "cudaMallocManaged"
  cu.cuMemAllocAsync = making "cudaMallocAsync"
  cu.cuMemAllocFromPoolAsync = making "cudaMallocFromPoolAsync"
  cu.cuMemAllocPitch = call(alloc_pitch)
  cu.cuMemFree = freeing "cudaFree"
  cu.cuMemFreeHost = freeing "cudaFreeHost"
  cu.cuMemFreeAsync = freeing "cudaFreeAsync"
  contexts.forward(cu, {
    cuMemHostGetDevicePointer = "cudaHostGetDevicePointer", cuMemHostGetFlags = "cudaHostGetFlags",
    cuMemHostRegister = "cudaHostRegister", cuMemHostUnregister = "cudaHostUnregister",
    cuMemGetInfo = "cudaMemGetInfo", cuMemPrefetchAsync = "cudaMemPrefetchAsync", cuMemAdvise = "cudaMemAdvise",
    cuMemPoolGetAttribute = "cudaMemPoolGetAttribute", cuMemPoolSetAttribute = "cudaMemPoolSetAttribute",
    cuMemPoolTrimTo = "cudaMemPoolTrimTo", cuMemPoolCreate = "cudaMemPoolCreate",
    cuMemPoolDestroy = "cudaMemPoolDestroy",
  })
  cu.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, cu.CU_MEMPOOL_ATTR_USED_MEM_CURRENT, cu.CU_MEMPOOL_ATTR_USED_MEM_HIGH = 4, 7, 8
end

-- ---- attributes ----

local function install_facts(cu)
  cu.CU_MEMORYTYPE_HOST, cu.CU_MEMORYTYPE_DEVICE, cu.CU_MEMORYTYPE_ARRAY, cu.CU_MEMORYTYPE_UNIFIED = 1, 2, 3, 4

  cu.cuMemGetAddressRange = call(function(p)
    local info = raw.memory_find(address(p))
    if not info or info.kind == "host" then
      fail("CUDA_ERROR_NOT_FOUND", "no memory that the driver allocated is at this address")
    end
    return pointer.new(info.address), info.bytes
  end)

  local function find(p)
    local info = raw.memory_find(address(p))
    if not info or info.kind == "host" then
      fail("CUDA_ERROR_INVALID_VALUE", "no memory that the driver knows is at this address")
    end
    return info
  end
  local attributes = {
    CONTEXT = { 1, function() return contexts.current() end },
    MEMORY_TYPE = { 2, function(info)
      return (info.kind == "pinned" or info.kind == "registered") and cu.CU_MEMORYTYPE_HOST or cu.CU_MEMORYTYPE_DEVICE
    end },
    DEVICE_POINTER = { 3, function(info, p)
      if info.kind == "registered" then
        fail("CUDA_ERROR_INVALID_VALUE", "the device does not reach registered memory")
      end
      return pointer.new(address(p))
    end },
    HOST_POINTER = { 4, function(info, p)
      if info.kind == "device" then fail("CUDA_ERROR_INVALID_VALUE", "the host does not reach device memory") end
      return pointer.new(address(p))
    end },
    IS_MANAGED = { 8, function(info) return info.kind == "managed" and 1 or 0 end },
    DEVICE_ORDINAL = { 9, function() return contexts.current().device end },
    RANGE_START_ADDR = { 11, function(info) return pointer.new(info.address) end },
    RANGE_SIZE = { 12, function(info) return info.bytes end },
  }
  local by_number = {}
  for name, entry in pairs(attributes) do
    cu["CU_POINTER_ATTRIBUTE_" .. name] = entry[1]
    by_number[entry[1]] = entry[2]
  end
  cu.cuPointerGetAttribute = call(function(attribute, p)
    if not by_number[attribute] then
      fail("CUDA_ERROR_INVALID_VALUE", "a pointer has no attribute %s", tostring(attribute))
    end
    return by_number[attribute](find(p), p)
  end)
end

-- ---- memset ----

local function check_fill(at, value, size)
  if at % size ~= 0 then
    fail("CUDA_ERROR_INVALID_VALUE", "elements of %d bytes cannot begin at address 0x%x", size, at)
  end
  if type(value) ~= "number" or value % 1 ~= 0 or value < -2 ^ (8 * size - 1) or value >= 2 ^ (8 * size) then
    fail("CUDA_ERROR_INVALID_VALUE", "a value of %d bits is wanted, got %s", 8 * size, tostring(value))
  end
  return value % 2 ^ (8 * size)
end

-- A function, and its form with Async at the end of its name and a stream after its `count` arguments.
local function both(cu, name, count, f)
  cu[name] = call(function(...) f(nil, ...) end)
  cu[name .. "Async"] = call(function(...) f(streams.stream((select(count + 1, ...))), ...) end)
end
M.both = both

local function install_sets(cu)
  for bits, size in pairs { [8] = 1, [16] = 2, [32] = 4 } do
    both(cu, "cuMemsetD" .. bits, 3, function(stream, p, value, count)
      local at = address(p)
      if type(count) ~= "number" or count < 0 or count % 1 ~= 0 then
        fail("CUDA_ERROR_INVALID_VALUE", "a count of elements is a whole number, got %s", tostring(count))
      end
      raw.memory_fill(stream, at, check_fill(at, value, size), size, count)
    end)
    both(cu, "cuMemsetD2D" .. bits, 5, function(stream, p, pitch, value, width, height)
      local at = address(p)
      if type(pitch) ~= "number" or pitch % size ~= 0 then
        fail("CUDA_ERROR_INVALID_VALUE", "rows of elements of %d bytes cannot be %s bytes apart", size, tostring(pitch))
      end
      raw.memory_fill(stream, at, check_fill(at, value, size), size, width, height, 1, pitch, height)
    end)
  end
end

---@param cu table
function M.install(cu)
  install_making(cu)
  install_facts(cu)
  install_sets(cu)
end

return M
