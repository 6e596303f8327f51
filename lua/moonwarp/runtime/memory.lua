-- Linear memory under CUDA's names: cudaMalloc… to cudaMemset3D. CUDA arrays are in array.lua.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local names = require "moonwarp.runtime.names"
local cuda_array = require "moonwarp.runtime.cuda_array"
local pool = require "moonwarp.runtime.pool"

local fail, api, takes, address = result.fail, result.api, result.takes, pointer.address
local M = {}

local function size_of(value, what)
  if type(value) ~= "number" or value < 0 or value % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "%s is a number of bytes, got %s", what, tostring(value))
  end
  return value
end

local function check_device(ordinal)
  if type(ordinal) ~= "number" or not raw.device_list()[ordinal + 1] then
    fail("cudaErrorInvalidDevice", "there is no device %s", tostring(ordinal))
  end
end

local function new(kind, bytes, flags) return pointer.new(raw.memory_new(kind, size_of(bytes, "a size"), flags)) end

-- Free memory if it is of one of the kinds; address 0 is ignored.
local function free(value, what, kinds)
  local at = address(value)
  if at == 0 then return end
  local info = raw.memory_find(at)
  if info and not kinds[info.kind] then
    fail("cudaErrorInvalidValue", "%s frees %s, and this is %s memory", what, kinds.all, info.kind)
  end
  raw.memory_free(at)
  pool.forget(at)
end

local host_kinds = { pinned = true, all = "what cudaMallocHost and cudaHostAlloc made" }
local device_kinds = { device = true, managed = true, all = "device and managed memory" }
local plain_kinds = { host = true, all = "what malloc made" }

-- The stream of an asynchronous function, which may be stream 0; a synchronous function has none.
local function copy(stream, dst, src, kind, width, height, depth, dpitch, drows, spitch, srows)
  size_of(width, "a count")
  pointer.source(src, function(from)
    raw.memory_copy(stream, address(dst, "the target"), from, kind, width, height, depth, dpitch, drows, spitch, srows)
  end)
end

local function fill(stream, dst, value, width, height, depth, pitch, rows)
  if type(value) ~= "number" or value % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "cudaMemset sets a byte to a number")
  end
  raw.memory_fill(stream, address(dst), value % 256, 1, size_of(width, "a count"), height, depth, pitch, rows)
end

-- Check the range of a symbol that is copied.
local function symbol_part(symbol, count, offset)
  local found = names.symbol(symbol)
  offset = offset or 0
  if offset < 0 or offset + size_of(count, "a count") > found.size then
    fail("cudaErrorInvalidValue", "%d bytes from byte %d on exceed %s, which has %d bytes", count, offset,
      found.name, found.size)
  end
  return found.address + offset
end

-- A side of cudaMemcpy3DParms: a CUDA array, or a pitched pointer. If one side is an array, positions in it and the
-- width are counted in its texels, of `size` bytes.
local function side_of(p, which, size)
  local array, at, pos = p[which .. "Array"], p[which .. "Ptr"], p[which .. "Pos"] or {}
  if (array == nil) == (at == nil) then
    fail("cudaErrorInvalidValue", "cudaMemcpy3D wants a source (srcPtr or srcArray) and a target (dstPtr or dstArray)")
  end
  local x, y, z = pos.x or 0, pos.y or 0, pos.z or 0
  if array then return { array = cuda_array.check(array), x = x * size, y = y, z = z } end
  return {
    at = address(at.ptr) + x + y * at.pitch + z * at.pitch * at.ysize, pitch = at.pitch, rows = at.ysize,
  }
end

local function texel_size(p)
  local array = p.srcArray or p.dstArray
  if not array then return 1 end
  local _, _, _, size = cuda_array.extent(array)
  return size
end

local function copy3d(stream, p)
  if type(p.extent) ~= "table" then
    fail("cudaErrorInvalidValue", "cudaMemcpy3D wants a table with an extent")
  end
  local size, extent = texel_size(p), p.extent
  cuda_array.copy(stream, side_of(p, "dst", size), side_of(p, "src", size), extent.width * size, extent.height,
    extent.depth, p.kind or 4)
end

-- A synchronous function, and its form with Async at the end of its name and a stream after the arguments.
local function both(rt, name, f)
  rt[name] = api(takes(name, function(...) f(nil, ...) end))
  rt[name .. "Async"] = api(takes(name .. "Async", function(...)
    local list, count = { ... }, select("#", ...)
    f(streams.stream(list[count]), (table.unpack or unpack)(list, 1, count - 1)) -- luacheck: ignore 113
  end))
end

