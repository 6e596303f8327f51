-- Dtypes, the element types of arrays: built-in ones by name, a module's structs as objects, m:dtype("Particle").
--
-- A struct's description lives as long as its module, so a dtype object holds the module, and so does every array of
-- it.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

local M = {}

---The name of a type as a dtype, "uchar"; of a struct its own. No element of an array is const.
---@param of ffi.cdata* a mw_type
---@return string
function M.name(of) return ffi.string(C.mw_type_dtype(of)) end
errors.dtype_name = M.name

-- ---- objects ----

local function same(a, b)
  return class.is(a, "dtype") and class.is(b, "dtype") and a._type == b._type
end

local dtype = class.struct("dtype", "struct { const mw_type *_type; mw_module *_module; }", {
  __eq = same,
  __tostring = function(self) return M.name(self._type) end,
  __gc = function(self)
    C.mw_module_release(self._module)
    self._module = nil
  end,
})

local function check_open(object)
  errors.check(object, "dtype", "a dtype's field")
  return object._type
end

class.properties.dtype.name = function(self) return M.name(check_open(self)) end
class.properties.dtype.size = function(self) return tonumber(check_open(self).size) end

---A dtype as Lua has it: a name, or an object for a module's struct.
---@param of ffi.cdata*
---@param module? ffi.cdata* the mw_module that the type belongs to
---@return moonwarp.dtype
function M.push(of, module)
  if module == nil then return M.name(of) end
  local object = dtype()
  object._module = C.mw_module_retain(module)
  object._type = of
  return object
end

---The type that a dtype (a name or an object; nil: `fallback`, where there is one) is, and the module that it belongs
---to, borrowed, or nil.
---@param given any
---@param fallback? string
---@return ffi.cdata* type
---@return ffi.cdata*? module
function M.check(given, fallback)
  local name = given
  if given == nil and fallback then name = fallback end
  if class.is(name, "dtype") then return name._type, name._module end
  if type(name) ~= "string" then errors.refuse("dtype", name) end
  local of = C.mw_dtype(name)
  if of == nil then errors.refuse("dtype", name) end
  return of, nil
end

---What a parameter or a field is, in bytes. dtype: that of its value, or of an array for the pointer, or of an array's
---elements; nil if there is none.
---@param name ffi.cdata*
---@param of ffi.cdata* a mw_type
---@param offset ffi.cdata*
---@param module ffi.cdata* a mw_module
---@return { name: string, type: string, offset: integer, size: integer, dtype: moonwarp.dtype? }
function M.place(name, of, offset, module)
  local inner = value.kind(of) == value.POINTER and of.element or of
  while value.kind(inner) == value.ARRAY do inner = inner.element end
  local known = value.kind(inner) ~= value.POINTER and inner.size ~= 0
  return {
    name = ffi.string(name), type = ffi.string(of.name), offset = tonumber(offset), size = tonumber(of.size),
    dtype = known and M.push(inner, value.kind(inner) == value.STRUCT and module or nil) or nil,
  }
end

-- A sequence of what M.place says.
class.properties.dtype.fields = function(self)
  local of, list = check_open(self), {}
  for i = 1, tonumber(of.count) do
    local field = of.fields[i - 1]
    list[i] = M.place(field.name, field.type, field.offset, self._module)
  end
  return list
end

-- ---- a module's structs ----

-- m:dtype(name) -> the struct of that name, for arrays of it; a built-in type's name where there is no such struct
function class.methods.module.dtype(self, name)
  local module = class.state(errors.check(self, "module", "dtype")).handle
  if type(name) ~= "string" then
    errors.usage("m:dtype wants the name of a struct, got %s", errors.describe(name))
  end
  local out = ffi.new "const mw_type *[1]"
  errors.must(C.mw_module_type(module, name, out))
  return M.push(out[0], value.kind(out[0]) == value.STRUCT and module or nil)
end

M.raw = {
  -- dtype_size(dtype) -> bytes, components (0 for what is no vector), name, whether it is a struct
  dtype_size = function(given)
    local of, module = M.check(given, "float")
    return tonumber(of.size), value.kind(of) == value.VECTOR and tonumber(of.count) or 0, M.name(of), module ~= nil
  end,
}

return M
