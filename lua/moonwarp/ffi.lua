-- The binding for LuaJIT: the raw table (its contract stands in src/lua/core.c), made with the FFI and no C module.
--
-- Each file of ffi/ is the counterpart of the file of that name in src/lua/, function by function: what one of them
-- does, messages included, the other does too (spec/binding_spec.lua compares the tables, the suite runs on both).
-- Like there, the library checks and this converts. How the objects are made stands in ffi/class.lua.

-- Loaded again (package.loaded cleared, say), the objects of the first time must stay ours: one table a Lua state.
local registry = debug.getregistry()
if registry["moonwarp.ffi"] then return registry["moonwarp.ffi"] end

local library = require "moonwarp.ffi.library"
local class = require "moonwarp.ffi.class"
local ffi = require "ffi"

local raw = {
  classes = class.methods,
  properties = class.properties,
  version = ffi.string(library.C.mw_version()),
  type = class.type,
  time = function() return library.C.mw_time() end,
}

local parts = {
  "error", "value", "dtype", "capability", "device", "array", "host", "bulk", "image", "texture_memory", "texture",
  "module", "symbol", "stream", "memory", "graph", "kernel", "launch", "graphics", "cache",
}
for _, name in ipairs(parts) do
  local part = require("moonwarp.ffi." .. name)
  for key, value in pairs(part.raw or {}) do raw[key] = value end
end

registry["moonwarp.ffi"] = raw
return raw
