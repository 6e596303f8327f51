-- Memory that textures read: pitched arrays, whose rows are padded, and CUDA arrays; copies between them and arrays.
--
-- All coordinates that pass here count from 0, in elements; the Lua layer counts from 1 and knows tables and defaults.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local array = require "moonwarp.ffi.array.array"
local collect = require "moonwarp.ffi.garbage_collection"

local M = {}

local check_count = value.check_size

-- ---- pitched arrays: whole rows, of which the first `width` elements count ----

local pitched_meta = class.proxy_meta "pitched"

local function check_pitched(self, what)
  local state = class.state(errors.check(self, "pitched", what))
  if state.rows._handle == nil then errors.closed(what, "array") end
  return state
end

-- pitched_new(dtype, height, width) -> pitched, contents undefined
local function pitched_new(of, height, width)
  local element, module = dtype.check(of, "float")
  height, width = check_count(height, "a height"), check_count(width, "a width")
  local where, width_of_rows = device.current(), ffi.new "size_t[1]"
  errors.must(C.mw_pitched_elements(where._handle, element, width, width_of_rows))
  local rows = array.new(where, element, module, 2, ffi.new("size_t[2]", height, width_of_rows[0]))
  return class.proxy("pitched", { rows = rows, width = width }, pitched_meta)
end

-- p[i]: row i, a view of its elements.
local rest = pitched_meta.__index
function pitched_meta.__index(self, key)
  if type(key) ~= "number" then return rest(self, key) end
  local state = check_pitched(self, "indexing")
  local rows = state.rows
  local height = tonumber(rows._shape[0])
  if key == height + 1 then return nil end
  if not (key >= 1 and key <= height and key % 1 == 0) then
    errors.refuse("row", key, height)
  end
  local pitch = rows._shape[1] * rows._type.size
  return array.view(rows, (key - 1) * pitch, rows._type, rows._module, 1, ffi.new("size_t[1]", state.width))
end

function pitched_meta.__len(self) return tonumber(check_pitched(self, "#").rows._shape[0]) end

class.methods.pitched.free = function(self) array.free(class.state(errors.check(self, "pitched", "free")).rows) end

local pitched = class.properties.pitched

function pitched.shape(self)
  local state = check_pitched(self, "shape")
  return { tonumber(state.rows._shape[0]), state.width }
end

function pitched.pitch(self)
  local rows = check_pitched(self, "pitch").rows
  return tonumber(rows._shape[1] * rows._type.size)
end

function pitched.dtype(self)
  local rows = check_pitched(self, "dtype").rows
  return dtype.push(rows._type, rows._module)
end

function pitched.device(self) return device.object(check_pitched(self, "device").rows._device) end
function pitched.address(self) return check_pitched(self, "address").rows.address end
function pitched.nbytes(self) return check_pitched(self, "nbytes").rows.nbytes end
function pitched.freed(self) return class.state(errors.check(self, "pitched", "freed")).rows.freed end

-- ---- CUDA arrays ----

local cuda_array_meta = class.proxy_meta "cuda_array"

local function check_cuda_array(self, what) return class.state(errors.check(self, "cuda_array", what)) end
M.check_cuda_array = check_cuda_array

-- `account` is a table of its own: were it the state, the finalizer that has it would keep the handle that it is to
-- free.
local function uncount(account)
  collect.live = collect.live - account.counted
  account.counted = 0
end

local function push_cuda_array(where, owned, account)
  local handle = ffi.gc(owned, function(handle)
    uncount(account)
    C.mw_cuda_array_release(handle)
  end)
  return class.proxy("cuda_array", { device = where, handle = handle, account = account }, cuda_array_meta)
end

---An object for a CUDA array, whose reference becomes its own.
function M.adopt(where, handle) return push_cuda_array(where, handle, { counted = 0 }) end

local fields = { "width", "height", "depth", "layers", "levels" }

-- cuda_array_new(dtype, {kind = number, width =, height =, depth =, layers =, levels =}) -> CUDA array
local function cuda_array_new(of, spec)
  local desc = ffi.new "mw_cuda_array_desc"
  desc.kind = spec.kind and check_count(spec.kind, "kind") or 0
  for _, field in ipairs(fields) do desc[field] = spec[field] and check_count(spec[field], field) or 0 end
  errors.must(C.mw_channels_of((dtype.check(of, "float")), desc.channels))
  local where, out = device.current(), ffi.new "mw_cuda_array *[1]"
  errors.must(collect.retry(where, function() return C.mw_cuda_array_new(where._handle, desc, out) end))
  local account = { counted = tonumber(C.mw_cuda_array_bytes(out[0])) }
  collect.live = collect.live + account.counted
  collect.step(account.counted)
  return push_cuda_array(where, out[0], account)
