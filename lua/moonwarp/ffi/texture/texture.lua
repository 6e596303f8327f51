-- Texture and surface objects, and the references of a module that are bound to them.
--
-- An object's state keeps the memory that it reads. How a texture is read comes as a table of numbers with a field for
-- each member of mw_texture_desc; the Lua layer makes it from words.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local collect = require "moonwarp.ffi.garbage_collection"
local memories = require "moonwarp.ffi.texture.texture_memory"

local M = {}

-- ---- how it is read ----

local numbers = { "filter", "read", "mip_filter", "lod_bias", "lod_min", "lod_max", "max_anisotropy" }
local flags = { "normalized", "srgb", "seamless" }
local lists = { address = 3, border = 4 }

local function read_desc(spec)
  local desc = ffi.new "mw_texture_desc"
  for _, name in ipairs(numbers) do desc[name] = tonumber(spec[name]) or 0 end
  for _, name in ipairs(flags) do desc[name] = spec[name] and spec[name] ~= 0 and 1 or 0 end
  for name, count in pairs(lists) do
    for i = 1, type(spec[name]) == "table" and count or 0 do desc[name][i - 1] = tonumber(spec[name][i]) or 0 end
  end
  return desc
end

local function push_desc(desc)
  local spec = {}
  for _, name in ipairs(numbers) do spec[name] = tonumber(desc[name]) end
  for _, name in ipairs(flags) do spec[name] = desc[name] ~= 0 end
  for name, count in pairs(lists) do
    spec[name] = {}
    for i = 1, count do spec[name][i] = tonumber(desc[name][i - 1]) end
  end
  return spec
end

-- ---- what is read ----

local function describe_memory(memory, resource)
  if class.is(memory, "cuda_array") then
    resource.array = class.state(memory).handle
    return
  end
  local rows = class.memory(memory)
  if not rows or rows._handle == nil then errors.refuse("texture_memory", memory) end
  errors.must(C.mw_array_as_resource(rows._handle, resource))
  if class.is(memory, "pitched") then resource.width = class.state(memory).width end
end

local metas = { texture = class.proxy_meta "texture", surface = class.proxy_meta "surface" }
for name, meta in pairs(metas) do
  -- Assigning a field is the Lua layer's method __newindex.
  meta.__newindex = function(self, key, new) class.methods[name].__newindex(self, key, new) end
end

local function push(name, handle, where, memory)
  local state = { handle = ffi.gc(handle, C.mw_texture_release), device = where, memory = memory }
  return class.proxy(name, state, metas[name])
end

-- texture_new(memory, description[, width, height, pitch]) -> texture; with sizes, rows of `width` elements, `pitch`
-- bytes apart, of an array of one dimension (cudaBindTexture2D)
local function texture_new(memory, spec, width, height, pitch)
  local resource, desc = ffi.new "mw_resource", read_desc(spec)
  describe_memory(memory, resource)
  if width then resource.width, resource.height, resource.row_pitch = width, height, pitch end
  local where, out = device.current(), ffi.new "mw_texture *[1]"
  errors.must(collect.retry(where, function() return C.mw_texture_new(resource, desc, out) end))
  return push("texture", out[0], where, memory)
end

-- surface_new(CUDA array, level from 0) -> surface
local function surface_new(array, level)
  local of, out = memories.check_cuda_array(array, "mw.surface"), ffi.new "mw_texture *[1]"
  errors.must(C.mw_surface_new(of.handle, level or 0, out))
  return push("surface", out[0], of.device, array)
end

-- ---- life ----

local function check(self)
  local state = class.texture(self)
  if state then return state end
  if not class.is(self, "surface") then errors.check(self, "texture", "a texture's method") end
  return errors.refuse "texture_freed"
end

-- The object lets go of the texture. Where it is bound, the module still keeps it.
local function free(self)
  local state = class.texture(self)
  if not state then return end
  C.mw_texture_release(ffi.gc(state.handle, nil))
  state.handle = nil
end
class.methods.texture.free, class.methods.surface.free = free, free

-- ---- facts ----

function class.methods.texture.describe(self)
  local desc = ffi.new "mw_texture_desc"
  errors.must(C.mw_texture_describe(check(self).handle, nil, desc))
  return push_desc(desc)
end

function class.methods.texture.configure(self, spec)
  errors.must(C.mw_texture_configure(check(self).handle, read_desc(spec)))
end

for _, name in ipairs { "texture", "surface" } do
  local facts = class.properties[name]

  function facts.handle(self)
    local handle = ffi.new "uint64_t[1]"
    errors.must(C.mw_texture_handle(check(self).handle, handle))
    return value.narrow(handle[0])
  end

  function facts.offset(self) return tonumber(C.mw_texture_offset(check(self).handle)) end
  function facts.memory(self) return check(self).memory end
  function facts.device(self) return check(self).device end
  function facts.freed(self) return class.texture(self) == nil end
end

-- ---- references: a symbol's state keeps the object as `bound` ----

---What a texture or surface reference is bound to, or nil.
---@param symbol table state of a symbol
---@return userdata?
function M.reference_get(symbol)
  local bound = C.mw_symbol_bound(symbol.handle)
  if bound == nil then return nil end
  local known = class.texture(symbol.bound)
  if known and known.handle == bound then
    C.mw_texture_release(bound)
    return symbol.bound
  end
  -- Bound by another Lua state or by C, or freed here: another object for the same texture.
  return push(C.mw_texture_is_surface(bound) ~= 0 and "surface" or "texture", bound, symbol.device, nil)
end

---Bind a reference to a texture or surface, or to nothing (nil).
---@param symbol table state of a symbol
---@param object userdata?
function M.reference_set(symbol, object)
  local texture = class.texture(object)
  if not texture and object ~= nil then
    local surface = C.mw_symbol_reference(symbol.handle).kind == C.MW_REFERENCE_SURFACE
    errors.refuse("reference", ffi.string(C.mw_symbol_name(symbol.handle)),
      ffi.string(C.mw_symbol_type(symbol.handle).name), surface, object)
  end
  errors.must(C.mw_symbol_bind(symbol.handle, texture and texture.handle or nil))
  symbol.bound = object
end

-- ---- values: a handle where a 64-bit unsigned integer is wanted ----

function value.pack_texture(object, of, out, place, keeper)
  if not (class.is(object, "texture") or class.is(object, "surface")) then
    return value.refuse_number(object, of, place)
  end
  local handle = class.state(object).handle
  if C.mw_texture_as_value(handle, value.place_text(place), ffi.cast("uint64_t *", out)) ~= 0 or
    keeper.launch and C.mw_launch_keep_texture(keeper.launch, handle) ~= 0 then
    return value.refused()
  end
  if keeper.anchors then keeper.anchors[#keeper.anchors + 1] = object end
  return true
end

M.raw = { texture_new = texture_new, surface_new = surface_new }

return M
