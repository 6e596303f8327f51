-- The raw table of the binding in use (its contract is in src/lua/core.c). MOONWARP_BINDING selects it: "c" is the Lua
-- C module, "ffi" the binding made with LuaJIT's FFI. By default LuaJIT uses the FFI and other Luas the C module.

if rawget(_G, "jit") then require "moonwarp.luajit_next".start() end

local modules = { c = "moonwarp.core", ffi = "moonwarp.ffi" }

local wanted = os.getenv "MOONWARP_BINDING"
if not wanted or wanted == "" then wanted = rawget(_G, "jit") and "ffi" or "c" end
if not modules[wanted] then
  error(("MOONWARP_BINDING is '%s'; moonwarp has the bindings 'c' and 'ffi'"):format(wanted), 0)
end
if wanted == "ffi" and not pcall(require, "ffi") then
  error("MOONWARP_BINDING is 'ffi', which needs LuaJIT; this is " .. _VERSION .. ", so write 'c'", 0)
end

local raw = require(modules[wanted])
raw.binding = wanted

-- Errors point at the caller of the library, not at a file in this folder.
local here = debug.getinfo(1, "S").source:match("^(.*)binding%.lua$")
if here then raw.own(here) end

-- Load a file of this folder when it is first needed, even if package.path has changed by then. The arguments of
-- methods that it adds to classes are checked, as those of all files are.
function raw.part(name)
  local full, path = "moonwarp." .. name, package.path
  if package.loaded[full] then return package.loaded[full] end
  local root = here and here:match "^@(.*)moonwarp/$"
  if root then package.path = root .. "?.lua;" .. path end
  local ok, part = pcall(require, full)
  package.path = path
  if not ok then error(part, 0) end
  if raw.methods_added then raw.methods_added() end
  return part
end

-- What a binding refuses is said in words above it.
raw.on_refusal(function(name, ...) return raw.part("check.refusals")[name](...) end)

return raw
