-- CUDA arrays under CUDA's names: they are moonwarp's CUDA arrays.

local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local streams = require "moonwarp.runtime.stream"
local channels = require "moonwarp.runtime.texel_types"
local cuda_array = require "moonwarp.runtime.cuda_array"

local fail, api, takes, address = result.fail, result.api, result.takes, pointer.address
local M = {}

local HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2

-- Check the cudaMemcpyKind of a copy to or from an array: it must not have the opposite direction, nor be host to host.
local function check_kind(kind, wrong)
  if type(kind) ~= "number" or kind < 1 or kind > 4 or kind % 1 ~= 0 or kind == wrong then
    fail("cudaErrorInvalidMemcpyDirection", "%s is not a cudaMemcpyKind of such a copy", tostring(kind))
  end
  return kind
end

local function check_pitch(width, pitch)
  if width > pitch then fail("cudaErrorInvalidPitchValue", "rows of %d bytes in a pitch of %d", width, pitch) end
end

-- A function f(stream, ...), and its form with Async at the end of its name and a stream after the arguments.
local function both(rt, name, count, f)
  rt[name] = api(function(...) f(nil, ...) end)
  rt[name .. "Async"] = api(function(...) f(streams.stream((select(count + 1, ...))), ...) end)
end

---@param rt table
function M.install(rt)
  rt.cudaArrayDefault, rt.cudaArrayLayered, rt.cudaArraySurfaceLoadStore = 0, 1, 2
  rt.cudaArrayCubemap, rt.cudaArrayTextureGather = 4, 8

  rt.cudaMallocArray = api(takes("cudaMallocArray", function(desc, width, height, flags)
    if (flags or 0) % 2 >= 1 or (flags or 0) % 8 >= 4 then
      fail("cudaErrorInvalidValue", "arrays of layers and cubemaps are made by cudaMalloc3DArray")
    end
    return cuda_array.new(channels.dtype(desc), width, height, 0, flags)
  end))
  rt.cudaMalloc3DArray = api(function(desc, extent, flags)
    if type(extent) ~= "table" then fail("cudaErrorInvalidValue", "cudaMalloc3DArray wants an extent") end
    return cuda_array.new(channels.dtype(desc), extent.width, extent.height, extent.depth, flags)
  end)
  rt.cudaFreeArray = api(function(array)
    if array ~= nil then cuda_array.check(array):free() end
  end)
  rt.cudaGetChannelDesc = api(function(array) return channels.desc((cuda_array.check(array):describe())) end)
  rt.cudaArrayGetInfo = api(function(array)
    local dtype, width, height, depth, flags = cuda_array.describe(array)
    return channels.desc(dtype), { width = width, height = height, depth = depth }, flags
  end)

  both(rt, "cudaMemcpyToArray", 6, function(stream, array, x, y, src, count, kind)
    check_kind(kind, DEVICE_TO_HOST)
    pointer.source(src, function(at) cuda_array.copy_linear(stream, array, x, y, at, count, true, kind) end)
  end)
  both(rt, "cudaMemcpyFromArray", 6, function(stream, dst, array, x, y, count, kind)
    check_kind(kind, HOST_TO_DEVICE)
    cuda_array.copy_linear(stream, array, x, y, address(dst), count, false, kind)
  end)
  both(rt, "cudaMemcpy2DToArray", 8, function(stream, array, x, y, src, pitch, width, height, kind)
    check_kind(kind, DEVICE_TO_HOST)
    check_pitch(width, pitch)
    pointer.source(src, function(at)
      cuda_array.copy(stream, { array = array, x = x, y = y, z = 0 }, { at = at, pitch = pitch, rows = height }, width,
        height, 1, kind)
    end)
  end)
  both(rt, "cudaMemcpy2DFromArray", 8, function(stream, dst, pitch, array, x, y, width, height, kind)
    check_kind(kind, HOST_TO_DEVICE)
    check_pitch(width, pitch)
    cuda_array.copy(stream, { at = address(dst), pitch = pitch, rows = height }, { array = array, x = x, y = y, z = 0 },
      width, height, 1, kind)
  end)
  rt.cudaMemcpyArrayToArray = api(takes("cudaMemcpyArrayToArray", cuda_array.copy_linear_arrays))
  rt.cudaMemcpy2DArrayToArray = api(function(dst, dx, dy, src, sx, sy, width, height, _kind)
    local target = { array = cuda_array.check(dst), x = dx, y = dy, z = 0 }
    local source = { array = cuda_array.check(src), x = sx, y = sy, z = 0 }
    cuda_array.copy(nil, target, source, width, height, 1)
  end)
end

return M
