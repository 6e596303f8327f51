-- Memory by address, for moonwarp.runtime and moonwarp.driver. Addresses are Lua numbers here.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local dtype = require "moonwarp.ffi.convert.dtype"
local device = require "moonwarp.ffi.device"
local collect = require "moonwarp.ffi.garbage_collection"
local streams = require "moonwarp.ffi.stream"
local arrays = require "moonwarp.ffi.array.array"
local texture_memory = require "moonwarp.ffi.texture.texture_memory"
local class = require "moonwarp.ffi.class"

local M = {}

local kinds = { [0] = "unknown", "host", "pinned", "registered", "device", "managed" }
local kind_numbers = {}
for number, name in pairs(kinds) do kind_numbers[name] = number end

-- A whole number that is not negative; nil is 0.
local function count(given, what)
  if given == nil then return 0 end
  if type(given) == "cdata" and not value.is_int64(given) then -- a pointer has an address, a struct has none
    local is_pointer, number = pcall(ffi.cast, "uintptr_t", given)
    if is_pointer then return tonumber(number) end
  end
  return value.check_size(given, what)
end

local function address(given) return count(given, "an address") end

local function stream_handle(stream)
  if stream == nil then return nil end
  return streams.check(stream, "a copy")._handle
end

-- Addresses have no finalizer. Memory that was allocated here and not freed is freed when the state closes, after all
-- other objects. The current stream is reset then, too: the script may have ended within mw.with. The owner lives as
-- long as the functions, also if the module is removed from package.loaded and loaded again.
local owner = newproxy(true) -- luacheck: ignore 113
local owned = setmetatable({}, { owner = owner })
getmetatable(owner).__gc = function()
  C.mw_stream_use(nil, nil)
  for at in pairs(owned) do C.mw_memory_free(at) end
end

local function info_table(info)
  return {
    kind = kinds[tonumber(info.kind)], address = tonumber(info.address), bytes = tonumber(info.bytes),
    flags = tonumber(info.flags), device = info.device ~= nil and ffi.string(C.mw_device_name(info.device)) or nil,
  }
end

local function host(at, bytes)
  local memory = C.mw_memory_host(address(at), bytes)
  if memory == nil then errors.raise() end
  return ffi.cast("uint8_t *", memory)
end

-- A side of a copy: an address with a pitch and rows, or a CUDA array with x in bytes and y in their place, and z.
local function copy_side(copy, name, given, pitch, rows, z)
  if class.is(given, "cuda_array") then
    local at = copy[name .. "_in"]
    at.array = texture_memory.check_cuda_array(given, "a copy").handle
    at.x, at.y, at.z = count(pitch, "x"), count(rows, "y"), count(z, "z")
  else
    copy[name] = address(given)
    copy[name .. "_pitch"], copy[name .. "_rows"] = count(pitch, "a pitch"), count(rows, "a height")
  end
end

-- The functions of src/lua/memory.c, in the same order.
M.raw = {
  memory_new = function(name, bytes, flags)
    local where, out = device.current(), ffi.new "uint64_t[1]"
    bytes, flags = count(bytes, "a size"), count(flags, "flags")
    local kind = kind_numbers[name] or 6
    errors.must(collect.retry(where, function()
      return C.mw_memory_new(where._handle, kind, flags, bytes, out)
    end))
    local at = tonumber(out[0])
    if at ~= 0 then owned[at] = true end
    return at
  end,
  memory_free = function(at)
    at = address(at)
    if device.has_calls then device.settle(device.current()) end
    errors.must(C.mw_memory_free(at))
    owned[at] = nil
  end,
  memory_free_in = function(at, stream)
    at = address(at)
    C.mw_owner_use(device.owner)
    errors.must(C.mw_memory_free_in(streams.check(stream, "cudaFreeAsync")._handle, at))
    owned[at] = nil
  end,
  memory_register = function(at, bytes, flags)
    errors.must(C.mw_memory_register(device.current()._handle, address(at), count(bytes, "a size"),
      count(flags, "flags")))
  end,
  memory_unregister = function(at) errors.must(C.mw_memory_unregister(address(at))) end,
  memory_find = function(at)
    local info = ffi.new "mw_memory_info"
    errors.must(C.mw_memory_find(device.current()._handle, address(at), info))
    return tonumber(info.kind) ~= 0 and info_table(info) or nil
  end,
  memory_live = function()
    local list, info = {}, ffi.new "mw_memory_info"
    while C.mw_memory_live(#list, info) == 0 do list[#list + 1] = info_table(info) end
    return list
  end,
  memory_copy = function(stream, target, source, direction, width, height, depth, tpitch, trows, spitch, srows, tz, sz)
    local where, copy = device.current(), ffi.new "mw_copy"
    copy.direction = direction
    copy_side(copy, "target", target, tpitch, trows, tz)
    copy_side(copy, "source", source, spitch, srows, sz)
    copy.width = count(width, "a width")
    copy.height = height == nil and 1 or count(height, "a height")
    copy.depth = depth == nil and 1 or count(depth, "a depth")
    local handle = stream_handle(stream)
    if handle == nil or C.mw_memory_copy_waits(where._handle, copy) ~= 0 then device.drain(where) end
    errors.must(C.mw_memory_copy(where._handle, handle, copy))
  end,
  memory_fill = function(stream, target, with, size, width, height, depth, pitch, rows)
    local where, fill = device.current(), ffi.new "mw_fill"
    fill.target, fill.value, fill.size = address(target), with % 2 ^ 32, count(size, "an element's size")
    fill.width = count(width, "a width")
    fill.height = height == nil and 1 or count(height, "a height")
    fill.depth = depth == nil and 1 or count(depth, "a depth")
    fill.pitch, fill.rows = count(pitch, "a pitch"), count(rows, "a height")
    local handle = stream_handle(stream)
    if handle == nil then device.drain(where) end
    errors.must(C.mw_memory_fill(where._handle, handle, fill))
  end,
  memory_get = function(at, of, many)
    local type = dtype.check(of)
    local size = tonumber(type.size)
    if many == nil then return value.push(type, host(at, size)) end
    local list, total = {}, count(many, "a count")
    local memory = total > 0 and host(at, total * size)
    for i = 1, total do list[i] = value.push(type, memory + (i - 1) * size) end
    return list
  end,
  memory_set = function(at, of, values, many)
    local type = dtype.check(of)
    local size, total = tonumber(type.size), many == nil and 1 or count(many, "a count")
    local memory = total > 0 and host(at, total * size)
    local place = value.place(nil, "the value")
    for i = 1, total do
      local one = values
      if many ~= nil then one = values[i] end
      local ok, message = value.pack(one, type, memory + (i - 1) * size, place, {})
      if not ok then errors.misuse(message) end
    end
  end,
  memory_bytes = function(at, bytes)
    bytes = count(bytes, "a size")
    return bytes > 0 and ffi.string(host(at, bytes), bytes) or ""
  end,
  memory_set_bytes = function(at, source)
    if #source > 0 then ffi.copy(host(at, #source), source, #source) end
  end,
  memory_array = function(at, of, shape)
    local type, module = dtype.check(of)
    local rank, sizes = arrays.check_shape(shape)
    local array, out = arrays.push(device.current()), ffi.new "mw_array *[1]"
    errors.must(C.mw_memory_array(address(at), type, rank, sizes, out))
    return arrays.adopt(array, out[0], module, 0)
  end,
  pointer = function(at) return ffi.cast("void *", ffi.cast("uintptr_t", address(at))) end,
}

return M
