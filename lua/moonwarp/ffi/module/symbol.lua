-- Symbol objects: a module's __device__ and __constant__ variables, read and assigned as Lua values.
--
-- A symbol's state keeps its module, and the arrays whose addresses were last assigned to it (anchors), or the texture
-- that a reference was last bound to (bound). Binding is texture.lua's.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local lazy_loading = require "moonwarp.ffi.lazy_loading"

local M = {}

local meta = class.proxy_meta "symbol"

---The symbol of that name of a module, or nil if there is none.
---@param module userdata
---@param name string
---@return userdata?
function M.push(module, name)
  local of, out = class.state(module), ffi.new "mw_symbol *[1]"
  local code = C.mw_module_symbol(of.handle, name, out)
  if code == C.MW_SYMBOL_NOT_FOUND then return nil end
  errors.must(code)
  local state = { handle = ffi.gc(out[0], C.mw_symbol_release), device = of.device, module = module }
  return class.proxy("symbol", state, meta)
end

local function check(self) return class.state(errors.check(self, "symbol", "a symbol's method")) end

local function has_pointer(of)
  local kind = value.kind(of)
  if kind == value.POINTER then return true end
  if kind == value.ARRAY then return has_pointer(of.element) end
  for i = 0, kind == value.STRUCT and tonumber(of.count) - 1 or -1 do
    if has_pointer(of.fields[i].type) then return true end
  end
  return false
end

-- What a pointer variable holds: the array assigned to it if it still points there, nil, or an address.
local function pointer_value(state, address)
  if address == nil then return nil end
  local array = state.anchors and state.anchors[1]
  if array and array._handle ~= nil then
    local at = C.mw_buffer_address(C.mw_array_buffer(array._handle)) + C.mw_array_offset(array._handle)
    if at == ffi.cast("uintptr_t", address) then return array end
  end
  return address
end

---@param self userdata
---@return any
function M.get(self)
  local state = check(self)
  if C.mw_symbol_reference(state.handle) ~= nil then
    return lazy_loading.part("texture.texture").reference_get(state)
  end
  local of = C.mw_symbol_type(state.handle)
  local bytes = ffi.new("uint8_t[?]", of.size)
  device.settle(state.device)
  errors.must(C.mw_symbol_read(state.handle, 0, bytes, of.size))
  if value.kind(of) == value.POINTER then return pointer_value(state, ffi.cast("void **", bytes)[0]) end
  return value.push(of, value.bytes(bytes))
end

---@param self userdata
---@param given any
function M.set(self, given)
  local state = check(self)
  if C.mw_symbol_reference(state.handle) ~= nil then
    return lazy_loading.part("texture.texture").reference_set(state, given)
  end
  local of = C.mw_symbol_type(state.handle)
  local bytes = ffi.new("uint8_t[?]", of.size)
  local keeper = { device = state.device, anchors = has_pointer(of) and {} or nil }
  local place = value.place(nil, ffi.string(C.mw_symbol_name(state.handle)))
  local ok, why = value.pack(given, of, value.bytes(bytes), place, keeper)
  if not ok then errors.misuse(why) end
  device.drain(state.device)
  errors.must(C.mw_symbol_write(state.handle, 0, bytes, of.size))
  state.anchors = keeper.anchors or state.anchors -- not before: kernels before the write used the old ones
end

local methods, properties = class.methods.symbol, class.properties.symbol
methods.get, methods.set = M.get, M.set

function methods.bytes(self)
  local state = check(self)
  local size = C.mw_symbol_size(state.handle)
  local bytes = ffi.new("uint8_t[?]", size)
  device.settle(state.device)
  errors.must(C.mw_symbol_read(state.handle, 0, bytes, size))
  return ffi.string(bytes, size)
end

-- s:set_bytes(string[, offset in bytes]): cudaMemcpyToSymbol
function methods.set_bytes(self, bytes, offset)
  local state = check(self)
  local first = value.check_size(offset or 0, "an offset")
  device.drain(state.device)
  errors.must(C.mw_symbol_write(state.handle, first, bytes, #bytes))
end

function properties.name(self) return ffi.string(C.mw_symbol_name(check(self).handle)) end
function properties.type(self) return ffi.string(C.mw_symbol_type(check(self).handle).name) end
function properties.size(self) return tonumber(C.mw_symbol_size(check(self).handle)) end
function properties.address(self) return value.narrow(C.mw_symbol_address(check(self).handle)) end

return M
