-- Objects of the FFI binding, in two kinds.
--
-- Objects of hot loops are cdata, structs with a metatype: arrays and host views (elements), bound launches, devices,
-- dtypes. All objects of a class share one metatype, so that they share compiled code. Structs cannot keep Lua values
-- alive, only handles of the library, which are reference counts.
--
-- Objects that keep others alive, also in cycles (a module its kernels, a kernel its module), are userdata of newproxy.
-- Each has a metatable of its own, which the collector traverses. Their state is a table: class.state(object).

local ffi = require "ffi"

local M = {
  methods = {}, -- class name -> table of methods; the Lua layer adds its own
  properties = {}, -- class name -> table of functions of an object
}

local names = { "device", "array", "module", "kernel", "symbol", "launch", "bound", "dtype", "host",
  "graph", "graph_exec", "stream", "event", "pitched", "cuda_array", "texture", "surface", "graphics",
  "elementwise", "communicator", "mpi_comm", "mpi_request", "mpi_window_handle",
  "mpi_file_handle" }
for _, name in ipairs(names) do
  M.methods[name], M.properties[name] = {}, {}
end

-- ---- cdata ----

local ctypes = {} -- class name -> its struct

---The struct of a class that M.struct made.
---@param name string
---@return ffi.ctype*
function M.ctype(name) return ctypes[name] end

-- The value of a name that is not an element: a method, a property's value, or the result of the Lua layer's __missing.
local function named(methods, properties)
  return function(self, key)
    local method = methods[key]
    if method ~= nil then return method end
    local property = properties[key]
    if property ~= nil then return property(self) end
    local missing = methods.__missing
    return missing and missing(self, key)
  end
end

local function text_of(name)
  local methods = M.methods[name]
  return function(self)
    local show = methods.__tostring
    if show then return show(self) end
    return "moonwarp object: " .. name
  end
end

---Make a class of structs. `meta` holds metamethods. Its __index gets the look-up of methods and properties, and
---returns the __index of the class.
---@param name string
---@param declaration string a struct; `$` stands for the further arguments
---@param meta table
---@return ffi.ctype*
function M.struct(name, declaration, meta, ...)
  local ctype = ffi.typeof(declaration, ...)
  local rest = named(M.methods[name], M.properties[name])
  meta.__index = meta.__index and meta.__index(rest) or rest
  meta.__tostring = meta.__tostring or text_of(name)
  ctypes[name] = ffi.metatype(ctype, meta)
  return ctypes[name]
end

-- ---- userdata ----

local states = setmetatable({}, { __mode = "k" }) -- an object's metatable -> true: what is ours

---A new object with the table `state`. `meta` holds the metamethods of the class. They are copied, because each object
---has a metatable of its own.
---@param name string
---@param state table
---@param meta table
---@return userdata
function M.proxy(name, state, meta)
  local object = newproxy(true)
  local own = getmetatable(object)
  own.__tostring, own.__index = meta.__tostring, meta.__index
  own.__call, own.__newindex, own.__len = meta.__call, meta.__newindex, meta.__len
  own.__gc = meta.__gc
  own.__name = "moonwarp." .. name
  own.class, own.state = name, state
  states[own] = true
  return object
end

---The metamethods that every class of userdata has.
---@param name string
---@return table
function M.proxy_meta(name)
  local rest = named(M.methods[name], M.properties[name])
  return { __index = rest, __tostring = text_of(name) }
end

---The state of an object made by M.proxy, whose class is known.
---@param object userdata
---@return table
function M.state(object) return debug.getmetatable(object).state end

-- ---- classes of values ----

---Whether a value is of a class.
---@param value any
---@param name string
---@return boolean
function M.is(value, name)
  local kind = type(value)
  if kind == "cdata" then
    local ctype = ctypes[name]
    return ctype ~= nil and ffi.istype(ctype, value)
  elseif kind == "userdata" then
    local meta = debug.getmetatable(value)
    return meta ~= nil and states[meta] == true and meta.class == name
  end
  return false
end

---The array that a value is, or the whole rows if it is pitched memory; else nil. May be closed.
---@param value any
---@return moonwarp.array?
function M.memory(value)
  if M.is(value, "array") then return value end
  if M.is(value, "pitched") then return M.state(value).rows end
  return nil
end

---The state of a value that is an open texture or surface, else nil.
---@param value any
---@return table?
function M.texture(value)
  if not (M.is(value, "texture") or M.is(value, "surface")) then return nil end
  local state = M.state(value)
  return state.handle and state
end

---The name of a value's class, or nil.
---@param value any
---@return string?
function M.type(value)
  local kind = type(value)
  if kind == "cdata" then
    -- Without the loop, which LuaJIT does not compile with its callers.
    if ffi.istype(ctypes.array, value) then return "array" end
    for name, ctype in pairs(ctypes) do
      if ffi.istype(ctype, value) then return name end
    end
  elseif kind == "userdata" then
    local meta = debug.getmetatable(value)
    if meta and states[meta] then return meta.class end
  end
  return nil
end

return M