end

-- cuda_array_level(array, level from 0) -> the level as a CUDA array, which keeps the whole
local function cuda_array_level(whole, level)
  local state, out = check_cuda_array(whole, "a level"), ffi.new "mw_cuda_array *[1]"
  errors.must(C.mw_cuda_array_level(state.handle, check_count(level, "a level"), out))
  local handle = ffi.gc(out[0], C.mw_cuda_array_release)
  return class.proxy("cuda_array", { device = state.device, handle = handle, account = { counted = 0 } },
    cuda_array_meta)
end

local methods, properties = class.methods.cuda_array, class.properties.cuda_array

function methods.free(self)
  local state = check_cuda_array(self, "free")
  errors.must(C.mw_cuda_array_free(state.handle))
  uncount(state.account)
end

local function element_type(handle)
  local out = ffi.new "const mw_type *[1]"
  errors.must(C.mw_channels_dtype(C.mw_cuda_array_describe(handle).channels, out))
  return out[0]
end

-- a:describe([level from 0]) -> dtype, kind as a number, width, height, slices of the level, layers, levels
function methods.describe(self, level)
  local handle = check_cuda_array(self, "a CUDA array").handle
  local desc, extent = C.mw_cuda_array_describe(handle), ffi.new "size_t[3]"
  local name = dtype.name(element_type(handle))
  errors.must(C.mw_cuda_array_extent(handle, level and check_count(level, "a level") or 0, extent))
  return name, tonumber(desc.kind), tonumber(extent[0]), tonumber(extent[1]), tonumber(extent[2]),
    tonumber(desc.layers), tonumber(desc.levels)
end

function properties.nbytes(self) return tonumber(C.mw_cuda_array_bytes(check_cuda_array(self, "nbytes").handle)) end
function properties.device(self) return check_cuda_array(self, "device").device end
function properties.freed(self) return C.mw_cuda_array_is_freed(check_cuda_array(self, "freed").handle) ~= 0 end

-- ---- copies ----

-- The last three dimensions of an array are its box; a pitched one's rows are longer than they count.
local function array_side(rows, side)
  local rank = rows._rank
  side.buffer, side.offset = C.mw_array_buffer(rows._handle), C.mw_array_offset(rows._handle)
  side.row_pitch = rows._shape[rank - 1] * rows._type.size
  side.slice_pitch = side.row_pitch * (rank > 1 and rows._shape[rank - 2] or 1)
end

-- A side of a copy, and the size of its elements.
local function check_side(memory, x, y, z, level)
  local side, rows = ffi.new "mw_box_side", class.memory(memory)
  local size
  side.y, side.z, side.level = check_count(y, "y"), check_count(z, "z"), check_count(level, "a level")
  if rows and rows._handle ~= nil then
    array_side(rows, side)
    size = tonumber(rows._type.size)
  else
    local state = check_cuda_array(memory, "a copy")
    side.array = state.handle
    size = tonumber(element_type(state.handle).size)
  end
  side.x = check_count(x, "x") * size
  return side, size
end

M.raw = {
  pitched_new = pitched_new,
  cuda_array_new = cuda_array_new,
  cuda_array_level = cuda_array_level,
  -- box_copy(target, x, y, z, level, source, x, y, z, level, width, height, depth[, queued]): elements, from 0
  box_copy = function(target, tx, ty, tz, target_level, source, sx, sy, sz, source_level, width, height, depth, queued)
    local to, to_size = check_side(target, tx, ty, tz, target_level)
    local from, from_size = check_side(source, sx, sy, sz, source_level)
    if to_size ~= from_size then
      errors.refuse("box_elements", from_size, to_size)
    end
    C.mw_owner_use(device.owner)
    local copy = queued and C.mw_copy_box_queued or C.mw_copy_box
    errors.must(copy(to, from, check_count(width, "a width") * to_size, check_count(height, "a height"),
      check_count(depth, "a depth")))
  end,
}

return M
