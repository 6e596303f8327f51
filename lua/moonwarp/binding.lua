-- The raw table of the binding in use (its contract stands in src/lua/core.c). MOONWARP_BINDING chooses: "core" is the
-- Lua C module, and what is taken where nothing is said.

local wanted = os.getenv("MOONWARP_BINDING")
if wanted and wanted ~= "" and wanted ~= "core" then
  error(("MOONWARP_BINDING is '%s'; this version of moonwarp has the binding 'core'"):format(wanted), 0)
end

local raw = require "moonwarp.core"

-- Errors point at whoever called the library: at no file of this folder.
local here = debug.getinfo(1, "S").source:match("^(.*)binding%.lua$")
if here then raw.own(here) end

return raw