local function install_making(rt)
  rt.cudaHostAllocDefault, rt.cudaHostAllocPortable, rt.cudaHostAllocMapped, rt.cudaHostAllocWriteCombined = 0, 1, 2, 4
  rt.cudaHostRegisterDefault, rt.cudaHostRegisterPortable, rt.cudaHostRegisterMapped = 0, 1, 2
  rt.cudaMemAttachGlobal, rt.cudaMemAttachHost, rt.cudaMemAttachSingle = 1, 2, 4

  rt.cudaMalloc = api(function(bytes) return new("device", bytes) end)
  rt.cudaFree = api(function(p) free(p, "cudaFree", device_kinds) end)
  rt.cudaMallocHost = api(function(bytes, _flags) return new("pinned", bytes) end)
  rt.cudaHostAlloc = api(function(bytes, flags)
    flags = flags or 0
    if type(flags) ~= "number" or flags < 0 or flags > 7 or flags % 1 ~= 0 then
      fail("cudaErrorInvalidValue", "the flags of cudaHostAlloc are 1, 2 and 4")
    end
    return new("pinned", bytes, flags)
  end)
  rt.cudaFreeHost = api(function(p) free(p, "cudaFreeHost", host_kinds) end)
  rt.cudaMallocManaged = api(function(bytes, flags)
    flags = flags or rt.cudaMemAttachGlobal
    if flags ~= rt.cudaMemAttachGlobal and flags ~= rt.cudaMemAttachHost then
      fail("cudaErrorInvalidValue", "the flags of cudaMallocManaged are cudaMemAttachGlobal or cudaMemAttachHost")
    end
    if bytes == 0 then fail("cudaErrorInvalidValue", "managed memory of 0 bytes") end
    return new("managed", bytes, flags)
  end)
  rt.cudaMallocPitch = api(function(width, height)
    local align = raw.properties_of().texture_alignment
    local pitch = math.ceil(size_of(width, "a width") / align) * align
    return new("device", pitch * size_of(height, "a height")), pitch
  end)
  rt.cudaMalloc3D = api(takes("cudaMalloc3D", function(extent)
    if type(extent) ~= "table" then fail("cudaErrorInvalidValue", "cudaMalloc3D wants an extent") end
    local rows = size_of(extent.height, "a height") * size_of(extent.depth, "a depth")
    local p, pitch = result.body(rt.cudaMallocPitch)(extent.width, rows)
    return rt.make_cudaPitchedPtr(p, pitch, extent.width, extent.height)
  end))
  rt.cudaHostRegister = api(takes("cudaHostRegister", function(p, bytes, flags)
    raw.memory_register(address(p), size_of(bytes, "a size"), flags or 0)
  end))
  rt.cudaHostUnregister = api(function(p) raw.memory_unregister(address(p)) end)
  rt.cudaHostGetDevicePointer = api(function(p, flags)
    if (flags or 0) ~= 0 then fail("cudaErrorInvalidValue", "the flags of cudaHostGetDevicePointer are 0") end
    local info = raw.memory_find(address(p))
    if info and info.kind == "registered" then
      fail("cudaErrorNotSupported", "this device maps memory of cudaHostAlloc, but not registered memory")
    end
    if not info or info.kind ~= "pinned" then
      fail("cudaErrorInvalidValue", "this memory was not allocated by cudaHostAlloc")
    end
    return pointer.new(address(p), pointer.is(p) and rawget(p, "dtype") or nil)
  end)
  rt.cudaHostGetFlags = api(function(p)
    local info = raw.memory_find(address(p))
    if not info or info.kind ~= "pinned" then fail("cudaErrorInvalidValue", "this is not pinned memory") end
    return info.flags
  end)

  function rt.make_cudaPitchedPtr(p, pitch, xsize, ysize)
    return { ptr = p, pitch = pitch, xsize = xsize, ysize = ysize }
  end

  function rt.make_cudaExtent(width, height, depth) return { width = width, height = height, depth = depth } end

  function rt.make_cudaPos(x, y, z) return { x = x, y = y, z = z } end
end

local function install_host(rt)
  ---C's malloc, free, sizeof and cast, for translating host code line by line: Lua can read and write the memory
  ---through the pointer, whose first element is p[0].
  rt.malloc = takes("malloc", function(bytes, dtype)
    return pointer.new(raw.memory_new("host", bytes), dtype)
  end)

  function rt.free(p)
    free(p, "free", plain_kinds)
  end

  function rt.sizeof(dtype) return (raw.dtype_size(dtype)) end

  function rt.cast(dtype, p) return pointer.new(address(p), dtype) end
end

