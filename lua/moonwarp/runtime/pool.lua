-- Stream-ordered memory and its pools: allocated at once, freed when the stream reaches the free.
--
-- A pool only counts and limits. Freed memory goes to the device's own heap, which retains it for a while, so a pool
-- reports as reserved what is used, whatever its release threshold is.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local names = require "moonwarp.runtime.names"

local fail, api, address = result.fail, result.api, pointer.address
local M = {}

local pools = {} -- pool -> true
local default, current = {}, {} -- by device name
local owners = {} -- address -> pool

local function new_pool(device, most)
  -- used, high: bytes allocated now, and their maximum; most: the limit in bytes, 0 for none.
  local pool = { device = device, used = 0, high = 0, most = most or 0, sizes = {}, options = { 1, 1, 1, [4] = 0 } }
  pools[pool] = true
  return pool
end

local function default_of(device)
  default[device] = default[device] or new_pool(device)
  return default[device]
end

local function current_of(device) return current[device] or default_of(device) end

local function check(pool)
  if not pools[pool] then fail("cudaErrorInvalidValue", "this is not a memory pool, or it was destroyed") end
  return pool
end

local function take(pool, bytes, stream)
  if type(bytes) ~= "number" or bytes < 0 or bytes % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "a size is a number of bytes, got %s", tostring(bytes))
  end
  local where = streams.stream(stream)
  if where and where.device.name ~= pool.device then
    fail("cudaErrorInvalidValue", "the pool belongs to %s, but the stream to %s", pool.device, where.device.name)
  end
  if pool.most > 0 and pool.used + bytes > pool.most then
    fail("cudaErrorMemoryAllocation", "the pool has %d bytes at most, and %d of them are in use", pool.most, pool.used)
  end
  local at = raw.memory_new("device", bytes, 0)
  if at ~= 0 then
    pool.sizes[at], owners[at] = bytes, pool
    pool.used = pool.used + bytes
    pool.high = math.max(pool.high, pool.used)
  end
  return pointer.new(at)
end

---Count the memory at an address as freed.
---@param at integer
function M.forget(at)
  local pool = owners[at]
  if not pool then return end
  pool.used = pool.used - pool.sizes[at]
  pool.sizes[at], owners[at] = nil, nil
end

-- Attributes by number: 1 to 3 are about reuse of memory and have no effect here; 4 is the release threshold.
local function get(pool, attribute)
  if pool.options[attribute] then return pool.options[attribute] end
  if attribute == 5 or attribute == 7 then return pool.used end
  if attribute == 6 or attribute == 8 then return pool.high end
  fail("cudaErrorInvalidValue", "a pool has no attribute %s", tostring(attribute))
end

local function set(pool, attribute, value)
  if type(value) ~= "number" or value < 0 then
    fail("cudaErrorInvalidValue", "an attribute of a pool is a number that is not negative, got %s", tostring(value))
  end
  if pool.options[attribute] then
    pool.options[attribute] = value
  elseif (attribute == 6 or attribute == 8) and value == 0 then
    pool.high = pool.used
  else
    fail("cudaErrorInvalidValue", "a pool has no attribute %s that can be set to %s", tostring(attribute), value)
  end
end

local function create(props)
  local location = type(props) == "table" and props.location or {}
  if type(props) ~= "table" or (props.allocType or 1) ~= 1 or (location.type or 1) ~= 1 then
    fail("cudaErrorInvalidValue",
      "cudaMemPoolCreate wants { allocType = cudaMemAllocationTypePinned, location = { type = "
        .. "cudaMemLocationTypeDevice, id = 0 }, maxSize = 0 }")
  end
  return new_pool(names.device(location.id or 0), props.maxSize)
end

local function destroy(pool)
  check(pool)
  if default[pool.device] == pool then
    fail("cudaErrorInvalidValue", "the default pool of a device cannot be destroyed")
  end
  if current[pool.device] == pool then current[pool.device] = nil end
  pools[pool] = nil -- its allocations live until they are freed
end

local attributes = {
  "ReuseFollowEventDependencies", "ReuseAllowOpportunistic", "ReuseAllowInternalDependencies", "ReleaseThreshold",
  "AttrReservedMemCurrent", "AttrReservedMemHigh", "AttrUsedMemCurrent", "AttrUsedMemHigh",
}

---@param rt table
function M.install(rt)
  for i, name in ipairs(attributes) do rt["cudaMemPool" .. name] = i end
  rt.cudaMemPoolAttrReleaseThreshold = rt.cudaMemPoolReleaseThreshold -- as CUDA 11.2 calls it
  rt.cudaMemAllocationTypePinned, rt.cudaMemLocationTypeDevice = 1, 1

  rt.cudaMallocAsync = api(function(bytes, stream) return take(current_of(raw.device().name), bytes, stream) end)
  rt.cudaMallocFromPoolAsync = api(function(bytes, pool, stream) return take(check(pool), bytes, stream) end)
  rt.cudaFreeAsync = api(function(p, stream)
    local at, where = address(p), streams.stream(stream)
    if at == 0 then return end
    local info = raw.memory_find(at)
    if not info then fail("cudaErrorInvalidValue", "nothing was allocated there, or it was freed") end
    if info.kind ~= "device" and info.kind ~= "managed" then
      fail("cudaErrorInvalidValue", "cudaFreeAsync frees device memory, but this is %s memory", info.kind)
    end
    raw.memory_free_in(at, where)
    M.forget(at)
  end)
  rt.cudaDeviceGetDefaultMemPool = api(function(ordinal) return default_of(names.device(ordinal or 0)) end)
  rt.cudaDeviceGetMemPool = api(function(ordinal) return current_of(names.device(ordinal or 0)) end)
  rt.cudaDeviceSetMemPool = api(function(ordinal, pool)
    local device = names.device(ordinal)
    if check(pool).device ~= device then fail("cudaErrorInvalidValue", "the pool belongs to %s", pool.device) end
    current[device] = pool
  end)
  rt.cudaMemPoolCreate = api(create)
  rt.cudaMemPoolDestroy = api(destroy)
  rt.cudaMemPoolGetAttribute = api(function(pool, attribute) return get(check(pool), attribute) end)
  rt.cudaMemPoolSetAttribute = api(function(pool, attribute, value) set(check(pool), attribute, value) end)
  rt.cudaMemPoolTrimTo = api(function(pool, bytes)
    check(pool)
    if type(bytes) ~= "number" or bytes < 0 then fail("cudaErrorInvalidValue", "a pool is trimmed to a size") end
  end)
end

return M
