-- Dtypes, the element types of arrays: built-in ones by name, a module's structs as objects, m:dtype("Particle").
--
-- A struct's description lives as long as its module, so a dtype object holds the module, and so does every array of
-- it.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.value"

local M = {}

local MAX_ELEMENT = 4096 -- bytes of a struct that arrays can be made of

-- Built-in types carry C's spelling, "unsigned char"; dtypes have one word.
local words = {}
for _, name in ipairs { "uchar", "ushort", "uint", "ulong", "longlong", "ulonglong" } do
  words[ffi.string(C.mw_dtype(name).name)] = name
end

---The name of a built-in type as a dtype, "uchar"; of a struct its own.
---@param of ffi.cdata* a mw_type
---@return string
function M.name(of)
  local kind, name = value.kind(of), ffi.string(of.name)
  return (kind == value.INT or kind == value.UINT) and words[name] or name
end
errors.dtype_name = M.name

-- ---- objects ----

local function same(a, b)
  return class.is(a, "dtype") and class.is(b, "dtype") and a._type == b._type
end

local dtype = class.struct("dtype", "struct { const mw_type *_type; mw_module *_module; }", {
  __eq = same,
  __tostring = function(self) return ffi.string(self._type.name) end,
  __gc = function(self)
    C.mw_module_release(self._module)
    self._module = nil
  end,
})

local function check_open(object)
  errors.check(object, "dtype", "a dtype's field")
  return object._type
end

class.properties.dtype.name = function(self) return ffi.string(check_open(self).name) end
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
  if type(name) ~= "string" then
    errors.usage("a dtype is a name such as \"float\" or \"uchar4\", or a struct's m:dtype(name), got %s",
      errors.describe(name))
  end
  local of = C.mw_dtype(name)
  if of == nil then
    errors.usage("there is no dtype \"%s\"; dtypes have CUDA's names: bool, char, uchar, short, ushort, int, uint, " ..
      "longlong, ulonglong, half, bfloat16, float, double, and with 1 to 4 behind it the vector types; a struct of " ..
      "a module is m:dtype(name)", name)
  end
  return of, nil
end

-- ---- a module's structs ----

local function find_struct(of, name)
  local kind = value.kind(of)
  if kind == value.POINTER or kind == value.ARRAY then
    return of.element ~= nil and find_struct(of.element, name) or nil
  end
  if kind ~= value.STRUCT then return nil end
  if ffi.string(of.name):gsub("^const ", "") == name then return of end
  for i = 0, tonumber(of.count) - 1 do
    -- Not through pointers: a list's node has a pointer to its own type in it.
    local field = of.fields[i].type
    local found = value.kind(field) ~= value.POINTER and find_struct(field, name)
    if found then return found end
  end
  return nil
end

local function find_in_kernels(module, name)
  local out = ffi.new "mw_kernel *[1]"
  for i = 0, math.huge do
    local kernel_name = C.mw_module_kernel_name(module, i)
    if kernel_name == nil then return nil end
    if C.mw_module_kernel(module, kernel_name, out) == 0 then -- else an overload, which its full name would find
      local info, found = C.mw_kernel_describe(out[0]), nil
      for p = 0, tonumber(info.param_count) - 1 do found = found or find_struct(info.params[p].type, name) end
      C.mw_kernel_release(out[0]) -- types live as long as the module
      if found then return found end
    end
  end
end

local function find_in_symbols(module, name)
  local out = ffi.new "mw_symbol *[1]"
  for i = 0, math.huge do
    local symbol_name = C.mw_module_symbol_name(module, i)
    if symbol_name == nil then return nil end
    if C.mw_module_symbol(module, symbol_name, out) == 0 then
      local found = find_struct(C.mw_symbol_type(out[0]), name)
      C.mw_symbol_release(out[0])
      if found then return found end
    end
  end
end

-- m:dtype(name) -> the struct of that name, for arrays of it
function class.methods.module.dtype(self, name)
  local module = class.state(errors.check(self, "module", "dtype")).handle
  if type(name) ~= "string" then
    errors.usage("m:dtype wants the name of a struct, got %s", errors.describe(name))
  end
  local of = find_in_kernels(module, name) or find_in_symbols(module, name)
  if not of then errors.usage("no kernel or variable of this module has to do with a struct '%s'", name) end
  if of.size > MAX_ELEMENT then
    errors.usage("%s has %d bytes; elements of an array have %d at most", name, tonumber(of.size), MAX_ELEMENT)
  end
  return M.push(of, module)
end

M.raw = {
  -- dtype_size(dtype) -> bytes, components (0 for what is no vector), name, whether it is a struct
  dtype_size = function(given)
    local of, module = M.check(given, "float")
    return tonumber(of.size), value.kind(of) == value.VECTOR and tonumber(of.count) or 0, M.name(of), module ~= nil
  end,
}

return M