local function install_copies(rt)
  rt.cudaMemcpyHostToHost, rt.cudaMemcpyHostToDevice, rt.cudaMemcpyDeviceToHost = 0, 1, 2
  rt.cudaMemcpyDeviceToDevice, rt.cudaMemcpyDefault = 3, 4

  local function check_kind(kind)
    if type(kind) ~= "number" or kind < 0 or kind > 4 or kind % 1 ~= 0 then
      fail("cudaErrorInvalidMemcpyDirection", "%s is not a cudaMemcpyKind", tostring(kind))
    end
    return kind
  end

  both(rt, "cudaMemcpy", function(stream, dst, src, count, kind)
    copy(stream, dst, src, check_kind(kind), count)
  end)
  both(rt, "cudaMemcpy2D", function(stream, dst, dpitch, src, spitch, width, height, kind)
    if width > dpitch or width > spitch then
      fail("cudaErrorInvalidPitchValue", "rows of %d bytes in pitches of %d and %d", width, dpitch, spitch)
    end
    copy(stream, dst, src, check_kind(kind), width, height, 1, dpitch, height, spitch, height)
  end)
  both(rt, "cudaMemcpy3D", function(stream, p) copy3d(stream, p) end)
  both(rt, "cudaMemcpyPeer", function(stream, dst, to, src, from, count)
    check_device(to)
    check_device(from)
    copy(stream, dst, src, 4, count)
  end)
  both(rt, "cudaMemcpy3DPeer", function(stream, p)
    check_device(p.srcDevice or 0)
    check_device(p.dstDevice or 0)
    copy3d(stream, p)
  end)
  both(rt, "cudaMemset", function(stream, dst, value, count) fill(stream, dst, value, count) end)
  both(rt, "cudaMemset2D", function(stream, dst, pitch, value, width, height)
    if width > pitch then fail("cudaErrorInvalidPitchValue", "rows of %d bytes in a pitch of %d", width, pitch) end
    fill(stream, dst, value, width, height, 1, pitch, height)
  end)
  both(rt, "cudaMemset3D", function(stream, p, value, extent)
    fill(stream, p.ptr, value, extent.width, extent.height, extent.depth, p.pitch, p.ysize)
  end)

  both(rt, "cudaMemcpyToSymbol", function(stream, symbol, src, count, offset, kind)
    copy(stream, symbol_part(symbol, count, offset), src, kind or 1, count)
  end)
  both(rt, "cudaMemcpyFromSymbol", function(stream, dst, symbol, count, offset, kind)
    copy(stream, dst, symbol_part(symbol, count, offset), kind or 2, count)
  end)
  rt.cudaGetSymbolAddress = api(function(symbol) return pointer.new(names.symbol(symbol).address) end)
  rt.cudaGetSymbolSize = api(function(symbol) return names.symbol(symbol).size end)
end

local function install_facts(rt)
  rt.cudaMemoryTypeUnregistered, rt.cudaMemoryTypeHost, rt.cudaMemoryTypeDevice, rt.cudaMemoryTypeManaged = 0, 1, 2, 3
  local types = { host = 0, pinned = 1, registered = 1, device = 2, managed = 3 }

  rt.cudaMemGetInfo = api(function()
    local memory = raw.memory()
    return math.max(0, memory.total - memory.bytes), memory.total
  end)
  rt.cudaPointerGetAttributes = api(function(p)
    local at = address(p)
    local info = raw.memory_find(at) or { kind = "host" }
    local kind = types[info.kind]
    return {
      type = kind,
      device = names.ordinal(info.device) or names.ordinal(raw.device().name),
      devicePointer = info.kind ~= "host" and info.kind ~= "registered" and pointer.new(at) or nil,
      hostPointer = info.kind ~= "device" and pointer.new(at) or nil,
    }
  end)
  rt.cudaMemAdvise = api(function(p, bytes, _advice, _device)
    local info = raw.memory_find(address(p))
    if not info or info.kind ~= "managed" or address(p) + bytes > info.address + info.bytes then
      fail("cudaErrorInvalidValue", "cudaMemAdvise takes managed memory")
    end
  end)
  rt.cudaMemPrefetchAsync = api(function(p, bytes, device, stream)
    local info = raw.memory_find(address(p))
    if not info or info.kind ~= "managed" or address(p) + bytes > info.address + info.bytes then
      fail("cudaErrorInvalidValue", "cudaMemPrefetchAsync takes managed memory")
    end
    if device ~= -1 and not raw.device_list()[device + 1] then
      fail("cudaErrorInvalidDevice", "there is no device %d", device)
    end
    streams.stream(stream)
  end)
  rt.cudaStreamAttachMemAsync = api(function(stream, p, _bytes, _flags)
    streams.stream(stream)
    local info = raw.memory_find(address(p))
    if not info or info.kind ~= "managed" then
      fail("cudaErrorInvalidValue", "cudaStreamAttachMemAsync takes managed memory")
    end
  end)
end

---@param rt table
function M.install(rt)
  install_making(rt)
  install_host(rt)
  install_copies(rt)
  install_facts(rt)
end

return M
