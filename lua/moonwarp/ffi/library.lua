-- The library, and its declarations as the library itself carries them (mw_abi_text).

local ffi = require "ffi"

local M = {}

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- Where an installation has it: by MOONWARP_HOME; beside the C module, which stands in lib/lua/5.1/moonwarp/ (or has a
-- home of its own there, as in a tree of LuaRocks); or beside these files, which stand in share/lua/5.1/moonwarp/ffi/.
local function candidates()
  local list = {}
  local home = os.getenv("MOONWARP_HOME")
  if home and home ~= "" then list[#list + 1] = home .. "/lib/libmoonwarp.so" end
  local module = package.searchpath("moonwarp.core", package.cpath)
  local folder = module and (module:match("^(.*)/[^/]*$") or ".")
  if folder then
    list[#list + 1] = folder .. "/home/lib/libmoonwarp.so"
    list[#list + 1] = folder .. "/../../../libmoonwarp.so"
  end
  local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$")
  if here then list[#list + 1] = here .. "/../../../../../lib/libmoonwarp.so" end
  return list
end

local function load_library()
  for _, path in ipairs(candidates()) do
    if exists(path) then return ffi.load(path) end
  end
  local ok, found = pcall(ffi.load, "moonwarp") -- the system's, or one that the process has loaded
  if ok then return found end
  error("moonwarp: libmoonwarp.so is not found; MOONWARP_HOME names the folder that has it in lib/ (" ..
    tostring(found) .. ")", 0)
end

M.C = load_library()

-- Declarations last as long as the Lua state, so they are made once.
if not pcall(ffi.typeof, "mw_launch") then
  pcall(ffi.cdef, "const char *mw_abi_text(void);")
  ffi.cdef(ffi.string(M.C.mw_abi_text()))
end

return M
