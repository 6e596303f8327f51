-- cuMemcpy…: between the host, linear memory and CUDA arrays, by bytes, rows and boxes.

local raw = require "moonwarp.binding"
local pointer = require "moonwarp.runtime.pointer"
local cuda_array = require "moonwarp.runtime.cuda_array"
local runtime = require "moonwarp.runtime"
local body = require("moonwarp.runtime.result").body
local result = require "moonwarp.driver.result"
local contexts = require "moonwarp.driver.context"
local both = require("moonwarp.driver.memory").both

local fail, address = result.fail, pointer.address
local M = {}

-- cudaMemcpyKind.
local HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, ANY = 1, 2, 3, 4

local function count_of(value, what)
  if type(value) ~= "number" or value < 0 or value % 1 ~= 0 then
    fail("CUDA_ERROR_INVALID_VALUE", "%s is a whole number that is not negative, got %s", what, tostring(value))
  end
  return value
end

-- ---- linear copies ----

local function linear(stream, dst, src, count, direction)
  count_of(count, "a count")
  pointer.source(src, function(at) raw.memory_copy(stream, address(dst, "the target"), at, direction, count) end)
end

-- The position of byte `offset` of an array, as a byte of a row.
local function place(array, offset)
  local across = cuda_array.extent(array)
  count_of(offset, "an offset")
  return offset % across, math.floor(offset / across)
end

local function to_array(stream, array, offset, src, count, direction)
  local x, y = place(array, offset)
  count_of(count, "a count")
  pointer.source(src, function(at) cuda_array.copy_linear(stream, array, x, y, at, count, true, direction) end)
end

local function from_array(stream, dst, array, offset, count, direction)
  local x, y = place(array, offset)
  cuda_array.copy_linear(stream, array, x, y, address(dst, "the target"), count_of(count, "a count"), false, direction)
end

local function install_linear(cu)
  both(cu, "cuMemcpy", 3, function(stream, dst, src, count) linear(stream, dst, src, count, ANY) end)
  both(cu, "cuMemcpyHtoD", 3, function(stream, dst, src, count) linear(stream, dst, src, count, HOST_TO_DEVICE) end)
  both(cu, "cuMemcpyDtoH", 3, function(stream, dst, src, count) linear(stream, dst, src, count, DEVICE_TO_HOST) end)
  both(cu, "cuMemcpyDtoD", 3, function(stream, dst, src, count) linear(stream, dst, src, count, DEVICE_TO_DEVICE) end)
  both(cu, "cuMemcpyHtoA", 4, function(stream, array, offset, src, count)
    to_array(stream, array, offset, src, count, HOST_TO_DEVICE)
  end)
  both(cu, "cuMemcpyAtoH", 4, function(stream, dst, array, offset, count)
    from_array(stream, dst, array, offset, count, DEVICE_TO_HOST)
  end)
  cu.cuMemcpyDtoA = contexts.call(function(array, offset, src, count)
    to_array(nil, array, offset, src, count, DEVICE_TO_DEVICE)
  end)
  cu.cuMemcpyAtoD = contexts.call(function(dst, array, offset, count)
    from_array(nil, dst, array, offset, count, DEVICE_TO_DEVICE)
  end)
  cu.cuMemcpyAtoA = contexts.call(function(dst, dst_offset, src, src_offset, count)
    local dx, dy = place(dst, dst_offset)
    local sx, sy = place(src, src_offset)
    cuda_array.copy_linear_arrays(dst, dx, dy, src, sx, sy, count_of(count, "a count"))
  end)
  both(cu, "cuMemcpyPeer", 5, function(stream, dst, to, src, from, count)
    local f = body(stream and runtime.cudaMemcpyPeerAsync or runtime.cudaMemcpyPeer)
    f(dst, contexts.device_of(to), src, contexts.device_of(from), count, stream)
  end)
end

-- ---- rows and boxes ----

local HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4

local function field(p, name) return count_of(p[name] or 0, name) end

-- One side of a CUDA_MEMCPY2D or CUDA_MEMCPY3D, `which` being "src" or "dst".
local function side_of(p, which, width, height, depth)
  local kind = p[which .. "MemoryType"]
  local x, y, z = field(p, which .. "XInBytes"), field(p, which .. "Y"), field(p, which .. "Z")
  if kind == ARRAY then
    return { array = cuda_array.check(p[which .. "Array"]), x = x, y = y, z = z }
  end
  if kind ~= HOST and kind ~= DEVICE and kind ~= UNIFIED then
    fail("CUDA_ERROR_INVALID_VALUE", "%sMemoryType is CU_MEMORYTYPE_HOST, _DEVICE, _ARRAY or _UNIFIED, got %s", which,
      tostring(kind))
  end
  local pitch, rows = field(p, which .. "Pitch"), field(p, which .. "Height")
  if pitch == 0 then pitch = x + width end
  if rows == 0 then rows = y + height end
  if pitch < x + width or depth > 1 and rows < y + height then
    fail("CUDA_ERROR_INVALID_VALUE", "%s: %d bytes from byte %d on of rows of %d, %d rows from row %d on of %d", which,
      width, x, pitch, height, y, rows)
  end
  local given = p[which .. (kind == HOST and "Host" or "Device")]
  return { given = given, skip = x + y * pitch + z * pitch * rows, pitch = pitch, rows = rows, host = kind == HOST,
    unified = kind == UNIFIED }
end

-- The cudaMemcpyKind: the sum of 2 if the copy is from the device and 1 if it is to the device.
local function direction_of(dst, src)
  if dst.unified or src.unified then return ANY end
  return (src.host and 0 or DEVICE_TO_HOST) + (dst.host and 0 or HOST_TO_DEVICE)
end

---Copy as a CUDA_MEMCPY2D or CUDA_MEMCPY3D describes, in a stream or, with nil, waiting.
local function copy(stream, p, what)
  if type(p) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "%s is a table, got a %s", what, type(p)) end
  local width, height, depth = field(p, "WidthInBytes"), field(p, "Height"), p.Depth and field(p, "Depth") or 1
  local dst, src = side_of(p, "dst", width, height, depth), side_of(p, "src", width, height, depth)
  local direction = direction_of(dst, src)
  if not dst.array then dst.at = address(dst.given, "the target") + dst.skip end
  if src.array then return cuda_array.copy(stream, dst, src, width, height, depth, direction) end
  pointer.source(src.given, function(at)
    src.at = at + src.skip
    cuda_array.copy(stream, dst, src, width, height, depth, direction)
  end)
end

M.copy = copy

---@param cu table
function M.install(cu)
  install_linear(cu)
  both(cu, "cuMemcpy2D", 1, function(stream, p) copy(stream, p, "CUDA_MEMCPY2D") end)
  cu.cuMemcpy2DUnaligned = contexts.call(function(p) copy(nil, p, "CUDA_MEMCPY2D") end)
  both(cu, "cuMemcpy3D", 1, function(stream, p) copy(stream, p, "CUDA_MEMCPY3D") end)
  both(cu, "cuMemcpy3DPeer", 1, function(stream, p)
    if type(p) ~= "table" then fail("CUDA_ERROR_INVALID_VALUE", "CUDA_MEMCPY3D_PEER is a table") end
    contexts.device_of(p.srcContext)
    contexts.device_of(p.dstContext)
    copy(stream, p, "CUDA_MEMCPY3D_PEER")
  end)
end

return M
