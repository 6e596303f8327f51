-- CUDA arrays for the functions under CUDA's names: making them, and copies of boxes between them and memory by
-- address.

local raw = require "moonwarp.binding"
local memory = require "moonwarp.texture_memory"
local result = require "moonwarp.runtime.result"

local fail = result.fail
local M = {}

---@param value any
---@return moonwarp.cuda_array
function M.check(value)
  if raw.type(value) ~= "cuda_array" or value.freed then
    fail("cudaErrorInvalidValue", "this is no CUDA array, or one that was freed")
  end
  return value
end
local check = M.check

-- The flags that arrays were made with.
local flags_of = setmetatable({}, { __mode = "k" })

local LAYERED, CUBEMAP = 1, 4

local function flag(flags, bit) return flags % (2 * bit) >= bit end

---An array of the kind that CUDA derives from sizes and flags (cudaMalloc3DArray, cuArray3DCreate).
---@param dtype moonwarp.dtype
---@param width integer
---@param height? integer 0: none
---@param depth? integer 0: none; layers, or six faces a layer, where the flags say so
---@param flags? integer
---@return moonwarp.cuda_array
function M.new(dtype, width, height, depth, flags)
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
  local spec = { dtype = dtype, kind = kind, width = width }
  if height > 0 then spec.height = height end
  if kind == "3d" then spec.depth = depth end
  if layered then spec.layers = cubemap and depth / 6 or depth end
  local array = memory.cuda_array(nil, spec)
  flags_of[array] = flags
  return array
end

---An array that was made elsewhere, with its flags.
function M.adopt(array, flags)
  flags_of[array] = flags
  return array
end

---What an array was made with: dtype, width, height and depth (0 where its kind has none), flags.
function M.describe(array)
  local dtype, kind, width, height, slices = check(array):describe()
  local flags = flags_of[array] or 0
  local flat = kind == 0 or kind == 3
  return dtype, width, flat and 0 or height, kind < 2 and 0 or slices, flags
end

-- Width in bytes, rows, slices; the texel's size, the dtype.
local function extent_of(array)
  local dtype, _, width, height, slices = check(array):describe()
  local size = raw.dtype_size(dtype)
  return width * size, height, slices, size, dtype
end
M.extent = extent_of

local function texels(bytes, size, what)
  if bytes % size ~= 0 then
    fail("cudaErrorInvalidValue", "%s of %d bytes is no whole number of texels of %d", what, bytes, size)
  end
  return bytes / size
end

-- A box of the array, and `box`, an array of {depth, height, width} of its texels, copied either way.
local function exchange(array, x, y, z, box, width, height, depth, to_array)
  if to_array then
    raw.box_copy(array, x, y, z, 0, box, 0, 0, 0, 0, width, height, depth)
  else
    raw.box_copy(box, 0, 0, 0, 0, array, x, y, z, 0, width, height, depth)
  end
end

---Memory by address as rows of `width` bytes, and the array's box at (x, y, z) in bytes, rows and slices.
---@param direction? integer cudaMemcpyKind of the memory's part; absent: whatever the address says
function M.copy_box(array, x, y, z, at, pitch, rows, width, height, depth, to_array, direction)
  local across, down, slices, size, dtype = extent_of(array)
  if x + width > across or y + height > down or z + depth > slices or x < 0 or y < 0 or z < 0 then
    fail("cudaErrorInvalidValue", "%d bytes, %d rows, %d slices from (%d, %d, %d) on leave an array of %d, %d, %d",
      width, height, depth, x, y, z, across, down, slices)
  end
  local from, columns = texels(x, size, "an offset"), texels(width, size, "a width")
  if width == 0 or height == 0 or depth == 0 then return end
  local box = raw.array_new(dtype, { depth, height, columns })
  if to_array then
    raw.memory_copy(nil, box.address, at, direction or 4, width, height, depth, width, height, pitch, rows)
    exchange(array, from, y, z, box, columns, height, depth, true)
  else
    exchange(array, from, y, z, box, columns, height, depth, false)
    raw.memory_copy(nil, at, box.address, direction or 4, width, height, depth, pitch, rows, width, height)
  end
  box:free()
end

---`count` bytes one behind the other, beginning at byte x of row y of the array: the rest of that row, whole rows, a
---rest.
function M.copy_linear(array, x, y, at, count, to_array, direction)
  local across, down = extent_of(array)
  if x < 0 or y < 0 or count < 0 or x + count > across and y + math.ceil((x + count) / across) > down then
    fail("cudaErrorInvalidValue", "%d bytes from (%d, %d) on leave an array of %d rows of %d bytes", count, x, y, down,
      across)
  end
  local function part(from, row, bytes, rows)
    M.copy_box(array, from, row, 0, at, bytes, rows, bytes, rows, 1, to_array, direction)
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

---From one array to another, each time `count` bytes one behind the other.
function M.copy_linear_arrays(dst, dx, dy, src, sx, sy, count)
  local bytes = raw.array_new("uchar", { math.max(count, 1) })
  M.copy_linear(src, sx, sy, bytes.address, count, false)
  M.copy_linear(dst, dx, dy, bytes.address, count, true)
  bytes:free()
end

---A side of a copy of boxes: { array =, x =, y =, z = }, x in bytes; or memory, { at =, pitch =, rows = }, where the
---box begins at the address. Where an array takes part the copy waits for the work before, in whatever stream.
---@param stream moonwarp.stream|nil nil: the default one, waiting
function M.copy(stream, target, source, width, height, depth, direction)
  if not (target.array or source.array) then
    raw.memory_copy(stream, target.at, source.at, direction or 4, width, height, depth, target.pitch, target.rows,
      source.pitch, source.rows)
    return
  end
  if stream then stream:synchronize() end
  if target.array and source.array then
    local bytes = raw.array_new("uchar", { math.max(width * height * depth, 1) })
    M.copy_box(source.array, source.x, source.y, source.z, bytes.address, width, height, width, height, depth, false)
    M.copy_box(target.array, target.x, target.y, target.z, bytes.address, width, height, width, height, depth, true)
    bytes:free()
  elseif target.array then
    M.copy_box(target.array, target.x, target.y, target.z, source.at, source.pitch, source.rows, width, height, depth,
      true, direction)
  else
    M.copy_box(source.array, source.x, source.y, source.z, target.at, target.pitch, target.rows, width, height, depth,
      false, direction)
  end
end

return M
