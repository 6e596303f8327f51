-- CUDA arrays for the functions under CUDA's names: allocation, and copies of boxes between arrays and memory given by
-- its address.

local raw = require "moonwarp.binding"
local memory = require "moonwarp.texture.texture_memory"
local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

---@param value any
---@return moonwarp.cuda_array
function M.check(value)
  if raw.type(value) ~= "cuda_array" or value.freed then
    fail("cudaErrorInvalidValue", "this is not a CUDA array, or it was freed")
  end
  return value
end
local check = M.check

-- The flags that arrays were made with.
local flags_of = setmetatable({}, { __mode = "k" })

local LAYERED, CUBEMAP = 1, 4

local function flag(flags, bit) return flags % (2 * bit) >= bit end

---Allocate an array of the kind that CUDA derives from sizes and flags (cudaMalloc3DArray, cuArray3DCreate).
---@param dtype moonwarp.dtype
---@param width integer
---@param height? integer 0: none
---@param depth? integer 0: none; layers, or six faces a layer, where the flags say so
---@param flags? integer
---@param levels? integer of a mipmap
---@return moonwarp.cuda_array
function M.new(dtype, width, height, depth, flags, levels)
  height, depth, flags = height or 0, depth or 0, flags or 0
  for _, size in ipairs { width or -1, height, depth } do
    if type(size) ~= "number" or size < 0 or size % 1 ~= 0 then
      fail("cudaErrorInvalidValue", "an array's sizes are whole numbers of texels")
    end
  end
  if type(flags) ~= "number" or flags < 0 or flags > 15 or flags % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "the flags of an array are 1 (layered), 2 (surfaces), 4 (cubemap) and 8 (gather)")
  end
  local layered, cubemap = flag(flags, LAYERED), flag(flags, CUBEMAP)
  local kind = cubemap and (layered and "cubemaplayered" or "cubemap") or
    layered and (height > 0 and "2dlayered" or "1dlayered") or
    depth > 0 and "3d" or height > 0 and "2d" or "1d"
  local spec = { dtype = dtype, kind = kind, width = width, levels = levels }
  if height > 0 then spec.height = height end
  if kind == "3d" then spec.depth = depth end
  if layered then spec.layers = cubemap and depth / 6 or depth end
  local array = memory.cuda_array(nil, spec)
  flags_of[array] = flags
  return array
end

---Give `array` the flags of another one.
function M.keep_flags(array, other)
  flags_of[array] = flags_of[other]
  return array
end

---Register an array that was made elsewhere, with its flags.
function M.adopt(array, flags)
  flags_of[array] = flags
  return array
end

---The parameters of an array: dtype, width, height and depth (0 if its kind has none), flags.
function M.describe(array)
  local dtype, kind, width, height, slices = check(array):describe()
  local flags = flags_of[array] or 0
  local flat = kind == 0 or kind == 3
  return dtype, width, flat and 0 or height, kind < 2 and 0 or slices, flags
end

-- An array's width in bytes, rows and slices; the size of a texel; the dtype.
local function extent_of(array)
  local dtype, _, width, height, slices = check(array):describe()
  local size = raw.dtype_size(dtype)
  return width * size, height, slices, size, dtype
end
M.extent = extent_of

-- A side of a copy in the form of raw.memory_copy: an object, two numbers about it, z.
local function side(s)
  if s.array then return check(s.array), s.x, s.y, s.z end
  return s.at, s.pitch, s.rows
end

---Copy a box of `width` bytes, `height` rows and `depth` slices. A side is { array =, x =, y =, z = } with x in bytes,
---or memory, { at =, pitch =, rows = }, in which the box begins at the address.
---@param stream moonwarp.stream|nil nil: the default one, waiting
---@param direction? integer cudaMemcpyKind; absent: whatever the addresses say
function M.copy(stream, target, source, width, height, depth, direction)
  local to, tx, ty, tz = side(target)
  local from, sx, sy, sz = side(source)
  raw.memory_copy(stream, to, from, direction or 4, width, height, depth, tx, ty, sx, sy, tz, sz)
end

---Split `count` consecutive bytes, from byte x of row y of the array, into at most three boxes: the rest of that row,
---whole rows, and a remainder.
function M.copy_linear(stream, array, x, y, at, count, to_array, direction)
  local across, down = extent_of(array)
  if x < 0 or y < 0 or count < 0 or x + count > across and y + math.ceil((x + count) / across) > down then
    fail("cudaErrorInvalidValue", "%d bytes from (%d, %d) on exceed an array of %d rows of %d bytes", count, x, y, down,
      across)
  end
  local function part(from, row, bytes, rows)
    local inside, outside = { array = array, x = from, y = row, z = 0 }, { at = at, pitch = bytes, rows = rows }
    M.copy(stream, to_array and inside or outside, to_array and outside or inside, bytes, rows, 1, direction)
    at = at + bytes * rows
    count = count - bytes * rows
  end
  if x > 0 then
    part(x, y, math.min(count, across - x), 1)
    y = y + 1
  end
  local whole = math.floor(count / across)
  if whole > 0 then part(0, y, across, whole) end
  if count > 0 then part(0, y + whole, count, 1) end
end

---Copy `count` consecutive bytes from one array to another. Waits.
function M.copy_linear_arrays(dst, dx, dy, src, sx, sy, count)
  local bytes = raw.array_new("uchar", { math.max(count, 1) })
  M.copy_linear(nil, src, sx, sy, bytes.address, count, false)
  M.copy_linear(nil, dst, dx, dy, bytes.address, count, true)
  bytes:free()
end

return M
